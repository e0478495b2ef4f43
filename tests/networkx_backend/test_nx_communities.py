"""Communities of the backend: the engine's sets, seeds, and the arguments that are declined."""

import networkx as nx
import numpy as np
import pytest

from dgraph.networkx_backend.dispatch import backend


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
