"""Conversion, cache, configuration, and what the backend declines."""

import inspect
import pickle
import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import dgraph
import dgraph.networkx_backend as ours
from dgraph.errors import UsageError
from dgraph.networkx_backend.converted_graph import convert_from_nx, convert_to_nx, from_networkx
from dgraph.networkx_backend.dispatch import backend

pytestmark = pytest.mark.interpreted


@pytest.fixture(autouse=True)
def _quiet():
    nx.config.warnings_to_ignore.add("cache")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_there_and_back(kind):
    graph = kind([(3, 1), (1, "x"), (1, 1), (3, 1), ("x", 3)])
    graph.add_node("alone")
    nx.set_edge_attributes(graph, 2.5, "weight")
    converted = from_networkx(graph)
    assert (len(converted), converted.number_of_edges()) == (len(graph), graph.number_of_edges())
    assert nx.utils.graphs_equal(convert_to_nx(converted), graph)
    assert list(convert_to_nx(converted)) == list(graph) == list(converted)
    assert 3 in converted
    assert [] not in converted
    assert converted.degree[1] == graph.degree[1]
    assert str(converted) == str(graph)
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        converted.add_edge(1, 2)


def test_rows_keep_loops_parallel_edges_and_order():
    graph = nx.MultiDiGraph([("b", "a"), ("b", "b"), ("b", "a"), ("a", "c")])
    converted = convert_from_nx(graph, edge_attrs={"weight": 1})
    assert converted.nodes == ["b", "a", "c"]
    assert converted.offsets.tolist() == [0, 3, 4, 4]
    assert converted.targets.tolist() == [1, 1, 0, 2]


def test_views_are_read_through_their_filters():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3)])
    view = graph.edge_subgraph([(0, 1, 0), (2, 3, 0)])
    assert nx.number_connected_components(view, backend="dgraph") == 2
    assert nx.descendants(nx.reverse_view(nx.DiGraph([(0, 1), (1, 2)])), 2, backend="dgraph") == {0, 1}


def test_conversions_are_cached_until_the_graph_changes():
    graph = nx.path_graph(4)
    assert nx.is_connected(graph, backend="dgraph")
    (kept,) = graph.__networkx_cache__["backends"]["dgraph"].values()
    nx.number_connected_components(graph, backend="dgraph")
    assert list(graph.__networkx_cache__["backends"]["dgraph"].values()) == [kept]
    graph.add_node(9)
    assert not nx.is_connected(graph, backend="dgraph")
    nx.k_core(graph, backend="dgraph")
    graph.add_edge(3, 9, weight=5)
    nx.k_core(graph, backend="dgraph")  # keeps all attributes, so that the next call needs no conversion
    assert nx.dijkstra_path_length(graph, 0, 9, backend="dgraph") == 8


def test_a_converted_graph_takes_several_calls():
    graph = nx.karate_club_graph()
    converted = from_networkx(graph, weight="weight")
    assert nx.core_number(converted) == nx.core_number(graph)
    assert nx.pagerank(converted) == pytest.approx(nx.pagerank(graph))
    with pytest.raises(NotImplementedError) as refused:
        nx.dijkstra_path(converted, 0, 9, weight="cost", backend="dgraph")
    assert "without the edge attribute 'cost'" in str(refused.value.__cause__)


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("single_source_dijkstra", {"source": 0, "weight": lambda u, v, d: 1}, "is a function"),
        ("bfs_edges", {"source": 0, "sort_neighbors": sorted}, "is a function"),
        ("all_shortest_paths", {"source": 0, "target": 1, "weight": "weight", "method": "bellman-ford"}, "Bellman"),
        ("average_shortest_path_length", {"method": "floyd-warshall"}, "Floyd"),
        ("diameter", {"e": {0: 1}}, "nothing to compute"),
        ("k_core", {"core_number": {0: 1}}, "nothing to compute"),
        ("closeness_centrality", {"sp": {0: {0: 0}}}, "nothing to compute"),
        ("is_connected", {"unknown": 1}, "other parameters"),
    ],
)
def test_what_cannot_be_answered_is_declined(name, arguments, why):
    graph = nx.path_graph(3)
    assert why in backend.should_run(name, (graph,), arguments)
    if arguments.keys() <= inspect.signature(getattr(nx, name)).parameters.keys():  # NetworkX refuses unknown ones
        with pytest.raises(NotImplementedError) as refused:
            getattr(nx, name)(graph, **arguments, backend="dgraph")
        assert why in str(refused.value.__cause__)


def test_an_unknown_parameter_is_dropped_at_its_default(monkeypatch):
    def is_connected(G, level=0, *, mode="fast"): ...

    registered = SimpleNamespace(orig_func=is_connected)
    monkeypatch.setitem(nx.utils.backends._registered_algorithms, "is_connected", registered)
    call = backend.is_connected
    assert call(from_networkx(nx.path_graph(3)), 0, mode="fast")
    for arguments in ({"level": 1}, {"mode": "slow"}):
        with pytest.raises(NotImplementedError, match="other parameters"):
            call(from_networkx(nx.path_graph(3)), **arguments)


@pytest.mark.parametrize("name", ["eccentricity", "diameter", "center", "barycenter"])
def test_the_null_graph_is_declined_where_the_versions_of_networkx_differ(name):
    with pytest.raises(NotImplementedError) as refused:
        getattr(nx, name)(nx.Graph(), backend="dgraph")
    assert "no nodes" in str(refused.value.__cause__)


