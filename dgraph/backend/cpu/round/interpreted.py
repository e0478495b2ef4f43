"""Interpreted rounds: the text that Numba would compile, run by Python on one thread.

``DGRAPH_COMPILE=never`` selects :class:`InterpretedMachine` for every program: tests of graphs of some hundred vertices
end before Numba would have compiled. Functions of ``threads/stand_ins.py`` replace ``threads/atomics.py``.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from dgraph._support import interrupts
from dgraph.backend.cpu.codegen.generated_module import text_of
from dgraph.backend.cpu.round.machine import CpuMachine, may_pull
from dgraph.backend.cpu.threads import stand_ins
from dgraph.program import Traced


class InterpretedMachine(CpuMachine):
    """Machine of one thread that interprets the generated module."""

    compiled = True

    def _module(self, traced: Traced) -> ModuleType:
        pulls = self.pulls or may_pull(traced, "auto")
        key = f"interpreted, {pulls=}, kernel={self._kernel}"
        if key not in traced.rendered:
            module = ModuleType("dgraph_plain")
            with np.errstate(all="ignore"):
                exec(text_of(traced, pulls, source=stand_ins.__name__, kernel=self._kernel), module.__dict__)
            traced.rendered[key] = module  # not before: other threads take it
        return traced.rendered[key]

    def _call(self, *args, **more) -> int:
        with interrupts.immediate(), np.errstate(all="ignore"):  # one thread; overflow as in compiled code
            return super()._call(*args, **more)
