"""The CPU backend: programs rendered to Numba, a team of threads a rank."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, reduce
from operator import or_

from dgraph.backend import affinity
from dgraph.backend.cpu.round.machine import Machine
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.interface import Backend, SharedMachine
from dgraph.backend.kernel_register import kernel_of
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced

PULLS_BEFORE_CSC = 4
"""As often as programs look back faster than they push by a quarter of what making edges by target takes."""


@cache
def _team(size: int) -> Team:
    return Team(size)


os.register_at_fork(after_in_child=_team.cache_clear)  # a child has none of its parent's threads


class CpuBackend(Backend):
    """``threads`` threads on each of the ranks that share this node.

    Args:
        masks: the cores that each of them may use, a bit each; none: those that this rank may.
    """

    name = "cpu"

    def __init__(self, threads: int | None, ranks_here: int, masks: Sequence[int] = ()):
        mine = affinity.mask()
        masks = masks or [mine] * ranks_here
        every = reduce(or_, masks).bit_count()
        share = affinity.share(masks, mine)
        self.threads = min(threads or share, share)
        self.reason = f"{every} cores for {ranks_here} rank{'s' if ranks_here > 1 else ''} of this node"
        self.warning = affinity.withheld(masks, mine)
        if threads and threads > share:
            self.warning = f"{threads} threads a rank wanted, {self.threads} taken: {self.warning or self.reason}"
        if ranks_here > every and not self.warning:
            self.warning = f"{ranks_here} ranks share {every} cores: they take turns, timings mean little"

    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> SharedMachine:
        if traced.program.traversal:
            traced.program.traversal.refuse_without_gpu()
        load = kernel_of(traced.program.kernel).cpu
        if load is not None and direction == "auto" and not local.directed:
            return load()(traced, local, _team(self.threads))
        return Machine(traced, local, _team(self.threads), direction)

    def affords(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Edges by target are there, or wished for so often that they would have paid by now."""
        local.pull_requests += 1
        return local.turned or local.pull_requests >= PULLS_BEFORE_CSC

    def ahead(self, traced: Traced, local: LocalGraph, direction: str) -> Callable[[], None]:
        return self.machine(traced, local, direction).compile  # its arrays take no memory until they are written to
