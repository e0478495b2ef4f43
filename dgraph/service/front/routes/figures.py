"""Figures of a job's result as SVG, by the drawings of ``Result.plot``; they block: use threads.

Rows come from the file of a result, rounds and residuals from its report. Sizes are bounded: rows that are read, points
that are drawn, and pixels.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.result.result_picture import BY_COLUMN, OF_ROUNDS, plotted
from dgraph.service.front.result_encodings import table

MOST_ROWS = 1 << 24
"""Largest result of which a column is drawn: sorting its values takes about two seconds."""

MOST_POINTS = 1 << 13
"""Most distinct values of a profile, each of which is a point."""

HEIGHT = 260
"""Pixels."""

LEAST_WIDTH, MOST_WIDTH = 240, 1600
"""Pixels."""

PIXELS_A_LABEL = 80
"""Least distance of two labels of the horizontal axis."""

INK = {"light": ("#1c2330", "#596275", "#d9dde4"), "dark": ("#e6e9ef", "#a3adbd", "#4a5361")}
"""Scheme → colours of titles, of labels and of lines, those of the page."""


@dataclass(frozen=True, eq=False)
class DrawnResult:
    """Part of a result that :func:`~dgraph.result.result_picture.plotted` reads.

    Attributes:
        algorithm: its name.
        report: report of the run; {} if it kept none.
        comm: of one rank.
    """

    algorithm: str
    report: Mapping[str, Any]
    comm: SerialComm = field(default_factory=SerialComm)
    nullable = ()


def column_of(path: Path, column: str, kind: str | None) -> np.ndarray:
    """Return the values of a column of a result's file, without nulls.

    Raises:
        UsageError: names, or more values than a profile shows.
    """
    import pyarrow

    values = table(path)[column]
    if pyarrow.types.is_large_string(values.type) or pyarrow.types.is_string(values.type):
        raise UsageError(f"got the column {column}, which holds names; give a column of numbers")
    numbers = values.drop_null().combine_chunks().to_numpy(zero_copy_only=False)
    if (kind or BY_COLUMN.get(column)) == "profile" and (points := np.unique(numbers).size) > MOST_POINTS:
        raise UsageError(
            f"got the kind profile of {column}, which has {points:,} distinct values, and a figure shows at most "
            f"{MOST_POINTS:,}; give the kind values"
        )
    return numbers


def drawn(result: DrawnResult, values: np.ndarray, kind: str | None, column: str, width: int, scheme: str) -> bytes:
    """Return a figure as SVG; its lengths are CSS pixels, its title is in its metadata.

    Args:
        result: the algorithm and the report.
        values: of the column.
        kind: as of :meth:`dgraph.Result.plot`.
        column: name of the column.
        width: pixels.
        scheme: "light" or "dark": colours of text on the page's background, which shows through.

    Raises:
        UsageError: matplotlib is not installed, no such kind, or the report has no rounds or residuals.
    """
    matplotlib, canvas = extra("matplotlib", "a figure"), extra("matplotlib.figure", "a figure")
    ticker = extra("matplotlib.ticker", "a figure")
    ink, soft, line = INK[scheme]
    style = {
        "svg.fonttype": "none", "svg.hashsalt": "dgraph", "font.size": 11, "axes.labelsize": 11, "text.color": ink,
        "xtick.labelsize": 11, "ytick.labelsize": 11, "legend.fontsize": 11,
        "axes.labelcolor": soft, "xtick.color": line, "ytick.color": line, "xtick.labelcolor": soft,
        "ytick.labelcolor": soft, "axes.edgecolor": line, "axes.spines.top": False, "axes.facecolor": "none",
        "figure.facecolor": "none", "savefig.facecolor": "none",
    }  # fmt: skip
    with matplotlib.rc_context(style):
        figure = canvas.Figure(figsize=(width / 72, HEIGHT / 72), dpi=72, layout="constrained")
        ax = figure.add_subplot()
        plotted(result, values, kind, column, ax, 0)
        title = ax.get_title()
        ax.set_title("")
        for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
            if axis.get_scale() != "linear":  # the exponents of 10ⁿ would be too small to read
                axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
                axis.set_minor_formatter(ticker.NullFormatter())
        if ax.get_xscale() == "linear":
            whole = kind in OF_ROUNDS or values.dtype.kind != "f"
            ax.xaxis.set_major_locator(ticker.MaxNLocator(max(width // PIXELS_A_LABEL, 2), integer=whole))
        if ax.get_yscale() == "linear" and kind not in OF_ROUNDS:  # vertices
            ax.yaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Title": title})
    return re.sub(rb'width="([\d.]+)pt" height="([\d.]+)pt"', rb'width="\1" height="\2"', file.getvalue(), count=1)
