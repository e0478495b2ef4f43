"""Names that users of other libraries try first: each works, or the error names what there is, which exists."""

import re

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph._support.peer_names import expressions
from dgraph.algorithms import ALGORITHMS
from dgraph.comm import world
from dgraph.errors import OTHER_PARAMETERS, UsageError
from dgraph.graph.load_options import NAMES

EXPRESSIONS = {kind: expressions(kind) for kind in ("graph", "result")}


@pytest.fixture(scope="module")
def graph():
    return dgraph.Graph.from_edges([("ann", "bob"), ("ann", "cat"), ("bob", "cat")])


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_what_a_message_names_exists_and_what_it_answers_does_not(graph, kind):
    result = dgraph.Result("cc", {"vertex": np.arange(3), "labels": np.zeros(3, np.int64)}, world())
    owners = {"graph": (dgraph, dgraph.Graph, graph), "result": (result,)}[kind]
    places = {"dgraph": dgraph, "graph": graph, "result": result}
    assert len(EXPRESSIONS[kind]) > 30
    for name, expression in EXPRESSIONS[kind].items():
        answers = [owner for owner in owners if name not in dir(owner)]
        assert answers, f"{name} is there: take it out of peer_names.json"
        for owner in answers:
            with pytest.raises(AttributeError, match=re.escape(expression)):
                getattr(owner, name)
        for path in re.findall(r"\b(?:dgraph|graph|result)(?:\.\w+)+", expression):
            place, *attributes = path.split(".")
            there = places[place]
            for attribute in attributes:
                if attribute in ("load", *vars(dgraph.Graph)) or hasattr(there, attribute):
                    there = getattr(there, attribute)
                    if place != "dgraph":
                        break
                else:
                    pytest.fail(f"{name}: {expression} names {attribute}, which does not exist")


def test_algorithms_are_functions_of_a_graph(graph):
    for name in ("pagerank", "louvain", "connected_components"):
        with pytest.raises(AttributeError, match=rf"there is dgraph.{name}\(graph\)"):
            getattr(graph, name)
    assert not hasattr(graph, "no_such_thing")
    assert not hasattr(graph, "__array__")


def test_parameters_have_one_name_here():
    names = {name for algorithm in ALGORITHMS.values() for name in algorithm.parameters} | {*NAMES, "weight", "backend"}
    assert set(OTHER_PARAMETERS.values()) <= names
    for call, name in (
        (lambda: dgraph.pagerank("path:4", damping=0.9), "alpha"),
        (lambda: dgraph.louvain("path:4", seed=3), "random_state"),
        (lambda: dgraph.bfs("path:4", root=1), "source"),
    ):
        with pytest.raises(UsageError, match=f"it is called '{name}'"):
            call()
    with pytest.raises(UsageError, match="it is called 'target'"):
        dgraph.Graph.from_pandas(None, destination="b")


def test_a_graph_is_made_by_class_methods():
    for arguments in ((), ("edges.csv",), ([(0, 1)],)):
        with pytest.raises(UsageError, match=r"Graph\.from_pandas"):
            dgraph.Graph(*arguments)
    with pytest.raises(UsageError, match=r"Graph\.from_pandas"):
        dgraph.Graph(directed=True)


def test_columns_of_a_result_by_name(graph):
    result = dgraph.degrees(graph)
    np.testing.assert_array_equal(result["out_degree"], result.columns["out_degree"])
    with pytest.raises(UsageError, match="unknown column"):
        result["scores"]
    with pytest.raises(TypeError, match="not iterable"):
        list(result)


@pytest.mark.mpi
@pytest.mark.parametrize("directed", [False, True])
def test_sizes_members_and_neighbours(directed):
    draw = np.random.default_rng(8)
    G = nx.gnm_random_graph(40, 90, 4, directed=directed)
    ranks, rank = world().size, world().rank
    for called in (int, "v{:02}".format):
        pairs = np.array([(called(u), called(v)) for u, v in G.edges])[rank::ranks]
        graph = dgraph.Graph.from_edges(pairs, directed=directed, vertices=[called(v) for v in G][rank::ranks])
        assert (len(graph), graph.number_of_nodes(), graph.number_of_edges()) == (40, 40, 90)
        assert graph.is_directed() is directed
        for v in draw.integers(0, 40, 6).tolist():
            assert graph.neighbors(called(v)).tolist() == sorted(map(called, G.neighbors(v)))
            assert called(v) in graph
        assert called(99) not in graph
        assert ("7" if called is int else 7) not in graph
        assert None not in graph
        assert (0, 1) not in graph


