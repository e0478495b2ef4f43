"""Pictures of a graph: its degrees, or all of a small graph with vertices coloured by a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.arguments import choice
from dgraph._support.pictures import axes_of, draw_counts, draw_network, write_picture
from dgraph.comm.value_counts import counted
from dgraph.errors import UsageError

KINDS = ("degrees", "network")
"""Kinds of pictures of a graph."""

MOST_VERTICES = 400
"""Largest graph of which the picture "network" shows every vertex."""

SMALL = 200
"""Largest graph that is drawn as a network where no kind is named."""


def plotted(graph: Any, kind: str | None, color: str | None, ax: Any, path: str | None, root: int) -> Any:
    """Draw a picture on ``root``; return its axes there, and None elsewhere; collective.

    Args:
        graph: the graph.
        kind: one of ``KINDS``; None: "network" with a colour or for at most ``SMALL`` vertices, else
            "degrees".
        color: column of the graph whose values colour the vertices.
        ax: matplotlib axes to draw on; None: those of a new figure.
        path: file to write the figure to; None: none.
        root: the rank that draws.

    Raises:
        UsageError: no such kind or column, a graph too large, or matplotlib or NetworkX is not installed.
    """
    comm = graph.comm
    with comm.together():
        if kind is None:
            kind = "network" if color is not None or 0 < graph.n <= SMALL else "degrees"
        kind = choice("kind", kind, KINDS, "kind of picture")
        if kind == "network" and graph.n > MOST_VERTICES:
            raise UsageError(
                f"the graph has {graph.n:,} vertices, and a picture shows at most {MOST_VERTICES}; take a part, as by "
                "graph.ego(vertex, radius=1)"
            )
        if color is not None:
            choice("color", color, graph.columns, "column of the graph, by graph.with_columns, for color")
    if kind == "degrees":
        figures = counted(np.diff(graph.block.offsets), comm)
    else:
        edges, vertices = graph.to_networkx(root), _gathered(graph.vertices(), comm)
        classes = None if color is None else _gathered(graph.columns[color], comm)
    axes = None
    with comm.together():
        if comm.rank == root:
            if kind == "degrees":
                axes = axes_of(ax, "degrees", "out-degree" if graph.directed else "degree", "vertices")
                draw_counts(axes, *figures, logarithmic=True)
            else:
                axes = axes_of(ax, "", "", "")
                draw_network(axes, edges, vertices, classes)
            if path is not None:
                write_picture(axes, path)
    return axes


def _gathered(values: np.ndarray, comm: Any) -> np.ndarray:
    """Return a column of a small graph from all ranks; text has dtype object."""
    parts = comm.allgather_json(values.tolist())
    return np.array([value for part in parts for value in part], values.dtype)
