"""ProgramMachine: the part of a machine that reads its state from the control block that compiled rounds write."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from dgraph.backend.interface import SharedMachine
from dgraph.backend.snapshot import Snapshot
from dgraph.errors import UsageError
from dgraph.graph.local import LocalGraph

SHARED = {
    "round": "ROUND", "pull": "MODE", "active": "TOTAL_ACTIVE", "edges": "TOTAL_EDGES", "unexplored": "UNEXPLORED",
    "bucket": "BUCKET", "width": "WIDTH", "whole": "WHOLE", "done": "DONE",
}  # fmt: skip
"""Key of :attr:`Snapshot.shared` → name of its entry in the control block."""


class ProgramMachine(SharedMachine):
    """Machine base shared by all backends, for programs without a hand-written kernel.

    Attributes:
        layout: module with the indices of the control block.
        local: this rank's part of the graph.
        words: control block, int64, as of the end of the last call.
        pulls: True if it can pull.
    """

    layout: ModuleType
    local: LocalGraph
    words: np.ndarray
    pulls: bool

    @property
    def direction(self) -> str:
        """Direction of the next round: "push" or "pull"."""
        return "pull" if self.words[self.layout.MODE] == self.layout.PULL else "push"

    @property
    def done(self) -> bool:
        """True if the program has ended."""
        return bool(self.words[self.layout.DONE])

    @property
    def round(self) -> int:
        """Number of finished rounds."""
        return int(self.words[self.layout.ROUND])

    @property
    def active(self) -> int:
        """Masters of this rank in the next frontier."""
        return self.local.masters if self.traced.all else int(self.words[self.layout.ACTIVE])

    @property
    def edges(self) -> int:
        """Their out-edges in the whole graph."""
        return int(self.words[self.layout.EDGES])

    @property
    def bucket(self) -> int:
        """Highest bucket opened so far."""
        return int(self.words[self.layout.BUCKET])

    @property
    def total_active(self) -> int:
        """Vertices in the next frontier, over all ranks."""
        return int(self.words[self.layout.TOTAL_ACTIVE])

    @property
    def total_edges(self) -> int:
        """Out-edges of the next frontier, over all ranks."""
        return int(self.words[self.layout.TOTAL_EDGES])

    @property
    def waiting(self) -> int:
        """Masters in the far bucket, stale entries included."""
        return int(self.words[self.layout.FAR])

    def globals(self) -> dict[str, int | float]:
        """Return the values of the globals by name."""
        integers, floats = self._globals()
        return {
            name: float(floats[i]) if g.dtype == "float64" else int(integers[i])
            for i, (name, g) in enumerate(self.traced.globals.items())
        }

    @abstractmethod
    def _globals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the globals on the host: int64 and float64 arrays with one entry per global each."""

    def snapshot(self) -> Snapshot | None:
        """Return the state between two rounds."""
        integers, floats = self._globals()
        count = max(len(self.traced.globals), 1)
        shared: dict[str, Any] = {name: int(self.words[getattr(self.layout, word)]) for name, word in SHARED.items()}
        shared |= {"integers": integers[:count].tolist(), "floats": [x.hex() for x in floats[:count].tolist()]}
        active, waiting = (np.zeros(self.local.masters, np.uint8) for _ in range(2))
        if not self.traced.all:
            active[self._active()] = 1
        if self.traced.priority is not None:
            waiting[self._waiting()] = 1
        return Snapshot(dict(self.fields()), active, waiting, shared)

    def restore(self, kept: Snapshot) -> None:
        """Resume from a snapshot, in a direction that this run allows."""
        layout, masters = self.layout, self.local.masters
        for name, values in kept.fields.items():
            self.state[name][:masters] = values
        words = {getattr(layout, word): kept.shared[name] for name, word in SHARED.items()}
        words[layout.WIDTH] = min(words[layout.WIDTH], layout.MOST_BUCKETS)
        forced = self.words[layout.FORCED]
        if forced == layout.FORCE_PUSH or not self.pulls:
            words[layout.MODE] = layout.PUSH
        elif forced == layout.FORCE_PULL:
            words[layout.MODE] = layout.PULL
        integers = np.array(kept.shared["integers"], np.int64)
        floats = np.array([float.fromhex(text) for text in kept.shared["floats"]])
        self._set_state(words, integers, floats, np.flatnonzero(kept.waiting).astype(np.uint32))
        if not self.traced.all:
            self._set_frontier(np.flatnonzero(kept.active).astype(np.uint32))

    @abstractmethod
    def _active(self) -> np.ndarray:
        """Return the lids of active masters, from the queue or the bitmap."""

    @abstractmethod
    def _waiting(self) -> np.ndarray:
        """Return the lids of masters in the far bucket."""

    @abstractmethod
    def _set_state(self, words: dict[int, int], integers: np.ndarray, floats: np.ndarray, waiting: np.ndarray) -> None:
        """Set entries of the control block, the globals, and the far bucket to ``waiting`` (lids)."""

    @abstractmethod
    def _set_frontier(self, lids: np.ndarray) -> None:
        """Make these masters the whole frontier."""

    def reset(self, lids: np.ndarray | slice) -> None:
        """Set sent accumulators back to their identity; those of idempotent monoids keep their values."""
        for name in self.traced.proposes:
            field = self.traced.fields[name]
            if not field.reduce.idempotent:  # type: ignore[union-attr]
                self.state[name][lids] = field.identity

    def _fill_given(self, initial: Mapping[str, np.ndarray]) -> None:
        """Write the ``given`` fields of masters and the identities of mirrors, before ``init`` runs.

        Raises:
            UsageError: a field with ``given=True`` has no values.
        """
        for name, field in self.traced.fields.items():
            if field.given and name not in self.traced.init:
                if name not in initial:
                    raise UsageError(
                        f"{type(self.traced.program).__name__}.{name} is given=True, but has no values; "
                        "pass them as state= of ctx.run"
                    )
                self._fill(name, initial[name])
            if self.local.mirrors:
                self._reset_mirrors(name, field.identity)

    def _fill(self, name: str, values: Any) -> None:
        """Write the masters' values of a field; take a host array that fits without a copy if it is only read."""
        masters, own = self.local.masters, self.state[name]
        program, changed = self.traced.program, (*self.traced.proposes, *(self.traced.apply or ()))
        written = self.local.mirrors or program.kernel or name in changed
        alike = type(own) is type(values) is np.ndarray and own.dtype == values.dtype and values.flags.carray
        if alike and not written:
            self.state = {**self.state, name: values[:masters]}
        else:
            own[:masters] = values[:masters]

    def _reset_mirrors(self, name: str, identity: int | float) -> None:
        self.state[name][self.local.masters :] = identity
