"""LabelColumn: the label of each of this rank's rows as a number, and how far two columns of labels agree.

Counts are integers, so the figures do not depend on the ranks. Each rank holds the distinct labels of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dgraph._support.arguments import refused
from dgraph.comm import Comm, collective, communicator, owner_directed
from dgraph.errors import UsageError, unknown
from dgraph.graph.block import EdgeBlock
from dgraph.graph.graph_like import as_graph
from dgraph.graph.kept_columns import read_column
from dgraph.graph.stored_graph import Graph
from dgraph.graph.subgraph import row_owner, row_starts


@dataclass(frozen=True)
class LabelColumn:
    """Labels of this rank's rows.

    Attributes:
        labels: distinct labels of all ranks, ascending: int64, or bytes (dtype S).
        numbers: position in it of the label of each row, int64 (rows,).
    """

    labels: np.ndarray
    numbers: np.ndarray

    def sums(self, values: np.ndarray, comm: Comm) -> np.ndarray:
        """Return the sum of the rows' values for each label; collective."""
        sums = np.zeros(len(self.labels), values.dtype)
        np.add.at(sums, self.numbers, values)
        return comm.allreduce(sums)

    def sizes(self, comm: Comm) -> np.ndarray:
        """Return the number of rows with each label, int64; collective."""
        return self.sums(np.ones(len(self.numbers), np.int64), comm)


def label_column(name: str, source: Any, graph: Graph) -> LabelColumn:
    """Return a column of labels; collective.

    Args:
        name: of the argument, for messages; of a ``Result`` it selects the column, else the first is taken.
        source: as of :meth:`Graph.with_columns`, or the name of a column of :attr:`Graph.columns`.
        graph: the graph whose vertices have the labels.

    Raises:
        UsageError: as of :meth:`Graph.with_columns`; a vertex without a label; labels that are no integers or text.
    """
    block, comm = graph.block, graph.comm
    if isinstance(source, str):
        if source not in graph.columns:
            raise unknown(f"column of the graph that {name} names", source, graph.columns)
        values = graph.columns.stored[source]
    else:
        values = read_column(name, source, block, comm)
    values = _as_labels(name, values, block, comm)
    here = np.unique(values)
    if values.dtype.kind == "S":
        kind = np.dtype(f"S{comm.largest(here.itemsize)}")
        labels = np.unique(np.concatenate(owner_directed.swap(comm, [here.astype(kind)] * comm.size)))
    else:
        labels = np.unique(np.concatenate(comm.allgatherv(here)))
    return LabelColumn(labels, np.searchsorted(labels, values.astype(labels.dtype)))


@dataclass(frozen=True)
class RowLabels:
    """Labels of the graph's rows, for vertices of any rank.

    Attributes:
        numbers: label of each row of this rank as a number from 0, int64 (rows,).
        starts: first gid of every rank's rows, then n.
    """

    numbers: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, name: str, source: Any, graph: Graph) -> RowLabels:
        """Read labels as :func:`label_column` does; collective."""
        return cls(label_column(name, source, graph).numbers, row_starts(graph.block, graph.comm))

    def by_gid(self, gids: np.ndarray, comm: Comm) -> np.ndarray:
        """Return the labels of vertices; collective."""
        first, owners = self.starts[comm.rank], row_owner(self.starts, gids)
        return owner_directed.fetch(comm, owners, gids, lambda wanted: (self.numbers[wanted - first],))[0]


def _as_labels(name: str, values: np.ndarray, block: EdgeBlock, comm: Comm) -> np.ndarray:
    """Return labels as int64 or bytes; refuse vertices without one."""
    if values.dtype.kind == "S":
        missing = values == b""
    elif values.dtype.kind == "f":
        missing = ~(values == np.rint(values)) | (np.abs(values) > 2**53)
    else:
        missing = np.zeros(values.shape, bool)
    rows = np.concatenate(comm.allgatherv(np.flatnonzero(missing)[:1] + block.first))[:1]
    if rows.size:
        number = block.ids.to_original(rows, comm)
        vertex = number[0] if block.ids.names is None else block.ids.names.of(number, comm)[0]
        raise UsageError(f"{name} has no label for vertex {vertex}; give an integer or text for each, as leiden does")
    return values if values.dtype.kind == "S" else values.astype(np.int64)


def opened(graph: Any) -> Graph:
    """Return the graph of a value; collective.

    Raises:
        UsageError: a graph of a service, or what :func:`as_graph` refuses.
    """
    if hasattr(type(graph), "run_remotely"):
        raise UsageError(
            "graph is a service's, whose edges are not here; measure labels where the graph can be loaded: "
            "python -m dgraph quality GRAPH LABELS"
        )
    return as_graph(graph, graph.comm if isinstance(graph, Graph) else communicator(None))


