"""Raw edges: a rank's slice of an input as it was read, before ``clean.py`` makes rows of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dgraph.graph.block import LoadFacts
from dgraph.graph.edge_attributes import Attributes
from dgraph.graph.ids import VertexIds


@dataclass
class RawEdges:
    """This rank's share of the edges as listed.

    Attributes:
        src, dst: original ids, int64 or uint32, shape (edges here,); one dtype on all ranks.
        weights: int32, int64, float32 or float64 in the same order, or None (on all ranks).
        directed: False if each listed edge goes both ways.
        n: vertices, with ids ``base .. base + n - 1``; None: the ids that occur are the vertices.
        base: smallest original id, if ``n`` is given.
        vertices: this rank's share of the vertices, if the input lists them apart from the edges.
        extra: this rank's share of further vertices beside those that occur, if ``n`` is None.
        mirrored: True if the graph is undirected and both arcs of every edge are listed (``directed`` is False).
        disposable: True if the arrays may be overwritten.
        in_range: True if all ids are known to be of vertices, where ``n`` is given.
        halves: True if each edge counts once where ``merge`` finds both arcs of every edge listed.
        parallel: True if parallel edges are part of the graph, and are kept regardless of the options.
        vertices_at, edges_at: for messages, the place in the input of the second listing of a vertex id, and of an edge
            that ends at an id.
        ids: the id map of the input, if ids are not integers of the input.
        attributes: columns that are kept, in the order of ``src``; the same on all ranks.
        why: reason for ``directed``, for the load line.
        ends: names of ``src`` and ``dst`` in messages.
        facts: name, notes and defaults that the input gives; :func:`assemble` fills in the counts.
    """

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None = None
    directed: bool = True
    n: int | None = None
    base: int = 0
    vertices: np.ndarray | None = None
    extra: np.ndarray | None = None
    mirrored: bool = False
    disposable: bool = False
    in_range: bool = False
    parallel: bool = False
    halves: bool = True
    vertices_at: Callable[[int], str] | None = None
    edges_at: Callable[[int], str] | None = None
    ids: VertexIds | None = None
    attributes: Attributes = field(default_factory=dict)
    why: str = ""
    ends: tuple[str, str] = ("source", "target")
    facts: LoadFacts = field(default_factory=LoadFacts)
