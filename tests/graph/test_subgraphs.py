"""Columns kept with a graph, and subgraphs, against NetworkX: any number of ranks, ids and names, both directions."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph
from dgraph.comm import world
from dgraph.errors import DataError, UsageError
from dgraph.graph import subgraph

pytestmark = pytest.mark.mpi


def both_graphs(n, edges, directed, names=False, order=None):
    """Return a graph and its NetworkX oracle; each rank passes a share of the edges."""
    G = nx.DiGraph() if directed else nx.Graph()
    G.add_nodes_from(range(n))
    for u, v in edges:
        if u != v:
            G.add_edge(u, v, weight=1 + (u * 7 + v * 7) % 11)
    mine = list(G.edges(data="weight"))[world().rank :: world().size]
    src, dst, weight = (
        (np.array(column, np.int64) for column in zip(*mine, strict=True)) if mine else [np.zeros(0, int)] * 3
    )
    if names:
        G = nx.relabel_nodes(G, {v: f"v{v:03}" for v in G})
        called = np.array([f"v{v:03}" for v in range(n)])
        graph = dgraph.Graph.from_edges(
            called[src], called[dst], weight, directed=directed, vertices=called[world().rank :: world().size]
        )
    else:
        graph = dgraph.Graph.from_edges(src, dst, weight, n=n, directed=directed)
    return graph, G


def edges_of(graph):
    """Return vertices and {(u, v): weight} of a graph, gathered on all ranks; smaller end first if undirected."""
    comm, block = graph.comm, graph.block
    ends = [block.ids.to_original(gids.astype(np.int64), comm) for gids in (block.sources(), block.targets)]
    weights = np.ones(block.targets.size, np.int64) if block.weights is None else block.weights
    src, dst, weights = (np.concatenate(comm.allgatherv(np.ascontiguousarray(a, np.int64))) for a in (*ends, weights))
    vertices = comm.allgather_json(list(map(str, graph.vertices())))
    mine = [] if graph.ids.names is None else [word.decode() for word in graph.ids.names.here]
    names = [name for part in comm.allgather_json(mine) for name in part]
    called = names.__getitem__ if names else int
    weight_of = {}
    for u, v, w in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True):
        u, v = called(u), called(v)
        weight_of[(u, v) if graph.directed else tuple(sorted((u, v)))] = w
    return {v for part in vertices for v in part}, weight_of


def check(graph, G):
    """Compare vertices, edges and weights with NetworkX's graph."""
    vertices, edges = edges_of(graph)
    assert vertices == set(map(str, G))
    want = {(u, v) if G.is_directed() else tuple(sorted((u, v))): w for u, v, w in G.edges(data="weight")}
    assert edges == want
    assert (graph.n, graph.m, graph.directed) == (len(G), G.number_of_edges(), G.is_directed())


GRAPHS = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40),
        st.sets(st.integers(0, n - 1), min_size=1),
    )
)


@pytest.mark.parametrize("sought", [0, subgraph.SOUGHT])
@pytest.mark.parametrize("directed", [False, True])
def test_few_vertices_of_many_are_sought(sought, directed, monkeypatch):
    """With 0, arcs are read row by row and targets sought among the vertices that stay, whatever their number."""
    monkeypatch.setattr(subgraph, "SOUGHT", sought)
    draw = np.random.default_rng(3)
    source, target = draw.integers(0, 300, 1200), draw.integers(0, 300, 1200) ** 2 // 300
    weight, mine = draw.integers(1, 9, 1200), slice(world().rank, None, world().size)
    kept = {"keep_loops": True, "keep_parallel": True, "sparse_ids": True}
    graph = dgraph.Graph.from_edges(7 * source[mine], 7 * target[mine], weight[mine], directed=directed, **kept)
    there = np.unique([source, target])
    for chosen in (there[[0, 3, 5, -1, 40]], there[::2], there[:1]):
        part = graph.induced((7 * chosen).tolist())
        inside = np.isin(source, chosen) & np.isin(target, chosen)
        ends = np.stack([source[inside], target[inside]], axis=1)
        wanted = np.column_stack([7 * (ends if directed else np.sort(ends, axis=1)), weight[inside]]).tolist()
        assert (part.n, part.m) == (len(chosen), len(wanted))
        table = part.to_pandas()
        if world().rank == 0:
            rows = table[["source", "target", "weight"]].to_numpy().astype(np.int64)
            rows[:, :2] = rows[:, :2] if directed else np.sort(rows[:, :2], axis=1)
            assert sorted(rows.tolist()) == sorted(wanted)


