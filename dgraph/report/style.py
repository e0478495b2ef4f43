"""A style of output, and the times that those of benchmarks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Style:
    """Prints the runs of one command line on stdout; this one prints nothing."""

    @classmethod
    def check(cls, algorithm: str, options: Mapping[str, Any]) -> None:
        """Refuse, before a graph is loaded, what the style cannot say.

        Raises:
            UsageError: it is not defined for this algorithm, or not with these options and parameters.
        """

    def run(self, report: dict) -> None:
        """A run ended."""

    def end(self) -> None:
        """No run will follow."""


CONSTRUCTION = ("partition", "build", "prepare")
"""What becomes of edges before a program runs on them."""


def slowest(report: dict, *timers: str) -> float:
    """Seconds in ``timers`` together, of the rank that spent most."""
    return max(sum(rank["seconds"].get(timer, 0.0) for timer in timers) for rank in report["ranks"])


def solving(report: dict) -> float:
    """Seconds from a graph in memory to the answer on every rank, of the slowest rank; neither compilation is in it nor
    what prepares the graph for a program."""
    before = ("prepare", "compile")
    return max(
        rank["seconds"]["solve"] - sum(rank["seconds"].get(timer, 0.0) for timer in before) for rank in report["ranks"]
    )
