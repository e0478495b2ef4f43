"""Quality of a partition of a graph's vertices: modularity, constant Potts model, coverage, conductance, sizes.

Sums of integer weights are exact, and of float weights those of float64. A directed graph has NetworkX's definitions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dgraph._support.arguments import real, text
from dgraph.comm import Comm, collective
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.graph.names import decode_names
from dgraph.graph.subgraph import row_starts
from dgraph.result.partitions.label_columns import LabelColumn, RowLabels, label_column, opened
from partitioning.arrays import arcs

WEIGHT = "weight"
"""Name of the graph's weights."""


@collective
def modularity(graph: Any, labels: Any, *, resolution: float = 1.0, weight: str | None = WEIGHT) -> float:
    """Return the modularity of labels [Newman & Girvan 2004; Reichardt & Bornholdt 2006]; collective.

    It is NetworkX's, that of directed graphs too [Leicht & Newman 2008], and 0 if the weights sum to 0. leiden and
    louvain read a directed graph as its ``undirected()``.

    Args:
        graph: a graph, or what :func:`dgraph.run` takes for one: a file, a table of edges, a NetworkX graph.
        labels: label of each vertex, integers or text: a ``Result`` (its column ``labels``, else its first), an array
            by ascending id, a pair (vertices, labels), a dict, a pandas Series, or the name of a column of the graph,
            as of :meth:`Graph.with_columns`.
        resolution: weight of the expected arcs, finite and at least 0.
        weight: attribute of the edges; "weight" also names the graph's weights, 1 where it has none. None: every edge
            counts 1, as in NetworkX; a run, :func:`dgraph.run`, takes the graph's weights unless it names an attribute.

    Raises:
        UsageError: a vertex without a label, labels of another type, a graph of a service, weights below 0.
    """
    return _totals(graph, labels, weight).modularity(_resolution(resolution))


@collective
def constant_potts_model(graph: Any, labels: Any, *, resolution: float = 1.0, weight: str | None = WEIGHT) -> float:
    """Return the constant Potts model of labels [Traag, Van Dooren, Nesterov 2011]; collective.

    As in NetworkX 3.7: the weight within communities minus ``resolution`` times the sum of n²/2 over communities of n
    vertices, or of n² if the graph is directed. Arguments and errors are those of :func:`dgraph.modularity`.
    """
    return _totals(graph, labels, weight).potts(_resolution(resolution))


@collective
def coverage(graph: Any, labels: Any, *, weight: str | None = WEIGHT) -> float:
    """Return the share of the weight of all edges that lies within communities, 0 to 1; collective.

    1 if the weights sum to 0. Arguments and errors are those of :func:`dgraph.modularity`.
    """
    return _totals(graph, labels, weight).coverage()


@collective
def conductance(graph: Any, labels: Any, *, weight: str | None = WEIGHT) -> np.ndarray:
    """Return the conductance of each community, float64, by ascending label, on every rank; collective.

    The weight that leaves the community, over the smaller of its volume and that of the rest: 0 to 1 in undirected
    graphs, 0 if nothing leaves. As in NetworkX, edges of directed graphs count both ways, and volumes are of out-edges.
    Arguments and errors are those of :func:`dgraph.modularity`.
    """
    return _totals(graph, labels, weight).conductance()


@collective
def community_table(graph: Any, labels: Any, *, weight: str | None = WEIGHT) -> dict[str, np.ndarray]:
    """Return a row for each community by ascending label, on every rank; collective.

    Arguments and errors are those of :func:`dgraph.modularity`.

    Returns:
        Arrays ``label`` (int64, or str as dtype object), ``size`` in vertices (int64), ``inner``, the weight of the
        edges within it, ``volume``, the sum of its vertices' degrees (of out-edges if the graph is directed), and
        ``conductance`` (float64). Weights are int64 or float64.
    """
    totals = _totals(graph, labels, weight)
    inner = totals.inner if totals.directed else totals.inner // 2 if totals.exact else totals.inner / 2
    names = decode_names(totals.labels) if totals.labels.dtype.kind == "S" else totals.labels
    return {
        "label": names, "size": totals.sizes, "inner": inner, "volume": totals.leaving,
        "conductance": totals.conductance(),
    }  # fmt: skip


def _resolution(resolution: float) -> Fraction:
    value = real("resolution", resolution, 0)
    if math.isinf(value):
        raise UsageError("resolution is not finite; give a number of 0 or more")
    return Fraction(value)


def _totals(graph: Any, labels: Any, weight: str | None) -> CommunityTotals:
    whole = opened(graph)
    column = label_column("labels", labels, whole)
    ones = isinstance(weight, str) and weight == WEIGHT and whole.weight_type is None
    if weight is not None and not (ones and WEIGHT not in whole.edge_attributes):
        whole = whole.with_weight(text("weight", weight))
    return CommunityTotals.of(whole.block, column, whole.comm, weight is not None)


