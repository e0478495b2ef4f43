"""The CPU backend: programs rendered to Numba, a team of threads a rank."""

from __future__ import annotations

from functools import cache

from dgraph.backend.cpu.machine import Machine
from dgraph.backend.cpu.peeling import Peeling
from dgraph.backend.cpu.threads import Team, cores
from dgraph.backend.cpu.union_find import UnionFind
from dgraph.errors import UsageError
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced

KERNELS: dict[str, type[UnionFind] | type[Peeling]] = {"components": UnionFind, "cores": Peeling}
"""Hand-written rounds, by what ``Program.kernel`` calls them."""


@cache
def _team(size: int) -> Team:
    return Team(size)


class CpuBackend:
    """``threads`` threads on each of the ranks that share this node.

    Attributes:
        name: "cpu".
        threads: threads of this rank.
        reason: why that many.
        why: why this backend.
    """

    name = "cpu"
    why = ""

    def __init__(self, threads: int | None, ranks_here: int):
        share = max(1, cores() // ranks_here)
        self.threads = min(threads or share, share)
        self.reason = f"{cores()} cores for {ranks_here} rank{'s' if ranks_here > 1 else ''} of this node"
        self.warning = ""
        if threads and threads > share:
            self.warning = f"{threads} threads a rank wanted, {self.threads} taken: {self.reason}"
        if ranks_here > cores():
            self.warning = f"{ranks_here} ranks share {cores()} cores: they take turns, timings mean little"

    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> Machine | UnionFind | Peeling:
        """A machine for one program on this rank's graph. ``direction``: auto, push, pull or flip."""
        if traced.program.way and not traced.program.way.anywhere:
            raise UsageError(
                f"{traced.program.way.name} says how a GPU walks edges, and this run has none; use --backend cuda, "
                "or another variant"
            )
        if traced.program.kernel and direction == "auto" and not local.directed:
            return KERNELS[traced.program.kernel](traced, local, _team(self.threads))
        return Machine(traced, local, _team(self.threads), direction)