@pytest.mark.skipif(not hasattr(nx.tree, "centroid"), reason="NetworkX before 3.6")
def test_the_centroid_of_a_tree_is_declined():
    with pytest.raises(NotImplementedError):
        nx.tree.centroid(nx.path_graph(4), backend="dgraph")


@pytest.mark.skipif("method" not in inspect.signature(nx.hits).parameters, reason="NetworkX before 3.7")
def test_hits_takes_the_methods_of_networkx():
    graph = nx.karate_club_graph()
    for method in ("svd", "power_iteration"):
        for ours_, theirs in zip(nx.hits(graph, method=method, backend="dgraph"), nx.hits(graph), strict=True):
            assert ours_ == pytest.approx(theirs, abs=1e-6)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.hits(from_networkx(graph), max_iter=2)
    with pytest.raises(ValueError, match="method not supported"):
        nx.hits(graph, method="other", backend="dgraph")


@pytest.mark.parametrize("weight", [-1, float("inf"), float("nan"), None, "heavy", Decimal(1), 2**64, 1j])
@pytest.mark.parametrize(
    "name", ["single_source_dijkstra_path_length", "all_pairs_dijkstra_path", "all_pairs_dijkstra"]
)
def test_weights_that_the_engine_refuses_are_declined_at_the_call(name, weight):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, weight, "weight")
    arguments = {"source": 0} if name.startswith("single") else {}
    with pytest.raises(NotImplementedError):
        getattr(nx, name)(graph, **arguments, backend="dgraph")


@pytest.mark.parametrize("call", [nx.pagerank, lambda G, **more: nx.dijkstra_path(G, "a", "b", **more)])
@pytest.mark.parametrize("weight", [-1, float("inf")])
def test_a_refused_weight_is_named_by_its_nodes(call, weight):
    graph = nx.DiGraph([("z", "a"), ("a", "b", {"weight": weight})])
    with pytest.raises(NotImplementedError) as refused:
        call(graph, backend="dgraph")
    assert f"the edge 'a' → 'b' has weight {weight}" in str(refused.value.__cause__)
    assert "--" not in str(refused.value.__cause__)


def test_an_integer_that_no_array_holds_is_called_too_large():
    with pytest.raises(NotImplementedError) as refused:
        nx.dijkstra_path_length(nx.Graph([("a", "b", {"weight": 2**70})]), "a", "b", backend="dgraph")
    assert "beyond 63 bits" in str(refused.value.__cause__)


def test_the_functions_of_dgraph_take_a_converted_graph():
    graph = nx.Graph([("a", "b", {"weight": 2}), ("b", "c", {"weight": 3}), ("d", "d")])
    frame = dgraph.sssp(ours.from_networkx(graph), "a").to_pandas()
    assert dict(zip(frame.vertex, frame.distance.fillna(-1), strict=True)) == {"a": 0, "b": 2, "c": 5, "d": -1}


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_lengths_list_nodes_in_the_order_of_networkx(kind):
    graph = nx.gnm_random_graph(300, 1200, seed=1, directed=kind is nx.DiGraph)
    for k, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = k * 7 % 3 + 1
    for name, more in {
        "single_source_shortest_path_length": {"cutoff": 3},
        "single_source_dijkstra_path_length": {},
        "shortest_path_length": {"weight": "weight"},
        "multi_source_dijkstra_path_length": {},
    }.items():
        call = getattr(nx, name)
        first = {4, 9} if name.startswith("multi") else 4
        assert list(call(graph, first, **more, backend="dgraph").items()) == list(call(graph, first, **more).items())


def test_integers_stay_exact():
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=2**60 + 1)
    graph.add_edge(1, 2, weight=True)
    assert nx.dijkstra_path_length(graph, 0, 2, backend="dgraph") == 2**60 + 2
    graph.add_edge(2, 3, weight=0.5)
    with pytest.raises(NotImplementedError) as refused:
        nx.dijkstra_path_length(graph, 0, 2, backend="dgraph")
    assert "rounded" in str(refused.value.__cause__)


def test_small_graphs_stay_with_networkx_unless_dgraph_is_named():
    graph = nx.path_graph(50)
    priority = nx.config.backend_priority
    before = ours.calls.total()
    with priority(algos=["dgraph"]):
        nx.is_connected(graph)
        assert ours.calls.total() == before
        with nx.config.backends.dgraph(min_edges=10):
            nx.is_connected(graph)
    assert ours.calls.total() == before + 1


def test_the_device_of_the_configuration_is_used():
    with nx.config.backends.dgraph(device="cpu"):
        assert from_networkx(nx.path_graph(3)).engine().device == "cpu"
    for device, message in (("tpu", "unknown device 'tpu'"), ("gpu", "it is called 'cuda'"), (7, "is not a device")):
        with pytest.raises(UsageError, match=message):
            nx.config.backends.dgraph.device = device
    assert pickle.loads(pickle.dumps(nx.config.backends)).dgraph.device == "auto"


def test_info_imports_nothing_heavy():
    text = (
        "import sys, networkx; from dgraph.networkx_backend.backend_info import get_info; get_info(); "
        "print([m for m in ('numba', 'cupy', 'numpy', 'dgraph.graph', 'dgraph.run') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout == "[]\n"


def test_documentation_of_networkx_names_the_backend():
    assert "dgraph : Parallel CPU and GPU algorithms" in nx.pagerank.__doc__
    assert np.all([name in nx.utils.backends.backend_info["dgraph"]["functions"] for name in ("pagerank", "bfs_tree")])
