"""``Version``: the record of changes that led to a graph, by which a run may start from an earlier answer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

REMEMBERED = 1 << 24
"""Edges of past changes that a graph remembers; older changes are forgotten, and answers before them start anew."""


@dataclass(frozen=True, eq=False)
class Version:
    """One state of a graph, equal on every rank.

    Attributes:
        before: the version that was changed; None for a graph that was loaded, and where the history is forgotten.
        added: original ids (numbers of names, as this version has them) of the edges added or changed, int64 (k, 2).
        removed: True if edges were removed.
        raised: True if some edge's weight rose.
        shift: for named vertices, how many names of ``before`` stand below each new name, ascending; else None.
        lineage: one object for all versions of a graph.
        remembered: edges of ``added``, here and before.
    """

    before: Version | None = None
    added: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    removed: bool = False
    raised: bool = False
    shift: np.ndarray | None = None
    lineage: object = field(default_factory=object)
    remembered: int = 0

    def after(self, added: np.ndarray, removed: bool, raised: bool, shift: np.ndarray | None) -> Version:
        """Return the version after a change."""
        total = self.remembered + len(added)
        if total > REMEMBERED:
            return Version(None, added, removed, raised, shift, self.lineage, len(added))
        return Version(self, added, removed, raised, shift, self.lineage, total)

    def since(self, earlier: Version) -> list[Version] | None:
        """Return the versions after ``earlier`` up to this one, oldest first; None if ``earlier`` is not before it."""
        versions: list[Version] = []
        version: Version | None = self
        while version is not None and version is not earlier:
            versions.append(version)
            version = version.before
        return None if version is None else versions[::-1]


def shifted(numbers: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return gids, or numbers of names, after new ones were inserted.

    Args:
        numbers: int64, any shape.
        positions: how many of the former numbers stand below each new one, ascending.
    """
    if not positions.size or not numbers.size:
        return numbers
    if positions[0] > numbers.max():
        return numbers
    return numbers + np.searchsorted(positions, numbers, side="right")
