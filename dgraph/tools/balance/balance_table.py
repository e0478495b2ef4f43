"""Comparison as plain text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dgraph.report.recorded import UNITS, children, ratio, spreads, tasks
from dgraph.report.text_lines import aligned, count, size
from dgraph.tools.balance.measure import Cell

SHOWN = 12
"""Rounds listed per schedule: the first, and those with the largest maximum of edges per thread block."""

NOTE = """\
ms: milliseconds of the rounds (median, without loading and compiling; of several sources their mean); M/s: million arcs
of reached vertices a second; kernel: in kernels that visit edges; others: in
other kernels; host: the remainder. memory: peak on the GPU, with the graph. block, warp, thread: maximum ÷ mean edges
over all rounds. lines: of the schedule's template. ranks: by time, memory and lines, 1 is best"""


def table(cells: Sequence[Cell]) -> str:
    """Format one line per schedule."""
    head = ["schedule", "ms", "M/s", "kernel", "others", "host", "rounds", "memory", *UNITS, "lines", "ranks"]
    lines: list[list[str] | None] = [head, None]
    for cell, places in zip(cells, ranks(cells), strict=True):
        if cell.seconds is None:
            lines.append([cell.candidate.label, *["-"] * (len(head) - 1)])
            continue
        host = max(cell.seconds - cell.kernel - cell.others, 0.0)
        rate = "-" if cell.rate is None else f"{cell.rate / 1e6:,.1f}"
        spread = [ratio(cell.load[unit]["ratio"]) if cell.load else "-" for unit in UNITS]
        lines.append(
            [
                cell.candidate.label, f"{1000 * cell.seconds:.3f}", rate,
                *(f"{1000 * s:.3f}" for s in (cell.kernel, cell.others, host)),
                count(cell.rounds), size(cell.memory), *spread,
                "-" if cell.candidate.lines is None else str(cell.candidate.lines),
                " ".join("-" if place is None else str(place) for place in places),
            ]
        )  # fmt: skip
    notes = [f"{cell.candidate.label}: {cell.note}" for cell in cells if cell.note]
    notes += [
        f"{cell.candidate.label}: WRONG, not the answer of {cells[0].candidate.label}"
        for cell in cells
        if not cell.right
    ]
    return "\n".join([*aligned(lines), *notes, "", NOTE])


def ranks(cells: Sequence[Cell]) -> list[tuple[int | None, int | None, int | None]]:
    """Rank every schedule by time, by memory and by lines of its template, the axes of 000's figure 9."""

    def places(values: Sequence[float | None]) -> list[int | None]:
        distinct = sorted({value for value in values if value is not None})
        return [None if value is None else 1 + distinct.index(value) for value in values]

    ran = [cell.seconds is not None for cell in cells]
    return list(
        zip(
            places([cell.seconds for cell in cells]),
            places([cell.memory if ok else None for cell, ok in zip(cells, ran, strict=True)]),
            places([cell.candidate.lines if ok else None for cell, ok in zip(cells, ran, strict=True)]),
            strict=True,
        )
    )


def detail(cell: Cell) -> str:
    """Format the load balance of one schedule: over all rounds, as a histogram of thread blocks, and by round."""
    if not cell.load:
        return f"{cell.candidate.label}: no edges were counted"
    parts = [
        f"{cell.candidate.label}: edges visited over all rounds",
        spreads(cell.load),
        histogram(cell.load["block"]),
    ]
    parts += [tasks(cell.queues)] if cell.queues else []
    parts += [children(cell.counts)] if "child_vertices" in cell.counts else []
    first, *rest = cell.series
    heaviest = sorted(rest, key=lambda row: -row[3])[: SHOWN - 1]
    lines: list[list[str] | None] = [["round", "schedule", "edges", "mean block", "fullest", "fullest/mean"], None]
    for number, schedule, edges, fullest, mean in sorted([first, *heaviest]):
        even = ratio(fullest / mean if mean else None)
        lines.append([count(number), schedule, count(edges), f"{mean:,.1f}", count(fullest), even])
    if len(cell.series) > SHOWN:
        lines.append(["..."] * 6)
    return "\n\n".join([*parts, "\n".join(aligned(lines))])


def histogram(spread: dict[str, Any]) -> str:
    """Format the number of thread blocks that visited 0, 1, 2 to 3, 4 to 7 … edges, without empty bins at the ends."""
    bins = spread["histogram"]
    shown = [number for number, many in enumerate(bins) if many]
    lines: list[list[str] | None] = [["edges of a block", "blocks", ""], None]
    most = max(bins)
    for row in range(shown[0], shown[-1] + 1):
        low, high = (0, 0) if row == 0 else (1 << (row - 1), (1 << row) - 1)
        bar = "#" * round(40 * bins[row] / most)
        lines.append([count(low) if low == high else f"{low:,} to {high:,}", count(bins[row]), f"{bar:<40}"])
    return "\n".join(line.rstrip() for line in aligned(lines))


def facts(cells: Sequence[Cell], about: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison as JSON-able data: ``about``, and one row per schedule."""
    rows = []
    for cell, places in zip(cells, ranks(cells), strict=True):
        row = {key: value for key, value in asdict(cell).items() if key not in ("candidate", "answer", "series")}
        row["told"] = row.pop("note")
        row |= {
            "label": cell.candidate.label,
            "schedule": cell.candidate.schedule,
            "options": dict(cell.candidate.options),
        }
        row |= {"overhead": cell.overhead, "lines": cell.candidate.lines}
        row["ranks"] = dict(zip(("time", "memory", "lines"), places, strict=True))
        names = ("round", "schedule", "edges", "fullest_block", "mean_block")
        row["rounds_kept"] = [dict(zip(names, one, strict=True)) for one in cell.series]
        rows.append(row)
    return {"version": 1, **about, "rows": rows}
