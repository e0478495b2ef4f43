"""Rule of a certificate, with its first violation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.errors import ValidationFailed

UNREACHED = np.iinfo(np.int64).max
"""Integer distance of an unreachable vertex."""


class Rule:
    """Rule under test on this rank.

    Attributes:
        name: printed with a violation.
        text: message of a violation; ``{names}`` are replaced by original ids and values.
        count: violations on this rank.
        gids: name → gid of the first violation.
        values: name → printed value of the first violation.
    """

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text
        self.count = 0
        self.gids: dict[str, int] = {}
        self.values: dict[str, str] = {}

    def test(self, bad: np.ndarray, gids: Mapping[str, np.ndarray], values: Mapping[str, np.ndarray]) -> Rule:
        """Count the violations and keep the first one, and return the rule.

        Call it in ascending order of vertices or arcs.

        Args:
            bad: bool array, True at a violation.
            gids: name in ``text`` → array of the shape of ``bad``.
            values: name in ``text`` → array of the shape of ``bad``.
        """
        hits = int(np.count_nonzero(bad))
        if hits and not self.count:
            first = int(np.argmax(bad))
            self.gids = {name: int(array[first]) for name, array in gids.items()}
            self.values = {name: printed(array[first]) for name, array in values.items()}
        self.count += hits
        return self

    def broken(self, names: Mapping[str, object], total: int = 1) -> ValidationFailed:
        """Make the error for the first violation; ``total`` is the number of violations over all ranks."""
        more = f"; {total - 1:,} more such" if total > 1 else ""
        return ValidationFailed(f"the answer is wrong by the rule '{self.name}': {self.text.format(**names)}{more}")


def printed(value: np.generic) -> str:
    """Format a value for a message."""
    return "unreached" if value == UNREACHED else str(value)
