"""Comparison as an SVG or PNG picture, drawn with matplotlib (``pip install 'dgraph-analytics[plots]'``)."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.report.report_file import replacing
from dgraph.tools.balance.balance_table import ranks
from dgraph.tools.balance.measure import Cell

MOST_LOADS = 8
"""Maximum number of schedules whose load by thread block is drawn; of more, a sample from worst to best balance."""

BROKEN, MOST_RANKED = 6, 8
"""Multiple of the median at which a bar is truncated; maximum number of schedules whose ranks are drawn."""

PARTS = {"kernel": "#4477aa", "others": "#ee6677", "host": "#c9ccd2"}
KERNELS = ("#4477aa", "#ee8866", "#228833", "#ee6677", "#aa3377", "#ccbb44")


def matplotlib():
    """Import matplotlib.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise UsageError(
            f"--png and --svg draw with matplotlib, and {error}; pip install 'dgraph-analytics[plots]', or take --html"
        ) from error
    return matplotlib


def write_picture(cells: Sequence[Cell], about: dict[str, Any], path: str | os.PathLike, kind: str) -> None:
    """Draw time, ranks and loads into ``path``; ``kind``: png or svg.

    Raises:
        UsageError: matplotlib is not installed.
        OutputError: the system refused; no partial file remains.
    """
    matplotlib()
    from matplotlib.figure import Figure

    ran = [cell for cell in cells if cell.seconds is not None]
    loads = _some([cell for cell in ran if cell.load])
    rows, high = -(-len(loads) // 2), 1.2 + 0.26 * max(len(ran), 6)
    figure = Figure(figsize=(11, 0.4 + high + 1.9 * rows), layout="constrained")
    figure.suptitle(about["title"], fontsize=11)
    parts = [high, *[1.9 * rows] * bool(rows)]
    above, *below = figure.subfigures(len(parts), 1, height_ratios=parts, squeeze=False).ravel()
    times, axes = above.subplots(1, 2, width_ratios=[1.6, 1])
    _times(times, ran)
    if option := _swept(ran):
        _sweep(axes, ran, option)
    else:
        _ranks(axes, ran)
    if below:
        for panel, cell in zip(below[0].subplots(rows, 2, squeeze=False).ravel(), loads, strict=False):
            _load(panel, cell)
        for panel in below[0].axes[len(loads) :]:
            panel.set_axis_off()
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else None)
    replacing(Path(path), drawn.getvalue(), f"--{kind}")


