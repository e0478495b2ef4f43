"""One rule of a certificate, and where it is broken first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.errors import ValidationFailed

UNREACHED = np.iinfo(np.int64).max
"""The integer distance of a vertex that no path reaches."""


class Rule:
    """A rule under test on this rank.

    Attributes:
        name: printed when it is broken, and in ``docs/validation.md``.
        text: what is wrong; ``{names}`` stand for original ids and for figures.
        count: places on this rank where it is broken.
        gids, values: of the first of them.
    """

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text
        self.count = 0
        self.gids: dict[str, int] = {}
        self.values: dict[str, str] = {}

    def test(self, bad: np.ndarray, gids: Mapping[str, np.ndarray], values: Mapping[str, np.ndarray]) -> None:
        """Note where ``bad`` (bool) is set. The first place is kept: test in ascending order.

        Args:
            gids, values: name → array of the shape of ``bad``: what ``text`` says of a place.
        """
        hits = int(np.count_nonzero(bad))
        if hits and not self.count:
            at = int(np.argmax(bad))
            self.gids = {name: int(array[at]) for name, array in gids.items()}
            self.values = {name: printed(array[at]) for name, array in values.items()}
        self.count += hits

    def broken(self, names: Mapping[str, object], total: int = 1) -> ValidationFailed:
        """The error that names the culprit; ``total``: how often the rule is broken over all ranks."""
        more = f"; {total - 1:,} more such" if total > 1 else ""
        return ValidationFailed(f"the answer is wrong by the rule '{self.name}': {self.text.format(**names)}{more}")


def printed(value: np.generic) -> str:
    """A figure, as messages have it."""
    return "unreached" if value == UNREACHED else str(value)
