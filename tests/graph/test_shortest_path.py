"""Path between two vertices: on any number of ranks the one of smallest predecessors, by an oracle of its own."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph.comm import world
from dgraph.errors import UsageError

pytestmark = pytest.mark.mpi

FEWER = 1 if world().size == 1 else 5
"""On several ranks each path is a run of bfs, so a fifth of the pairs is drawn."""


def smallest_path(G, source, target, weight=None):
    """Return the shortest path on which each vertex has its smallest predecessor; [] if there is none."""
    if weight is None:
        distance = nx.single_source_shortest_path_length(G, source)
    else:
        distance = nx.single_source_dijkstra_path_length(G, source, weight=weight)
    if target not in distance:
        return []
    path = [target]
    while path[-1] != source:
        v = path[-1]
        before = G.predecessors(v) if G.is_directed() else G.neighbors(v)
        cost = {u: 1 if weight is None else G[u][v][weight] for u in before if u in distance}
        path.append(min(u for u, step in cost.items() if distance[u] + step == distance[v]))
    return path[::-1]


def spread(G, called=lambda vertices: vertices, **options):
    """Return the graph, with weights, of which each rank passes a share of the edges."""
    edges = np.array([edge[:2] for edge in G.edges], np.int64).reshape(-1, 2)[world().rank :: world().size]
    vertices = called(np.array(sorted(G), np.int64))[world().rank :: world().size]
    return dgraph.Graph.from_edges(
        called(edges[:, 0]), called(edges[:, 1]), 1 + edges.sum(axis=1) % 7, directed=G.is_directed(),
        vertices=vertices, **options,
    )  # fmt: skip


def drawn(n, arcs, directed, seed):
    """Return a random graph on every third number, with weights."""
    draw = np.random.default_rng(seed)
    G = nx.DiGraph() if directed else nx.Graph()
    G.add_nodes_from(range(0, 3 * n, 3))
    for u, v in (3 * draw.integers(0, n, (arcs, 2))).tolist():
        if u != v:
            G.add_edge(u, v, weight=1 + (u + v) % 7)
    return G


@pytest.mark.parametrize("seed", range(20 // FEWER))
@pytest.mark.parametrize("directed", [False, True])
def test_paths_are_those_of_smallest_predecessors(directed, seed):
    draw = np.random.default_rng(seed)
    n, degree = int(draw.integers(2, 60)), int(draw.integers(1, 5))
    G = drawn(n, n * degree, directed, seed)
    graph = spread(G)
    ends = 3 * draw.integers(0, n, (30 // FEWER, 2))
    for source, target in ends.tolist():
        path = smallest_path(G, source, target)
        assert graph.shortest_path(source, target) == path
        assert graph.shortest_path_length(source, target) == (len(path) - 1 if path else np.inf)
    source, target = ends[0].tolist()
    path = smallest_path(G, source, target, "weight")
    weights = sum(G[u][v]["weight"] for u, v in pairwise(path)) if path else np.inf
    assert graph.shortest_path_length(source, target, weighted=True) == weights
    assert graph.shortest_path(source, target, weighted=True) == smallest_path(G, source, target, "weight")


@pytest.mark.parametrize("name", ["grid", "ladder", "path", "cycle", "complete", "hubs"])
def test_paths_of_known_shapes(name):
    """Grids have many shortest paths, ladders long ones, and hubs make one end search deeper than the other.

    Ids are permuted, so that no level of a search ascends.
    """
    G = {
        "grid": lambda: nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 9)),
        "ladder": lambda: nx.circular_ladder_graph(40),
        "path": lambda: nx.path_graph(50),
        "cycle": lambda: nx.cycle_graph(31),
        "complete": lambda: nx.complete_graph(12),
        "hubs": lambda: nx.disjoint_union(nx.lollipop_graph(20, 9), nx.barbell_graph(12, 5)),
    }[name]()
    G = nx.relabel_nodes(G, dict(enumerate(np.random.default_rng(5).permutation(len(G)).tolist())))
    graph = spread(G)
    for source in range(0, len(G), 5 * FEWER):
        for target in range(0, len(G), 3 * FEWER):
            assert graph.shortest_path(source, target) == smallest_path(G, source, target)


def test_names_loops_parallel_edges_order_and_stores(tmp_path_factory):
    G = drawn(60, 150, True, 3)
    pairs = [(0, 57), (3, 171), (60, 12), (9, 9)]
    wanted = [smallest_path(G, *pair) for pair in pairs]
    called = np.vectorize("v{:04}".format, otypes=["U5"])
    named = spread(G, called)
    assert [named.shortest_path(f"v{u:04}", f"v{v:04}") for u, v in pairs] == [
        [f"v{v:04}" for v in path] for path in wanted
    ]
    plain, by_degree = (dgraph.Graph.load("rmat:6,symmetric", order=order) for order in ("original", "degree"))
    for pair in ((3, 17), (60, 12), (1, 44)):
        assert by_degree.shortest_path(*pair) == plain.shortest_path(*pair)
    folder = world().bcast_json(str(tmp_path_factory.mktemp("path") / "store"))
    spread(G).save_store(folder, policy="cvc" if world().size > 1 else None)
    opened = dgraph.Graph.open(folder)
    assert [opened.shortest_path(*pair) for pair in pairs] == wanted
    twice = nx.MultiGraph(nx.path_graph(6))
    twice.add_edges_from([(2, 3), (4, 4)])
    graph = spread(twice, keep_parallel=True, keep_loops=True)
    assert graph.shortest_path(0, 5) == [0, 1, 2, 3, 4, 5]
    assert graph.with_edges([[1, 5]], weights=[1]).shortest_path(0, 5) == [0, 1, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 99), "99 is not a vertex of the graph"),
        (("a", 1), "this graph's are integers|not an integer"),
        (([0, 1], 1), "source: .* is not a vertex; give an integer"),
        ((0, 1, 2), "weighted = 2 is not valid"),
    ],
)
def test_refusals(arguments, message):
    graph = spread(drawn(4, 9, False, 1))
    with pytest.raises(UsageError, match=message):
        graph.shortest_path(*arguments)
