"""A page for each paper, from its JSON: verdicts on its claims, then its figures as tables and pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers import plots
from benchmarks.papers.figure import CPU, CUDA, NUMBERS, Claim, Figure, Row, Rows, verdict

MOST_ROWS = 12
"""Rows of a table on a page; the file has the others."""
MOST_PARTS = 3
"""Numbers of the paper in a cell; likewise."""

HEAD = """# Paper {paper}: figures and claims

**For** researchers who compare with this paper. After this page you know which of its claims hold here.

{short}. The paper's machine: {machine}. In a checkout, `python -m benchmarks papers --paper {paper}` makes this page;
[all rows]({json}). Graphs are [generated stand-ins](../internals/papers.md) unless a row names a file. *cuda*: one GPU;
*emulated*: the CUDA text compiled as C++, whose counts are exact; *cpu*: this machine's ranks. Numbers beside a verdict
are milliseconds unless they say otherwise; under *why not*, of kernels that walk edges + of the other kernels.
"""


def write(
    paper: str, figures: Sequence[Figure], claims: Sequence[Claim], left_out: Sequence[str],
    document: Mapping[str, Any], results: Path, docs: Path,
) -> None:  # fmt: skip
    """Write the page of a paper, and the pictures ``results/papers-PAPER-FIGURE.svg``."""
    docs.mkdir(parents=True, exist_ok=True)
    rows = Rows(document["rows"])
    about = NUMBERS[paper]
    machine = about["machine"].get("gpu") or about["machine"].get("Bridges-Volta", {}).get("gpus") or "not in its text"
    short = about["short"][0].upper() + about["short"][1:]
    relative = Path(os.path.relpath(results, docs)).as_posix()
    text = [HEAD.format(paper=paper, short=short, machine=machine, json=f"{relative}/papers-{paper}.json")]
    verdicts = [verdict(claim, rows) for claim in claims]
    text += ["## Claims", "", f"{_counts([word for word, _, _ in verdicts])}.", ""]
    text += ["|figure|claim|verdict|numbers|why not|", "|-|-|-|-|-|"]
    for claim, (word, numbers, why) in zip(claims, verdicts, strict=True):
        text.append(f"|{claim.figure}|{claim.text}|**{word}**|{_short(numbers)}|{why}|")
    text += ["", "## Left out", "", *(f"- {line}" for line in left_out), "", "## Figures", ""]
    for figure in figures:
        mine = rows.of(figure.name)
        if not mine:
            continue
        text += [f"**{figure.title}.** {_machines(document['runs'], mine)}.", ""]
        name = f"papers-{paper}-{figure.name}.svg"
        if figure.plotted and plots.draw(figure, paper, mine, document["runs"], results / name):
            text += [f"![{figure.name}]({relative}/{name})", ""]
            on_cpus = [row for row in mine if row["backend"] == CPU and row.get("threads") == 1]
            if figure.x == "ranks" and on_cpus:
                columns = {name: head for name, head in figure.columns.items() if name != "system"}
                text += ["CPU ranks of one thread:", "", *_table(columns, on_cpus), ""]
        else:
            text += [*_table(figure.columns, mine), ""]
    (docs / f"{paper}.md").write_text("\n".join(text).rstrip() + "\n")


def _counts(words: Sequence[str]) -> str:
    """Return how many claims there are, and how many of each verdict."""
    parts = [f"{words.count(word)} {word}" for word in ("held", "not held", "not tried")]
    return f"{len(words)} claim{'s'[: len(words) != 1]}: {', '.join(parts)}"


def _machines(runs: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> str:
    """Return backend and machine of rows, each with the commits of a scale."""
    commits: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        run = runs[row["run"]]
        place = run.get("device") if row["backend"] == CUDA else run["processor"]
        scales = commits.setdefault(f"{row['backend']}: {place}", {})
        scales.setdefault(row["scale"], {})[run["commit"].split()[0]] = None
    return "; ".join(
        f"{machine}, " + ", ".join(f"{scale} at {' '.join(listed)}" for scale, listed in scales.items())
        for machine, scales in commits.items()
    )


def _short(numbers: str, most: int = 90) -> str:
    numbers = numbers.replace("|", "/").replace("\n", " ")
    return numbers if len(numbers) <= most else f"{numbers[: most - 1].rpartition(' ')[0]} …"


def _table(columns: Mapping[str, str], rows: Sequence[Row]) -> list[str]:
    shown = {name: head for name, head in columns.items() if any(row.get(name) is not None for row in rows)}
    lines = [f"|{'|'.join(shown.values())}|", "|-" * len(shown) + "|"]
    for row in rows[:MOST_ROWS]:
        cells = [cell(row.get(name)).replace("|", "\\|") for name in shown]
        if row.get("note"):
            cells[-1] = _short(row["note"])
        lines.append(f"|{'|'.join(cells)}|")
    if len(rows) > MOST_ROWS:
        lines += ["", f"{len(rows) - MOST_ROWS} more rows are in the file."]
    return lines


def cell(value: Any) -> str:
    """Return a value as a cell of a table."""
    match value:
        case None:
            return "–"
        case bool() | str():
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"
        case dict():
            skipped = ("generator", "strategy", "graph")
            shown = [f"{key} {cell(part)}" for key, part in value.items() if key not in skipped]
            return ", ".join(shown[:MOST_PARTS])
        case list():
            return ", ".join(map(cell, value))
    return str(value)
