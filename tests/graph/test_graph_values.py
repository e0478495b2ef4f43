"""Filters, induced and ego subgraphs, and the columns that they keep, against NetworkX and dictionaries."""

from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import agreed, joined, share, written
from simulated import on_ranks

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.graph.build.order import by_degree
from dgraph.graph.stored_graph import Graph

SPREAD = 1_000_003
"""Original ids are multiples of it, so that they are neither dense nor small."""

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 3)), min_size=1, max_size=40)
KINDS = {
    "directed": st.booleans(), "loops": st.booleans(), "parallel": st.booleans(), "ordered": st.booleans(),
    "ranks": st.integers(1, 4),
}  # fmt: skip


class Case:
    """One graph, made by ranks and by NetworkX; its vertex ``v`` has the columns ``v % 3`` and ``str(v)``."""

    def __init__(self, edges, directed, loops, parallel, ordered, ranks):
        self.edges, self.ranks, self.ordered = edges, ranks, ordered
        self.how = {"directed": directed, "keep_loops": loops, "keep_parallel": parallel, "sparse_ids": True}
        kinds = (nx.Graph, nx.DiGraph), (nx.MultiGraph, nx.MultiDiGraph)
        self.oracle = kinds[parallel][directed]()
        for u, v, w in edges:
            u, v = u * SPREAD, v * SPREAD
            self.oracle.add_nodes_from([u, v])
            if u == v and not loops:
                continue
            if parallel or not self.oracle.has_edge(u, v):
                self.oracle.add_edge(u, v, weight=w)
            else:
                self.oracle[u][v]["weight"] = min(w, self.oracle[u][v]["weight"])

    def build(self, comm) -> Graph:
        u, v, w = (np.array(column)[comm.rank :: comm.size] for column in zip(*self.edges, strict=True))
        graph = Graph.from_edges(u * SPREAD, v * SPREAD, w, comm=comm, **self.how)
        if self.ordered:
            graph = Graph(by_degree(graph.block, comm), comm)
        ids = graph.vertices()[::-1]
        return graph.with_columns(third=(ids, ids // SPREAD % 3), text=(ids, [str(vertex) for vertex in ids]))

    def check(self, change, wanted, ascending=True):
        """Compare ``change(graph)`` on all ranks with a NetworkX graph, and its columns with the vertices'."""

        def work(comm):
            graph = change(self.build(comm))
            vertices = graph.vertices()
            assert graph.columns["third"].tolist() == (vertices // SPREAD % 3).tolist()
            assert graph.columns["text"].tolist() == [str(vertex) for vertex in vertices]
            return share(graph.block, comm), graph.fingerprint()

        if not wanted:
            with pytest.raises(UsageError, match="has at least one"):
                agreed(on_ranks(self.ranks, work))
            return
        results = agreed(on_ranks(self.ranks, work))
        graph = joined([part for part, _ in results])
        arcs = Counter()
        for u, v, w in wanted.edges.data("weight"):
            arcs[u, v, w] += 1
            if not self.how["directed"] and u != v:
                arcs[v, u, w] += 1
        assert (sorted(graph.vertices), Counter(graph.arcs)) == (sorted(wanted), arcs)
        assert (graph.m, graph.directed) == (wanted.number_of_edges(), self.how["directed"])
        assert graph.facts.isolated == nx.number_of_isolates(wanted)
        assert graph.facts.loops == nx.number_of_selfloops(wanted)
        assert (graph.facts.loops_kept, graph.facts.duplicates_kept) == (
            self.how["keep_loops"],
            self.how["keep_parallel"],
        )
        if ascending:
            assert (graph.vertices, graph.arcs) == (sorted(graph.vertices), sorted(graph.arcs))
            names = np.array(graph.vertices)
            if graph.arcs:
                u, v, w = (np.array(column) for column in zip(*graph.arcs, strict=True))
                again = Graph.from_csr(
                    np.searchsorted(u, [*names, SPREAD * 99]), np.searchsorted(names, v), w, comm=SerialComm(),
                    **{key: self.how[key] for key in ("directed", "keep_loops", "keep_parallel")},
                )  # fmt: skip
                assert {printed for _, printed in results} == {again.fingerprint()}


@settings(max_examples=25)
@given(EDGES, st.fixed_dictionaries(KINDS), st.sets(st.integers(0, 2)))
def test_vertices_by_a_predicate(edges, kind, thirds):
    case = Case(edges, **kind)
    chosen = [v for v in case.oracle if v // SPREAD % 3 in thirds]
    case.check(
        lambda graph: graph.filter_vertices(lambda v: np.isin(v.third, list(thirds))), case.oracle.subgraph(chosen)
    )
    case.check(
        lambda graph: graph.filter_vertices(lambda v: v["vertex"] > 0), case.oracle.subgraph({*case.oracle} - {0})
    )


@settings(max_examples=25)
@given(EDGES, st.fixed_dictionaries(KINDS), st.integers(-3, 4))
def test_edges_by_a_predicate(edges, kind, least):
    case = Case(edges, **kind)

    def keeps(u, v, *key):
        low, high = (u, v) if kind["directed"] else (min(u, v), max(u, v))
        return case.oracle.edges[u, v, *key]["weight"] >= least and low + 2 * high != 7 * SPREAD

    wanted = nx.subgraph_view(case.oracle, filter_edge=keeps)
    predicate = lambda e: (e.weight >= least) & (e.source + 2 * e.target != 7 * SPREAD)  # noqa: E731
    case.check(lambda graph: graph.filter_edges(predicate), wanted)


@settings(max_examples=25)
@given(EDGES, st.fixed_dictionaries(KINDS), st.integers(0, 3), st.booleans())
def test_egos(edges, kind, radius, undirected):
    case = Case(edges, **kind)
    center = edges[0][0] * SPREAD
    wanted = nx.ego_graph(case.oracle, center, radius, undirected=undirected)
    case.check(lambda graph: graph.ego(center, radius, undirected), wanted)


@settings(max_examples=15)
@given(EDGES, st.fixed_dictionaries(KINDS), st.data())
def test_induced(edges, kind, data):
    case = Case(edges, **kind)
    chosen = data.draw(st.lists(st.sampled_from(sorted(case.oracle)), max_size=8))
    mine = lambda graph: chosen[graph.comm.rank :: graph.comm.size]  # noqa: E731
    case.check(lambda graph: graph.induced(mine(graph)), case.oracle.subgraph(chosen))
    case.check(lambda graph: graph.induced(np.array(chosen, np.int64)), case.oracle.subgraph(chosen))


@pytest.mark.parametrize("ranks", [1, 3])
def test_columns_follow_the_undirected_graph(ranks):
    case = Case([(i * i % 11, i * i * i % 7, i) for i in range(40)], True, False, False, False, ranks)
    both = nx.Graph()
    for u, v, w in case.oracle.edges.data("weight"):
        both.add_edge(u, v, weight=min(w, both[u][v]["weight"]) if both.has_edge(u, v) else w)

    def work(comm):
        graph = case.build(comm).undirected()
        assert graph.columns["third"].tolist() == (graph.vertices() // SPREAD % 3).tolist()
        return comm.total(int(graph.filter_vertices(lambda v: v.third == 1).m))

    wanted = both.subgraph([v for v in both if v // SPREAD % 3 == 1]).number_of_edges()
    assert agreed(on_ranks(ranks, work)) == [wanted * ranks] * ranks


NAMES = ["ann", "bob", "cid", "dan", "eve", "fay"]


def named(comm, folder) -> Graph:
    text = "ann,bob,3\nbob,cid,4\ncid,ann,5\ndan,eve,6\nfay,ann,1\n"
    path = folder / f"names{comm.size}.csv"
    if comm.rank == 0:
        written(folder, path.name, text)
    comm.barrier()
    return Graph.load(path, ids="string", comm=comm, device="cpu")


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_names_are_kept(ranks, tmp_path):
    def work(comm):
        graph = named(comm, tmp_path)
        ages = (
            pd.Series(range(6), index=NAMES)
            if comm.rank == 0
            else pd.Series([], index=pd.Index([], dtype=str), dtype=int)
        )
        graph = graph.with_columns(age=ages, labels=dgraph.run("cc", graph))
        some = graph.filter_vertices(lambda v: (v.age != 1) & (v.labels == "ann"))
        assert some.columns["labels"].tolist() == ["ann"] * some.block.rows
        light = graph.filter_edges(lambda e: (e.source > "b") & (e.weight < 6))
        one = graph.ego("ann", 1)
        assert one.columns["age"].tolist() == [NAMES.index(name) for name in one.vertices()]
        return (
            [comm.allgather_json(part.vertices().tolist()) for part in (some, one, graph.induced(["eve", "cid"]))],
            light.m,
            dgraph.run("bfs", some, source="fay", return_predecessors=False).gather(0),
            some.hub(),
        )

    results = agreed(on_ranks(ranks, work))
    for chosen, light, whole, hub in results:
        assert [[name for part in parts for name in part] for parts in chosen] == [
            ["ann", "cid", "fay"],
            ["ann", "bob"],
            ["cid", "eve"],
        ]
        assert light == 3
        assert hub == "cid"
        if whole is not None:
            assert dict(zip(whole["vertex"], whole["distance"], strict=True)) == {"ann": 1, "cid": 2**63 - 1, "fay": 0}


@pytest.mark.mpi
def test_on_ranks_a_pipeline_of_values(tmp_path_factory):
    """Cores of a graph, then components of the innermost: equal to NetworkX on any number of ranks."""
    comm = world()
    graph = Graph.load("rmat:8,symmetric", device="cpu")
    cores = graph.with_columns(core_number=dgraph.kcore(graph))
    inner = cores.filter_vertices(lambda v: v.core_number >= 12)
    near = inner.ego(inner.hub(), 1)
    members = dgraph.cc(near).gather()
    if comm.rank == 0:
        whole = Graph.load("rmat:8,symmetric", comm=SerialComm())
        oracle = nx.Graph(zip(whole.block.sources().tolist(), whole.block.targets.tolist(), strict=True))
        core = (
            nx.subgraph_view(oracle, filter_node=lambda v: core_numbers[v] >= 12)
            if (core_numbers := nx.core_number(oracle))
            else None
        )
        hub = min(core, key=lambda v: (-core.degree(v), v))
        assert members["vertex"].tolist() == sorted(nx.ego_graph(core, hub))


def test_values_of_every_kind():
    graph = Graph.from_edges([5, 7, 7], [7, 9, 11], sparse_ids=True, device="cpu", comm=SerialComm())
    more = graph.with_columns(
        a=[1, 2, 3, 4], b=(np.array([9, 5]), np.array([1, 2], "i2")), c=pd.Series(["x", None], index=[11, 5]),
        d=np.array([True, False, True, False]), levels=dgraph.run("bfs", graph, source=7),
    )  # fmt: skip
    columns = more.columns
    assert list(columns) == ["a", "b", "c", "d", "levels"]
    assert columns["a"].tolist() == [1, 2, 3, 4]
    assert columns["b"].dtype == np.float64
    assert np.array_equal(columns["b"], [2, np.nan, 1, np.nan], equal_nan=True)
    assert columns["c"].tolist() == [None, None, None, "x"]
    np.testing.assert_array_equal(columns["levels"], [np.nan, 0, 1, 1])
    assert dict(graph.columns) == {}
    assert more.on(policy="cvc").columns["a"].tolist() == [1, 2, 3, 4]
    assert more.filter_vertices("d").vertices().tolist() == [5, 9]
    assert more.filter_vertices([False, True, True, False]).vertices().tolist() == [7, 9]
    assert more.filter_vertices(lambda v: v.out_degree > 0).vertices().tolist() == [5, 7]
    assert more.filter_edges(lambda e: e.weight == 1).m == 3


REFUSED_VALUES = [
    (lambda g: g.with_columns(a=[1, 2]), "a has 2 values, and the graph has 4 vertices"),
    (lambda g: g.with_columns(a=([5, 5], [1, 2])), "more than one value for vertex 5"),
    (lambda g: g.with_columns(a=([6], [1])), "6 is not a vertex of the graph"),
    (lambda g: g.with_columns(a=([6], [1, 2])), "a has 2 values for 1 vertices"),
    (lambda g: g.with_columns(a=([5], [True])), "a is bool and lacks a value"),
    (lambda g: g.with_columns(a=[1, "x", None, 2.5]), "a: got values of NoneType, float, int, str; kept columns hold"),
    (lambda g: g.with_columns(a=np.zeros((4, 1))), r"a has shape \(4, 1\)"),
    (lambda g: g.with_columns(a=np.zeros(4, complex)), "a: got values of complex128"),
    (lambda g: g.filter_vertices([1, 0, 1, 0]), "are int64; give bool"),
]
REFUSED = [
    (lambda g: g.with_columns(vertex=[1, 2, 3, 4]), "cannot be called vertex"),
    (lambda g: g.filter_vertices(lambda v: v.age > 1), "unknown column of vertices that keep reads 'age'"),
    (lambda g: g.filter_vertices("age"), "unknown column to keep by .* 'age'"),
    (lambda g: g.filter_vertices(lambda v: v.out_degree > 99), "none of the 4 vertices was chosen"),
    (lambda g: g.filter_vertices(lambda v: True), "returned bool of shape ()"),
    (lambda g: g.filter_vertices(lambda v: v.out_degree), "returned int64"),
    (lambda g: g.filter_vertices(lambda v: v.out_degree.nothing), "the predicate keep failed .* AttributeError"),
    (lambda g: g.filter_edges(lambda e: e.color == 1), "unknown .*'color'.*known are source, target, weight"),
    (lambda g: g.filter_edges(lambda e: e.weight > 0 if not len(e) else e.source > 0), "reads source for some edges"),
    (lambda g: g.filter_edges(7), "7 is not a predicate"),
    (lambda g: g.undirected().filter_edges(lambda e: np.arange(len(e)) % 2 == 0 if e.weight is not None else 0),
     "differently for the two arcs"),
    (lambda g: g.induced([]), "none of the 4 vertices"),
    (lambda g: g.induced([5, 6]), "vertices: 6 is not a vertex"),
    (lambda g: g.induced(["5"]), "this graph's are integers"),
    (lambda g: g.ego(5, -1), "radius = -1 is not valid"),
]  # fmt: skip


CALLS = [(1, *arguments) for arguments in REFUSED_VALUES + REFUSED] + [(2, *arguments) for arguments in REFUSED]


@pytest.mark.parametrize(("ranks", "call", "message"), CALLS)
def test_refusals(ranks, call, message):
    def work(comm):
        ends = ([5, 7, 7], [7, 9, 11]) if comm.rank == 0 else ([], [])
        ends = tuple(np.array(end, np.int64) for end in ends)
        graph = Graph.from_edges(*ends, sparse_ids=True, comm=comm)
        return call(graph)

    with pytest.raises(UsageError, match=message):
        agreed(on_ranks(ranks, work))


def test_a_closed_graph_has_neither_columns_nor_subgraphs():
    graph = Graph.from_edges([0, 1], [1, 2], comm=SerialComm()).with_columns(a=[1, 2, 3])
    other, part = graph.on(policy="cvc"), graph.induced([0, 1])
    with graph:
        pass
    for call in (lambda: graph.columns, lambda: other.columns, other.vertices, lambda: graph.induced([0]), other.hub):
        with pytest.raises(UsageError, match="the graph edges was closed; load it again"):
            call()
    assert part.columns["a"].tolist() == [1, 2]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_as_tables(directed, ranks):
    oracle = nx.gnm_random_graph(30, 60, seed=3, directed=directed)
    u, v = np.array(oracle.edges).T
    oracle = nx.relabel_nodes(oracle, lambda node: node * SPREAD)
    for k, (_, _, data) in enumerate(oracle.edges(data=True)):
        data["weight"] = float(k)

    def work(comm):
        mine = slice(comm.rank, None, comm.size)
        weights = np.arange(u.size, dtype=float)[mine]
        how = {"sparse_ids": True, "directed": directed, "comm": comm}
        graph = Graph.from_edges(u[mine] * SPREAD, v[mine] * SPREAD, weights, **how)
        graph = Graph(by_degree(graph.block, comm), comm).filter_edges(lambda e: e.weight >= 20)
        part = graph.to_pandas(root=None)
        return graph.to_pandas(root=comm.size - 1), graph.to_arrow(root=comm.size - 1), part

    tables = on_ranks(ranks, work)
    frame, table, _ = tables[-1]
    assert all(table[0] is None and table[1] is None for table in tables[:-1])
    pd.testing.assert_frame_equal(frame, table.to_pandas())
    pd.testing.assert_frame_equal(frame, pd.concat([part for *_, part in tables], ignore_index=True))
    wanted = {(a, b): w for a, b, w in oracle.edges.data("weight") if w >= 20}
    wanted = wanted if directed else {(min(pair), max(pair)): w for pair, w in wanted.items()}
    assert dict(zip(zip(frame.source, frame.target, strict=True), frame.weight, strict=True)) == wanted
    assert len(frame) == len(wanted)


def test_columns_of_dictionaries_and_frames():
    graph = Graph.from_edges(["a", "b"], ["b", "c"], comm=SerialComm())
    people = pd.DataFrame({"age": pd.array([1, None, 3], "Int64"), "town": ["x", "y", "z"]}, index=["c", "a", "b"])
    columns = graph.with_columns(age=people, town=people, height={"a": 2, "c": 5}, first={"b": "bo"}).columns
    np.testing.assert_array_equal(columns["age"], [np.nan, 3, 1])
    np.testing.assert_array_equal(columns["height"], [2, np.nan, 5])
    assert columns["town"].tolist() == ["y", "z", "x"]
    assert columns["first"].tolist() == [None, "bo", None]
    assert (
        repr(columns)
        == "<columns of this rank's vertices: age (float64), town (object), height (float64), first (object)>"
    )
    with pytest.raises(UsageError, match="unknown column of the data frame 'size'"):
        graph.with_columns(size=people)
    with pytest.raises(UsageError, match=r"asks whether an array is true.*combine conditions by &"):
        graph.filter_vertices(lambda v: v.out_degree > 0 and v.out_degree < 2)


def test_a_graph_of_names_says_so_once():
    graph = Graph.from_edges(["a", "<b>"], ["<b>", "c"], comm=SerialComm()).filter_vertices(lambda v: v.vertex != "c")
    assert repr(graph).count("names") == 1
    assert "2 vertices" in repr(graph)
    assert "3 of them" not in repr(graph)
    graph.facts.name = "<script>"
    assert "Graph &lt;script&gt;" in graph._repr_html_()
    assert "<li>2 vertices</li>" in graph._repr_html_()


def test_unknown_options_of_constructors_are_named():
    frame = pd.DataFrame({"source": ["x"], "target": ["y"]})
    for call in (
        lambda: Graph.from_pandas(frame, edge_attr="km"),
        lambda: Graph.from_networkx(nx.path_graph(3), edge_attr="km"),
    ):
        with pytest.raises(UsageError, match=r"unknown option 'edge_attr': it is called 'weight'"):
            call()
    with pytest.raises(UsageError, match=r"unknown option 'edge_attr': .*known are .*keep_loops, .*merge"):
        dgraph.Graph.load("path:3", edge_attr="km")
    with pytest.raises(UsageError, match="weight = 'km': the graph keeps no columns"):
        dgraph.pagerank(Graph.from_pandas(frame), weight="km")


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("parallel", [False, True])
def test_the_class_of_a_networkx_graph_is_that_of_the_request(directed, kept, parallel):
    """A graph that keeps parallel edges is a multigraph, whether or not it has some; subgraphs are, too."""
    ends = np.array([[0, 1, 2, 0], [1, 2, 0, 1 if parallel else 3]])
    wanted = {False: (nx.Graph, nx.DiGraph), True: (nx.MultiGraph, nx.MultiDiGraph)}[kept][directed]
    graph = Graph.from_edges(*ends, n=4, directed=directed, keep_parallel=kept)
    for form in (graph, graph.filter_edges(lambda e: e.source < 2), graph.filter_vertices([True, True, True, False])):
        exported = form.to_networkx()
        assert type(exported) is wanted
        assert exported.number_of_edges() == form.m
    again = Graph.from_networkx(graph.to_networkx())
    assert type(again.to_networkx()) is wanted
    assert again.fingerprint() == graph.fingerprint()
