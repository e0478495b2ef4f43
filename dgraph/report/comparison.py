"""Comparison of runs: time, speed-up and efficiency of those that solved the same problem.

Main entries: :func:`compare` for the figures, :func:`comparison` for their text. The page draws the figures and shows
:func:`columns`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dgraph.report.fields import BYTES, COUNT, RANK, RUN, SECONDS, folded, read, shown_in
from dgraph.report.style import solving
from dgraph.report.tables import short_name
from dgraph.report.text_lines import aligned, count, durations, size
from dgraph.report.time_split import means, rounds_time

TRAITS = ("policy", "schedule", "backend", "transport", "threads", "direction", "sync", "resumed")
"""Choices in which runs of one problem may differ."""

SMALL = 0.02
"""Share of a run's time from which a phase has a column."""

RATIO, SHARE = "ratio", "share"
"""Units of figures that are computed from those of two runs or ranks."""


@dataclass(frozen=True)
class ComparedRun:
    """One run in a comparison.

    Attributes:
        label: algorithm and graph.
        ranks: number of ranks.
        seconds: from a graph in memory to the answer, without compilation, of the slowest rank.
        rounds: of these, those in rounds.
        imbalance: max / mean of compute over ranks; 1 is even.
        group: number of the problem; runs of one group solved the same one.
        speedup: time of the run with the fewest ranks in its group / time of this one.
        efficiency: speed-up / (ranks / ranks of that run).
        figures: fields that a comparison shows, by name: the max or the sum over ranks.
        traits: what runs may differ in, such as policy, backend, version and machine.
        phases: seconds by phase, mean of ranks.
    """

    label: str
    ranks: int
    seconds: float
    rounds: float
    imbalance: float
    group: int
    speedup: float
    efficiency: float
    figures: dict[str, float]
    traits: dict[str, str]
    phases: dict[str, float]

    @property
    def compute(self) -> float:
        """Max over ranks in seconds."""
        return self.figures["compute"]

    @property
    def bytes(self) -> int:
        """Bytes sent by all ranks together."""
        return int(self.figures["bytes sent"])

    @property
    def memory(self) -> int:
        """Peak of the rank that used most, in bytes."""
        return int(self.figures["peak memory"])


class ComparisonColumn(NamedTuple):
    """One column of a comparison: heading, unit, and a value for each run."""

    name: str
    unit: str
    values: list[float]


def compare(reports: Sequence[dict]) -> list[ComparedRun]:
    """Return a row for each run, in the order given."""
    problems = [_problem(report) for report in reports]
    groups = list(dict.fromkeys(problems))
    rows = []
    for report, problem in zip(reports, problems, strict=True):
        first = min(
            (other for other, other_problem in zip(reports, problems, strict=True) if other_problem == problem),
            key=lambda other: (len(other["ranks"]), solving(other)),
        )
        ranks, seconds = len(report["ranks"]), solving(report)
        compute = [rank["seconds"].get("compute", 0.0) for rank in report["ranks"]]
        speedup = solving(first) / seconds if seconds else 1.0
        rows.append(
            ComparedRun(
                label=f"{report['algorithm'].get('name', '?')} on {short_name(report['graph'].get('name', '?'))}",
                ranks=ranks,
                seconds=seconds,
                rounds=rounds_time(report),
                imbalance=max(compute) * len(compute) / sum(compute) if any(compute) else 1.0,
                group=groups.index(problem),
                speedup=speedup,
                efficiency=speedup * len(first["ranks"]) / ranks,
                figures={field.name: folded(field, report["ranks"]) for field in shown_in("comparison", RANK)}
                | {field.name: read(field, report) or 0 for field in shown_in("comparison", RUN)},
                traits=_traits(report),
                phases=means(report),
            )
        )
    return rows


