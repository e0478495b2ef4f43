"""Small test graphs, each chosen to expose a kind of bug; ``CASES`` maps names to cases.

A case is user input: edges as listed, with loops, parallel edges and original ids. Its ``arcs`` are the clean graph
that the oracles get.
"""

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import oracles
import pytest

from dgraph.comm import world

INTEGERS = ("int32", "int64")
FLOATS = ("float32", "float64")


@dataclass(frozen=True, eq=False)
class Case:
    """A graph and the bug it should expose.

    Attributes:
        hunts: the kind of bug.
        src, dst: original ids, int64, as listed.
        weights: of the listed edges, int64 or float64; exact in each of ``dtypes``.
        n: the vertices are 0 … n-1; None: the vertices are the ids that occur.
        source: source of searches, an original id.
        dtypes: dtypes that can store ``weights``.
    """

    name: str
    hunts: str
    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray
    n: int | None
    directed: bool
    source: int
    dtypes: tuple[str, ...]

    @cached_property
    def vertices(self) -> np.ndarray:
        """Original ids, ascending."""
        return np.arange(self.n) if self.n is not None else np.unique(np.concatenate([self.src, self.dst]))

    def number(self, originals) -> np.ndarray:
        """Return the positions of original ids in ``vertices``."""
        return np.searchsorted(self.vertices, originals)

    def arcs(self, dtype: str = "float64", *, directed: bool | None = None):
        """Return ``n, src, dst, weights`` of the clean graph: vertices by position, both arcs of undirected edges."""
        src, dst, weights = self.number(self.src), self.number(self.dst), self.weights.astype(dtype)
        if not (self.directed if directed is None else directed):
            src, dst, weights = oracles.symmetric(src, dst, weights)
        return self.vertices.size, *oracles.simple(src, dst, weights)


EVERYTHING = "DGRAPH_TEST_EVERYTHING" in os.environ
"""True: tests run all combinations instead of a sample. This takes minutes, or many minutes through NVRTC."""

CASES: dict[str, Case] = {}


def by_turns(names: str, *lists, of: int):
    """Parametrise a test with a share of the product of ``lists``.

    One rank runs all combinations: there they are cheap, and the code that they compile is then cached for more ranks.
    Other numbers of ranks run every ``of``-th combination, and ``of`` consecutive numbers of ranks together run all.
    For three lists of at least ``of`` members, each number of ranks covers every pair of members of two lists.
    """
    ranks = world().size
    turns = 1 if EVERYTHING or ranks == 1 else of
    rows = itertools.product(*map(enumerate, lists))
    taken = [[member for _, member in row] for row in rows if (ranks + sum(index for index, _ in row)) % turns == 0]
    parameters = pytest.mark.parametrize(names, taken)
    return lambda test: pytest.mark.by_turns(parameters(test))


def case(hunts: str, *, directed: bool = True, sparse: bool = False, source: int = 0, dtypes=INTEGERS + FLOATS):
    """Register the graph that a function returns: ``n, edges`` or ``n, edges, weights``."""

    def register(make: Callable[[], tuple]):
        n, edges, *weights = make()
        edges = np.array(edges, np.int64).reshape(-1, 2)
        weighed = np.array(weights[0]) if weights else _some_weights(len(edges))
        CASES[make.__name__] = Case(
            make.__name__,
            hunts,
            edges[:, 0].copy(),
            edges[:, 1].copy(),
            weighed,
            None if sparse else n,
            directed,
            source,
            tuple(dtypes),
        )
        return make

    return register


def _some_weights(m):
    return np.random.default_rng(m).integers(1, 30, m)


def _random(n, m, seed):
    return np.random.default_rng(seed).integers(0, n, (m, 2))


# tiny graphs


@case("no arc at all: empty arrays in every kernel and message")
def lone_vertex():
    return 1, []


@case("no arc at all on any rank; every rank's PageRank is dangling")
def no_edges():
    return 9, []


@case("fewer vertices than ranks: ranks without a vertex")
def one_arc():
    return 2, [(0, 1)]


@case("fewer vertices than ranks, and all of them matter", source=1)
def triangle():
    return 3, [(0, 1), (1, 2), (2, 0)]


@case("nothing is left once loops are dropped, but the vertices stay")
def only_loops():
    return 5, [(0, 0), (3, 3), (3, 3)]