def test_small_parts_of_large_graphs_are_those_of_networkx():
    """Up to ``FEW`` rows are sought in each other, and the arcs of few vertices are read without a table of all."""
    draw = np.random.default_rng(8)
    hub = np.stack([np.zeros(400, int), draw.integers(0, 2000, 400)], axis=1)
    edges = list(map(tuple, np.concatenate([hub, draw.integers(0, 2000, (6000, 2))]).tolist()))
    centers = (0, *draw.integers(1, 2000, 5).tolist())
    for graph, G in (both_graphs(2000, edges, directed) for directed in (False, True)):
        for center in centers:
            for radius in (0, 1, 2):
                check(graph.ego(center, radius), nx.ego_graph(G, center, radius=radius))
            near = [center, *list(G[center])[: subgraph.FEW]]
            for size in (1, 3, subgraph.FEW, subgraph.FEW + 1):
                check(graph.induced(near[:size] if world().rank == 0 else []), G.subgraph(near[:size]))


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@given(drawn=GRAPHS)
@settings(max_examples=15)
def test_subgraphs_are_those_of_networkx(directed, names, drawn):
    n, edges, chosen = drawn
    graph, G = both_graphs(n, edges, directed, names)
    call = (lambda v: f"v{v:03}") if names else int
    kept = [call(v) for v in sorted(chosen)]
    check(graph.induced(kept[world().rank :: world().size]), G.subgraph(kept))
    light = nx.edge_subgraph(G, [(u, v) for u, v, w in G.edges(data="weight") if w < 6]).copy()
    light.add_nodes_from(G)
    check(graph.filter_edges(lambda e: e.weight < 6), light)
    for radius in (0, 1, 3):
        check(graph.ego(kept[0], radius), nx.ego_graph(G, kept[0], radius=radius))
        check(graph.ego(kept[0], radius, undirected=True), nx.ego_graph(G, kept[0], radius=radius, undirected=True))
    simple = nx.Graph(G)
    for k in (2, 3):
        core, truss = set(nx.k_core(simple, k)), nx.k_truss(simple, k)
        if core:
            check(graph.k_core(k), G.subgraph(core))
        if truss:
            check(graph.k_truss(k), nx.edge_subgraph(G, [(u, v) for u, v in G.edges if truss.has_edge(u, v)]))
    ranked = graph.with_columns(odd=np.arange(n) % 2 == 1 if world().rank == 0 else np.zeros(0, bool))
    odd = {call(v) for v in range(n) if v % 2}
    if odd:
        check(ranked.filter_vertices("odd"), G.subgraph(odd))
        many = ranked.filter_vertices(lambda v: v.odd & (v.out_degree >= 0))
        check(many, G.subgraph(odd))
        assert many.columns["odd"].all()


def test_columns_come_from_results_pairs_and_series():
    graph, G = both_graphs(30, [(i, i * i % 30) for i in range(30)] + [(i, (i + 1) % 20) for i in range(20)], False)
    cores = dgraph.kcore(graph)
    here = world().rank == 0
    some = np.array([3, 5, 8] if here else [], np.int64)
    with_all = graph.with_columns(
        core_number=cores, seen=(some, some * 10), label=pd.Series(["a"] * some.size, index=some, dtype=object)
    )
    core_numbers = nx.core_number(G)
    vertices = with_all.vertices()
    assert with_all.columns["core_number"].tolist() == [core_numbers[v] for v in vertices.tolist()]
    assert np.array_equal(
        with_all.columns["seen"], [v * 10 if v in (3, 5, 8) else np.nan for v in vertices], equal_nan=True
    )
    assert list(with_all.columns["label"]) == ["a" if v in (3, 5, 8) else None for v in vertices]
    dense = with_all.filter_vertices(lambda v: v["core_number"] >= 2)
    check(dense, G.subgraph([v for v in G if core_numbers[v] >= 2]))
    assert dgraph.cc(dense).summary["components"] == nx.number_connected_components(G.subgraph(dense_vertices(dense)))
    assert not graph.columns


def dense_vertices(graph):
    return [v for part in graph.comm.allgather_json(graph.vertices().tolist()) for v in part]


def test_a_graph_numbered_by_degree_keeps_its_ids():
    graph = dgraph.Graph.load("rmat:6,symmetric", order="degree", weights="1..9")
    plain = dgraph.Graph.load("rmat:6,symmetric", weights="1..9")
    half = list(range(0, 64, 2))[world().rank :: world().size]
    assert edges_of(graph.induced(half)) == edges_of(plain.induced(half))


def test_any_number_of_ranks_makes_the_same_graph():
    graph = dgraph.Graph.load("rmat:7", weights="1..9").ego(5, 2)
    alone = dgraph.Graph.load("rmat:7", weights="1..9", comm=dgraph.comm.SerialComm()).ego(5, 2)
    assert graph.fingerprint() == alone.fingerprint()


@pytest.mark.parametrize(("call", "message"), [
    (lambda g: g.induced([99]), "99 is not a vertex"),
    (lambda g: g.induced(np.zeros(0, np.int64)), "none of the 9 vertices was chosen"),
    (lambda g: g.k_core(8), "k = 8: the 8-core is empty"),
    (lambda g: g.k_truss(9), "k = 9: the 9-truss is empty"),
    (lambda g: g.k_truss(1), "k = 1 is not valid for ktruss"),
    (lambda g: g.filter_vertices(lambda v: v.rank > 1), "unknown column of vertexs 'rank'|unknown column of vertices"),
    (lambda g: g.filter_vertices(lambda v: v.vertex), "returned int64"),
    (lambda g: g.filter_edges(3), "is not a predicate"),
    (lambda g: g.ego(0, -1), "radius = -1 is not valid"),
    (lambda g: g.with_columns(x=np.zeros(2)), "has .* values, and the graph has 9 vertices"),
    (lambda g: g.with_columns(vertex=np.zeros(9)), "cannot be called vertex"),
])  # fmt: skip
def test_refusals(call, message):
    graph = dgraph.Graph.load("path:9")
    with pytest.raises(UsageError, match=message):
        call(graph)


