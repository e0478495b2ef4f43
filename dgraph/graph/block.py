"""``EdgeBlock``: this rank's slice of the clean graph's CSR, before a policy places it.

:class:`LoadFacts` holds what the load counted. ``build/clean.py`` makes blocks from raw edges, and
``build/local_graph.py`` turns a block and a placement into a ``LocalGraph``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dgraph.graph.edge_attributes import Attributes
from dgraph.graph.ids import VertexIds


@dataclass
class LoadFacts:
    """Counts and notes for the load line: over the whole graph, equal on every rank."""

    name: str = "graph"
    loops: int = 0
    """self-loops in the input"""
    loops_kept: bool = False
    duplicates: int = 0
    """edges beyond the first between the same two ends (undirected: the same unordered pair)"""
    duplicates_kept: bool = False
    merge: str = "min"
    """rule that gave the weights of merged parallel edges"""
    both_listed: bool = False
    """a directed graph merged by ``sum`` or ``count``: every arc was listed with its reverse of the same weight"""
    isolated: int = 0
    """vertices without an edge in either direction"""
    largest_degree: int = 0
    """largest out-degree (undirected: largest degree)"""
    lines_dropped: int = 0
    scanned_lines: int = 0
    """lines of text that the slower reader of any valid form read"""
    notes: list[str] = field(default_factory=list)
    """the reason for the direction, the generator's parameters, and other remarks on the load"""
    warnings: list[str] = field(default_factory=list)
    """guesses about the input that may be wrong; shown even when notes are not"""
    defaults: dict = field(default_factory=dict)
    """algorithm parameters that the input suggests, such as LDBC's source vertex"""


@dataclass
class EdgeBlock:
    """Rows ``first .. first + len(offsets) - 1`` of the whole graph's CSR; the ranks' blocks follow each other.

    Rows are sources, by gid. Within a row targets ascend; without ``keep_parallel`` they are distinct. An undirected
    graph stores both arcs of every edge.

    Attributes:
        n: vertices in the whole graph.
        m: edges in the whole graph; an undirected edge counts once.
        arcs: entries of ``targets`` over all ranks (``2 m`` less the loops if undirected).
        first: gid of the first row here.
        offsets: int64, shape (rows + 1,), from 0.
        targets: gids, shape (arcs here,); uint32 if n ≤ 2**32, else int64.
        weights: int32, int64, float32 or float64, shape (arcs here,); None if every edge weighs 1.
        directed: False if every arc has its reverse, of the same weight.
        ids: map between gids and original ids.
        facts: counts and notes of the load.
        fingerprint: of the graph with gids in the order of ids, if known before renumbering; else None.
        attributes: columns that are kept with the edges, in the order of ``targets``.
    """

    n: int
    m: int
    arcs: int
    first: int
    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    directed: bool
    ids: VertexIds
    facts: LoadFacts = field(default_factory=LoadFacts)
    fingerprint: str | None = None
    attributes: Attributes = field(default_factory=dict)

    @property
    def weight_type(self) -> np.dtype | None:
        """Dtype of the weights; None if every edge weighs 1."""
        return None if self.weights is None else self.weights.dtype

    @property
    def rows(self) -> int:
        """Number of rows on this rank."""
        return len(self.offsets) - 1

    def sources(self) -> np.ndarray:
        """Return the source gid of every arc here, in the dtype of ``targets``."""
        rows = np.arange(self.first, self.first + self.rows, dtype=self.targets.dtype)
        return np.repeat(rows, np.diff(self.offsets))


@dataclass
class GraphFacts:
    """Size, direction and ids of a graph whose rows are not in memory; fields as in :class:`EdgeBlock`."""

    n: int
    m: int
    arcs: int
    directed: bool
    weight_type: np.dtype | None
    ids: VertexIds
    facts: LoadFacts


def gid_type(n: int) -> np.dtype:
    """Return the dtype that stores the gids of n vertices: uint32 if n ≤ 2**32, else int64."""
    return np.dtype(np.uint32 if n <= 1 << 32 else np.int64)