@case("a source without out-arcs: the first frontier proposes nothing", source=4)
def source_is_a_sink():
    return 5, [(0, 1), (1, 2), (2, 3), (3, 4)]


# shapes


@case("more than a thousand rounds of one arc each: limits on rounds, counters that grow", dtypes=("int64",))
def long_path():
    return 1100, [(v, v + 1) for v in range(1099)]


@case("labels travel against the order of ids, and the last vertex is the source", directed=False, source=150)
def path_from_the_end():
    return 151, [(v + 1, v) for v in range(150)]


@case("a prime number of vertices, a round trip back to the source; every rank waits for its neighbour", source=60)
def ring():
    return 97, [(v, (v + 1) % 97) for v in range(97)]


@case("one row longer than a rank's share of arcs, in the middle of the ids", source=300)
def star_out():
    return 601, [(300, v) for v in range(601) if v != 300]


@case("every vertex proposes to the same one: contended reduce, a column longer than a share", source=17)
def star_in():
    return 601, [(v, 300) for v in range(601) if v != 300]


@case("a hub on every path, both ways: reached in one round from a leaf, all in two", directed=False, source=5)
def star():
    return 401, [(0, v) for v in range(1, 401)]


@case("every rank mirrors every vertex", directed=False)
def complete():
    return 13, [(u, v) for u in range(13) for v in range(u)]


@case("PageRank oscillates and bfs alternates between two sides; all of one side arrive at once", directed=False)
def bipartite():
    return 20, [(u, 9 + v) for u in range(9) for v in range(11)]


@case("many short frontiers and equal distances, the mesh that block partitions cut well", directed=False, source=101)
def grid():
    across = [(17 * y + x, 17 * y + x + 1) for y in range(12) for x in range(16)]
    return 204, across + [(17 * y + x, 17 * y + x + 17) for y in range(11) for x in range(17)]


