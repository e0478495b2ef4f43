"""CpuBackend: the number of threads of a rank, and the machine for a program.

Code generation is in ``codegen/``, compiled rounds in ``round/``, threads and atomics in ``threads/``.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

from dgraph._support import affinity
from dgraph.backend.backend_base import Backend
from dgraph.backend.cpu.round.array_rounds import ArrayMachine, answers_at_once
from dgraph.backend.cpu.round.interpreted import InterpretedMachine
from dgraph.backend.cpu.round.machine import CpuMachine
from dgraph.backend.cpu.threads.team import team_of
from dgraph.backend.interface import SharedMachine
from dgraph.backend.kept_machines import KeptMachines
from dgraph.backend.kernel_register import SOLVERS, kernel_of
from dgraph.backend.row_solver import RowSolver
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced

PULLS_BEFORE_CSC = 4
"""Requests after which the in-edges (CSC) are built: each pull saves about a quarter of the time of building them."""

MOST_KEPT, KEPT_SHARE = 1 << 21, 4
"""Bytes that kept machines of one graph may hold, if a quarter of those of its rows is less. To allocate and fault them
in takes longer than a run on small graphs, and a twentieth of a search on large ones."""

_machines: dict[int, KeptMachines] = {}
"""Machines of earlier runs by the ``id`` of their graph, with which they leave."""


def machines_of(local: LocalGraph) -> KeptMachines:
    """Return the machines that are kept for a graph."""
    machines = _machines.get(id(local))
    if machines is None:
        machines = _machines[id(local)] = KeptMachines()
        weakref.finalize(local, _machines.pop, id(local), None).atexit = False
    return machines


class CpuBackend(Backend):
    """Backend that runs rounds on a team of CPU threads.

    Args:
        threads: threads per rank; None: this rank's share of the cores. Never more than the share.
        ranks_here: ranks on this node.
        masks: core mask of each of them; empty: they all may use the cores of this rank.
    """

    name = "cpu"

    def __init__(self, threads: int | None, ranks_here: int, masks: Sequence[int] = ()):
        mine = affinity.mask()
        masks = masks or [mine] * ranks_here
        every = reduce(or_, masks).bit_count()
        share = affinity.share(masks, mine)
        self.threads = self.host_threads = min(threads or share, share)
        self.reason = f"{every} cores for {ranks_here} rank{'s' if ranks_here > 1 else ''} of this node"
        self.warning = affinity.binding_warning(masks, mine)
        if threads and threads > share:
            self.warning = f"{threads} threads per rank requested, {self.threads} used: {self.warning or self.reason}"
        if ranks_here > every and not self.warning:
            self.warning = f"{ranks_here} ranks share {every} cores: they take turns, timings mean little"

    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> SharedMachine:
        """Return a machine for the program: that of its hand-written kernel if no direction is forced.

        ``DGRAPH_COMPILE=never`` interprets all others; ``always`` compiles at once what NumPy would answer.

        Raises:
            UsageError: a traversal strategy that exists on GPUs only.
        """
        if traced.program.traversal:
            traced.program.traversal.refuse_without_gpu()
        kernel = kernel_of(traced.program.kernel).load("cpu")
        if kernel is not None and direction == "auto" and not local.directed:
            return kernel(traced, local, team_of(self.threads))
        interprets = os.environ.get("DGRAPH_COMPILE") == "never"
        kind, team = (InterpretedMachine, team_of(1)) if interprets else (CpuMachine, team_of(self.threads))
        machines, key = machines_of(local), (traced.key, direction, kind.__name__, team)
        machine = machines.take(key)
        at_once = machine is None and self.answers_at_once(traced, local, direction)
        if at_once:
            key = (traced.key, direction, ArrayMachine.__name__, team)
            machine = machines.take(key)
        if machine is not None:
            machine.renew(traced, local)
        else:
            machine = ArrayMachine(traced, local, team) if at_once else kind(traced, local, team, direction)
            machine.kept_as = None if traced.key is None else key
        return machine

    def keep(self, machine: Any, local: LocalGraph) -> None:
        """Keep a machine whose run has ended for the next run of its program."""
        if machine.kept_as is not None:
            machine.rest()
            outward = local.out
            rows = outward.offsets.nbytes + outward.neighbours.nbytes
            machines_of(local).keep(machine.kept_as, machine, max(MOST_KEPT, rows // KEPT_SHARE))

    def answers_at_once(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Return True if array rounds answer a program."""
        return direction == "auto" and os.environ.get("DGRAPH_COMPILE") != "never" and answers_at_once(traced, local)

    def solvers(self, name: str) -> Iterator[RowSolver]:
        """Yield the solver on this rank's threads, if there is one."""
        kind = SOLVERS[name].load("cpu")
        if kind is not None:
            yield kind(self)

    def affords(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Return True if the in-edges exist, or were requested so often that building them pays."""
        local.pull_requests += 1
        return local.has_incoming or local.pull_requests >= PULLS_BEFORE_CSC

    def ahead(self, traced: Traced, local: LocalGraph, direction: str) -> Callable[[], None]:
        """Return a call that compiles a later program."""
        return self.machine(traced, local, direction).compile  # untouched pages of its arrays take no memory
