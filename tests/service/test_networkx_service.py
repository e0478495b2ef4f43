"""NetworkX's functions on graphs that a service keeps."""

import networkx as nx
import pytest

import dgraph
from dgraph.networkx_backend import service_graphs
from dgraph.networkx_backend.converted_graph import from_networkx

pytestmark = pytest.mark.starts_children


@pytest.fixture
def configured(live):
    with nx.config.backends.dgraph(service=live.unix), nx.config(warnings_to_ignore={"cache"}):
        yield dgraph.connect(live.unix)


def kept(client):
    return {graph.name for graph in client.graphs() if graph.name.startswith("networkx-")}


def test_answers_are_networkx_own_and_a_graph_is_sent_once(configured):
    G = nx.gnm_random_graph(300, 500, seed=3)  # with isolated nodes
    before = kept(configured)
    lengths = nx.single_source_shortest_path_length(G, 5, backend="dgraph")
    assert lengths == nx.single_source_shortest_path_length(G, 5)
    assert set(map(frozenset, nx.connected_components(G, backend="dgraph"))) == set(
        map(frozenset, nx.connected_components(G))
    )
    assert len(kept(configured) - before) == 1
    nx.number_connected_components(nx.gnm_random_graph(300, 500, seed=3), backend="dgraph")
    assert len(kept(configured) - before) == 1
    assert {job.record["algorithm"] for job in configured.jobs(graph=(kept(configured) - before).pop())} == {
        "bfs",
        "cc",
    }


def test_weights_and_loops(configured):
    G = nx.gnm_random_graph(100, 400, seed=4, directed=True)
    for u, v, data in G.edges(data=True):
        data["weight"] = (7 * u + 3 * v) % 11 + 1
    lengths = nx.single_source_dijkstra_path_length(G, 5, backend="dgraph")
    assert lengths == nx.single_source_dijkstra_path_length(G, 5)
    before = kept(configured)
    G.add_edge(5, 5, weight=1)
    ranks = nx.pagerank(G, backend="dgraph", tol=1e-10)
    assert ranks == pytest.approx(nx.pagerank(G, tol=1e-10), abs=1e-9)
    assert kept(configured) == before


def test_a_graph_that_the_service_deleted_is_sent_again(configured):
    G = from_networkx(nx.path_graph(40))
    wanted = {node: node for node in range(40)}
    before = kept(configured)
    assert nx.single_source_shortest_path_length(G, 0, backend="dgraph") == wanted
    (name,) = kept(configured) - before
    assert configured.graph(name).facts["idle_s"] == service_graphs.IDLE_S
    configured.graph(name).drop()
    assert nx.single_source_shortest_path_length(G, 0, backend="dgraph") == wanted
    assert kept(configured) - before == {name}