@collective
def nmi(graph: Any, first: Any, second: Any) -> float:
    """Return the normalised mutual information of two columns of labels, 0 to 1; collective.

    It is divided by the mean of the two entropies [Danon et al. 2005]; 1 if both columns have one label.

    Args:
        graph: the graph whose vertices have the labels, or what :func:`dgraph.run` takes for one.
        first: labels, integers or text: a ``Result``, an array by ascending id, a pair (vertices, labels), a dict, a
            pandas Series, or the name of a column of the graph, as of :meth:`Graph.with_columns`.
        second: as ``first``.

    Raises:
        UsageError: a vertex without a label, or labels of another type.
    """
    return _compared(graph, first, second).nmi()


@collective
def ari(graph: Any, first: Any, second: Any) -> float:
    """Return the adjusted Rand index of two columns of labels [Hubert & Arabie 1985], at most 1; collective.

    0 is what random labels of these sizes give on average. Counts are exact. Arguments and errors are those of
    :func:`dgraph.nmi`.
    """
    return _compared(graph, first, second).ari()


@collective
def agreement(graph: Any, columns: Sequence[Any]) -> dict[str, float]:
    """Return how far several columns of labels agree, such as answers for several seeds; collective.

    Args:
        graph: as of :func:`dgraph.nmi`.
        columns: two or more, each as ``first`` of :func:`dgraph.nmi`.

    Returns:
        ``ari`` and ``nmi``, means over all pairs, and ``least_ari``, ``least_nmi``.

    Raises:
        UsageError: as of :func:`dgraph.nmi`, or fewer than two columns.
    """
    if isinstance(columns, (str, bytes, Mapping)) or not isinstance(columns, Iterable):
        raise refused("columns", columns, "", "a list of columns of labels")
    whole, sources = opened(graph), list(columns)
    if len(sources) < 2:
        raise UsageError(f"columns has {len(sources)} column; give two or more to compare")
    read = [label_column("columns", source, whole) for source in sources]
    pairs = [Overlap.of(one, other, whole.comm) for one, other in combinations(read, 2)]
    figures: dict[str, float] = {}
    measures: tuple[Callable[[Overlap], float], ...] = (Overlap.ari, Overlap.nmi)
    for measure in measures:
        values = [measure(pair) for pair in pairs]
        figures |= {measure.__name__: math.fsum(values) / len(values), f"least_{measure.__name__}": min(values)}
    return figures


def _compared(graph: Any, first: Any, second: Any) -> Overlap:
    whole = opened(graph)
    return Overlap.of(label_column("first", first, whole), label_column("second", second, whole), whole.comm)


@dataclass(frozen=True)
class Overlap:
    """Sizes of the parts of two partitions, and of their intersections: size → how many have it.

    Attributes:
        first, second: of the parts.
        both: of the intersections that are not empty.
    """

    first: dict[int, int]
    second: dict[int, int]
    both: dict[int, int]

    @classmethod
    def of(cls, first: LabelColumn, second: LabelColumn, comm: Comm) -> Overlap:
        """Count two columns of the same rows; collective."""
        pairs = first.numbers * len(second.labels) + second.numbers
        _, counts = owner_directed.contract(comm, pairs % comm.size, pairs, np.ones(len(pairs), np.int64))
        both: dict[int, int] = {}
        for part in comm.allgather_json([values.tolist() for values in np.unique(counts, return_counts=True)]):
            for size, count in zip(*part, strict=True):
                both[size] = both.get(size, 0) + count
        return cls(_histogram(first.sizes(comm)), _histogram(second.sizes(comm)), both)

    def ari(self) -> float:
        """Return the adjusted Rand index."""
        first, second, both = (_pairs(sizes) for sizes in (self.first, self.second, self.both))
        expected = Fraction(first * second, max(self._pairs_of_all, 1))
        largest = Fraction(first + second, 2)
        return 1.0 if largest == expected else float((both - expected) / (largest - expected))

    def nmi(self) -> float:
        """Return the normalised mutual information."""
        first, second, both = (self._entropy(sizes) for sizes in (self.first, self.second, self.both))
        mean = (first + second) / 2
        return 1.0 if mean == 0 else min(max((first + second - both) / mean, 0.0), 1.0)

    @property
    def _vertices(self) -> int:
        return sum(size * count for size, count in self.first.items())

    @property
    def _pairs_of_all(self) -> int:
        return _pairs({self._vertices: 1})

    def _entropy(self, sizes: dict[int, int]) -> float:
        """Return the entropy of parts, times the number of vertices, the same bits for any number of ranks."""
        n = self._vertices
        return -math.fsum(count * size * math.log(size / n) for size, count in sizes.items())


def _histogram(sizes: np.ndarray) -> dict[int, int]:
    values, counts = np.unique(sizes, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _pairs(sizes: dict[int, int]) -> int:
    return sum(count * (size * (size - 1) // 2) for size, count in sizes.items())
