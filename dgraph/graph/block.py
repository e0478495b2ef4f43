"""EdgeBlock: this rank's slice of a clean graph, and what the load found on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dgraph.graph.ids import VertexIds


@dataclass
class LoadFacts:
    """What the load line says: counts over the whole graph, equal on every rank."""

    name: str = "graph"
    loops: int = 0
    """self-loops found"""
    loops_kept: bool = False
    duplicates: int = 0
    """edges beyond the first between the same two ends (undirected: the same unordered pair)"""
    duplicates_kept: bool = False
    isolated: int = 0
    """vertices without an edge"""
    largest_degree: int = 0
    """largest out-degree (degree where undirected)"""
    lines_dropped: int = 0
    notes: list[str] = field(default_factory=list)
    """why the graph is directed or not, what was generated, and whatever else a careful user would ask"""
    warnings: list[str] = field(default_factory=list)
    """what was decided about the input and may be wrong: shown whatever else is not"""
    defaults: dict = field(default_factory=dict)
    """parameters that the input itself suggests, such as LDBC's source vertex"""


@dataclass
class EdgeBlock:
    """Rows ``first .. first + len(offsets) - 1`` of the whole graph's CSR; the ranks' blocks follow each other.

    Rows are sources, by gid. Within a row targets ascend; without ``keep_parallel`` none repeats. An undirected
    graph holds both arcs of every edge.

    Attributes:
        n: vertices in the whole graph.
        m: edges in the whole graph; an undirected edge counts once.
        arcs: entries of ``targets`` over all ranks (``2 m`` less the loops where undirected).
        first: gid of the first row here.
        offsets: int64, shape (rows + 1,), from 0.
        targets: uint32 where n ≤ 2**32, else int64; shape (arcs here,); gids.
        weights: int32, int64, float32 or float64, shape (arcs here,), or None: every edge weighs 1.
        directed: False where every arc has its reverse, of the same weight.
        ids: gid ↔ original id.
        known: the graph's fingerprint, where it is known: that of gids in the order of ids.
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
    known: str | None = None

    @property
    def weight_type(self) -> np.dtype | None:
        """The dtype of the weights; None: every edge weighs 1."""
        return None if self.weights is None else self.weights.dtype

    @property
    def rows(self) -> int:
        """Rows on this rank."""
        return len(self.offsets) - 1

    def sources(self) -> np.ndarray:
        """The source gid of every arc here, in the dtype of ``targets``."""
        rows = np.arange(self.first, self.first + self.rows, dtype=self.targets.dtype)
        return np.repeat(rows, np.diff(self.offsets))


@dataclass
class GraphFacts:
    """What is known of a graph whose rows are not at hand: as in :class:`EdgeBlock`."""

    n: int
    m: int
    arcs: int
    directed: bool
    weight_type: np.dtype | None
    ids: VertexIds
    facts: LoadFacts


def gid_type(n: int) -> np.dtype:
    """The dtype that gids of a graph of n vertices are stored in."""
    return np.dtype(np.uint32 if n <= 1 << 32 else np.int64)
