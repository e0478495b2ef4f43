"""Flows, cuts, matchings, paths by length, squares and labels of larger random graphs, against NetworkX."""

import random
from itertools import islice, pairwise

import networkx as nx
import pytest
from test_answers import is_flow

pytestmark = [pytest.mark.mpi_skip, pytest.mark.interpreted]

SIDES = {"_s": 0, "_t": 59, "capacity": "capacity"}


@pytest.fixture(autouse=True)
def _quiet():
    nx.config.warnings_to_ignore.add("cache")


def network(kind, seed, largest=20):
    """Return a graph in which a flow has several bottlenecks, and every tenth edge is endless."""
    draw = random.Random(seed)
    graph = kind()
    graph.add_nodes_from(range(60))
    for step in range(400):
        u = draw.randrange(60)
        v = min(59, max(0, u + draw.randint(-3, 6)))
        graph.add_edge(u, v, **({"capacity": draw.randint(0, largest)} if step % 10 or abs(u - v) > 2 else {}))
    return graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("largest", [1, 20, 2**24])
def test_flows_and_cuts(kind, largest):
    values = []
    for seed in range(4):
        graph = network(kind, seed, largest)
        value, flow = nx.maximum_flow(graph, **SIDES, backend="dgraph")
        assert value == nx.maximum_flow_value(graph, **SIDES)
        values.append(value)
        assert is_flow(graph, SIDES, value, flow)
        assert nx.minimum_cut(graph, **SIDES, backend="dgraph") == nx.minimum_cut(graph, **SIDES)
    assert max(values) >= largest


def test_flows_beyond_32_bits_are_declined():
    """Check that no answer is cut to 32 bits, which SciPy does in silence."""
    graph = nx.DiGraph()
    nx.add_path(graph, [0, 1, 59], capacity=2**33)
    with pytest.raises(NotImplementedError):
        nx.maximum_flow_value(graph, **SIDES, backend="dgraph")
    graph.add_edge(59, 60, capacity=7)
    assert nx.maximum_flow_value(graph, 0, 60, backend="dgraph") == 7
    assert nx.maximum_flow(graph, 0, 60, backend="dgraph")[1] == {0: {1: 7}, 1: {59: 7}, 59: {60: 7}, 60: {}}


def test_capacities_of_converted_graphs():
    """Check that an edge without the attribute is endless in a graph that keeps all attributes, too."""
    from dgraph.networkx_backend.converted_graph import convert_from_nx

    graph = network(nx.DiGraph, 1)
    kept = convert_from_nx(graph, preserve_edge_attrs=True)
    assert nx.maximum_flow_value(kept, **SIDES) == nx.maximum_flow_value(graph, **SIDES)


def test_fractions_are_declined():
    graph = nx.path_graph(3, nx.DiGraph)
    nx.set_edge_attributes(graph, 0.5, "capacity")
    with pytest.raises(NotImplementedError):
        nx.maximum_flow(graph, 0, 2, backend="dgraph")


@pytest.mark.parametrize("directed", [False, True])
def test_matchings_are_largest(directed):
    match = nx.bipartite.hopcroft_karp_matching
    for seed in range(12):
        graph = nx.bipartite.random_graph(25, 18, 0.09, seed=seed, directed=directed)
        top = [node for node in graph if graph.nodes[node]["bipartite"] == 0]
        answer = match(graph, top, backend="dgraph")
        assert len(answer) == len(match(graph, top))
        assert all(answer[partner] == node for node, partner in answer.items())
        assert all(graph.has_edge(node, answer[node]) for node in top if node in answer)
        main = graph.subgraph(max(nx.weakly_connected_components(graph.to_directed()), key=len)).copy()
        assert len(match(main, backend="dgraph")) == len(match(main))


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("weight", [None, "capacity"])
def test_first_paths_by_length(kind, weight):
    for seed in range(3):
        graph = network(kind, seed)
        nx.set_edge_attributes(graph, dict.fromkeys(list(graph.edges)[::17], 0), "capacity")
        paths, wanted = (
            list(islice(nx.shortest_simple_paths(graph, 0, 59, weight, **more), 60))
            for more in ({"backend": "dgraph"}, {})
        )
        assert len(set(map(tuple, paths))) == len(paths) == len(wanted)
        assert all(nx.is_simple_path(graph, path) and (path[0], path[-1]) == (0, 59) for path in paths)
        lengths, others = (
            [sum(graph[u][v].get(weight, 1) for u, v in pairwise(path)) for path in some] for some in (paths, wanted)
        )
        assert lengths == others


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_squares_and_labels_of_larger_graphs(kind):
    for seed in range(3):
        graph = kind(nx.gnm_random_graph(120, 420, seed=seed))
        graph.add_edges_from(list(graph.edges)[:40])
        assert nx.square_clustering(graph, backend="dgraph") == nx.square_clustering(graph)
        labels = nx.community.label_propagation_communities
        assert list(labels(graph, backend="dgraph")) == list(labels(graph))


def test_squares_of_few_nodes_at_once(monkeypatch):
    from dgraph.networkx_backend import nx_triangles

    monkeypatch.setattr(nx_triangles, "WEDGES", 50)
    graph = nx.karate_club_graph()
    assert nx.square_clustering(graph, backend="dgraph") == nx.square_clustering(graph)
