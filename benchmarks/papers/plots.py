"""One picture for each figure: the paper's points hollow, ours filled; bars from 0, points on a log axis, or lines."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.figure import CUDA, EMULATED, Figure, Row

COLORS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#ee8866", "#000000", "#44bb99",
    "#99ddff", "#ffaabb", "#eedd88", "#777777",
)  # fmt: skip
COUNTED = {"ms": "block", "mteps": "block"}
"""Field that stands for a time under emulation."""


def draw(figure: Figure, paper: str, rows: Sequence[Row], runs: Sequence[Mapping[str, Any]], file: Path) -> bool:
    """Write the picture of a figure.

    Returns:
        False if no row has the field, or matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return False
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dgraph"
    from matplotlib.figure import Figure as Picture

    backend = next((b for b in (CUDA, "cpu", EMULATED) if any(_value(figure, row, b) for row in rows)), None)
    if backend is None:
        return False
    shown = [row for row in rows if _value(figure, row, backend)]
    systems = list(dict.fromkeys(row["system"].partition(" × ")[0] for row in shown))
    picture = Picture(figsize=(9, 3.4), layout="constrained")
    axes = picture.add_subplot()
    if figure.x:
        _lines(axes, figure, backend, shown, systems)
    else:
        _groups(axes, figure, backend, shown, systems)
    field = COUNTED.get(figure.plotted, figure.plotted) if backend == EMULATED else figure.plotted
    axes.set_ylabel(figure.columns.get(field, field))
    if figure.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    run = runs[shown[0]["run"]]
    place = run["device"] if backend == CUDA else f"{backend}, {run['processor']}"
    axes.set_title(f"{paper}, {figure.title}\n{place}; commit {run['commit'].split()[0]}", fontsize=9)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    file.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(file, metadata={"Date": None})
    return True


def _value(figure: Figure, row: Row, backend: str) -> float | None:
    field = COUNTED.get(figure.plotted, figure.plotted) if backend == EMULATED else figure.plotted
    return row.get(field) if row["backend"] == backend else None


def _groups(axes, figure: Figure, backend: str, rows: Sequence[Row], systems: Sequence[str]) -> None:
    groups = list(dict.fromkeys((row["graph"], row.get("work", "")) for row in rows))
    works = {work for _, work in groups}
    width = 0.8 / len(systems)
    for i, system in enumerate(systems):
        mine = [row for row in rows if row["system"] == system]
        places = [groups.index((row["graph"], row.get("work", ""))) - 0.4 + width * (i + 0.5) for row in mine]
        values = [_value(figure, row, backend) for row in mine]
        color = COLORS[i % len(COLORS)]
        if figure.log:
            axes.plot(places, values, "o", color=color, label=system, markersize=5)
        else:
            axes.bar(places, values, width, color=color, label=system)
        printed = [(x, row["paper"]) for x, row in zip(places, mine, strict=True) if _number(row, figure, backend)]
        if printed:
            axes.plot(*zip(*printed, strict=True), "o", color=color, markerfacecolor="none", markersize=6)
    names = [graph if len(works) == 1 else f"{graph}\n{work}" for graph, work in groups]
    axes.set_xticks(range(len(groups)), names, fontsize=7, rotation=30 if len(groups) > 6 else 0)


def _number(row: Row, figure: Figure, backend: str) -> bool:
    """Return True if the paper's number has the unit of the axis."""
    return backend == CUDA and figure.plotted == "ms" and isinstance(row.get("paper"), float | int) and (
        row["paper"] is not None and "paper's ms" in figure.columns.values()
    )  # fmt: skip


def _lines(axes, figure: Figure, backend: str, rows: Sequence[Row], systems: Sequence[str]) -> None:
    kinds = list(dict.fromkeys((row["graph"].rstrip(" 0123456789"), row.get("work", "")) for row in rows))
    if figure.x == "threshold":
        systems = [""]
    for k, (graph, work) in enumerate(kinds):
        for i, system in enumerate(systems):
            mine = sorted(
                (row for row in rows
                 if row["graph"].rstrip(" 0123456789") == graph and row.get("work", "") == work
                 and row["system"].startswith(system)),
                key=lambda row: row[figure.x],
            )  # fmt: skip
            label = " ".join(filter(None, [system, graph if len(kinds) > 1 else "", work if len(kinds) > 1 else ""]))
            axes.plot(
                [row[figure.x] for row in mine], [_value(figure, row, backend) for row in mine],
                "o-", color=COLORS[(i + k * len(systems)) % len(COLORS)], label=label, markersize=4,
            )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xlabel(figure.x)
