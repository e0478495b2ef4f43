"""Division of a rank's wall time into phases that do not overlap: the terms of the time line, the page, the verdict."""

from __future__ import annotations

from dgraph.report.fields import FIELDS

TERMS = tuple(field for field in FIELDS if field.inside)
PARTS = tuple(field.name for field in TERMS if field.inside == "rounds")
NAMES = (*(field.name for field in TERMS), "other")
"""Timers in the order in which a run passes through them. ``solve`` appears as its parts."""

BEFORE = NAMES[: NAMES.index(PARTS[0])]
AFTER = NAMES[NAMES.index(PARTS[-1]) + 1 : -1]


def split(rank: dict) -> dict[str, float]:
    """Return the seconds of one entry of ``ranks`` by name of ``NAMES``; they add up to its wall time.

    ``other`` is the time that no timer saw.
    """
    spent = {name: rank["seconds"].get(name, 0.0) for name in NAMES[:-1]}
    return spent | {"other": max(rank["seconds"]["wall"] - sum(spent.values()), 0.0)}


def in_rounds(rank: dict) -> float:
    """Return the seconds that one entry of ``ranks`` spent in rounds: the sum of ``PARTS``."""
    return sum(rank["seconds"].get(part, 0.0) for part in PARTS)


def mean(values: list[float]) -> float:
    """Return the mean of a non-empty list."""
    return sum(values) / len(values)


def means(report: dict) -> dict[str, float]:
    """Return :func:`split` averaged over ranks."""
    splits = [split(rank) for rank in report["ranks"]]
    return {name: mean([one[name] for one in splits]) for name in NAMES}


def rounds_time(report: dict) -> float:
    """Return the seconds in rounds of the slowest rank: the time of a run's headline."""
    return max(map(in_rounds, report["ranks"]))
