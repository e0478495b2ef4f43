"""ConvertedGraph: a NetworkX graph as arrays, and the engine graphs that are made from them.

Nodes are numbered in the order of the NetworkX graph, and a row has its neighbours in NetworkX's order, so that results
can follow both. NetworkX keeps converted graphs in ``G.__networkx_cache__`` and drops them when ``G`` changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, repeat
from operator import methodcaller
from typing import Any
from weakref import ref

import networkx as nx
import numpy as np

from dgraph.comm.serial import SerialComm
from dgraph.errors import DataError, UsageError
from dgraph.graph.devices import Cpu
from dgraph.graph.stored_graph import Graph
from dgraph.networkx_backend.networkx_arrays import adjacency_of, are_positions, attribute_of, numbers_of
from dgraph.networkx_backend.service_graphs import is_gone, service_graph

SMALL = 20_000
"""Arcs below which one CPU thread runs the rounds, unless ``nx.config.backends.dgraph.device`` names a device."""


LARGEST = {"i": 2.0**62, "f": float(np.finfo(np.float64).max)}
"""Kind of weights → largest length of a path that the engine adds up."""

MOST_NODES = 2**32 - 2


_comm = SerialComm()


class ConvertedGraph:
    """A graph of dgraph's NetworkX backend.

    Attributes:
        nodes: the nodes, in NetworkX's order.
        offsets: int64 (nodes + 1,), the rows.
        targets: uint32 (arcs,), neighbours by position; parallel edges are repeated.
        values: edge attribute → numbers, shape (arcs,).
        source: the NetworkX graph, where all its attributes were asked for; else None.
    """

    __networkx_backend__ = "dgraph"

    def __init__(
        self,
        nodes: list,
        offsets: np.ndarray,
        targets: np.ndarray,
        values: Mapping[str, np.ndarray],
        *,
        directed: bool,
        multigraph: bool,
        source: nx.Graph | None = None,
    ):
        self.__networkx_cache__: dict = {}
        self.nodes, self.offsets, self.targets, self.values = nodes, offsets, targets, dict(values)
        self.source, self._directed, self._multigraph = source, directed, multigraph
        self._engines: dict[tuple, Any] = {}
        self._original: Callable[[], nx.Graph | None] = type(None)

    def is_directed(self) -> bool:
        """Return True if edges have a direction."""
        return self._directed

    def is_multigraph(self) -> bool:
        """Return True if edges may be parallel."""
        return self._multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator:
        return iter(self.nodes)

    def __contains__(self, node) -> bool:
        try:
            return node in self.index
        except TypeError:  # not hashable, and so not a node
            return False

    def __str__(self) -> str:
        kind = f"{'Multi' if self._multigraph else ''}{'Di' if self._directed else ''}Graph"
        return f"{kind} with {len(self)} nodes and {self.number_of_edges()} edges"

    def __repr__(self) -> str:
        return f"<{self}, converted for dgraph>"

    @cached_property
    def index(self) -> dict:
        """Node → its position."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    @cached_property
    def numbered(self) -> bool:
        """True if a position is its node."""
        return are_positions(self.nodes)

    def names(self, positions: np.ndarray) -> list:
        """Return the nodes at positions."""
        numbers = positions.tolist()
        return numbers if self.numbered else list(map(self.nodes.__getitem__, numbers))

    @cached_property
    def sources(self) -> np.ndarray:
        """Source of every arc by position, int64 (arcs,)."""
        return np.repeat(np.arange(len(self.nodes)), np.diff(self.offsets))

    @cached_property
    def loops(self) -> int:
        """Number of self-loops."""
        return int(np.count_nonzero(self.sources == self.targets))

    def number_of_edges(self) -> int:
        """Return the number of edges; parallel edges count each."""
        arcs = len(self.targets)
        return arcs if self._directed else (arcs + self.loops) // 2

    def weights(self, attribute: str | None) -> np.ndarray | None:
        """Return the numbers of an edge attribute, 1 where an edge has none; None if every arc weighs 1.

        Raises:
            NotImplementedError: values that are not numbers, that an array cannot hold exactly, or not converted.
        """
        if attribute is None:
            return None
        if attribute not in self.values:
            if self.source is None:
                raise NotImplementedError(
                    f"the graph was converted without the edge attribute {attribute!r}; give weight={attribute!r} to "
                    "from_networkx, or weight=None to the function"
                )
            self.values[attribute] = numbers_of(attribute_of(adjacency_of(self.source), self._multigraph, attribute, 1))
        weights = self.values[attribute]
        return None if weights.dtype.kind == "i" and np.all(weights == 1) else weights

    def capacities(self, attribute: str) -> np.ndarray:
        """Return the numbers of an edge attribute, infinite where an edge has none.

        Raises:
            NotImplementedError: as :meth:`weights`.
        """
        if attribute in self.values or self.source is None:
            self.weights(attribute)
            return self.values[attribute]
        return numbers_of(attribute_of(adjacency_of(self.source), self._multigraph, attribute, float("inf")))

    def signed(self, attribute: str | None) -> bool:
        """Return True if an edge has a negative weight, and all weights are finite."""
        weights = self.weights(attribute)
        return weights is not None and bool((weights < 0).any() and np.isfinite(weights).all())

    def lengths(self, attribute: str | None) -> np.ndarray | None:
        """Return :meth:`weights`, which must be finite and not negative.

        Raises:
            NotImplementedError: another weight; the message names the first such edge.
        """
        weights = self.weights(attribute)
        if weights is None:
            return None
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[:1]
        if wrong.size:
            u, v = self.names(self.sources[wrong])[0], self.names(self.targets[wrong])[0]
            raise NotImplementedError(
                f"the edge {u!r} → {v!r} has {attribute} {weights[wrong[0]]}; dgraph takes finite weights of 0 or more"
            )
        if weights.size and float(weights.max()) * len(self) > LARGEST[weights.dtype.kind]:
            raise NotImplementedError(f"the {attribute} of a path's edges may sum to more than {weights.dtype} holds")
        return weights

    def engine(self, attribute: str | None = None, *, backwards: bool = False, parallel: bool = False) -> Graph:
        """Return the graph on which the engine runs, made at first use; at a service, if one is configured.

        Args:
            attribute: the edge attribute that gives weights; None: no weights.
            backwards: every edge of a directed graph turned round.
            parallel: keep parallel edges; else the smallest weight stays.
        """
        backwards, parallel = backwards and self._directed, parallel and self._multigraph
        weights = self.weights(attribute)
        key = (None if weights is None else attribute, backwards, parallel)
        if key not in self._engines or is_gone(self._engines[key]):
            rows = self.rows(weights, backwards)
            remote = None if parallel else service_graph(*rows, directed=self._directed)
            self._engines[key] = remote or engine_graph(*rows, directed=self._directed, parallel=parallel)
        return self._engines[key]

    def rows(
        self, weights: np.ndarray | None, backwards: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return offsets, targets and weights; of the reversed graph if ``backwards``."""
        if backwards and self._directed:
            return reversed_rows(self.offsets, self.targets, weights)
        return self.offsets, self.targets, weights

    def as_networkx(self) -> nx.Graph:
        """Return the graph as a NetworkX graph; attributes are those that were converted."""
        if self.source is not None:
            return self.source
        kinds = {(False, False): nx.Graph, (True, False): nx.DiGraph,
                 (False, True): nx.MultiGraph, (True, True): nx.MultiDiGraph}  # fmt: skip
        nx_graph = kinds[self._directed, self._multigraph]()
        nx_graph.add_nodes_from(self.nodes)
        once = np.ones(len(self.targets), bool) if self._directed else self._once()
        ends = self.names(self.sources[once]), self.names(self.targets[once])
        names = list(self.values)
        attributes = zip(*(self.values[name][once].tolist() for name in names), strict=True) if names else repeat(())
        nx_graph.add_edges_from(
            (u, v, dict(zip(names, row, strict=True))) for u, v, row in zip(*ends, attributes, strict=False)
        )
        return nx_graph

    def original(self) -> nx.Graph:
        """Return the graph that was converted, or :meth:`as_networkx` if it no longer exists."""
        graph = self._original()
        return self.as_networkx() if graph is None else graph

    def __getstate__(self) -> dict:
        """Leave out the reference to the graph, which cannot be pickled; NetworkX pickles its cache with a graph."""
        return self.__dict__ | {"_original": type(None)}

    def _once(self) -> np.ndarray:
        """Return a mask of one arc for each undirected edge, where it comes first in NetworkX's order."""
        return self.sources <= self.targets

    def __getattr__(self, name: str) -> Any:
        """Give the rest of a NetworkX graph's attributes from a frozen copy."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._frozen, name)

    @cached_property
    def _frozen(self) -> nx.Graph:
        return nx.freeze(self.as_networkx().copy())


def engine_graph(offsets, targets, weights, *, directed: bool, parallel: bool) -> Graph:
    """Return an engine graph of rows, with its loops, for this process alone."""
    device = nx.config.backends.dgraph.device
    if device == "auto" and len(targets) < SMALL:
        device = Cpu(threads=1)
    with declining():
        graph = Graph.from_csr(
            offsets, targets, weights, directed=directed, comm=_comm, keep_loops=True, keep_parallel=parallel
        )
    return graph.on(device=device)


@contextmanager
def declining() -> Iterator[None]:
    """Raise ``NotImplementedError``, upon which NetworkX turns to the next backend, for what the engine refuses."""
    try:
        yield
    except (DataError, UsageError) as refused:
        raise NotImplementedError(f"{refused} (vertices are positions of nodes in the graph)") from refused


def reversed_rows(offsets, targets, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the rows of the graph whose arcs are turned round; a row's sources ascend by position."""
    n = len(offsets) - 1
    order = np.argsort(targets, kind="stable")
    sources = np.repeat(np.arange(n, dtype=np.uint32), np.diff(offsets))
    starts = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=n))]).astype(np.int64)
    return starts, sources[order], None if weights is None else weights[order]


