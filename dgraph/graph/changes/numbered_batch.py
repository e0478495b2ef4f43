"""Number the vertices of a change: gids of the edges to add and to remove, and the ids that the graph has then."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.change_record import shifted
from dgraph.graph.changes.edge_batch import EdgeBatch
from dgraph.graph.changes.merge_rows import ChangedArcs
from dgraph.graph.ids import ConsecutiveIds, VertexIds
from dgraph.graph.kept_columns import name_numbers
from dgraph.graph.names import decode_names

EMPTY = np.zeros(0, np.int64)

UNUSED_IDS = 16
"""Ids that no edge has, for each added edge, up to which a change may raise the largest id."""


@dataclass(frozen=True)
class NumberedChange:
    """A change by gid of the changed graph, equal on every rank.

    Attributes:
        ids: map of the changed graph.
        n: number of its vertices.
        below: for each new vertex the number of former gids below its gid, ascending, int64.
        remove: edges to remove, distinct.
        add: edges to add, as listed.
    """

    ids: VertexIds
    n: int
    below: np.ndarray
    remove: ChangedArcs
    add: ChangedArcs

    @property
    def new(self) -> np.ndarray:
        """Gids of the new vertices, ascending."""
        return self.below + np.arange(self.below.size)

    @property
    def shifts(self) -> bool:
        """True if former vertices have other gids."""
        return bool(self.below.size) and int(self.below[0]) + self.below.size < self.n


def numbered(
    ids: VertexIds, n: int, name: str, add: EdgeBatch, weights: np.ndarray | None, remove: EdgeBatch, comm: Comm
) -> NumberedChange:
    """Give the vertices of a change their gids; collective.

    Args:
        ids: the graph's map.
        n: the graph's vertices.
        name: the graph's name, for messages.
        add: edges to add; their ends become vertices.
        weights: of the edges to add, or None.
        remove: edges to remove.
        comm: communicator of the ranks.

    Raises:
        UsageError: an end of an edge to remove is not a vertex.
        DataError: an id to add below the smallest possible or far above all others.
    """
    ends = np.concatenate([remove.src, remove.dst]) if len(remove) else None
    gone = EMPTY if ends is None else _gids(ids, ends, comm)
    if (gone < 0).any():
        vertex = ends[np.flatnonzero(gone < 0)[0]]  # type: ignore[index]
        raise UsageError(f"remove: {_format_vertex(vertex)} is not a vertex of the graph {name}; leave its edges out")
    ends = np.concatenate([add.src, add.dst]) if len(add) else None
    came = EMPTY if ends is None else _gids(ids, ends, comm)
    below = EMPTY
    if (came < 0).any():
        fresh = np.unique(ends[came < 0])  # type: ignore[index]
        _check_range(ids, fresh, len(add), name)
        ids, below = ids.grown(fresh, comm)
        came = _gids(ids, ends, comm)  # type: ignore[arg-type]
    gone = shifted(gone, below)
    n += below.size
    src, dst = came.reshape(2, -1)
    return NumberedChange(
        ids, n, below, distinct_pairs(ChangedArcs(*gone.reshape(2, -1)), n), ChangedArcs(src, dst, weights)
    )


def _gids(ids: VertexIds, vertices: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the gids of vertices that all ranks have alike, -1 for others; collective, each rank looks a share up."""
    mine = np.array_split(vertices, comm.size)[comm.rank]
    numbers = mine
    if ids.names is not None:
        numbers = name_numbers(ids.names, mine, comm)
    return np.concatenate(comm.allgatherv(np.array(ids.to_gid(numbers, comm), np.int64)))


def _check_range(ids: VertexIds, fresh: np.ndarray, edges: int, name: str) -> None:
    """Refuse new ids below the smallest possible, or so far above that most vertices would have no edge.

    Args:
        ids: the graph's map.
        fresh: new ids, ascending and distinct.
        edges: edges to add.
        name: the graph's name, for messages.
    """
    if not isinstance(ids, ConsecutiveIds):
        return
    if fresh[0] < ids.base:
        raise DataError(f"add: the ids of {name} begin at {ids.base}, and an edge has {fresh[0]}; correct it")
    unused = int(fresh[-1]) + 1 - ids.base - ids.n - fresh.size
    if unused > UNUSED_IDS * edges:
        raise DataError(
            f"add: an edge has vertex {fresh[-1]}, and the graph {name}, whose ids end at {ids.base + ids.n - 1}, "
            f"would have the {unused:,} ids between that no edge has as vertices; {edges} edges may bring "
            f"{UNUSED_IDS * edges:,}. Correct the vertex, or load the graph with sparse_ids=True: then only the ids "
            "that occur are its vertices"
        )


def _format_vertex(vertex) -> str:
    return str(decode_names(np.array([vertex]))[0]) if isinstance(vertex, bytes) else str(vertex)


def pair_numbers(arcs: ChangedArcs, n: int) -> np.ndarray:
    """Return a number for each arc, the same for equal ends and ascending by source, then target: (k,)."""
    if n <= 1 << 32:
        return arcs.src.astype(np.uint64) * np.uint64(n) + arcs.dst.astype(np.uint64)
    return np.unique(np.stack([arcs.src, arcs.dst]), axis=1, return_inverse=True)[1].ravel()


def distinct_pairs(arcs: ChangedArcs, n: int) -> ChangedArcs:
    """Return one arc of each pair of ends, in their order."""
    return arcs[np.unique(pair_numbers(arcs, n), return_index=True)[1]]


def both_ways(edges: ChangedArcs) -> ChangedArcs:
    """Return the arcs of undirected edges: each in both directions, a loop once."""
    other = edges.src != edges.dst
    back = edges.reversed()[other]
    weights = None if edges.weights is None else np.concatenate([edges.weights, back.weights])
    return replace(
        edges, src=np.concatenate([edges.src, back.src]), dst=np.concatenate([edges.dst, back.dst]), weights=weights
    )