@dataclass(frozen=True)
class CommunityTotals:
    """Sums over the vertices of each label, equal on every rank.

    Attributes:
        labels: see :class:`LabelColumn`.
        sizes: vertices, int64.
        leaving: weight of the arcs from them; of an undirected graph with loops twice.
        entering: weight of the arcs to them.
        inner: weight of the arcs between them; of an undirected graph each edge twice.
        directed: True if edges go one way.
    """

    labels: np.ndarray
    sizes: np.ndarray
    leaving: np.ndarray
    entering: np.ndarray
    inner: np.ndarray
    directed: bool

    @classmethod
    def of(cls, block: EdgeBlock, column: LabelColumn, comm: Comm, weighted: bool = True) -> CommunityTotals:
        """Add up a graph; collective.

        Args:
            block: this rank's rows.
            column: labels of the rows.
            comm: the ranks.
            weighted: False if each edge counts 1.

        Raises:
            UsageError: a weight below 0, or not finite.
        """
        weights = block.weights if weighted else None
        kind = _kind(weights, comm)
        labels, count = RowLabels(column.numbers, row_starts(block, comm)), len(column.labels)
        leaving, entering, inner = np.zeros((3, count), kind)
        for number in range(arcs.rounds(block, comm)):
            start, stop = arcs.span(block, number)
            sources, targets = arcs.ends(block, start, stop)
            mine, other = column.numbers[sources - block.first], labels.by_gid(targets, comm)
            amounts = np.ones(stop - start, kind)
            if weights is not None:
                amounts[:] = weights[start:stop]
            if not block.directed:
                amounts[sources == targets] *= 2
            np.add.at(leaving, mine, amounts)
            np.add.at(entering, other, amounts)
            np.add.at(inner, mine[mine == other], amounts[mine == other])
        leaving, entering, inner = (comm.allreduce(sums) for sums in (leaving, entering, inner))
        return cls(column.labels, column.sizes(comm), leaving, entering, inner, block.directed)

    @property
    def exact(self) -> bool:
        """True if weights are integers."""
        return self.leaving.dtype.kind == "i"

    def modularity(self, resolution: Fraction) -> float:
        """Return the modularity."""
        whole = _sum(self.leaving)
        expected = _products(self.leaving, self.entering if self.directed else self.leaving)
        return _ratio(_sum(self.inner) * whole - resolution * expected, whole * whole, 0.0)

    def potts(self, resolution: Fraction) -> float:
        """Return the constant Potts model."""
        quality = _sum(self.inner) - resolution * _products(self.sizes, self.sizes)
        return _as_float(quality if self.directed else quality / 2)

    def coverage(self) -> float:
        """Return the share of the weight within communities."""
        return _ratio(_sum(self.inner), _sum(self.leaving), 1.0)

    def conductance(self) -> np.ndarray:
        """Return the conductance of each label."""
        cut = self.leaving - self.inner
        if self.directed:
            cut = cut + self.entering - self.inner
        volume = np.minimum(self.leaving, self.leaving.sum() - self.leaving).astype(np.float64)
        return np.where((volume > 0) & (cut > 0), cut / np.where(volume > 0, volume, 1.0), 0.0)


def _kind(weights: np.ndarray | None, comm: Comm) -> np.dtype:
    """Return the dtype of sums, int64 if they are exact there; collective."""
    if weights is None:
        return np.dtype(np.int64)
    wrong = comm.total(int(np.count_nonzero(~((weights >= 0) & (weights < np.inf)))))
    if wrong:
        raise UsageError(
            f"{wrong:,} arcs have weights below 0, or not finite; quality needs finite weights ≥ 0 (weight=None counts "
            "each edge as 1)"
        )
    most = comm.allgather(np.array([weights.sum(dtype=np.float64)])).sum()
    if most == np.inf:
        raise UsageError("the weights sum to more than float64 holds; divide them by a number, or give weight=None")
    return np.dtype(np.int64 if weights.dtype.kind in "iu" and most < 2**61 else np.float64)


def _sum(values: np.ndarray) -> Fraction:
    return Fraction(values.sum().tolist())


def _ratio(part: Fraction, whole: Fraction, empty: float) -> float:
    return _as_float(part / whole) if whole else empty


def _as_float(quality: Fraction) -> float:
    try:
        return float(quality)
    except OverflowError:
        raise UsageError("resolution is too large: the quality exceeds float64; give a smaller one") from None


def _products(first: np.ndarray, second: np.ndarray) -> Fraction:
    """Return the sum of products of values ≥ 0, exact for int64 below 2^62."""
    if first.dtype.kind == "f":
        largest = float(max(first.max(initial=0), second.max(initial=0))) or 1.0  # the sum may exceed float64
        return Fraction(float(first / largest @ (second / largest))) * Fraction(largest) ** 2
    halves = [(values >> 31, values & (1 << 31) - 1) for values in (first, second)]
    sums = [[_low_products(one, other) for other in halves[1]] for one in halves[0]]
    return Fraction((sums[0][0] << 62) + (sums[0][1] + sums[1][0] << 31) + sums[1][1])


def _low_products(first: np.ndarray, second: np.ndarray) -> int:
    """Return the sum of products of int64 values below 2^31."""
    products = first * second
    return (int((products >> 32).sum()) << 32) + int((products & 0xFFFFFFFF).sum())
