"""Size of a graph, from a generator's recipe, from numbers that the user gives, or by reading a file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from dgraph.backend.cuda.device_graph.graph_size import SKEWED
from dgraph.comm import SerialComm
from dgraph.engine.rounds.progress import Progress
from dgraph.errors import UsageError
from dgraph.graph.build.simplify import removable
from dgraph.graph.generate import GENERATORS, is_generator
from dgraph.graph.generators.spec import parse
from dgraph.graph.kept_rules import kept_rules
from dgraph.graph.load import refuse_keep, refuse_names
from dgraph.graph.load_options import options_of
from dgraph.graph.stored_graph import Graph

HUBS = ("rmat", "rmat-alb", "gtgraph", "kron", "star")
"""Generators of graphs with hubs (skewed degrees)."""

COLUMN = 8
"""Bytes per value of a kept column whose type is not known."""

COUNTS = re.compile(r"(\d[\d_.]*(?:e\d+)?),(\d[\d_.]*(?:e\d+)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Shape:
    """Properties of a graph that determine memory.

    Attributes:
        n: vertices.
        edges: input edges, before loops and parallel edges are dropped.
        directed: False: an edge is two arcs.
        weight: bytes per weight; 0: unweighted.
        listed_weight: bytes per weight of the input edges; 0 if weights are generated after loading.
        skewed: True if a few vertices may have most edges; GPUs then renumber vertices by degree.
        ones: from a generator's recipe: the probability of a one in the bits of sources and targets; None: uniform.
        span: from a generator's recipe: maximum distance between the ids of an edge's ends; None: unbounded.
        kept: "loops" and "parallel", where the graph keeps some.
        attributes: bytes per value of each column that is kept with the edges.
    """

    n: int
    edges: int
    directed: bool
    weight: int = 0
    listed_weight: int = 0
    skewed: bool = True
    ones: tuple[float, float] | None = None
    span: int | None = None
    kept: tuple[str, ...] = ()
    attributes: tuple[int, ...] = ()

    @property
    def arcs(self) -> int:
        """Number of adjacency entries if no edge is dropped."""
        return self.edges if self.directed else 2 * self.edges

    def undirected(self) -> Shape:
        """Return the shape with the reverse of every arc added, and parallel arcs merged."""
        if not self.directed:
            return self
        return replace(self, directed=False, kept=tuple(part for part in self.kept if part != "parallel"))


def shape_of(spec: str, *, progress: Progress | None = None, **options: Any) -> Shape:
    """Return the shape of a graph.

    Args:
        spec: ``NAME:SIZE`` of a generator, ``VERTICES,EDGES`` such as ``24e6,58e6``, or a file, which is read.
        progress: receives a phase before a file is read.
        options: those of a load, the fields of :class:`~dgraph.graph.load_options.LoadOptions`. Generated graphs count
            with all edges, so that options which drop some change nothing.

    Raises:
        UsageError: a malformed spec or option, as in loading.
        DataError: a malformed file.
        OutputError: a file that cannot be read.
    """
    chosen = options_of(options, more=("progress",))
    directed, counts = chosen.directed, COUNTS.fullmatch(spec)
    if not counts and not is_generator(spec):
        if progress:
            progress.phase("load", spec)
        return _of_graph(Graph.load(spec, comm=SerialComm(), **options))
    width = 0
    if chosen.weights is not None or chosen.merge == "count":
        tiny = Graph.load("path:3", comm=SerialComm(), weights=chosen.weights, merge=chosen.merge)
        width = 0 if tiny.block.weights is None else tiny.block.weights.itemsize
    if counts:
        n, edges = (int(float(text.replace("_", ""))) for text in counts.groups())
        if n < 1:
            raise UsageError(f"{spec}: a graph has at least one vertex")
        kept = kept_parts(chosen.keep_loops, chosen.keep_parallel)
        attributes = (COLUMN,) * len(kept_rules(chosen.keep))
        return Shape(n, edges, True if directed is None else directed, width, kept=kept, attributes=attributes)
    refuse_names(spec, chosen)
    refuse_keep(spec, chosen)
    generator, size, recipe_options = parse(spec, GENERATORS)
    try:
        recipe = generator.make(size, **recipe_options)
    except ValueError as wrong:
        raise UsageError(f"{spec}: {wrong}") from wrong
    weighted = recipe.edges(0, min(recipe.items, 1))[2]
    own = 0 if weighted is None else weighted.itemsize
    directed = recipe.directed if directed is None else directed
    kept, skewed = kept_parts(chosen.keep_loops, chosen.keep_parallel or recipe.parallel), skewed_by(spec)
    return Shape(recipe.n, recipe.items, directed, width or own, own, skewed, recipe.ones, recipe.span, kept)


def _of_graph(graph: Graph) -> Shape:
    weights = graph.block.weights
    skewed = graph.block.facts.largest_degree > SKEWED * graph.block.arcs / graph.n
    weight = 0 if weights is None else weights.itemsize
    kept = kept_parts(*removable(graph.facts))
    attributes = tuple(column.values.itemsize for column in graph.block.attributes.values())
    return Shape(graph.n, graph.m, graph.directed, weight, weight, skewed, kept=kept, attributes=attributes)


def kept_parts(loops: bool, parallel: bool) -> tuple[str, ...]:
    """Return the value of ``Shape.kept``."""
    return ("loops",) * loops + ("parallel",) * parallel


def skewed_by(spec: str) -> bool:
    """Return True if the generator makes graphs with hubs; graphs of unknown origin count as skewed."""
    return not is_generator(spec) or parse(spec, GENERATORS)[0].name in HUBS
