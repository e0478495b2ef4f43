"""Dependencies of many sources with weights, or of edges, summed over ranks that each hold the graph (``replica.py``).

Every thread of every rank takes batches of sources. After a turn the sums of a batch go to the owners of vertices and
the keepers of arcs, which add them in the order of the batches: the bits are equal on any number of ranks and threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.algorithms.many_sources.betweenness.path_sums_kernel import batch_by_hops, batch_by_weights
from dgraph.algorithms.many_sources.betweenness.replica import Replica, refuse_unless_fits, shared_out
from dgraph.algorithms.many_sources.lane_searches import BYTES, LaneSearches, lane_type
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.backend.cpu.threads.team import Team
from dgraph.errors import DataError

BATCH = 8
"""Most sources whose dependencies are summed on one thread."""


@dataclass
class PathSums:
    """Summed dependencies.

    Attributes:
        replica: the graph, which numbers vertices and arcs; None: there are none.
        vertices: of this rank's masters, float64.
        arcs: of kept arcs, float64; empty unless they were requested.
    """

    replica: Replica | None
    vertices: np.ndarray
    arcs: np.ndarray


class NoPathSums:
    """Kernel without dependencies, for estimates."""

    def search(self, ctx, sources: np.ndarray, name: str, **_: bool) -> PathSums:
        """Return nothing."""
        return PathSums(None, np.zeros(ctx.local.masters), np.zeros(0))


class PathSummer:
    """Kernel on a team of threads, of a rank with or without a GPU."""

    def __init__(self, team: Team):
        self.team = team

    @classmethod
    def beside_gpu(cls, backend) -> PathSummer:
        """Return the kernel on the host threads of a rank that has a GPU."""
        return cls(Team(backend.host_threads))

    def search(
        self, ctx, sources: np.ndarray, name: str, *, weighted: bool, of_arcs: bool = False, endpoints: bool = False
    ) -> PathSums:
        """Sum the dependencies of ``sources`` (original ids, in the order in which they are added); collective.

        Raises:
            DataError: a weight is not above 0, or too small to change a distance.
            OutOfMemory: a rank cannot hold the graph.
        """
        comm = ctx.comm
        if weighted:
            _check_weights(ctx, name)
        arcs, n = ctx.local.arcs, ctx.local.n
        weighted &= ctx.local.out.weight_type is not None
        bytes_ = 32 * n + (12 + 8 * of_arcs) * arcs + weighted * ((BYTES + 72) * n + 2 * arcs)
        refuse_unless_fits(comm, name, 40 * arcs + 64 * n + self.team.size * bytes_)
        replica = Replica.of(ctx.local, comm, weighted)
        at, arcs = replica.numbers(sources), len(replica.targets)
        kernel, lanes, searches = batch_by_hops, BATCH, None
        if weighted:
            most, mean = largest_and_mean(ctx, name)
            kind = lane_type(ctx.local.out.weight_type, most, n)
            searches = LaneSearches.of(replica, ctx.local.directed, kind, mean)
            kernel, lanes = batch_by_weights, searches.lanes
        size, threads, turns = shared_out(ctx, len(at), self.team.size, lanes)
        light = np.full(threads, -1, np.int64)
        graph: tuple = (replica.offsets, replica.targets)
        if searches is not None:
            marks = np.empty((threads, arcs), np.uint16), np.empty((threads, n, lanes), np.uint32)
            graph = (*searches.on(threads).arguments, *marks, light)
        vertices, of_each = np.zeros((threads, n)), np.zeros((threads, arcs if of_arcs else 0))
        scratch = np.empty((threads, 3 - weighted, n)), np.empty((threads, 2, n), np.int32)
        logs = np.empty((threads, arcs + 2), np.int64), np.empty((threads, arcs), np.int32)
        found = PathSums(replica, np.zeros(ctx.local.masters), np.zeros(0))
        if of_arcs:
            found.arcs = np.zeros(replica.arc_bounds[comm.rank + 1] - replica.arc_bounds[comm.rank])
        for first in turns:
            self.team.run(
                kernel, threads, at, first, size, *graph, float(endpoints), of_arcs, *scratch, *logs, vertices, of_each
            )  # fmt: skip
            self._refuse(ctx, replica, light, name)
            add_parts(found.vertices, replica.to_owners(vertices))
            if of_arcs:
                add_parts(found.arcs, replica.to_keepers(of_each))
        return found

    def _refuse(self, ctx, replica: Replica, light: np.ndarray, name: str) -> None:
        """Raise on all ranks if some arc was too light."""
        source = ctx.comm.largest(int(light.max()))
        if source >= 0:
            raise DataError(
                f"{name}: from source {ctx.called(int(replica.ids[source]))} some weight is so small beside a distance "
                "that float64 adds it without effect; scale the weights, or leave weighted out"
            )


def add_parts(sums: np.ndarray, parts: list[np.ndarray]) -> None:
    """Add the rows of each rank's part in their order."""
    for part in parts:
        for row in part:
            sums += row


def _check_weights(ctx, name: str) -> None:
    """Refuse weights that are not above 0; collective."""
    ctx.weighted |= ctx.local.out.weight_type is not None
    ctx.check_weights()
    low, *_ = ctx.local.out.weight_range
    if ctx.local.out.weight_type is not None and ctx.total(int(len(ctx.local.out.neighbours) > 0 and not low > 0)):
        ctx.refuse_weights(lambda weights: ~(weights > 0), f"{name} counts shortest paths by weights above 0")
