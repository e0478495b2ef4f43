"""Driver of searches from many sources on the threads of all ranks: plan, passes, sums, answer.

A kernel searches from a batch of sources on one thread, with a bit or a lane for each. Ranks share out the sources, and
each holds the graph; or they share out the vertices, and exchange them after each level. Batches are added in their
order and rows are folded by gid, so the bits of a sum depend on neither ranks nor threads. A kernel is a subclass of
:class:`LaneSearch` or :class:`HopSearch`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.vertex_values import lids_of
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import Passes, host_share, lacking, plan_passes
from dgraph.graph.halo import GidRows

FEW_BATCHES = 4
"""Number of batches from which on a batch by weights has more than one source."""

SHARED, SPLIT = "shared out among ranks", "searched by all ranks together"


@dataclass(frozen=True)
class LanePlan:
    """Batches of a search, and why they were chosen.

    Attributes:
        passes: its batches; None: programs search.
        taken, reason: choice in the report; "": there was none.
    """

    passes: Passes | None
    taken: str = ""
    reason: str = ""


class LaneSearch(HostSolver):
    """Search with one kernel, in which ranks share out the sources.

    Attributes:
        ctx: context of the algorithm.
        work: the algorithm.
        sources: original ids, each one a vertex, in the order in which their results are added.
        passes: their batches.
        replica: the whole graph; None: this rank holds the rows of its masters, and the ranks search together.
        numbers: numbers of the sources in this rank's rows; -1: another rank has it.
        reads_weights: True if the replica has the weights of arcs.
        by_programs: class of the solver that takes its place where the plan says so.
    """

    reads_weights = False
    by_programs: Any = None
    replica: Any = None

    ctx: Context
    work: Any
    sources: np.ndarray
    passes: Passes
    numbers: np.ndarray

    def solve(self, ctx: Context, sources: np.ndarray, work: Any) -> Any:
        """Return the answer of the kernel, or of programs where the plan says so; collective."""
        self.ctx, self.sources, self.work = ctx, sources, work
        self.check()
        plan = self.plan_passes()
        if plan.taken:
            ctx.record.choose("sources", plan.taken, plan.reason)
        if plan.passes is None:
            return self.by_programs(self.backend).solve(ctx, sources, work)
        self.passes = plan.passes
        self.hold_rows()
        self.begin()
        for number in self.passes.turns(ctx):
            if self.replica is None and ctx.comm.size > 1:
                self.search_together(number)
            else:
                self.search_batches(number)
            self.add(number)
        return self.answer()

    def check(self) -> None:
        """Refuse what the kernel cannot search, and choose the dtype of its lanes; collective."""

    @abstractmethod
    def plan_passes(self) -> LanePlan:
        """Return where the search runs; collective, without side effects."""

    def bytes_of_whole(self, threads: int) -> int:
        """Return the bytes of a search on this rank that holds the rows of all vertices."""
        local = self.ctx.local
        return self.bytes(RowSize(local.n, local.arcs, local.n, local.arcs, local.masters, threads))

    def hold_rows(self) -> None:
        """Gather the rows of the whole graph, with vertices by id, and number the sources; collective."""
        self.replica = self.ctx.rows("all", order="id", weights=self.reads_weights)
        self.numbers = self.replica.numbers(self.sources)

    @abstractmethod
    def begin(self) -> None:
        """Make the arrays of a search, with a row for each thread, and those of the answer."""

    @abstractmethod
    def search_batches(self, number: int) -> None:
        """Search from the batches of this rank in a pass, on rows of all vertices; collective."""

    def add(self, number: int) -> None:
        """Add the results of a pass to the answer; collective."""

    @abstractmethod
    def answer(self) -> Any:
        """Return the results of all passes; collective."""

    def search_together(self, number: int) -> None:
        """Search from the batches of a pass on the rows of this rank's masters; collective."""
        raise NotImplementedError

    def owned(self, values: np.ndarray) -> list[np.ndarray]:
        """Return rows of values (k, vertices) by this rank's masters, from each rank in turn; collective."""
        return [values] if self.replica is None else self.replica.to_owners(values)

    def part(self, number: int) -> np.ndarray:
        """Return the numbers of this rank's sources in a pass."""
        return self.numbers[self.passes.part(number)]


class HopSearch(LaneSearch):
    """Search by hops; ranks search together if a rank lacks memory for the graph, or there are few batches.

    Attributes:
        batch: sources of a batch.
        state: bytes of a search for each vertex and thread.
        vertex_bytes: further ones of a vertex, in rows and in columns of the answer.
        rows: rows of the vertices that this rank searches; without a replica those with ghosts.
        lids: masters of the sources; -1: another rank has it.
    """

    batch: int
    state: int
    rows: GidRows
    lids: np.ndarray

    @classmethod
    def bytes(cls, size: RowSize) -> int:
        """Return the bytes of rows, in which an arc takes 40, of searches, and of columns: 16 a master."""
        return (size.threads * cls.state + cls.vertex_bytes) * size.vertices + 40 * size.arcs + 16 * size.masters

    def plan_passes(self) -> LanePlan:
        """Return where the search runs; collective."""
        comm, local, sources = self.ctx.comm, self.ctx.local, len(self.sources)
        fewest = -comm.largest(-self.team.size)
        together, apart = (plan_passes(comm, sources, self.batch, fewest, own) for own in (False, True))
        if comm.size == 1:
            return LanePlan(together)
        batches, threads = -(-sources // self.batch), fewest * comm.size
        if batches < threads:
            return LanePlan(together, SPLIT, f"{batches} batches for {threads} threads")
        need = self.bytes_of_whole(fewest) + 50 * local.n + 8 * local.arcs  # ids, owners and rows as they arrive
        figures = lacking(comm, need, host_share(comm))
        if figures is not None:
            short = f"the graph and its searches take {figures[0]:,} bytes on a rank, and {figures[1]:,} are free"
            return LanePlan(together, SPLIT, short)
        return LanePlan(apart, SHARED, f"the graph fits each; {batches} batches for {threads} threads")

    def hold_rows(self) -> None:
        """Gather the rows of the whole graph, by gid, or those of this rank's masters; collective."""
        local, comm = self.ctx.local, self.ctx.comm
        self.lids = self.numbers = lids_of(local, self.sources)
        if self.passes.ranks == 1:
            self.replica, self.rows = None, self.ctx.rows()
            return
        self.replica = self.rows = self.ctx.rows("all")
        gids = local.gids[np.maximum(self.lids, 0)] if len(local.gids) else -1
        self.numbers = comm.allreduce(np.where(self.lids >= 0, gids, -1), "max")

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Return integers (threads, vertices) by this rank's masters, summed over threads and ranks; collective."""
        total = values.sum(axis=0)
        return total if self.replica is None else self.replica.returned(total)

    def deepest(self, depth: int) -> int:
        """Return the largest distance on all ranks; collective."""
        return depth if self.replica is None else self.ctx.comm.largest(depth)


def plan_by_weights(ctx: Context, sources: int, threads: int, lanes: int) -> Passes:
    """Return batches whose size depends on the number of sources and ``lanes``, its maximum, alone; collective."""
    size = int(np.clip(sources // FEW_BATCHES, 1, lanes))
    return plan_passes(ctx.comm, sources, size, -ctx.comm.largest(-threads), True)
