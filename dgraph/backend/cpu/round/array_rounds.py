"""Rounds as NumPy array operations, for small graphs until compilation pays: nothing waits for Numba.

Numba takes 2 to 8 s for a program. :class:`ArrayMachine` interprets the generated operators on whole arrays (an element
per vertex or edge) and the generated round loop once a round; :func:`answers_at_once` decides. Programs that push and
pull push in every round. A round reads the values from before the round, while compiled rounds may see new ones: the
number of rounds may differ, but fixed points do not. The variable ``DGRAPH_COMPILE=always`` makes every run compile.
"""

from __future__ import annotations

import sys
import time
from types import ModuleType
from typing import Any

import numpy as np

from dgraph._support.compile_clock import compiling
from dgraph._support.first_runs import REMARK, spend
from dgraph.backend.cpu.codegen.generated_module import (
    has_machine_code,
    module_for,
    stem_of,
    uncompiled,
    uncompiled_text,
)
from dgraph.backend.cpu.round import state as slots
from dgraph.backend.cpu.round.array_phases import ArrayScope, Phases, saturating_add, saturating_subtract
from dgraph.backend.cpu.round.interpreted import InterpretedMachine
from dgraph.backend.cpu.round.machine import CpuMachine, may_pull
from dgraph.backend.cpu.threads import stand_ins
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.kernel_register import kernel_of
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced

PATIENCE = 4.0
"""Seconds of a processor for array operations after which a program is compiled after all."""

LOOKS = 0.25
"""Seconds of a processor for array operations after which a machine first looks for machine code."""

AT_ONCE = 64
"""Rounds between two looks at the clock."""

FEW = 1 << 21
"""Edges of the whole graph up to which most runs take less time with NumPy than the compilation."""

FEW_OF_FRONTIERS = 1 << 24
"""The same of programs whose rounds walk only the edges of a frontier: about 40 ns an edge."""

TINY = 1 << 14
"""Edges up to which most runs take less time with NumPy than the import of Numba and the load of machine code."""


def answers_at_once(traced: Traced, local: LocalGraph) -> bool:
    """Return True if a program need not be compiled: graph and program are small, and runs were short so far."""
    pushed = "push" in traced.program.directions and not traced.row_reducer
    simple = bool(traced.proposes) and (pushed or traced.all or traced.apply is not None)  # pulls then list changes
    tiny = local.m <= TINY and (local.masters < local.n or "numba" not in sys.modules)  # ranks choose alike
    most = FEW if traced.all or traced.row_reducer else FEW_OF_FRONTIERS
    stem = compiled_stem(traced)
    return simple and local.m <= most and uncompiled(stem, tiny) and not compiled_beside(stem, local)


def compiled_beside(stem: str, local: LocalGraph) -> bool:
    """Return True if a process beside this one, which runs for large graphs on one rank, has compiled a program."""
    return local.m > FEW and local.masters == local.n and has_machine_code(stem, "work_fused")


def compiled_stem(traced: Traced) -> str:
    """Return the name of the file that a program's compiled rounds would have."""
    return stem_of(traced, may_pull(traced, "auto"), bool(kernel_of(traced.program.kernel).edges))


class ArrayMachine(InterpretedMachine):
    """Machine whose phases are array operations.

    A search of many rounds would take longer than the compilation. After ``PATIENCE`` compiled rounds go on from the
    same arrays, with all threads of the team, and on large graphs once another process has compiled them.
    """

    remark = REMARK

    def __init__(self, traced: Traced, local: LocalGraph, team: Team):
        self._interprets = True
        self._stem = compiled_stem(traced)
        super().__init__(traced, local, team, "push")

    def _begin(self, traced: Traced, local: LocalGraph) -> None:
        self._spent, self._looks = 0.0, LOOKS
        super()._begin(traced, local)

    def in_machine_code(self) -> CpuMachine:
        """Return a machine of compiled rounds for the same program."""
        return CpuMachine(self.traced, self.local, self.team, "auto")

    def fused(self, limit: int) -> int:
        """Run up to ``limit`` whole rounds; return their number."""
        run = 0
        while self._interprets and run < limit and not self.done:
            run += self._call(slots.FUSED, min(limit - run, AT_ONCE), 1)
        return run if run == limit or self.done else run + super().fused(limit - run)

    def _threads(self, phases: int) -> int:
        return 1 if self._interprets else super()._threads(phases)

    def _call(self, *args: Any, **more: Any) -> int:
        began, interprets = time.thread_time(), self._interprets
        answer = super()._call(*args, **more)
        if interprets:
            spend(self._stem, time.thread_time() - began)
            self._spent += time.thread_time() - began
        if interprets and (self._spent > PATIENCE or self._compiled_beside()):
            self._interprets, self.kept_as = False, None
            with compiling():
                self.module = module_for(self.traced, may_pull(self.traced, "auto"), pushes=True)
                super()._call(0, threads=1)
        return answer

    def _compiled_beside(self) -> bool:
        """Look for machine code after ``LOOKS``, and after twice as long each time."""
        if self._spent <= self._looks:
            return False
        self._looks *= 2
        return compiled_beside(stem_of(self.traced, may_pull(self.traced, "auto"), pushes=True), self.local)

    def _module(self, traced: Traced) -> ModuleType:
        module = ModuleType("dgraph_arrays")
        if "arrays" not in traced.rendered:  # rendering takes 0.1 s
            text = uncompiled_text(traced, stand_ins.__name__, ArrayScope)
            traced.rendered["arrays"] = compile(text, f"<{type(traced.program).__name__} on arrays>", "exec")
        exec(traced.rendered["arrays"], module.__dict__)
        phases = Phases(traced, module)
        vars(module).update(
            min=np.minimum, max=np.maximum, bool=lambda mask: mask,
            saturating_add=saturating_add, saturating_subtract=saturating_subtract,
            start_phase=phases.start, push_phase_alone=phases.push, vertex_phase=phases.vertex,
            pull_phase=phases.pull, fold_phase=phases.fold,
            flag_frontier=_nothing, set_bits=_nothing, marks_rows=_nothing, list_changed=_nothing,
            lowest_bucket=phases.lowest, open_bucket=phases.open, combine=phases.combine,
        )  # fmt: skip
        return module


def _nothing(*_: Any) -> None:
    """Leave the frontier's bitmap alone: array operations read the list."""