@case("a frontier that doubles every round: sparse to dense to sparse")
def binary_tree():
    return 1023, [((v - 1) // 2, v) for v in range(1, 1023)]


@case("a clique with a long tail: peeling takes one vertex a round, then all at once", directed=False, source=59)
def lollipop():
    return 60, [(u, v) for u in range(12) for v in range(u)] + [(v, v + 1) for v in range(11, 59)]


@case("cores inside cores: removals cascade, and k jumps over empty levels", directed=False)
def nested_cores():
    cliques = [(low + u, low + v) for low, size in ((0, 3), (10, 7), (20, 14)) for u in range(size) for v in range(u)]
    return 40, [*cliques, (2, 10), (16, 20)]


# disconnected graphs


@case("what is not reached keeps its unreached value, on ranks that never hear of the search", source=30)
def two_islands():
    return 60, [(v, (v + 1) % 30) for v in range(30)] + [(30 + v, 30 + (v + 1) % 30) for v in range(30)]


@case("isolated vertices at both ends and between: no rank may lose one", directed=False, source=40)
def isolated_between():
    return 200, [(v, v + 20) for v in range(20, 160, 20)]


@case("hundreds of components: labels of one must not leak into another", directed=False, source=2)
def many_pairs():
    return 500, [(v, v + 1) for v in range(0, 500, 2)]


@case("reached forwards is not reached backwards: pull must walk in-arcs", source=20)
def one_way():
    return 41, [(v, v + 1) for v in range(40)] + [(v, 0) for v in (3, 7, 30)]


# redundant input


@case("parallel arcs in every order of weights: the lightest wins, and out-degrees count it once")
def parallel_arcs():
    weights = [5, 1, 9, 1, 5, 9, 9, 5, 1, 2, 2, 30]
    return 6, [(0, 1)] * 3 + [(0, 2)] * 3 + [(0, 3)] * 3 + [(3, 4), (3, 4), (0, 4)], weights


@case("an undirected edge listed both ways with two weights is one edge, of the smaller weight", directed=False)
def listed_both_ways():
    return 8, [(v, v + 1) for v in range(7)] + [(v + 1, v) for v in range(7)], [*range(1, 8), *range(7, 0, -1)]


@case("reciprocal arcs of different weights are two arcs")
def reciprocal_arcs():
    return 30, [(v, v + 1) for v in range(29)] + [(v + 1, v) for v in range(29)], [*range(1, 30), *range(29, 0, -1)]


@case("loops beside real arcs: they shorten nothing and count for no degree or core", directed=False)
def loops_among_edges():
    return 12, [(v, v + 1) for v in range(11)] + [(v, v) for v in range(12)], [7] * 11 + [0] * 12


@case("ids beyond 32 bits, far apart and out of order; the smallest id decides labels and predecessors", sparse=True)
def huge_ids():
    edges = _random(60, 150, 3)
    ids = np.random.default_rng(4).permutation((np.arange(60) ** 9 * 7919 + 3 * np.arange(60)) % 2**62)
    ids[0] = 0
    return None, ids[edges]


@case(
    "ids that begin far from 0, undirected, and a source in their middle",
    directed=False,
    sparse=True,
    source=2**33 + 40,
)
def shifted_ids():
    return None, np.array([(v, v + 4) for v in range(0, 90, 4)]) + 2**33


# like real graphs


@case("nothing special: the graph on which everything must work", source=11)
def random_sparse():
    return 300, _random(300, 1000, 1)


@case("dense enough that pull pays, with a prime number of vertices", directed=False, source=7)
def random_dense():
    return 101, _random(101, 1500, 2)


@case("nine vertices in ten are sinks: dangling mass, frontiers that die at once", source=3)
def mostly_sinks():
    rng = np.random.default_rng(6)
    return 400, np.column_stack([rng.integers(0, 40, 900), rng.integers(0, 400, 900)])


@case("skewed degrees: hubs, a giant component and dust", source=1)
def skewed():
    rng = np.random.default_rng(5)
    return 512, np.minimum((512 * rng.random((2500, 2)) ** 4).astype(np.int64), 511)


# weights


@case("plateaus of zero weight: predecessors must not run in a circle", source=8)
def plateaus():
    return 120, _random(120, 500, 7), np.random.default_rng(8).integers(0, 3, 500)


@case("all weights zero, a ring back to the source: everything ties with everything", directed=False, source=13)
def all_zero():
    return 40, [(v, (v + 1) % 40) for v in range(40)] + [(v, v + 7) for v in range(0, 33, 5)], [0] * 47


@case("a detour of light arcs beats a heavy one: distances fall long after they are set")
def detours():
    edges = [(v, v + 1) for v in range(60)] + [(0, v) for v in range(2, 61)]
    return 61, edges, [1] * 60 + list(range(1000, 1059))


@case("int32 weights whose sums leave int32 after two arcs", dtypes=("int32", "int64", "float64"))
def beyond_int32():
    return 50, [(v, v + 1) for v in range(49)] + [(0, 49)], [2**31 - 1] * 49 + [2**31 - 2]


@case("sums at the end of int32, one below and one above: its end means no path there", dtypes=("int32", "int64"))
def int32_end():
    end = 2**31 - 1
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 3), (5, 6), (6, 7)]
    return 8, edges, [end - 2, 1, 1, 1, 7, end - 3, end - 9, 3]


@case("a sum that is the end of int32, by the heaviest arc", dtypes=("int32", "int64"))
def int32_end_in_one_step():
    return 3, [(0, 1), (1, 2)], [2**30 - 1, 2**30]


@case("sums past 2^53, where float64 loses the last bit that decides", dtypes=("int64",))
def beyond_2_to_53():
    return 9, [(0, 1), (1, 8), (0, 2), (2, 8), (0, 3), (3, 8)], [2**60, 3, 2**60, 1, 2**60, 2]


@case("a sum past 2^63 must lose to a small one, not wrap and win", dtypes=("int64",))
def beyond_63_bits():
    return 5, [(0, 1), (1, 2), (0, 3), (3, 2), (2, 4)], [2**62, 2**62, 2**61, 5, 2**61]


@case("sums that round: the order of additions shows in the last bit, ties hang on it", dtypes=FLOATS, source=2)
def rounded_sums():
    return 80, _random(80, 400, 9), np.random.default_rng(10).integers(1, 9, 400).astype(np.float32) / np.float32(10)


@case("a big weight swallows small ones in float32: zero-length steps that are not zero", dtypes=("float32",))
def swallowed():
    return 30, [(v, v + 1) for v in range(29)] + [(v + 1, v) for v in range(1, 29)], [2.0**24] + [0.5] * 56


@case("the smallest and the largest floats: subnormals stay, nothing becomes infinite", dtypes=("float64",))
def extreme_floats():
    return 6, [(0, 1), (1, 2), (0, 3), (3, 4), (2, 5)], [5e-324, 5e-324, 8e307, 8e307, 2.5]
