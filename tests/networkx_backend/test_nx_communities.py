"""Communities of the backend: the engine's sets, seeds, and the arguments that are declined."""

import networkx as nx
import numpy as np
import pytest

from dgraph.networkx_backend.dispatch import backend
from dgraph.networkx_backend.nx_communities import METRIC


@pytest.mark.parametrize("name", ["louvain_communities", "leiden_communities"])
@pytest.mark.parametrize(
    ("kind", "arguments", "reason"),
    [
        (nx.DiGraph, {}, "directed"),
        (nx.Graph, {"max_level": 2}, "max_level"),
        (nx.Graph, {"weight": lambda u, v, attributes: 1}, "is a function"),
    ],
    ids=["directed", "max_level", "weight"],
)
def test_arguments_are_declined_by_name(name, kind, arguments, reason):
    graph = kind(nx.karate_club_graph())
    assert reason in backend.should_run(name, (graph,), arguments)


def test_a_threshold_is_declined():
    graph = nx.karate_club_graph()
    assert "threshold" in backend.should_run("louvain_communities", (graph,), {"threshold": 0.1})
    with pytest.raises(NotImplementedError):
        nx.community.leiden_communities(graph, resolution=-1.0, backend="dgraph")


def test_a_seed_gives_the_same_communities_again():
    graph = nx.gnp_random_graph(200, 0.05, seed=1)
    first, again, other, none, null = (
        nx.community.leiden_communities(graph.copy(), **seed, backend="dgraph", resolution=0.9)
        for seed in ({"seed": 5}, {"seed": 5}, {"seed": np.random.RandomState(2)}, {}, {"seed": None})
    )
    assert first == again != other
    assert none == null


@pytest.mark.parametrize("name", ["louvain_communities", "leiden_communities"])
def test_communities_are_those_of_the_engine(name):
    graph = nx.planted_partition_graph(5, 20, 0.6, 0.02, seed=1)
    options = {"metric": "modularity"} if name.startswith("leiden") else {}
    groups = getattr(nx.community, name)(nx.relabel_nodes(graph, str), **options, backend="dgraph")
    assert sorted(map(sorted, groups)) == sorted(sorted(map(str, range(20 * i, 20 * i + 20))) for i in range(5))


@pytest.mark.parametrize("name", ["louvain_communities", "leiden_communities"])
def test_graphs_without_nodes_or_edges(name):
    call = getattr(nx.community, name)
    assert call(nx.Graph(), backend="dgraph") == []
    assert call(nx.empty_graph("ab"), backend="dgraph") == [{"a"}, {"b"}]


def test_sets_that_are_no_partition_are_refused_as_networkx_does():
    graph = nx.path_graph(4)
    for name, wrong in (("modularity", "not a valid partition"), ("partition_quality", "not a valid partition")):
        for groups in ([{0, 1}, {1, 2, 3}], [{0, 1}, {2}], [{0, 1, 2, 3}, {9}]):
            with pytest.raises(nx.NetworkXError, match=wrong):
                getattr(nx.community, name)(graph.copy(), groups, backend="dgraph")


@pytest.fixture
def cached():
    """Let a graph be converted once for several calls."""
    with nx.config(warnings_to_ignore={"cache"}):
        yield


@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("resolution", [1, 0.3, np.float64(2)])
def test_modularity_has_the_bits_of_networkx(kind, resolution):
    graph = kind(nx.gnm_random_graph(40, 160, seed=4))
    nx.set_edge_attributes(graph, {edge: 1 + i % 7 for i, edge in enumerate(graph.edges)}, "weight")
    graph.add_edge(3, 3, weight=5)
    for seed in range(20):
        labels = np.random.default_rng(seed).integers(0, 6, 40)
        sets = [set(np.flatnonzero(labels == label).tolist()) for label in range(7)]
        wanted = nx.community.modularity(graph, sets, resolution=resolution)
        assert nx.community.modularity(graph, sets, resolution=resolution, backend="dgraph") == wanted


CROSSED = [
    (0, 1, 1), (1, 2, 2), (2, 3, 4), (3, 4, 4), (4, 5, 2), (5, 6, 3), (6, 7, 1), (7, 8, 2), (8, 9, 2), (0, 7, 2),
    (0, 8, 1), (1, 3, 2), (1, 9, 1), (2, 6, 2), (2, 8, 4), (3, 5, 3), (4, 7, 1), (4, 9, 2), (6, 9, 4), (7, 9, 4),
]  # fmt: skip
"""Weighted edges of NetworkX's test of Leiden by the constant Potts model."""


@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("louvain", {"weight": None, "seed": 2}),
        ("leiden", {"resolution": 0.2, "seed": 3}),
        ("leiden", {"resolution": 0.2, "seed": 170, "weight": None}),
        ("leiden", {"resolution": 0.8, "seed": 0, "edges": CROSSED}),
    ],
)
def test_quality_where_tests_of_networkx_are_expected_to_fail(name, options):
    if name == "leiden" and METRIC != "cpm":
        pytest.skip("NetworkX before 3.7")
    edges, options = options.get("edges"), {key: value for key, value in options.items() if key != "edges"}
    graph = nx.karate_club_graph() if edges is None else nx.Graph()
    graph.add_weighted_edges_from(edges or [])
    quality = nx.community.modularity if name == "louvain" else nx.community.constant_potts_model
    function = getattr(nx.community, f"{name}_communities")
    partitions = function(graph, **options, backend="dgraph"), function(graph, **options)
    measured = {key: value for key, value in options.items() if key != "seed"}
    ours, theirs = (quality(graph, partition, **measured) for partition in partitions)
    assert ours > theirs