def columns(rows: Sequence[ComparedRun]) -> list[ComparisonColumn]:
    """Return the columns of the comparison of ``rows``, from left to right."""
    shown = [
        ComparisonColumn(field.name, field.unit, [row.figures[field.name] for row in rows])
        for field in (*shown_in("comparison", RANK), *shown_in("comparison", RUN))
    ]
    compute, *others = sorted(shown, key=lambda column: column.name != "compute")
    scaling = [
        ComparisonColumn("speed-up", RATIO, [row.speedup for row in rows]),
        ComparisonColumn("efficiency", SHARE, [row.efficiency for row in rows]),
    ]
    several = len({row.ranks for row in rows}) > 1
    return [
        ComparisonColumn("ranks", COUNT, [row.ranks for row in rows]),
        ComparisonColumn("seconds", SECONDS, [row.seconds for row in rows]),
        compute,
        ComparisonColumn("communication", SECONDS, [max(row.rounds - row.compute, 0) for row in rows]),
        ComparisonColumn("imbalance", RATIO, [row.imbalance for row in rows]),
        *others,
        *(scaling if several else ()),
    ]


def differences(rows: Sequence[ComparedRun]) -> list[tuple[str, list[str]]]:
    """Return what runs differ in: the name of a trait, and its value in each run."""
    names = dict.fromkeys(name for row in rows for name in row.traits)
    values = [(name, [row.traits.get(name, "-") for row in rows]) for name in names]
    return [(name, cells) for name, cells in values if len(set(cells)) > 1]


def phases(rows: Sequence[ComparedRun]) -> list[ComparisonColumn]:
    """Return a column for each phase that takes a share of some run's time above ``SMALL``."""
    shown = [ComparisonColumn(name, SECONDS, [row.phases[name] for row in rows]) for name in rows[0].phases]
    wholes = [sum(row.phases.values()) for row in rows]
    return [
        column
        for column in shown
        if any(value > SMALL * whole for value, whole in zip(column.values, wholes, strict=True))
    ]


WRITTEN: dict[str, Callable[[float], str]] = {
    SECONDS: "{:.4f}".format, BYTES: size, COUNT: count, RATIO: "{:.2f}".format, SHARE: "{:.0%}".format,
}  # fmt: skip
"""Unit → text of a value."""


def comparison(reports: Sequence[dict]) -> str:
    """Return the rows as text, with a warning where the runs did not solve the same problem."""
    rows = compare(reports)
    several = len({row.group for row in rows}) > 1
    shown = columns(rows)
    names = [f"{number}{chr(ord('a') + row.group % 26) if several else ''}" for number, row in enumerate(rows, 1)]
    cells = [names, *([WRITTEN[column.unit](value) for value in column.values] for column in shown)]
    lines: list[list[str] | None] = [["run", *(column.name for column in shown)], None]
    lines += map(list, zip(*cells, strict=True))
    text = [f"{number:3}  {row.label}" for number, row in enumerate(rows, 1)]
    blocks = ["\n".join(text), "\n".join(aligned(lines))]
    if shown_phases := phases(rows):
        heads = ["run", *(column.name for column in shown_phases)]
        cells = [names, *(durations(column.values) for column in shown_phases)]
        blocks.append("\n".join(aligned([heads, None, *map(list, zip(*cells, strict=True))])))
    if unlike := differences(rows):
        lines = [["differs", *(f"run {name}" for name in names)], None, *([name, *values] for name, values in unlike)]
        blocks.append("\n".join(aligned(lines)))
    if several:
        blocks.append("runs of different letters differ in graph, algorithm or parameters: compare within a letter")
    return "\n\n".join(blocks)


def _traits(report: dict) -> dict[str, str]:
    """Return what a run was made with: choices, rounds, version, machine."""
    chosen = {choice["what"]: choice["taken"] for choice in report["choices"]}
    hosts = report["hosts"]
    return {
        **{what: chosen[what] for what in TRAITS if what in chosen},
        "rounds": f"{report['rounds']['count']:,}",
        "code": ", ".join(chosen[what] for what in ("rounds", "kernels") if what in chosen) or "compiled",
        "version": str(report.get("dgraph", "?")),
        "machine": ", ".join(sorted({f"{host['host']} ({host['cores']} cores)" for host in hosts})),
    }


def _problem(report: dict) -> str:
    """Return a key that runs share if their times are comparable: algorithm, parameters and graph."""
    algorithm, graph = report["algorithm"], report["graph"]
    parameters = sorted((name, str(value)) for name, value in algorithm.get("parameters", {}).items())
    return str((algorithm.get("name"), parameters, graph.get("fingerprint") or graph.get("name")))