def test_pairs_have_two_columns():
    with pytest.raises(UsageError, match=r"src without dst has shape \(1, 3\)"):
        dgraph.Graph.from_edges([(0, 1, 5)])
    with pytest.raises(UsageError, match="weights are an argument of their own"):
        dgraph.Graph.from_edges(nx.path_graph(4).edges(data=True))
    with pytest.raises(UsageError, match=r"from_edges\(\*edges\)"):
        dgraph.Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]]))


def test_pairs_of_any_iterable():
    pairs = [(0, 1), (1, 2)]
    for edges in (set(pairs), iter(pairs), zip([0, 1], [1, 2], strict=True), dict(pairs).items()):
        assert dgraph.Graph.from_edges(edges).to_pandas().to_numpy().tolist() == [[0, 1], [1, 2]]


def test_the_weights_of_a_graph_are_called_weight():
    G = nx.DiGraph()
    G.add_weighted_edges_from([(0, 1, 5), (1, 2, 1), (0, 2, 9), (2, 3, 1), (1, 3, 1)])
    graph = dgraph.Graph.from_networkx(G)
    assert dgraph.sssp(graph, 0, weight="weight").columns["distance"].tolist() == [0, 5, 6, 6]
    between = nx.betweenness_centrality(G, weight="weight")
    assert dgraph.bc(graph, weight="weight").columns["bc"].tolist() == pytest.approx([between[v] for v in range(4)])
    with pytest.raises(UsageError, match="weight = 'weight'"):
        dgraph.sssp(dgraph.Graph.from_edges([0], [1]), 0, weight="weight")


def test_a_graph_and_a_result_as_collections(graph):
    assert list(graph) == ["ann", "bob", "cat"]
    assert list(dgraph.Graph.from_edges([7, 9], [9, 12], sparse_ids=True)) == [7, 9, 12]
    with pytest.raises(TypeError, match=r"no items; there is graph\.neighbors\(vertex\)"):
        graph["ann"]
    result = dgraph.degrees(graph)
    assert len(result) == 3
    empty = dgraph.Result("cc", {"vertex": np.arange(0), "labels": np.arange(0)}, world())
    assert empty
    assert len(empty) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda g: dgraph.similarity(g, ["ann"]),
            r"similarity\(\) got \['ann'\] without a name, and only graph .*first=",
        ),
        (lambda g: dgraph.bfs(g, "ann", 5), "got 5 without a name, and only graph and source may.*depth_limit="),
        (lambda g: dgraph.mst(g, algorithm="kruskal"), "unknown parameter of mst 'algorithm'"),
        (lambda g: dgraph.random_walks(g, start=["ann"]), "'start': it is called 'sources'"),
        (lambda g: dgraph.degrees(g).score, "no attribute 'score'; its columns are vertex, "),
        (
            lambda g: dgraph.modularity(g, dgraph.pagerank(g)),
            "give an integer or text for each, as leiden does",
        ),
        (lambda g: dgraph.cc(nx.to_pandas_edgelist(nx.Graph())[[]]), "columns none: which are the ends"),
    ],
)
def test_an_error_of_a_wrong_call_names_what_to_type(graph, call, message):
    with pytest.raises((dgraph.DgraphError, TypeError, AttributeError), match=message):
        call(graph)


def test_the_keyword_weights_is_answered_with_weight(graph):
    for name in ("sssp", "pagerank"):
        with pytest.raises(UsageError, match=r"weights= is about the graph.*by weight=, as in dgraph\.sssp"):
            dgraph.run(name, graph, weights="amount")


@pytest.mark.mpi
def test_a_graph_of_several_ranks_is_true_and_not_iterated():
    graph = dgraph.Graph.from_edges([0, 1], [1, 2])
    assert graph
    if world().size == 1:
        assert list(graph) == [0, 1, 2]
    else:
        with pytest.raises(UsageError, match=r"graph\.vertices\(\)"):
            list(graph)


class _Broken(dgraph.Graph):
    """A graph of whose properties one is wrong."""

    @property
    def area(self):
        return self.block.no_such_table


def test_an_error_in_a_property_keeps_its_message(graph, monkeypatch):
    broken = _Broken.from_edges([0], [1])
    with pytest.raises(AttributeError, match="'EdgeBlock' object has no attribute 'no_such_table'"):
        broken.area  # noqa: B018
    monkeypatch.setattr(dgraph.Result, "area", property(lambda result: result.summary.no_such), raising=False)
    with pytest.raises(AttributeError, match="'dict' object has no attribute 'no_such'"):
        dgraph.degrees(graph).area  # noqa: B018
