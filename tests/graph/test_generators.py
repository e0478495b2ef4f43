"""Generated graphs: equal at any number of ranks, and of the documented shape."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.graph.generate import GENERATORS, drawn, generate
from dgraph.graph.generators import classic, counter, lattice, random_graphs
from dgraph.graph.generators.spec import parse

SPECS = [
    "rmat:8",
    "rmat:0",
    "rmat:7,edge_factor=2.5,seed=7,a=.4,b=.3,c=.2,permute=0",
    "kron:6",
    "uniform:7,symmetric",
    "grid:5x7",
    "grid:4x3,torus",
    "grid:1x9,directed",
    "road:9x8,drop=0.3,seed=5",
    "roadnet:9x8,extra=0.3,seed=5",
    "roadnet:1x5",
    "roadnet:5x1",
    "rmat:6,noise=0.3",
    "rmat-alb:7",
    "gtgraph:7",
    "kron:6,noise=0.1",
    "bipartite:5x9,edge_factor=3",
    "star:9",
    "path:1",
    "path:10",
    "complete:9",
    "complete:1",
    "tree:14,arity=3",
    "smallworld:20,k=6,p=0.3",
]


def test_every_generator_has_a_spec():
    assert {parse(spec, GENERATORS)[0].name for spec in SPECS} == set(GENERATORS)


class Rank(SerialComm):
    """Communicator stub: rank ``rank`` of ``size``, for work that does not communicate."""

    def __init__(self, rank, size):
        super().__init__()
        self.rank, self.size = rank, size

    def allgather_cached(self, name, make):
        return [make()] * self.size

    def agree(self, error):
        if error is not None:
            raise error


def whole(spec):
    return generate(spec, SerialComm())


def recipe_of(spec):
    generator, size, options = parse(spec, GENERATORS)
    return generator.make(size, **options)


def graph_of(spec):
    raw = whole(spec)
    graph = nx.DiGraph() if raw.directed else nx.Graph()
    graph.add_nodes_from(range(raw.n))
    graph.add_edges_from(zip(raw.src.tolist(), raw.dst.tolist(), strict=True))
    assert graph.number_of_edges() == raw.src.size, "an edge is repeated"
    return graph


def same_edges(got, wanted):
    edges = (lambda g: set(g.edges)) if wanted.is_directed() else (lambda g: {frozenset(e) for e in g.edges})
    return set(got) == set(wanted) and edges(got) == edges(wanted)


def numbered(grid, columns):
    return nx.relabel_nodes(grid, {(row, column): row * columns + column for row, column in grid})


@pytest.mark.parametrize("size", [2, 3, 4, 11])
@pytest.mark.parametrize("spec", SPECS)
def test_slices_make_the_whole(spec, size):
    slices = [generate(spec, Rank(rank, size)) for rank in range(size)]
    expected = whole(spec)
    assert np.array_equal(np.concatenate([s.src for s in slices]), expected.src)
    assert np.array_equal(np.concatenate([s.dst for s in slices]), expected.dst)
    if expected.weights is not None:
        assert np.array_equal(np.concatenate([s.weights for s in slices]), expected.weights)
    for part in slices:
        assert (part.n, part.directed, part.facts) == (expected.n, expected.directed, expected.facts)
        assert part.src.dtype == part.dst.dtype == expected.src.dtype


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SPECS), st.data())
def test_any_cut_makes_the_whole(spec, data):
    recipe = recipe_of(spec)
    cut = sorted(data.draw(st.lists(st.integers(0, recipe.items), max_size=5)))
    bounds = [0, *cut, recipe.items]
    slices = [recipe.edges(a, b) for a, b in pairwise(bounds)]
    for parts, expected in zip(zip(*slices, strict=True), recipe.edges(0, recipe.items), strict=True):
        assert expected is None or np.array_equal(np.concatenate(parts), expected)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_make_the_whole(spec, threads, monkeypatch):
    monkeypatch.setattr("dgraph.graph.generate.PIECE", 7)
    recipe = recipe_of(spec)
    for first in (0, recipe.items // 3):
        for column, expected in zip(
            drawn(recipe, first, recipe.items, threads), recipe.edges(first, recipe.items), strict=True
        ):
            assert expected is None if column is None else np.array_equal(column, expected)


@pytest.mark.mpi
@pytest.mark.parametrize("spec", ["rmat:9", "road:20x20", "complete:12"])
def test_ranks_make_the_whole(spec):
    comm = world()
    raw, expected = generate(spec, comm), whole(spec)
    assert np.array_equal(np.concatenate(comm.allgatherv(raw.src)), expected.src)
    assert np.array_equal(np.concatenate(comm.allgatherv(raw.dst)), expected.dst)


@pytest.mark.mpi
def test_a_rank_without_memory_stops_all(monkeypatch):
    comm = world()
    if comm.rank == comm.size - 1:

        def refuse(n, count):
            raise MemoryError

        monkeypatch.setattr(random_graphs, "empty_ends", refuse)
    with pytest.raises(UsageError, match="more than memory holds; use more ranks"):
        generate("rmat:6", comm)


@pytest.mark.parametrize(
    ("spec", "sums"),
    [
        ("rmat:10", (62520615142, 63498360091)),
        ("uniform:10", (68640070372, 68526385037)),
        ("road:20x30", (203703491, 211736303, 184146883)),
        ("smallworld:200", (10646500, 9979396)),
    ],
)
def test_graphs_stay_what_they_are(spec, sums):
    """A spec in a report keeps naming the same graph: sums of index × value, recorded with the first version."""
    raw = whole(spec)
    place = np.arange(1, raw.src.size + 1, dtype=np.int64)
    assert tuple(int((x * place).sum()) for x in (raw.src, raw.dst, raw.weights) if x is not None) == sums


def test_seeds_differ():
    for spec in ("rmat:8", "uniform:8", "road:16x16", "smallworld:100", "kron:8"):
        one, two = whole(spec), whole(f"{spec},seed=2")
        assert not (np.array_equal(one.src, two.src) and np.array_equal(one.dst, two.dst)), spec


def test_draws_are_splitmix64():
    draw = njit(lambda seed, item, k: counter.draw(seed, item, k))
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [int(draw(np.uint64(1234567), 0, k)) for k in range(1, 6)] == published
    assert draw(np.uint64(5), 3, 0) == draw(np.uint64(5), 2, 64)


@njit
def scrambled(bits, keys):
    out = np.empty(1 << bits, np.int64)
    for x in range(out.size):
        out[x] = counter.scramble(x, bits, keys)
    return out


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 7, 8, 13, 16])
def test_scramble_is_a_bijection(bits):
    images = [scrambled(bits, counter.scramble_keys(seed, 2)) for seed in range(1, 6)]
    for image in images:
        assert np.array_equal(np.sort(image), np.arange(1 << bits))
    if bits >= 7:
        assert len({tuple(image) for image in images}) == 5
        for image in images:
            assert abs(np.corrcoef(image, np.arange(1 << bits))[0, 1]) < 6 / np.sqrt(1 << bits)


def near(got, probability, trials):
    return abs(got - probability * trials) < 5 * np.sqrt(probability * (1 - probability) * trials)


@pytest.mark.parametrize("shares", [(0.57, 0.19, 0.19), (0.4, 0.3, 0.2), (0.61, 0.334, 0.045), (0.25, 0.25, 0.25)])
def test_rmat_quadrants(shares):
    a, b, c = shares
    raw = whole(f"rmat:12,a={a},b={b},c={c},permute=0")
    m = raw.src.size
    assert m == 16 << 12
    for bit in range(12):
        quadrant = np.bincount(2 * (raw.src >> bit & 1) + (raw.dst >> bit & 1), minlength=4)
        for count, share in zip(quadrant, (a, b, c, 1 - a - b - c), strict=True):
            assert near(count, share, m), (bit, quadrant / m)


def test_rmat_hub():
    raw, permuted = whole("rmat:14,permute=0"), whole("rmat:14")
    degrees = np.bincount(raw.src, minlength=raw.n)
    assert near(degrees[0], 0.76**14, raw.src.size)
    assert degrees.argmax() == 0
    assert (degrees == 0).mean() > 0.3
    ids = scrambled(14, counter.scramble_keys(1, random_graphs._IDS))
    assert np.array_equal(permuted.src, ids[raw.src])
    assert np.array_equal(permuted.dst, ids[raw.dst])


def test_kron_is_the_symmetric_rmat():
    kron, rmat = whole("kron:9,seed=4"), whole("rmat:9,seed=4,symmetric")
    assert np.array_equal(kron.src, rmat.src)
    assert np.array_equal(kron.dst, rmat.dst)
    assert not kron.directed
    assert not rmat.directed
    assert whole("rmat:9").directed


def test_uniform_degrees():
    raw = whole("uniform:14")
    for ends in (raw.src, raw.dst):
        degrees = np.bincount(ends, minlength=raw.n)
        assert 14.5 < degrees.var() < 17.5
        assert degrees.max() < 45
    assert abs(np.corrcoef(raw.src, raw.dst)[0, 1]) < 0.01
    assert raw.directed
    assert not whole("uniform:4,symmetric").directed


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("grid:5x7", numbered(nx.grid_2d_graph(5, 7), 7)),
        ("grid:1x1", numbered(nx.grid_2d_graph(1, 1), 1)),
        ("grid:1x6", numbered(nx.grid_2d_graph(1, 6), 6)),
        ("grid:6x1,torus", numbered(nx.grid_2d_graph(6, 1, periodic=True), 1)),
        ("grid:2x3,torus", numbered(nx.grid_2d_graph(2, 3, periodic=True), 3)),
        ("grid:4x5,torus", numbered(nx.grid_2d_graph(4, 5, periodic=True), 5)),
        ("star:6", nx.star_graph(5)),
        ("star:1", nx.star_graph(0)),
        ("path:6", nx.path_graph(6)),
        ("path:1", nx.path_graph(1)),
        ("complete:7", nx.complete_graph(7)),
        ("complete:1", nx.complete_graph(1)),
        ("tree:12", nx.full_rary_tree(2, 12)),
        ("tree:12,arity=1", nx.path_graph(12)),
        ("tree:12,arity=4", nx.full_rary_tree(4, 12)),
        ("tree:12,arity=99", nx.star_graph(11)),
        ("smallworld:11,k=4,p=0", nx.watts_strogatz_graph(11, 4, 0)),
        ("smallworld:5,k=0", nx.empty_graph(5)),
    ],
)
def test_shape_as_networkx_makes_it(spec, wanted):
    assert same_edges(graph_of(spec), wanted)


def test_directed_grid_goes_right_and_down():
    graph = graph_of("grid:3x4,directed")
    assert graph.is_directed()
    assert nx.is_directed_acyclic_graph(graph)
    assert {t for t, d in graph.out_degree() if d == 0} == {11}
    assert same_edges(graph.to_undirected(), numbered(nx.grid_2d_graph(3, 4), 4))


def test_road():
    raw, grid = whole("road:100x80"), whole("grid:100x80")
    kept = set(zip(raw.src.tolist(), raw.dst.tolist(), strict=True))
    assert kept < set(zip(grid.src.tolist(), grid.dst.tolist(), strict=True))
    assert near(len(kept), 0.9, grid.src.size)
    assert raw.weights.dtype == np.int32
    assert raw.weights.min() >= 24
    assert raw.weights.max() <= 1059
    assert 300 < raw.weights.mean() < 400
    graph = graph_of("road:100x80")
    assert len(max(nx.connected_components(graph), key=len)) > 0.98 * raw.n
    assert whole("road:9x9,drop=0").src.size == 144
    assert whole("road:9x9,drop=1").src.size == 0


def test_road_weights_follow_length():
    """Weights follow length and slowness: below 0.1 and above 1 times that of a grid edge."""
    weights = whole("road:100x100,drop=0").weights
    assert (weights < 62).any()
    assert (weights > 620).any()


def test_small_world_moves_its_share_of_far_ends():
    raw = whole("smallworld:5000,k=8,p=0.25")
    away = (raw.dst.astype(np.int64) - raw.src) % raw.n
    ring = np.tile([1, 2, 3, 4], 5000)
    assert near((away != ring).sum(), 0.25, away.size)
    assert (away != 0).all()
    assert (np.bincount(raw.src) == 4).all()


@pytest.mark.parametrize("n", [1 << 32, (1 << 32) + 1, 1 << 40])
def test_ids_beyond_32_bits(n):
    """The last edges of graphs far too large to make."""
    dtype = np.uint32 if n == 1 << 32 else np.int64
    ends = {
        "star": (classic.star(n), [0, 0], [n - 2, n - 1]),
        "path": (classic.path(n), [n - 3, n - 2], [n - 2, n - 1]),
        "tree": (classic.tree(n, arity=2), [(n - 3) // 2, (n - 2) // 2], [n - 2, n - 1]),
        "flat tree": (classic.tree(n, arity=1 << 40), [0, 0], [n - 2, n - 1]),
        "ring": (classic.smallworld(n, k=2, p=0.0, seed=1), [n - 2, n - 1], [n - 1, 0]),
        "grid": (lattice.grid((1, n), torus=False, directed=False), [n - 3, n - 2], [n - 2, n - 1]),
        "torus": (lattice.grid((n, 1), torus=True, directed=False), [n - 2, n - 1], [n - 1, 0]),
    }
    for name, (recipe, sources, targets) in ends.items():
        src, dst, _ = recipe.edges(recipe.items - 2, recipe.items)
        assert src.dtype == dst.dtype == dtype, name
        assert (src.tolist(), dst.tolist()) == (sources, targets), name


def test_large_complete_graph_is_cut_exactly():
    n = 700_000_001
    recipe = classic.complete(n)
    src, dst, _ = recipe.edges(recipe.items - 3, recipe.items)
    assert (src.tolist(), dst.tolist()) == ([n - 3, n - 3, n - 2], [n - 2, n - 1, n - 1])
    row = n - 1
    src, dst, _ = recipe.edges(row - 1, row + 1)
    assert (src.tolist(), dst.tolist()) == ([0, 1], [n - 1, 2])


def test_road_networks_are_connected_trees_and_a_little_more():
    tree = graph_of("roadnet:30x40,extra=0")
    assert nx.is_tree(tree)
    graph = graph_of("roadnet:60x50,seed=3")
    assert nx.is_connected(graph)
    degrees = np.bincount([degree for _, degree in graph.degree]) / 3000
    assert 2.3 < 2 * graph.number_of_edges() / 3000 < 2.5
    assert 0.15 < degrees[1] < 0.25
    assert degrees.size <= 9
    raw = whole("roadnet:60x50,seed=3")
    assert raw.weights.dtype == np.int32
    assert raw.weights.min() >= 1
    rows, columns = np.divmod(np.stack([raw.src, raw.dst]).astype(np.int64), 50)
    assert np.abs(np.diff(rows, axis=0)).max() == np.abs(np.diff(columns, axis=0)).max() == 1
    assert nx.approximation.diameter(graph) < 4 * 3000**0.5


def test_noise_of_nothing_changes_nothing_and_little_changes_the_shares_little():
    drawn_edges = [whole(spec) for spec in ("rmat:10,permute=0", "rmat:10,permute=0,noise=1e-9")]
    assert all(np.array_equal(*columns) for columns in zip(*((raw.src, raw.dst) for raw in drawn_edges), strict=True))
    raw = whole("rmat:12,permute=0,noise=0.3,edge_factor=32")
    lower, right = raw.src >= 2048, raw.dst >= 2048
    shares = np.bincount(2 * lower + right, minlength=4) / raw.src.size
    assert np.abs(shares - [0.57, 0.19, 0.19, 0.05]).max() < 0.01
    assert not np.array_equal(raw.src, whole("rmat:12,permute=0,edge_factor=32").src)


def test_the_hub_of_rmat_alb_has_almost_a_quarter_of_the_edges_and_they_are_kept():
    from dgraph.graph.stored_graph import Graph

    raw = whole("rmat-alb:12,permute=0")
    assert 0.944**12 - 0.01 < np.count_nonzero(raw.src == 0) / raw.src.size < 0.944**12 + 0.01
    assert abs(np.count_nonzero(raw.dst == 0) / raw.dst.size - 0.655**12) < 0.005
    graph = Graph.load("rmat-alb:8")
    assert graph.m == 16 * 256 - graph.block.facts.loops
    assert graph.block.facts.duplicates_kept


def test_gtgraph_draws_its_own_shares():
    raw = whole("gtgraph:14")
    assert raw.src.size == 8 << 14
    shares = np.bincount(np.bincount(raw.src, minlength=1 << 14))
    assert 8 * 0.6**14 * 2**14 * 0.5 < shares.size < 8 * 0.6**14 * 2**14 * 2


def test_bipartite_edges_cross():
    raw = whole("bipartite:5x9,edge_factor=3")
    assert (raw.n, raw.src.size, raw.directed) == (14, 42, False)
    assert raw.src.max() < 5 <= raw.dst.min()
    assert raw.dst.max() < 14
