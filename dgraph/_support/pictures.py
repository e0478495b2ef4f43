"""Drawings of gathered counts with matplotlib, which the extra ``plots`` brings; nothing here is collective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dgraph._support.arguments import instance
from dgraph._support.extras import extra
from dgraph.errors import OutputError, UsageError

COLOURS = ("#4477aa", "#ee8866", "#228833", "#aa3377", "#ccbb44", "#66ccee", "#ee6677", "#777777")
"""Colours of classes, taken in turn."""

MOST_BARS = 200
"""Most bars that are side by side; where values span more, a bar is as wide as this part of the span."""


def axes_of(ax: Any, title: str, x: str, y: str) -> Any:
    """Return ``ax``, or the axes of a new figure, with a title and labels.

    Raises:
        UsageError: matplotlib is not installed, or ``ax`` is something else.
    """
    if ax is not None:
        instance("ax", ax, extra("matplotlib.axes", "plot()").Axes, "matplotlib axes, or None")
    else:
        _, ax = extra("matplotlib.pyplot", "plot()").subplots(layout="constrained")
    ax.set(title=title, xlabel=x, ylabel=y)
    return ax


def write_picture(ax: Any, path: str) -> None:
    """Write the figure of axes to a file; the suffix names the format.

    Raises:
        UsageError: a format that matplotlib does not write.
        OutputError: the system refused.
    """
    try:
        ax.figure.savefig(path)
    except ValueError as refusal:
        raise UsageError(f"{path}: {refusal}; give .png, .svg or .pdf") from None
    except OSError as refusal:
        raise OutputError(f"{path} cannot be written: {refusal.strerror or refusal}") from None


def draw_counts(ax: Any, values: np.ndarray, counts: np.ndarray, logarithmic: bool) -> None:
    """Draw a point for each value and its count, both axes logarithmic; or a bar for each value."""
    if logarithmic:
        ax.plot(values, counts, ".", color=COLOURS[0])
        ax.set_xscale("symlog", linthresh=1)
        ax.set_yscale("log")
    else:
        width = max(1.0, float(np.ptp(values)) / MOST_BARS) if values.size else 1.0
        border = 0.3 if width == 1.0 else 0.0  # a white border hides bars of few pixels
        ax.bar(values, counts, width=width, color=COLOURS[0], edgecolor="white", linewidth=border)


def draw_bins(ax: Any, edges: np.ndarray, counts: np.ndarray) -> None:
    """Draw a histogram: int64 counts (bins,) between float64 edges (bins + 1,)."""
    ax.stairs(counts, edges, fill=True, color=COLOURS[0])


def draw_profile(ax: Any, values: np.ndarray, counts: np.ndarray) -> None:
    """Draw the number of vertices of each value or a larger one."""
    ax.step(values, np.cumsum(counts[::-1])[::-1], where="post", color=COLOURS[0])
    ax.set_yscale("log")


def draw_rounds(ax: Any, kept: Sequence[Mapping[str, Any]]) -> None:
    """Draw seconds of each kept round as a bar by direction, and the frontier's vertices as a line on a second axis."""
    numbers = np.array([row["round"] for row in kept])
    width = numbers[1] - numbers[0] if numbers.size > 1 else 1
    seconds = np.array([row["seconds"] for row in kept])
    directions = np.array([row["direction"] for row in kept])
    for direction, colour in zip(dict.fromkeys(directions.tolist()), COLOURS[1:], strict=False):
        mine = directions == direction
        ax.bar(numbers[mine], 1e3 * seconds[mine], width=0.9 * width, color=colour, label=direction)
    ax.legend(frameon=False)
    other = ax.twinx()
    other.plot(numbers, [row["frontier_vertices"] for row in kept], color=COLOURS[0], marker=".")
    other.set_yscale("symlog", linthresh=1)
    other.set_ylabel("frontier vertices (line)")


def draw_convergence(ax: Any, rounds: np.ndarray, residuals: np.ndarray, tolerance: float | None) -> None:
    """Draw residuals by round on a log axis, and the tolerance as a dashed line; a residual of 0 has no point there."""
    ax.plot(
        rounds, np.where(residuals > 0, residuals, np.nan), color=COLOURS[0], marker="." if rounds.size < 100 else ""
    )
    ax.set_yscale("log")
    if tolerance:
        ax.axhline(tolerance, color=COLOURS[1], linestyle="--", label=f"tol = {tolerance:g}")
        ax.legend(frameon=False)


MOST_LABELS = 80
"""Most vertices that a picture of a graph names."""


def draw_network(ax: Any, edges: Any, vertices: np.ndarray, classes: np.ndarray | None) -> None:
    """Draw a small graph, vertices coloured by class.

    Args:
        ax: the axes.
        edges: a ``networkx`` graph of the edges.
        vertices: ids or names, in the order of ``classes``.
        classes: a value for each vertex; equal values have one colour. None: one colour for all.

    Raises:
        UsageError: NetworkX is not installed.
    """
    networkx, effects = extra("networkx", "a picture of a graph"), extra("matplotlib.patheffects", "a picture")
    places = networkx.spring_layout(edges, seed=1)
    numbers = np.zeros(len(vertices), int) if classes is None else np.unique(classes, return_inverse=True)[1]
    colours = [COLOURS[number % len(COLOURS)] for number in numbers]
    listed = vertices.tolist()
    networkx.draw_networkx_nodes(edges, places, ax=ax, nodelist=listed, node_color=colours, node_size=180)
    networkx.draw_networkx_edges(edges, places, ax=ax, edge_color="#c9ccd2", node_size=180)
    if len(listed) <= MOST_LABELS:
        inside = max(len(str(vertex)) for vertex in listed) <= 3
        labels = networkx.draw_networkx_labels(
            edges, places, ax=ax, font_size=7, font_color="white" if inside else "#16181d"
        )
        for label in labels.values() if not inside else ():
            label.set_path_effects([effects.withStroke(linewidth=2, foreground="white")])
    ax.set_axis_off()
