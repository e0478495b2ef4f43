"""Pictures of a result: values, sizes of classes, profile of levels, rounds, convergence.

Ranks gather counts, not columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph._support.arguments import choice
from dgraph._support.pictures import (
    axes_of,
    draw_bins,
    draw_convergence,
    draw_counts,
    draw_profile,
    draw_rounds,
    write_picture,
)
from dgraph.comm.value_counts import class_sizes, counted, histogram
from dgraph.errors import UsageError
from dgraph.result.arrow_tables import missing

KINDS = ("values", "sizes", "profile", "rounds", "convergence")
"""Kinds of pictures of a result."""

OF_ROUNDS = ("rounds", "convergence")
"""Kinds that show what the report keeps of rounds, and no column."""

BY_COLUMN = {"labels": "sizes", "community": "sizes", "color": "sizes", "core_number": "profile", "truss": "profile"}
"""Column → kind of its picture; other columns are drawn by "values"."""

FEW = 1_000
"""Most distinct integers that have a bar each; of more, a histogram has bins."""


def plotted(
    result: Any, values: np.ndarray, kind: str | None, column: str, ax: Any, root: int, path: str | None = None
) -> Any:
    """Draw a picture on ``root``; return its axes there, and None elsewhere; collective.

    Args:
        result: the result.
        values: this rank's rows of the column, vertices as numbers.
        kind: one of ``KINDS``; None: by the column.
        column: name of the column.
        ax: matplotlib axes to draw on; None: those of a new figure.
        root: the rank that draws.
        path: file to write the figure to; None: none.

    Raises:
        UsageError: no such kind, no recorded rounds or residuals, or matplotlib is not installed.
    """
    with result.comm.together():
        chosen = BY_COLUMN.get(column, "values") if kind is None else kind
        kind = choice("kind", chosen, KINDS, "kind of picture")
        kept = kept_rounds(result.report, result.algorithm, kind) if kind in OF_ROUNDS else []
    figures = () if kind in OF_ROUNDS else _figures(kind, values, column, result)
    axes = None
    with result.comm.together():
        if result.comm.rank == root:
            tolerance = result.report["algorithm"]["parameters"].get("tol") if kind == "convergence" else None
            axes = _drawn(kind, column, figures, kept, tolerance, result.algorithm, ax)
            if path is not None:
                write_picture(axes, path)
    return axes


def kept_rounds(report: Mapping, algorithm: str, kind: str) -> list[Mapping]:
    """Return the rounds that a picture of a kind of ``OF_ROUNDS`` shows.

    Raises:
        UsageError: the report has none.
    """
    kept = report.get("rounds", {}).get("kept", [])
    if kind == "convergence":
        kept = [row for row in kept if "residual" in row]
        if not kept:
            raise UsageError(
                f"this run of {algorithm} recorded no residuals; run it with "
                "options=dgraph.Options(record='residual'), on the command line --record residual"
            )
    if not kept:
        raise UsageError(f"{algorithm} ran no rounds that were recorded; plot a column")
    return kept


def _figures(kind: str, values: np.ndarray, column: str, result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what a picture shows, equal on all ranks: values and counts, or edges of bins and counts; collective."""
    absent = missing(column, values, result.nullable)
    values, comm = values if absent is None else values[~absent], result.comm
    if values.dtype.kind == "f":
        return histogram(values[np.isfinite(values)], comm)
    values = values.astype(np.int64)
    if kind == "sizes":
        return class_sizes(values, comm)
    if kind == "profile" or comm.largest(np.unique(values).size) <= FEW:
        distinct, counts = counted(values, comm)
        if kind == "profile" or distinct.size <= FEW:
            return distinct, counts
    return histogram(values, comm)


def _drawn(
    kind: str, column: str, figures: tuple, kept: list[Mapping], tolerance: float | None, algorithm: str, ax: Any
) -> Any:
    words = {
        "convergence": (f"{algorithm}: convergence", "round", "residual"),
        "rounds": (f"{algorithm}: rounds", "round", "milliseconds on rank 0 (bars)"),
        "sizes": (f"{algorithm}: sizes of {column}", "vertices in a class", "classes"),
        "profile": (f"{algorithm}: vertices by {column}", f"{column} at least", "vertices"),
        "values": (f"{algorithm}: {column}", column, "vertices"),
    }
    axes = axes_of(ax, *words[kind])
    if kind == "rounds":
        draw_rounds(axes, kept)
    elif kind == "convergence":
        numbers, residuals = (np.array([row[name] for row in kept]) for name in ("round", "residual"))
        draw_convergence(axes, numbers, residuals, tolerance)
    elif kind == "profile":
        draw_profile(axes, *figures)
    elif figures[0].size > figures[1].size:
        draw_bins(axes, *figures)
    else:
        draw_counts(axes, figures[0], figures[1], logarithmic=kind == "sizes")
    return axes
