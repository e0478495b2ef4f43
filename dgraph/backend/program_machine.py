"""What every machine of a program's own rounds says of itself, off words that compiled rounds leave."""

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
"""Of :attr:`Portable.shared`, the control words that they are."""


class ProgramMachine(SharedMachine):
    """The part of a machine that is the same on every backend.

    Attributes:
        layout: where numbers lie in ``words``.
        words: control words (int64) as they were when the last call ended.
        pulls: whether it can walk edges backwards.
    """

    layout: ModuleType
    local: LocalGraph
    words: np.ndarray
    pulls: bool

    @property
    def direction(self) -> str:
        return "pull" if self.words[self.layout.MODE] == self.layout.PULL else "push"

    @property
    def done(self) -> bool:
        return bool(self.words[self.layout.DONE])

    @property
    def round(self) -> int:
        return int(self.words[self.layout.ROUND])

    @property
    def active(self) -> int:
        """Masters in the next frontier, on this rank."""
        return self.local.masters if self.traced.all else int(self.words[self.layout.ACTIVE])

    @property
    def edges(self) -> int:
        """Edges that leave them, in the whole graph."""
        return int(self.words[self.layout.EDGES])

    @property
    def bucket(self) -> int:
        return int(self.words[self.layout.BUCKET])

    @property
    def total_active(self) -> int:
        return int(self.words[self.layout.TOTAL_ACTIVE])

    @property
    def total_edges(self) -> int:
        return int(self.words[self.layout.TOTAL_EDGES])

    @property
    def waiting(self) -> int:
        return int(self.words[self.layout.FAR])

    def globals(self) -> dict[str, int | float]:
        integers, floats = self._globals()
        return {
            name: float(floats[i]) if g.dtype == "float64" else int(integers[i])
            for i, (name, g) in enumerate(self.traced.globals.items())
        }

    @abstractmethod
    def _globals(self) -> tuple[np.ndarray, np.ndarray]:
        """Where they lie on the host, one word each in either array: int64, float64."""

    def portable(self) -> Snapshot:
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
        at, masters = self.layout, self.local.masters
        for name, values in kept.fields.items():
            self.state[name][:masters] = values
        words = {getattr(at, word): kept.shared[name] for name, word in SHARED.items()}
        words[at.WIDTH] = min(words[at.WIDTH], at.MOST_BUCKETS)
        forced = self.words[at.FORCED]
        if forced == at.FORCE_PUSH or not self.pulls:
            words[at.MODE] = at.PUSH
        elif forced == at.FORCE_PULL:
            words[at.MODE] = at.PULL
        integers = np.array(kept.shared["integers"], np.int64)
        floats = np.array([float.fromhex(text) for text in kept.shared["floats"]])
        self._stand(words, integers, floats, np.flatnonzero(kept.waiting).astype(np.uint32))
        if not self.traced.all:
            self._wake(np.flatnonzero(kept.active).astype(np.uint32))

    @abstractmethod
    def _active(self) -> np.ndarray:
        """lids of active masters, however the frontier is held."""

    @abstractmethod
    def _waiting(self) -> np.ndarray:
        """lids of masters in the far bucket."""

    @abstractmethod
    def _stand(self, words: dict[int, int], integers: np.ndarray, floats: np.ndarray, waiting: np.ndarray) -> None:
        """Take in control words, globals, and lids for the far bucket."""

    @abstractmethod
    def _wake(self, lids: np.ndarray) -> None:
        """These masters, and no others, are the frontier."""

    def reset(self, lids: np.ndarray | slice) -> None:
        for name in self.traced.proposes:
            field = self.traced.fields[name]
            if not field.reduce.idempotent:  # type: ignore[union-attr]
                self.state[name][lids] = field.identity

    def _fill(self, given: Mapping[str, np.ndarray]) -> None:
        """Masters get ``given`` values of fields declared so, mirrors identities; before ``init``."""
        masters = self.local.masters
        for name, field in self.traced.fields.items():
            if field.given and name not in self.traced.init:
                if name not in given:
                    raise UsageError(f"{type(self.traced.program).__name__}.{name} is given=True, but no state has it")
                self.state[name][:masters] = given[name][:masters]
            if self.local.mirrors:
                self._empty_mirrors(name, field.identity)

    def _empty_mirrors(self, name: str, identity: int | float) -> None:
        self.state[name][self.local.masters :] = identity
