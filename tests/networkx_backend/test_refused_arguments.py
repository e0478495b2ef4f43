"""Nodes and weights that the engine cannot take: NetworkX's exception, its answer, or a call that declines."""

import inspect
import pickle
import warnings

import networkx as nx
import pytest
from cases import CASES
from test_answers import filled, implemented, plain, random_graph, same

pytestmark = [pytest.mark.mpi_skip, pytest.mark.interpreted]

NODES = (
    "source",
    "target",
    "u",
    "v",
    "n",
    "nodes",
    "nbunch",
    "sources",
    "nodelist",
    "personalization",
    "_s",
    "_t",
    "top_nodes",
)
NOT_NODES = (
    99, "absent", [0], ["a", [0]], [], {}, {"a": 1}, {0}, float("nan"), ((1, 2), [0]), [99], ["a", 99], [0, 0, "a"],
    object, b"x", 2**70, {99: 1}, {"a": "x"}, [None],
)  # fmt: skip
WEIGHTS = (float("nan"), float("inf"), -float("inf"), -1, "x", None, [1], 2**62, 2**70, 1e308, 1j)


@pytest.fixture(autouse=True)
def _quiet():
    nx.config.warnings_to_ignore.add("cache")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def outcome(name, graph, arguments, **more):
    try:
        return plain(implemented(name)(graph, **arguments, **more))
    except Exception as error:
        return type(error), str(error)


def is_error(value):
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type)


def node_parameters():
    for name in CASES:
        parameters = inspect.signature(implemented(name)).parameters if implemented(name) else {}
        yield from ((name, parameter) for parameter in parameters if parameter in NODES)


@pytest.mark.parametrize(("name", "parameter"), list(node_parameters()))
def test_nodes_that_are_not_in_the_graph(name, parameter):
    kinds, variants = CASES[name]
    for kind in sorted(kinds)[:2]:
        graph = random_graph(kind, 1, "int", True)
        fitting = {key: filled(value, list(graph)) for key, value in variants[0].items()}
        for node in NOT_NODES:
            arguments = fitting | {parameter: node}
            want = outcome(name, graph, arguments)
            answer = outcome(name, graph, arguments, backend="dgraph")
            if is_error(want):
                assert answer == want, arguments
            elif not (is_error(answer) and answer[0] is NotImplementedError):
                assert same(name, graph, arguments, answer, want), arguments


@pytest.mark.parametrize("name", list(filter(implemented, CASES)))
def test_weights_that_are_not_numbers(name):
    kinds, variants = CASES[name]
    for weight in WEIGHTS:
        for arcs in (1, None):
            graph = random_graph(sorted(kinds)[0], 1, "int", True)
            nx.set_edge_attributes(graph, dict.fromkeys(list(graph.edges)[:arcs], weight), "weight")
            for variant in variants[-2:]:
                arguments = {key: filled(value, list(graph)) for key, value in variant.items()}
                answer = outcome(name, graph, arguments, backend="dgraph")
                if not (is_error(answer) and answer[0] is NotImplementedError):
                    want = outcome(name, graph, arguments)
                    same_error = is_error(want) and is_error(answer) and answer[0] is want[0]
                    assert same_error or same_numbers(name, graph, arguments, answer, want), (weight, arguments)


def same_numbers(name, graph, arguments, answer, want):
    return repr(answer) == repr(want) or same(name, graph, arguments, answer, want)


@pytest.mark.parametrize("name", ["betweenness_centrality", "edge_betweenness_centrality", "pagerank"])
def test_networkx_answers_what_is_declined(name):
    graph = nx.Graph([(0, 1, {"weight": float("nan")}), (1, 2, {"weight": 2.0})])
    with pytest.raises(NotImplementedError):
        implemented(name)(graph, weight="weight", backend="dgraph")
    with nx.config(backend_priority=["dgraph"]), nx.config.backends.dgraph(min_edges=0):
        answer = outcome(name, graph, {"weight": "weight"})
    assert repr(answer) == repr(outcome(name, graph, {"weight": "weight"}))


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph, nx.DiGraph])
@pytest.mark.parametrize("name", ["reciprocity", "overall_reciprocity", "partition_spanning_tree"])
def test_no_kind_of_graph_that_networkx_answers_is_an_error(name, kind):
    graph = kind([(0, 1, {"weight": 3}), (1, 0, {"weight": 2}), (1, 2, {"weight": 1})])
    with nx.config(backend_priority=["dgraph"]), nx.config.backends.dgraph(min_edges=0):
        assert outcome(name, graph, {}) == outcome(name, graph, {}, backend="networkx")


def test_converted_graphs_raise_it_too():
    from dgraph.networkx_backend import from_networkx

    converted = from_networkx(nx.path_graph(3))  # the graph itself is gone
    for node, error in (([0], TypeError), (9, nx.NodeNotFound)):
        with pytest.raises(error):
            nx.dijkstra_path(pickle.loads(pickle.dumps(converted)), node, 2)
    assert nx.multi_source_dijkstra_path_length(converted, [0, 0, 2]) == {0: 0, 2: 0, 1: 1}
