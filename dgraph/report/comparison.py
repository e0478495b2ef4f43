"""Comparison of runs: time, speed-up and efficiency of those that solved the same problem.

Main entries: :func:`compare` for the figures, :func:`comparison` for their text. The page draws the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dgraph.report.style import solving
from dgraph.report.tables import short_name
from dgraph.report.text_lines import aligned, size


@dataclass(frozen=True)
class Row:
    """One run in a comparison.

    Attributes:
        label: algorithm and graph.
        ranks: number of ranks.
        seconds: from a graph in memory to the answer, without compilation, of the slowest rank.
        compute: max over ranks in seconds; the rest of ``seconds`` is communication that nothing overlaps.
        imbalance: max / mean of compute over ranks; 1 is even.
        bytes: sent by all ranks together.
        memory: peak of the rank that used most, in bytes.
        group: number of the problem; runs of one group solved the same one.
        speedup: time of the run with the fewest ranks in its group / time of this one.
        efficiency: speed-up / (ranks / ranks of that run).
    """

    label: str
    ranks: int
    seconds: float
    compute: float
    imbalance: float
    bytes: int
    memory: int
    group: int
    speedup: float
    efficiency: float


def compare(reports: Sequence[dict]) -> list[Row]:
    """Return a row for each run, in the order given."""
    problems = [_problem(report) for report in reports]
    groups = list(dict.fromkeys(problems))
    rows = []
    for report, problem in zip(reports, problems, strict=True):
        first = min(
            (other for other, known in zip(reports, problems, strict=True) if known == problem),
            key=lambda other: (len(other["ranks"]), solving(other)),
        )
        ranks, seconds = len(report["ranks"]), solving(report)
        compute = [rank["seconds"].get("compute", 0.0) for rank in report["ranks"]]
        speedup = solving(first) / seconds if seconds else 1.0
        rows.append(
            Row(
                label=f"{report['algorithm'].get('name', '?')} on {short_name(report['graph'].get('name', '?'))}",
                ranks=ranks,
                seconds=seconds,
                compute=max(compute),
                imbalance=max(compute) * len(compute) / sum(compute) if any(compute) else 1.0,
                bytes=sum(peer["bytes"] for rank in report["ranks"] for peer in rank["sent"]),
                memory=max(rank["peak_memory_bytes"] for rank in report["ranks"]),
                group=groups.index(problem),
                speedup=speedup,
                efficiency=speedup * len(first["ranks"]) / ranks,
            )
        )
    return rows


def comparison(reports: Sequence[dict]) -> str:
    """Return the rows as text, with a warning where the runs did not solve the same problem."""
    rows = compare(reports)
    several = len({row.group for row in rows}) > 1
    head = ["run", "ranks", "seconds", "compute", "rest", "imbalance"]
    head += ["bytes sent", "peak memory", "speed-up", "efficiency"]
    lines: list[list[str] | None] = [head, None]
    for number, row in enumerate(rows, 1):
        lines.append(
            [
                f"{number}{chr(ord('a') + row.group % 26) if several else ''}", str(row.ranks), f"{row.seconds:.4f}",
                f"{row.compute:.4f}", f"{max(row.seconds - row.compute, 0):.4f}", f"{row.imbalance:.2f}",
                size(row.bytes), size(row.memory), f"{row.speedup:.2f}", f"{row.efficiency:.0%}",
            ]
        )  # fmt: skip
    text = [f"{number:3}  {row.label}" for number, row in enumerate(rows, 1)]
    blocks = ["\n".join(text), "\n".join(aligned(lines))]
    if several:
        blocks.append("runs of different letters differ in graph, algorithm or parameters: compare within a letter")
    return "\n\n".join(blocks)


def _problem(report: dict) -> str:
    """Return a key that runs share if their times are comparable: algorithm, parameters and graph."""
    algorithm, graph = report["algorithm"], report["graph"]
    parameters = sorted((name, str(value)) for name, value in algorithm.get("parameters", {}).items())
    return str((algorithm.get("name"), parameters, graph.get("fingerprint") or graph.get("name")))
