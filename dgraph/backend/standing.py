"""What every machine of a program's own rounds says of itself, off words that compiled rounds leave."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced


class Standing:
    """The part of a ``Machine`` that is the same on every backend.

    Attributes:
        layout: where numbers lie in ``words``.
        words: control words (int64) as they were when the last call ended.
        state: field → values by lid, masters before mirrors.
    """

    layout: ModuleType
    traced: Traced
    local: LocalGraph
    words: np.ndarray
    state: Mapping[str, Any]

    @property
    def direction(self) -> str:
        """Of the next round: push or pull."""
        return "pull" if self.words[self.layout.MODE] == self.layout.PULL else "push"

    @property
    def done(self) -> bool:
        return bool(self.words[self.layout.DONE])

    @property
    def round(self) -> int:
        """Rounds finished."""
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
    def total_active(self) -> int:
        """Masters in the next frontier, on all ranks."""
        return int(self.words[self.layout.TOTAL_ACTIVE])

    @property
    def total_edges(self) -> int:
        """Edges that leave them."""
        return int(self.words[self.layout.TOTAL_EDGES])

    @property
    def waiting(self) -> int:
        """Vertices in the far pile; some may be stale."""
        return int(self.words[self.layout.FAR])

    def globals(self) -> dict[str, int | float]:
        """The globals' values, the same on every rank."""
        integers, floats = self._globals()
        return {
            name: float(floats[i]) if g.dtype == "float64" else int(integers[i])
            for i, (name, g) in enumerate(self.traced.globals.items())
        }

    def _globals(self) -> tuple[np.ndarray, np.ndarray]:
        """Where they lie on the host, one word each in either array: int64, float64."""
        raise NotImplementedError

    def reset(self, lids: np.ndarray | slice) -> None:
        """Accumulators whose values were sent go back to their identity, unless combining twice does no harm."""
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
                self.state[name][:masters] = np.asarray(given[name][:masters])
            if self.local.mirrors:
                self.state[name][masters:] = field.identity
