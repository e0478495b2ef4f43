"""Fields and control block of a machine, at its first run and when it is kept for others of the same program."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.round_kernels.gpu_snapshot import MachineParts
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.program import Traced


class Renewal(MachineParts):
    """Part of a :class:`~dgraph.backend.cuda.round_kernels.machine.GpuMachine` that serves run after run.

    Work arrays stay; every run has fields of its own, which its result keeps.
    """

    sources: ModuleSet
    device_exchange: Any
    repeats = starts_together = False
    _last_exchange: Any = None
    _begin_log: Callable[[], None]

    def _begin_fields(self, forced: str) -> None:
        """Show the fields of the first run, and make its control block."""
        traced = self.traced
        self.state: dict[str, FieldView] = {}
        for name in traced.fields:
            self._show(name)
        self._read_only = {
            name
            for name, field in traced.fields.items()
            if field.given and name not in {*traced.init, *traced.proposes, *(traced.apply or {})}
        }
        self._uploaded: dict[str, tuple[weakref.ref, Any]] = {}
        self._first_words = self._controls(forced)
        self._begin_words()

    @property
    def bytes(self) -> int:
        """Bytes of GPU memory that it holds between runs."""
        return self.arrays.kept_bytes + sum(array.nbytes for _, array in self._uploaded.values())

    def rest(self) -> None:
        """Let go of the fields, which the result owns, and of the exchange, which only a repeated run takes again."""
        self.arrays.drop_fields()
        self.state.clear()
        self._last_exchange, self.device_exchange = self.device_exchange, None
        self.repeats = self.starts_together = False

    def renew(self, traced: Traced) -> None:
        """Prepare a machine at rest for a run of the same program with other values of parameters."""
        self.traced = self.sources.traced = self.kernels.traced = traced
        self.arrays.clear()
        for name in traced.fields:
            if name not in self._read_only:
                self.arrays.new_field(name)
                self._show(name)
        self._begin_log()
        self._begin_words()
        self.kernels.renew()

    def _show(self, name: str) -> None:
        """Put a field's array into ``state``."""
        self.state[name] = FieldView(self.device, self.arrays.fields[name], self.graph.place)

    def _controls(self, forced: str) -> np.ndarray:
        """Return the control block before the first round."""
        words = np.zeros(self.arrays.words.size, np.int64)
        words[control.UNEXPLORED], words[control.TOTAL_LIVE] = self.local.arcs, self.local.n
        words[control.FORCED] = _rule(self.traced, forced)
        words[control.WHOLE] = int("whole" in (self.traced.step or {}))
        words[control.WIDTH] = int(self.traced.program.widens)
        chosen = self.options.schedule
        small = -1 if chosen in SCHEDULES else 2**62 if chosen == "persistent" else self.options.alone
        words[[control.SMALL_EDGES, control.SMALL_QUEUE]] = small
        for i, g in enumerate(self.traced.globals.values()):
            if g.dtype == "float64":
                words.view(np.float64)[self.arrays.floats_at + i] = g.init
            else:
                words[self.arrays.integers_at + i] = g.init
        return words

    def _begin_words(self) -> None:
        self.all_words = self._first_words.copy()  # valid even if start fails
        self.words = self.all_words[: control.CONTROLS]

    def _write_board(self) -> None:
        """Write the control block and the words of the exchange, in one copy."""
        exchange = self.device_exchange
        words = self._first_words if exchange is None else np.concatenate([self._first_words, exchange.first_words])
        self.device.write(self.arrays.board[: words.size], words)

    def _fill(self, name: str, values: Any) -> None:
        """Write a field.

        One that no round writes shares the array of an earlier program's field on this GPU, or keeps the values that
        the last run uploaded if they cannot have changed.
        """
        ordered = isinstance(values, FieldView) and values.holds(self.local.masters, self.graph.place)
        alike = ordered and values.dtype == self.arrays.dtype(name)
        if name in self._read_only:
            shared = alike and not self.local.mirrors
            reference, array = self._uploaded.get(name, (None, None))
            again = reference is not None and reference() is values
            if shared or again:
                self.arrays.set_field(name, array if again else values.values)
            elif name not in self.state:
                self.arrays.new_field(name)
            self._show(name)
            self.kernels.set_members(**{f"f_{name}": self.device.address(self.arrays.fields[name])})
            if shared or again:
                return
            self._uploaded.pop(name, None)
            if isinstance(values, np.ndarray) and not values.flags.writeable:
                self._uploaded[name] = weakref.ref(values), self.arrays.all[f"f_{name}"]
        if not ordered:
            return super()._fill(name, values)
        own = self.arrays.fields[name][: self.local.masters]  # masters come first in every numbering
        if alike:
            self.device.copy(own, values.masters())
        else:
            own[...] = values.masters()


def _rule(t: Traced, forced: str) -> int:
    """Return the value of FORCED for a program and the user's choice of direction."""
    directions = t.program.directions
    if "pull" not in directions:
        return control.FORCE_PUSH
    if "push" not in directions:
        return control.FORCE_PULL
    if forced == "auto":
        return control.FORCE_PULL if t.all else control.GATHER if t.program.gathers else control.AUTO
    return {"push": control.FORCE_PUSH, "pull": control.FORCE_PULL, "flip": control.FLIP}[forced]
