"""Launches of a round's edge and vertex phase, by direction, schedule and kind of program."""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.round_kernels.auto_schedule import schedule
from dgraph.backend.cuda.round_kernels.gpu_snapshot import MachineParts
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.program.analysis import falls_below_ceiling

MARKED = 32
"""Rows to fold are marked along out-edges if at most one edge in MARKED leaves an active vertex.

Otherwise vertices look for an active in-neighbour.
"""


class EdgePhase(MachineParts):
    """Part of a :class:`~dgraph.backend.cuda.round_kernels.machine.GpuMachine` that launches the phases of a round."""

    _first_words: np.ndarray
    _unread: bool
    _supported = False
    """True if every row's support is known, as after a first round that folded all rows."""

    def edge_launches(self) -> tuple[str, list[tuple]]:
        """Return the schedule of the next round's edges and its launches."""
        t, pulling = self.traced, self.direction == "pull"
        marked = pulling and self._marked(fused=False)
        if (pulling or self.options.sweeps) and not (t.all or marked):
            self._bits()
        if pulling and self._pulls_rows:
            return "pull", [*self._pull(marked), *[("round_kernels", "expand")] * (not t.all)]
        name = schedule(self.options, self.words, self.graph.wide, t.all)
        return name, self.kernels.edges(name, pulling, fused=False, words=self.words)

    def vertex_launches(self) -> list[tuple]:
        """Return the launches of a vertex phase."""
        return [("round_kernels", "vertex_phase")] * (self.traced.apply is not None or self.traced.priority is not None)

    def _large_round(self) -> int:
        """Walk the next round's edges by kernels of their own, unless the persistent kernel takes the round.

        Returns:
            The number of the schedule; 0 for none.
        """
        t, words = self.traced, self.words
        if self._unread and not t.all:
            return 0  # the persistent kernel does nothing if the first round is not for it
        pulls, small = words[control.MODE] == control.PULL, words[control.SMALL_EDGES]
        broad = words[control.QUEUED] > words[control.SMALL_QUEUE] or words[control.LOCAL_EDGES] > small
        if not (t.all or pulls or (broad and words[control.QUEUED] > 0)):
            return 0
        marked = bool(pulls) and self._marked(fused=True)
        listed = marked and falls_below_ceiling(t)
        if pulls and self._pulls_rows:
            number = control.PULLED
            calls = self._pull(marked, listed)
            if not (t.all or listed) and (t.apply is not None or t.priority is not None):
                calls += [("round_kernels", "expand")]
        else:
            name = schedule(self.options, words, self.graph.wide, t.all)
            number = 1 + [*SCHEDULES].index(name)
            calls = self.kernels.edges(name, bool(pulls), fused=True, words=words)
        if (pulls or self.options.sweeps) and not (t.all or marked):
            self._bits()
        if t.apply is not None:
            calls += [("round_kernels", "lower" if listed else "vertex_phase")]
        for call in calls:
            self.kernels.launch(*call, fused=True)
        return number

    def _marked(self, fused: bool) -> bool:
        """Return True if the next round folds only rows that are marked along the out-edges of active vertices.

        Support is taken off in every round after the first, or not at all (``mark_rows.cuh``).
        """
        t, words = self.traced, self.words
        if t.row_reducer is None or t.all or self.local.mirrors:
            return False
        if fused and falls_below_ceiling(t):
            self._supported |= bool(words[control.ROUND] == 0)
            return self._supported and bool(words[control.ROUND] > 0)
        return bool(MARKED * words[control.LOCAL_EDGES] < self.graph.edges)

    def _pull(self, marked: bool, listed: bool = False) -> list[tuple]:
        """Return the launches of a pull over whole rows.

        Where a row's keys all differ, MODE takes the smallest.
        """
        t, words, kernels = self.traced, self.words, self.kernels
        if t.row_reducer is None:
            return [*kernels.pull_launches(), *kernels.join_launches * t.all]
        distinct = t.program.distinct and words[control.ROUND] == 0 and not self.local.repeats
        return kernels.fold_launches(marked, bool(distinct), listed)

    @property
    def _pulls_rows(self) -> bool:
        """True if pulls walk whole rows without a schedule; row reducers always do."""
        return self.options.schedule not in SCHEDULES or self.traced.row_reducer is not None

    @property
    def _pulls_all(self) -> bool:
        """True if the first round of a program over all vertices pulls, as ``round_end.cuh`` chooses."""
        return bool(self._first_words[control.FORCED] != control.FORCE_PUSH)

    def _bits(self) -> None:
        """Make the frontier's bitmap, unless the last pull returned one."""
        if self.words[control.BITS]:
            return
        self.device.clear(self.arrays.bits[int(self.words[control.BITS_SWAPPED])])
        self.kernels.launch("round_kernels", "set_bits", fused=self.local.mirrors == 0)