def both_ways(graph: ConvertedGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and targets with every arc of a directed graph in both directions; an undirected graph's rows."""
    if not graph.is_directed():
        return graph.offsets, graph.targets
    offsets, sources, _ = reversed_rows(graph.offsets, graph.targets, None)
    rows = np.concatenate([graph.sources, np.repeat(np.arange(len(graph)), np.diff(offsets))])
    return graph.offsets + offsets, np.concatenate([graph.targets, sources])[np.argsort(rows, kind="stable")]


def convert_from_nx(
    graph,
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
    **_: Any,
) -> ConvertedGraph:
    """Convert a NetworkX graph; NetworkX calls it with the attributes that a function reads.

    Raises:
        NotImplementedError: more nodes than 32-bit positions, or an attribute that does not hold numbers.
    """
    if isinstance(graph, ConvertedGraph):
        return graph
    nodes, adjacency = list(graph), adjacency_of(graph)
    n = len(nodes)
    if n > MOST_NODES:
        raise NotImplementedError(f"{n} nodes; the backend takes at most {MOST_NODES}")
    degrees = np.fromiter(map(len, adjacency.values()), np.int64, n)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(degrees, out=offsets[1:])
    ends: Iterable = chain.from_iterable(adjacency.values())
    numbered = are_positions(nodes)
    if not numbered:
        index = dict(zip(nodes, range(n), strict=True))
        ends = map(index.__getitem__, ends)
    targets = np.fromiter(ends, np.uint32, int(offsets[-1]))
    multigraph = graph.is_multigraph()
    if multigraph:
        bundles = chain.from_iterable(map(methodcaller("values"), adjacency.values()))
        copies = np.fromiter(map(len, bundles), np.int64, len(targets))
        offsets = np.concatenate([[0], np.cumsum(copies)])[offsets]
        targets = np.repeat(targets, copies)
    values = {}
    for attribute, default in (edge_attrs or {}).items():
        values[attribute] = numbers_of(attribute_of(adjacency, multigraph, attribute, default))
    converted = ConvertedGraph(
        nodes, offsets, targets, values, directed=graph.is_directed(), multigraph=multigraph,
        source=graph if preserve_edge_attrs or preserve_node_attrs else None,
    )  # fmt: skip
    converted.numbered, converted._original = numbered, ref(graph)
    if not numbered:
        converted.index = index
    return converted


def convert_to_nx(value: Any, *, name: str | None = None) -> Any:
    """Return a result with a converted graph as a NetworkX graph; other results as they are."""
    return value.as_networkx() if isinstance(value, ConvertedGraph) else value


def from_networkx(graph: nx.Graph, weight: str | None = "weight") -> ConvertedGraph:
    """Convert a NetworkX graph once, to pass the result to several functions.

    Args:
        graph: any NetworkX graph; later changes to it do not reach the converted graph.
        weight: edge attribute to convert, 1 where an edge has none; None: no attribute.

    Raises:
        NotImplementedError: as :func:`convert_from_nx`.
    """
    return convert_from_nx(graph, edge_attrs=None if weight is None else {weight: 1})
