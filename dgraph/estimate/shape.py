"""A graph's size without the graph: by a generator's recipe, by what the user knows, or by reading a file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.graph.generate import GENERATORS, is_generator
from dgraph.graph.generators.spec import parse
from dgraph.graph.handle import Graph
from dgraph.graph.load import LoadOptions

COUNTS = re.compile(r"(\d[\d_.]*(?:e\d+)?),(\d[\d_.]*(?:e\d+)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Shape:
    """What memory depends on.

    Attributes:
        n: vertices.
        edges: as they come, before loops and parallel ones are dropped.
        directed: False: an edge is two arcs.
        weight: bytes a weight; 0: there are none.
        listed_weight: the same, of edges as they come: none where a rule makes the weights afterwards.
    """

    n: int
    edges: int
    directed: bool
    weight: int = 0
    listed_weight: int = 0

    @property
    def arcs(self) -> int:
        """Adjacency entries, if no edge is dropped."""
        return self.edges if self.directed else 2 * self.edges

    def undirected(self) -> Shape:
        """Every arc with its reverse."""
        return replace(self, directed=False) if self.directed else self


def shape_of(spec: str, *, weights: str | None = None, directed: bool | None = None) -> Shape:
    """The shape of ``GRAPH``: ``NAME:SIZE``, ``VERTICES,EDGES`` such as ``24e6,58e6``, or a file, which is read.

    Raises:
        UsageError, DataError, OutputError: as loading would.
    """
    width = 0
    if weights is not None:
        tiny = Graph.load("path:3", comm=SerialComm(), weights=weights)
        width = 0 if tiny.block.weights is None else tiny.block.weights.itemsize
    if is_generator(spec):
        generator, size, options = parse(spec, GENERATORS)
        try:
            recipe = generator.make(size, **options)
        except ValueError as wrong:
            raise UsageError(f"{spec}: {wrong}") from wrong
        weighted = recipe.edges(0, min(recipe.items, 1))[2]
        own = 0 if weighted is None else weighted.itemsize
        return Shape(recipe.n, recipe.items, recipe.directed if directed is None else directed, width or own, own)
    if found := COUNTS.fullmatch(spec):
        n, edges = (int(float(text.replace("_", ""))) for text in found.groups())
        if n < 1:
            raise UsageError(f"{spec}: a graph has at least one vertex")
        return Shape(n, edges, True if directed is None else directed, width)
    graph = Graph.load(spec, comm=SerialComm(), **vars(LoadOptions(weights=weights, directed=directed)))
    held = graph.block.weights
    return Shape(graph.n, graph.m, graph.directed, *[0 if held is None else held.itemsize] * 2)