def _times(axes, cells: Sequence[Cell]) -> None:
    """Draw bars of kernel time and overhead, as in 000 figures 7 and 8, and 001 figures 12 to 15."""
    left = np.zeros(len(cells))
    for name, colour in PARTS.items():
        width = np.array([_part(cell, name) for cell in cells]) * 1000
        axes.barh(np.arange(len(cells)), width, left=left, color=colour, label=name)
        left += width
    most = min(left.max(), BROKEN * float(np.median(left)))
    axes.set_xlim(0, 1.12 * most)
    for row, total in enumerate(left):
        over = total > most
        style = {"fontsize": 6, "va": "center", "color": "white" if over else "#1c2330"}
        axes.text(min(total, most) * 1.01, row, f"{'… ' if over else ''}{total:.3g}", **style)
    axes.set_yticks(np.arange(len(cells)), [cell.candidate.label for cell in cells], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.legend(fontsize=7, frameon=False)


def _part(cell: Cell, name: str) -> float:
    if name == "host":
        return max((cell.seconds or 0.0) - cell.kernel - cell.others, 0.0)
    return getattr(cell, name)


def _swept(cells: Sequence[Cell]) -> str:
    """Return the option that alone varies over three or more numbers; "" if there is none."""
    if len({cell.candidate.schedule for cell in cells}) != 1:
        return ""
    varied = [
        name
        for name in cells[0].candidate.options
        if len({cell.candidate.options[name] for cell in cells}) == len(cells)
    ]
    numbers = [isinstance(cell.candidate.options[varied[0]], int) for cell in cells] if len(varied) == 1 else []
    return varied[0] if sum(numbers) > 2 else ""


def _sweep(axes, cells: Sequence[Cell], option: str) -> None:
    """Draw time by the value of an option, with named values as horizontal lines, as in 002 section 6.1."""
    points = [(cell.candidate.options[option], 1000 * (cell.seconds or 0.0)) for cell in cells]
    numbers = [(value, time) for value, time in points if isinstance(value, int)]
    axes.plot(*zip(*numbers, strict=True), marker="o", markersize=3, linewidth=1)
    for value, time in points:
        if isinstance(value, str):
            axes.axhline(time, linewidth=0.8, linestyle="--", color="#667085", label=value)
            axes.legend(fontsize=7, frameon=False)
    axes.set_xscale("symlog", base=2, linthresh=1)
    shown = [value for value, _ in numbers][:: -(-len(numbers) // 8)]
    axes.set_xticks(shown, [f"{value:,}" for value in shown], rotation=30)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(option.replace("_", " "), fontsize=8)
    axes.set_ylabel("milliseconds", fontsize=8)
    axes.tick_params(labelsize=7)


def _ranks(axes, cells: Sequence[Cell]) -> None:
    """Draw the ranks by time, memory and lines, one line per schedule; low is good. As in 000 figure 9."""
    placed = [(places, cell) for cell, places in zip(cells, ranks(cells), strict=True) if None not in places]
    for places, cell in sorted(placed, key=lambda one: one[0][0] or 0)[:MOST_RANKED]:
        axes.plot((0, 1, 2), places, marker="o", markersize=3, linewidth=1, label=cell.candidate.label)
    axes.set_xticks((0, 1, 2), ("time", "memory", "lines"), fontsize=8)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylabel("place (1 is best)", fontsize=8)
    axes.legend(fontsize=5.5, frameon=False, ncols=2)


def _load(axes, cell: Cell) -> None:
    """Draw the edges of every thread block over all rounds, stacked by kernel, as in 002 figures 1 and 5."""
    kernels = cell.load["by_block"] if cell.load else {}
    blocks = max(map(len, kernels.values()))
    bottom = np.zeros(blocks)
    for (name, edges), colour in zip(kernels.items(), KERNELS, strict=False):
        column = np.pad(np.array(edges, float), (0, blocks - len(edges)))
        edge = {"edgecolor": colour, "linewidth": 0.6} if blocks > 100 else {}  # keeps one block among hundreds visible
        places = np.arange(blocks + 1) - 0.5
        axes.stairs(bottom + column, places, baseline=bottom, fill=True, facecolor=colour, label=name, **edge)
        bottom = bottom + column
    axes.axhline(bottom.mean(), color="#1c2330", linewidth=0.8, linestyle="--")
    axes.plot(bottom.argmax(), bottom.max(), marker="v", markersize=4, color="#1c2330")
    axes.set_title(f"{cell.candidate.label}: fullest ÷ mean {bottom.max() / max(bottom.mean(), 1):.2f}", fontsize=8)
    axes.set_xlim(-0.5 - 0.02 * blocks, 1.02 * blocks - 0.5)
    axes.set_ylim(0, bottom.max() * 1.05 or 1)
    axes.tick_params(labelsize=6)
    axes.set_xlabel("thread block", fontsize=6)
    axes.set_ylabel("edges", fontsize=6)
    if len(kernels) > 1:
        axes.legend(fontsize=6)


def _some(cells: list[Cell]) -> list[Cell]:
    """Return at most ``MOST_LOADS`` cells, evenly spaced from the worst to the best balance of blocks."""
    if len(cells) <= MOST_LOADS:
        return cells
    ordered = sorted(cells, key=lambda cell: -(cell.load["block"]["ratio"] or 0.0) if cell.load else 0.0)
    return [ordered[i] for i in np.linspace(0, len(ordered) - 1, MOST_LOADS).round().astype(int)]