def test_a_closed_graph_is_refused_by_name():
    graph = dgraph.Graph.load("path:9")
    other = graph.on(policy="hash")
    with graph:
        pass
    for use in (lambda: other.induced([1]), lambda: other.columns, lambda: dgraph.cc(other)):
        with pytest.raises(UsageError, match="the graph path:9 was closed; load it again"):
            use()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("names", [False, True])
def test_graphs_of_other_libraries(directed, names):
    scipy_sparse, igraph = pytest.importorskip("scipy.sparse"), pytest.importorskip("igraph")
    edges = [(i, i * i % 12) for i in range(12)] + [(i, (i + 1) % 9) for i in range(9)]
    graph, G = both_graphs(12, edges, directed, names)
    graph = graph.with_columns(label=np.array([f"n{i}" for i in range(12)], dtype=object) if world().rank == 0 else [])
    root = world().size - 1
    nx_graph, matrix, other = graph.to_networkx(root), graph.to_scipy(root), graph.to_igraph(root)
    if world().rank != root:
        assert (nx_graph, matrix, other) == (None, None, None)
        return
    nodes = sorted(G)
    assert list(nx_graph) == nodes
    assert type(nx_graph) is type(G)
    weights = [
        {frozenset(ends) if not directed else ends: weight for ends, weight in attributes.items()}
        for attributes in (nx.get_edge_attributes(nx_graph, "weight"), nx.get_edge_attributes(G, "weight"))
    ]
    assert weights[0] == weights[1]
    assert nx.get_node_attributes(nx_graph, "label") == {node: f"n{i}" for i, node in enumerate(nodes)}
    assert scipy_sparse.issparse(matrix)
    np.testing.assert_array_equal(matrix.toarray(), nx.to_numpy_array(G, nodes))
    assert isinstance(other, igraph.Graph)
    assert (other.is_directed(), other.vs["name"], other.vs["label"]) == (directed, nodes, [f"n{i}" for i in range(12)])
    np.testing.assert_array_equal(np.array(list(other.get_adjacency(attribute="weight"))), nx.to_numpy_array(G, nodes))


@pytest.mark.parametrize("names", [False, True])
def test_unreached_vertices_have_no_value_in_columns_of_results(names):
    """As in the DataFrame of the result: no comparison but != chooses them, on ranks without one, too."""
    graph, _ = both_graphs(12, [(v, v + 1) for v in range(8)], True, names)
    source = "v000" if names else 0
    several = dgraph.multi_source_sssp(graph, sources=[source])
    results = {
        "hops": (dgraph.bfs(graph, source), "distance"), "far": (dgraph.sssp(graph, source), "distance"),
        f"distance_{source}": (several, f"distance_{source}"),
    }  # fmt: skip
    kept = graph.with_columns(**{name: result for name, (result, _) in results.items()})
    assert all(kept.columns[name].dtype == np.float64 for name in results)
    assert kept.filter_vertices(lambda v: v.hops >= 2).n == 7
    assert kept.filter_vertices(lambda v: v.hops.isna()).n == 3
    assert kept.filter_vertices(lambda v: v.hops != 2).n == 11
    for name, (result, column) in results.items():
        rows = result.to_pandas()
        chosen = kept.filter_vertices(lambda v, name=name: v[name] > 4)
        if rows is not None:
            assert chosen.n == (rows[column] > 4).sum()
    everything = graph.with_columns(core=dgraph.kcore(graph))
    assert everything.columns["core"].dtype == np.int64
    if not names:
        before = graph.with_columns(predecessor=dgraph.bfs(graph, source))
        assert before.filter_vertices(lambda v: v.predecessor < 3).n == 3


def test_integers_of_a_result_that_float64_rounds_are_refused_as_a_column():
    mine = slice(world().rank, None, world().size)
    ends, weights = np.array([[0, 1], [1, 2]])[:, mine], np.array([2**53, 1])[mine]
    result = dgraph.sssp(dgraph.Graph.from_edges(*ends, weights, n=4), 0)
    with pytest.raises(DataError, match=r"distance\[\d\] is 9007199254740993, and float64 would round it"):
        dgraph.Graph.from_edges(*ends, n=4).with_columns(distance=result)
    reached = dgraph.Graph.from_edges(*ends, n=3)
    column = reached.with_columns(distance=dgraph.sssp(dgraph.Graph.from_edges(*ends, weights), 0)).columns["distance"]
    assert column.dtype == np.int64
    values = (np.array([0, 1])[mine], np.array([2**53 + 1, 5])[mine])
    with pytest.raises(DataError, match="float64 would round it"):
        reached.with_columns(x=values)
