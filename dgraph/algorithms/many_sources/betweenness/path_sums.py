"""Dependencies of many sources with weights, or of edges, summed over ranks that each hold the graph (``ctx.rows``).

Every thread of every rank takes batches of sources. After a pass the sums of a batch go to the owners of vertices and
the keepers of arcs, which add them in the order of the batches: the bits are equal on any number of ranks and threads.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.many_sources.betweenness.path_sums_kernel import sum_batch
from dgraph.algorithms.many_sources.drawn_sources import numbers_of
from dgraph.algorithms.many_sources.lane_search import LanePlan, LaneSearch, plan_by_weights
from dgraph.algorithms.many_sources.lane_searches import BYTES, LINE, LaneSearches, lane_type
from dgraph.algorithms.many_sources.results import Summed, add_parts
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.passes import host_share, refuse_unless_fits
from dgraph.errors import DataError

BATCH = 8
"""Most sources whose dependencies are summed on one thread."""

BY_WEIGHTS = 13
"""Arguments of the kernel that only weights need."""


class PathSummer(LaneSearch):
    """Kernel on a team of threads, of a rank with or without a GPU."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of the whole graph on a rank, and of the sums and searches of its threads.

        An arc takes up to 86 while rows are made, and 18 a thread; a vertex 272, and ``BYTES`` + 104 a thread.
        """
        return (272 + (BYTES + 104) * size.threads) * size.n + (86 + 18 * size.threads) * size.m + 32 * size.masters

    def check(self) -> None:
        """Refuse weights that are not above 0, and choose the dtype of distances; collective."""
        ctx, work, kind = self.ctx, self.work, self.ctx.local.out.weight_type
        self.reads_weights = work.weighted and kind is not None
        if self.reads_weights:
            ctx.weighted = True
            ctx.check_weights()
            low, *_ = ctx.local.out.weight_range
            if ctx.total(int(len(ctx.local.out.neighbours) > 0 and not low > 0)):
                need = f"{work.name} counts shortest paths by weights above 0"
                ctx.refuse_weights(lambda weights: ~(weights > 0), need)
            most, self.mean = largest_and_mean(ctx, work.name)
            self.dtype = lane_type(kind, most, ctx.local.n)

    def plan_passes(self) -> LanePlan:
        """Return the passes if every rank can hold the graph; collective.

        Raises:
            OutOfMemory: one cannot.
        """
        comm, need = self.ctx.comm, self.bytes_of_whole(self.team.size)
        refuse_unless_fits(comm, need, host_share(comm), lambda need, free: (
            f"{self.work.name} holds the whole graph on each rank, {need:,} bytes with its sums, and {free:,} bytes of "
            "a rank's host are free; start fewer ranks on a host or fewer --threads, or use hosts with more memory"
        ))  # fmt: skip
        most = LINE // self.dtype.itemsize if self.reads_weights else BATCH
        return LanePlan(plan_by_weights(self.ctx, len(self.sources), self.team.size, most))

    def begin(self) -> None:
        """Make the arrays of a search, in the order in which kernels take them."""
        replica, n, threads = self.replica, self.ctx.local.n, self.passes.threads
        arcs, targets, of_arcs = len(replica.targets), self.work.targets, self.work.of_arcs
        self.light, self.goals = np.full(threads, -1, np.int64), np.ones(n)
        if targets is not None:
            self.goals[:] = 0.0
            self.goals[numbers_of("targets", targets, replica.ids)] = 1.0
        self.graph = *replica.out, *[None] * BY_WEIGHTS, self.light
        if self.reads_weights:
            searches = LaneSearches.of(replica, self.dtype, self.mean, threads)
            marks = np.empty((threads, arcs), np.uint16), np.empty((threads, n, searches.lanes), np.uint32)
            self.graph = *searches.arguments, *marks, self.light
        self.vertices, self.arcs = np.zeros((threads, n)), np.zeros((threads, arcs if of_arcs else 0))
        self.scratch = (
            np.zeros((threads, 2, n)), np.empty((threads, 2, n), np.int32), np.ones((threads, n), np.uint8),
            np.empty((threads, arcs + 1), np.int64), np.empty((threads, n + 1), np.int64),
        )  # fmt: skip
        kept = replica.kept_arcs.stop - replica.kept_arcs.start
        self.result = Summed(np.zeros(self.ctx.local.masters), None, np.zeros(kept * of_arcs), replica)

    def search_batches(self, number: int) -> None:
        """Sum the dependencies of a batch on each thread."""
        self.team.run(
            sum_batch, self.passes.threads, self.part(number), 0, self.passes.batch, *self.graph,
            float(self.work.endpoints), self.work.of_arcs, self.goals, *self.scratch, self.vertices, self.arcs,
        )  # fmt: skip
        source = self.ctx.comm.largest(int(self.light.max()))
        if source >= 0:
            raise DataError(
                f"{self.work.name}: from source {self.ctx.called(int(self.replica.ids[source]))} some weight is so "
                "small beside a distance that float64 adds it without effect; scale the weights, or leave weighted out"
            )

    def add(self, number: int) -> None:
        """Add the dependencies of each batch in order."""
        add_parts(self.result.sums, self.owned(self.vertices))
        if self.work.of_arcs:
            add_parts(self.result.arcs, self.replica.to_keepers(self.arcs))

    def answer(self) -> Summed:
        """Return the sums."""
        return self.result
