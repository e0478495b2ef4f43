"""Base class of the output formats of ``--format``, and the times that benchmark formats and comparisons share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dgraph.report.time_split import PARTS


class Style:
    """Printer of the runs of one command line on stdout; this one prints nothing.

    Rank 0 makes one object for each command line.
    """

    @classmethod
    def check(cls, algorithm: str, options: Mapping[str, Any]) -> None:
        """Refuse, before a graph is loaded, an algorithm or options that the format does not define.

        Raises:
            UsageError: the format is not defined for this algorithm, or not with these options and parameters.
        """

    def run(self, report: dict) -> None:
        """Print the report of a run that ended."""

    def end(self) -> None:
        """Print what follows the last run."""


CONSTRUCTION = ("partition", "build", "prepare")
"""Timers of graph construction: from cleaned edges to a partitioned graph that a program can run on."""


def slowest(report: dict, *timers: str) -> float:
    """Return the sum of ``timers`` in seconds, of the rank where it is largest."""
    return max(sum(rank["seconds"].get(timer, 0.0) for timer in timers) for rank in report["ranks"])


def solving(report: dict) -> float:
    """Return the seconds from a graph in memory to the answer, of the slowest rank.

    That is ``solve`` without ``compile`` and ``prepare``. ``compile`` is also that of the load, so that it may exceed
    ``solve``: no rank takes less than its rounds and the start of their programs.
    """
    before, inside = ("prepare", "compile"), ("init", *PARTS)
    return max(
        max(
            rank["seconds"]["solve"] - sum(rank["seconds"].get(timer, 0.0) for timer in before),
            sum(rank["seconds"].get(timer, 0.0) for timer in inside),
        )
        for rank in report["ranks"]
    )
