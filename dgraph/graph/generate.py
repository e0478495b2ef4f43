"""Generated graphs: ``NAME:SIZE[,option…]``, such as ``rmat:20,edge_factor=8,symmetric``.

Edge e is a pure function of e and the seed, and each rank makes a contiguous slice of the edges, its threads pieces of
it. Any number of ranks and threads therefore makes the same graph. :func:`generate` is the entry;
``generators/spec.py`` parses the spec.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.threads import in_order
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import UsageError
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.generators import classic, lattice, random_graphs, roadnet
from dgraph.graph.generators.counter import MAX_ITEMS
from dgraph.graph.generators.recipe import Edges, Recipe
from dgraph.graph.generators.spec import COUNT, MAX_SCALE, SCALE, SIDES, Generator, Option, parse
from partitioning.arrays.lazy_numba import machine_code

PIECE = 1 << 17
"""Items whose edges a thread makes at a time: they fit the cache of a core until they are copied."""
DEFAULT = "rmat:16"
"""Graph of a command line without a graph."""

MANY = 1 << 22
"""Items of a rank above which machine code makes them: NumPy takes 0.2 µs for an edge of an R-MAT graph."""

_EDGE_FACTOR = Option(16.0, "edges drawn, divided by vertices", high=1 << 20)
_SEED = Option(1, "seed of the random numbers")
_PERMUTE = Option(True, "permute the ids; 0: vertex 0 is the hub")
_NOISE = Option(0.0, "largest relative change of a, b, c and d at each level of an edge", high=1)
_SYMMETRIC = Option(False, "undirected")
_MANY = 1 << MAX_SCALE

GENERATORS: dict[str, Generator] = {
    generator.name: generator
    for generator in (
        Generator(
            "rmat",
            random_graphs.rmat,
            SCALE,
            "R-MAT: a few vertices have many edges; directed unless `symmetric`",
            {
                "edge_factor": _EDGE_FACTOR,
                "seed": _SEED,
                "a": Option(0.57, "share of edges between the lower halves of the ids, at every level", high=1),
                "b": Option(0.19, "share from the lower to the upper half", high=1),
                "c": Option(0.19, "share from the upper to the lower half; the rest, d, stays in the upper", high=1),
                "symmetric": _SYMMETRIC,
                "permute": _PERMUTE,
                "noise": _NOISE,
            },
        ),
        Generator(
            "rmat-alb",
            random_graphs.rmat_alb,
            SCALE,
            "R-MAT with a hub of almost a quarter of all edges, directed; parallel edges are kept",
            {"edge_factor": _EDGE_FACTOR, "seed": _SEED, "permute": _PERMUTE},
        ),
        Generator(
            "gtgraph",
            random_graphs.gtgraph,
            SCALE,
            "R-MAT, GTgraph's own defaults: a, b, c, d = 0.45, 0.15, 0.15, 0.25, noise; directed unless `symmetric`",
            {
                "edge_factor": Option(8.0, "edges drawn, divided by vertices", high=1 << 20),
                "seed": _SEED,
                "noise": Option(0.1, _NOISE.help, high=1),
                "symmetric": _SYMMETRIC,
            },
        ),
        Generator(
            "kron",
            random_graphs.kron,
            SCALE,
            "Graph500's Kronecker graph: R-MAT, undirected, ids permuted",
            {"edge_factor": _EDGE_FACTOR, "seed": _SEED, "noise": _NOISE},
        ),
        Generator(
            "uniform",
            random_graphs.uniform,
            SCALE,
            "Erdős–Rényi G(n, m): both ends of an edge are any vertex; directed unless `symmetric`",
            {"edge_factor": _EDGE_FACTOR, "seed": _SEED, "symmetric": _SYMMETRIC},
        ),
        Generator(
            "grid",
            lattice.grid,
            SIDES,
            "4-neighbour grid, undirected unless `directed`",
            {
                "torus": Option(False, "join the far sides, where there are 3 rows or columns or more"),
                "directed": Option(False, "arcs to the right and down only"),
            },
        ),
        Generator(
            "road",
            lattice.road,
            SIDES,
            "road-like: a jittered grid that lacks some edges, weighted by length and slowness, undirected",
            {"drop": Option(0.1, "share of the grid's edges that is missing", high=1), "seed": _SEED},
        ),
        Generator(
            "roadnet",
            roadnet.roadnet,
            SIDES,
            "road network: connected, degrees and diameter as DIMACS's maps have them, weighted by length, undirected",
            {"extra": Option(0.1, "share of the joins beside the spanning tree that exist", high=1), "seed": _SEED},
        ),
        Generator(
            "bipartite",
            random_graphs.bipartite,
            SIDES,
            "edges drawn between ROWS left and COLS right vertices, undirected",
            {"edge_factor": Option(8.0, "edges drawn, divided by vertices", high=1 << 20), "seed": _SEED},
        ),
        Generator("star", classic.star, COUNT, "vertex 0 joined to all others, undirected"),
        Generator("path", classic.path, COUNT, "each vertex joined to the next, undirected"),
        Generator("complete", classic.complete, COUNT, "every two vertices joined, undirected"),
        Generator(
            "tree",
            classic.tree,
            COUNT,
            "a tree filled level by level from root 0, undirected",
            {"arity": Option(2, "children of a vertex", low=1, high=_MANY)},
        ),
        Generator(
            "smallworld",
            classic.smallworld,
            COUNT,
            "Watts and Strogatz: a ring of near neighbours with some edges rewired, undirected",
            {
                "k": Option(4, "neighbours on the ring, even", high=_MANY),
                "p": Option(0.1, "share of edges rewired", high=1),
                "seed": _SEED,
            },
        ),
    )
}


def is_generator(spec: str) -> bool:
    """Return True if ``spec`` begins with the name of a generator and a colon."""
    name, colon, _ = spec.partition(":")
    return bool(colon) and name in GENERATORS


def recipe_of(spec: str) -> tuple[Recipe, str]:
    """Return the recipe of a spec, and the spec with every option written out.

    Raises:
        UsageError: an unknown name or option, or an invalid value.
    """
    generator, size, options = parse(spec, GENERATORS)
    try:
        recipe = generator.make(size, **options)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from None
    if recipe.items > MAX_ITEMS:
        raise UsageError(f"{spec}: {recipe.items} edges; at most {MAX_ITEMS} can be numbered; choose a smaller size")
    return recipe, generator.spell(size, options)


def generate(spec: str, comm: Comm) -> RawEdges:
    """Make this rank's slice of the graph that ``spec`` describes; collective.

    Loops and repeated edges are still in it; an undirected edge occurs once. ``facts.name`` is the spec with every
    option written out, and generates the same graph. ``road`` and ``roadnet`` have int32 weights, the others have none.

    Raises:
        UsageError: an unknown name or option, an invalid value, or a slice that does not fit in memory.
    """
    recipe, name = recipe_of(spec)
    first, last = (recipe.items * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    threads = rank_threads(comm)
    with comm.together():
        try:
            src, dst, weights = drawn(recipe, first, last, threads)
        except MemoryError:
            raise UsageError(
                f"{spec}: {last - first} of its {recipe.items} edges fall to a rank, more than memory holds; "
                "use more ranks on more machines, or a smaller graph"
            ) from None
    facts = LoadFacts(name=name, notes=[f"generated {recipe.note}"])
    return RawEdges(src, dst, weights, recipe.directed, recipe.n, parallel=recipe.parallel, facts=facts)


def drawn(recipe: Recipe, first: int, last: int, threads: int) -> Edges:
    """Return ``recipe.edges(first, last)``, made piece by piece by several threads."""
    if last - first <= PIECE:
        return recipe.edges(first, last)
    with machine_code(last - first > MANY):
        head = recipe.edges(first, first + PIECE)  # compiles, and shows the dtypes
    columns = [np.empty(last - first, column.dtype) for column in head if column is not None]

    def place(piece: Edges, start: int) -> int:
        for column, values in zip(columns, piece, strict=False):
            if values is not None:
                column[start : start + values.size] = values
        return piece[0].size

    def make(start: int) -> int:
        return place(recipe.edges(first + start, min(first + start + PIECE, last)), start)

    sizes = [place(head, 0), *in_order(make, range(PIECE, last - first, PIECE), threads)]
    if sum(sizes) < last - first:  # some items have no edge
        for column in columns:
            _close_gaps(column, sizes)
    return columns[0], columns[1], columns[2] if len(columns) > 2 else None


def _close_gaps(column: np.ndarray, sizes: list[int]) -> None:
    """Move the values at the beginning of each piece up to those of the piece before, and cut the column there."""
    end = 0
    for number, size in enumerate(sizes):
        column[end : end + size] = column[number * PIECE : number * PIECE + size]
        end += size
    column.resize(end, refcheck=False)
