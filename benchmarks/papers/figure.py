"""``Figure`` and ``Claim``: what a file of a paper lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NUMBERS: dict[str, dict] = json.loads((Path(__file__).parent / "numbers.json").read_text())
"""Paper → what its text states: machine, graphs, figures, constants; null: the text does not say it."""

Row = dict[str, Any]
Cell = tuple[Row, Callable[[], Row]]
"""Key of a row (graph, work, system, …), and the function that measures it."""

CPU, CUDA, EMULATED = BACKENDS = ("cpu", "cuda", "emulated")


class NotTried(Exception):
    """A claim that the rows cannot decide; ``args[0]`` is the reason."""


@dataclass(frozen=True)
class Figure:
    """One table or figure of a paper.

    Attributes:
        name: as the paper counts it: F7, T3; or a word.
        title: what it shows.
        backends: those on which it means something.
        cells: called with a :class:`~benchmarks.papers.bench.Bench`: the rows that are to be measured.
        columns: fields of the table → the head of their column.
        plotted: field on the y axis; "" for no picture.
        log: points on a log axis, in place of bars from 0.
        x: field on the x axis, where it is a number: lines in place of bars.
    """

    name: str
    title: str
    backends: tuple[str, ...]
    cells: Callable[[Any], Iterator[Cell]]
    columns: Mapping[str, str]
    plotted: str = ""
    log: bool = False
    x: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Attributes:
        figure: the figure behind it.
        text: the claim, in the paper's sense.
        test: True or False with the numbers behind it; raises :class:`NotTried`.
        why: why it does not hold here, where rows say it.
    """

    figure: str
    text: str
    test: Callable[[Rows], tuple[bool, str]]
    why: Callable[[Rows], str] = lambda rows: ""


PANEL = ("figure", "graph", "work", "backend")
"""Fields that rows of systems to be compared share."""


@dataclass(frozen=True)
class Rows:
    """Rows of one paper, for the tests of claims."""

    rows: list[Row] = field(default_factory=list)

    def of(self, figure: str, **key: Any) -> list[Row]:
        """Return the rows of a figure whose fields equal those of ``key``, those of the paper's size first.

        Systems are compared at one size: rows of the paper's size count once all systems of that graph have them.
        """
        asked = key | {"figure": figure}
        mine = [row for row in self.rows if all(row.get(name) == value for name, value in asked.items())]
        return sorted(filter(self._comparable, mine), key=lambda row: row["scale"] != "full")

    def _comparable(self, row: Row) -> bool:
        if row["scale"] != "full":
            return True
        beside = [one for one in self.rows if all(one.get(name) == row.get(name) for name in PANEL)]
        small, full = ({one.get("system") for one in beside if one["scale"] == scale} for scale in ("small", "full"))
        return small <= full

    def among(self, *systems: str) -> Rows:
        """Return the rows of these systems alone, whose sizes then need not be those of other systems."""
        return Rows([row for row in self.rows if row.get("system") in systems])

    def value(self, column: str, figure: str, **key: Any) -> float:
        """Return one field of one row.

        Raises:
            NotTried: there is no such row, or it lacks the field.
        """
        for row in self.of(figure, **key):
            if row.get(column) is not None:
                return row[column]
            if row.get("note"):
                raise NotTried(row["note"].removeprefix("not tried: "))
        raise NotTried(f"{figure} was not measured with {', '.join(map(str, key.values()))}")

    def ms(self, figure: str, graph: str, work: str, system: str) -> float:
        """Return milliseconds on a GPU."""
        return self.value("ms", figure, graph=graph, work=work, system=system, backend=CUDA)

    def load(self, figure: str, graph: str, work: str, system: str) -> float:
        """Return the edges of the fullest block over the mean, on a GPU, or else counted under emulation."""
        key = {"graph": graph, "work": work, "system": system}
        counted = any("block" in row for row in self.of(figure, backend=CUDA, **key))
        return self.value("block", figure, backend=CUDA if counted else EMULATED, **key)

    def _on_gpu(self, figure: str, graph: str, work: str, system: str, *columns: str) -> list[float]:
        """Return fields of one row of a GPU."""
        key = {"graph": graph, "work": work, "system": system, "backend": CUDA}
        return [self.value(column, figure, **key) for column in columns]

    def split(self, figure: str, graph: str, work: str, *systems: str) -> str:
        """Return milliseconds of systems on a GPU: of kernels that walk edges + of the other kernels."""
        parts = []
        for system in systems:
            edges, others = self._on_gpu(figure, graph, work, system, "kernel_ms", "overhead_ms")
            parts.append(f"{system} {edges:.3g} + {others:.3g}")
        return f"{graph}: {', '.join(parts)}"

    def each_round(self, figure: str, graph: str, work: str, *systems: str) -> str:
        """Return rounds of systems on a GPU, and microseconds of one."""
        parts = []
        for system in systems:
            ms, rounds = self._on_gpu(figure, graph, work, system, "ms", "rounds")
            parts.append(f"{system} {rounds:,.0f} rounds of {1000 * ms / rounds:.0f} µs")
        return f"{graph}: {', '.join(parts)}"


def verdict(claim: Claim, rows: Rows) -> tuple[str, str, str]:
    """Return "held", "not held" or "not tried"; the numbers or the reason; and why it does not hold."""
    try:
        holds, numbers = claim.test(rows)
    except NotTried as reason:
        return "not tried", str(reason), ""
    if holds:
        return "held", numbers, ""
    try:
        return "not held", numbers, claim.why(rows)
    except NotTried:
        return "not held", numbers, ""


def all_of(*tests: tuple[bool, str]) -> tuple[bool, str]:
    """Return True if every test holds, and the numbers of all."""
    return all(holds for holds, _ in tests), "; ".join(numbers for _, numbers in tests)


def decided(tests: Iterable[Callable[[], tuple[bool, str]]]) -> tuple[bool, str]:
    """Return False if a test fails, whatever rows the others lack; else as :func:`all_of`."""
    results, lacking = [], None
    for test in tests:
        try:
            results.append(test())
        except NotTried as reason:
            lacking = reason
    failed = [numbers for holds, numbers in results if not holds]
    if lacking is not None and not failed:
        raise lacking
    return not failed, "; ".join(failed or [numbers for _, numbers in results])


def ratio(label: str, above: float, below: float, least: float = 1.0, most: float = float("inf")) -> tuple[bool, str]:
    """Test that ``above`` over ``below`` lies in a range."""
    quotient = above / below
    return least <= quotient <= most, f"{label} {above:.4g} / {below:.4g} = {quotient:.2f}"
