"""Parallel edges merge by every rule as pandas groups them, from edges, files and rows, on any number of ranks."""

import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import agreed, joined, loaded, share, written
from simulated import on_ranks

import dgraph
from dgraph.backend.cuda.graph_build.build_plan import draft
from dgraph.comm import SerialComm
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.clean import assemble
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.load import describe
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.stored_graph import Graph

RULES = ("min", "max", "sum", "first", "count")
CALLS = [("ann", "bob", 3), ("bob", "ann", 4), ("ann", "bob", 5), ("cy", "ann", 1), ("cy", "cy", 2)]


def mirrors(edges):
    """True if every arc that is not a loop has its reverse of the same weight, equally often."""
    arcs = [edge for edge in edges if edge[0] != edge[1]]
    return bool(arcs) and sorted(arcs) == sorted((v, u, w) for u, v, w in arcs)


def merged(edges, rule, directed, loops=False):
    """Arcs ``(u, v, weight)`` as pandas groups the edges."""
    table = pandas.DataFrame(edges, columns=["u", "v", "w"])
    table = table if loops else table[table.u != table.v]
    if not directed:
        if mirrors(edges) and rule in ("sum", "count"):
            table = table[table.u <= table.v]
        low, high = table[["u", "v"]].min(axis=1), table[["u", "v"]].max(axis=1)
        table = table.assign(u=low, v=high)
    table = table.groupby(["u", "v"], sort=False).w.agg(rule).reset_index()
    arcs = list(table.itertuples(index=False, name=None))
    if not directed:
        arcs += [(v, u, w) for u, v, w in arcs if u != v]
    return sorted(arcs)


def graph_of(edges, ranks, rule, directed, dtype="i8", loops=False, **raw):
    """The graph of edges dealt to the ranks in consecutive pieces: their order is that of the ranks."""
    src, dst, weights = (np.array(column) for column in zip(*edges, strict=True))
    weights = weights.astype(dtype)

    def work(comm):
        here = slice(*(len(edges) * rank // comm.size for rank in (comm.rank, comm.rank + 1)))
        raw_edges = RawEdges(src[here], dst[here], weights[here], directed, **raw)
        return share(assemble(raw_edges, comm, LoadOptions(merge=rule, keep_loops=loops)), comm)

    return joined(agreed(on_ranks(ranks, work)))


EDGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-3, 9)), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(EDGES, st.integers(1, 4), st.sampled_from(RULES), st.booleans(), st.booleans(), st.sampled_from(["i4", "f4"]))
def test_rules_merge_as_pandas_does(edges, ranks, rule, directed, loops, dtype):
    graph = graph_of(edges, ranks, rule, directed, dtype, loops)
    assert graph.arcs == merged(edges, rule, directed, loops)
    if rule == "count":
        assert graph.weights == np.int64
    elif rule == "sum":
        assert graph.weights == (np.int64 if dtype == "i4" else np.float64)
    else:
        assert graph.weights == np.dtype(dtype)


@settings(max_examples=60, deadline=None)
@given(EDGES, st.integers(1, 3), st.sampled_from(RULES), st.booleans())
def test_both_arcs_of_each_edge_count_once(edges, ranks, rule, by_format):
    """``first`` of such an input takes the first of the arcs from smaller to larger ids, if the format says so."""
    both = edges + [(v, u, w) for u, v, w in edges if u != v]
    graph = graph_of(both, ranks, rule, False, mirrored=by_format)
    listed = [(min(u, v), max(u, v), w) for u, v, w in edges]
    first = [(u, v, w) for u, v, w in both if u <= v] if by_format else listed
    assert graph.arcs == merged(first if rule == "first" else listed, rule, False)


def test_a_log_of_calls_sums_both_directions(tmp_path):
    path = written(tmp_path, "calls.csv", "who,whom,minutes\n" + "".join(f"{u},{v},{w}\n" for u, v, w in CALLS))
    for ranks in (1, 3):
        graph = loaded(path, ranks, ids="string", directed=False, merge="sum", columns="who,whom,minutes")
        assert graph.arcs == [(0, 1, 12), (0, 2, 1), (1, 0, 12), (2, 0, 1)]
        assert graph.facts.duplicates == 2
        assert "2 parallel edges merged by sum" in describe_of(graph)
    assert loaded(path, ids="string", merge="count").arcs == [(0, 1, 2), (1, 0, 1), (2, 0, 1)]


def describe_of(graph):
    from dgraph.graph.block import GraphFacts
    from dgraph.graph.ids import ConsecutiveIds

    return describe(
        GraphFacts(graph.n, graph.m, 0, graph.directed, graph.weights, ConsecutiveIds(graph.n), graph.facts)
    )


@pytest.mark.parametrize("ranks", [1, 2])
def test_files_that_list_both_arcs(ranks, tmp_path):
    matrix = scipy.sparse.coo_array(([2, 2, 7, 7], ([0, 1, 1, 2], [1, 0, 2, 1])), (3, 3))
    scipy.io.mmwrite(tmp_path / "general.mtx", matrix, symmetry="general")
    scipy.io.mmwrite(tmp_path / "symmetric.mtx", matrix, symmetry="symmetric")
    metis = written(tmp_path, "a.graph", "3 2 001\n2 2\n1 2 3 7\n2 7\n")
    lines = written(tmp_path, "a.txt", "0 1 2\n1 0 2\n1 2 7\n2 1 7\n")
    for path in (tmp_path / "general.mtx", tmp_path / "symmetric.mtx", metis, lines):
        graph = loaded(path, ranks, merge="sum", directed=False)
        assert [weight for *_, weight in graph.arcs] == [2, 2, 7, 7], path
        assert graph.m == 2
        assert graph.facts.duplicates == 0
    assert any("each edge counts once" in note for note in graph.facts.notes)


@pytest.mark.parametrize("ranks", [1, 3])
def test_both_arcs_that_are_kept_as_parallel_edges_are_named(ranks):
    for edges, doubled in (([(0, 1), (1, 0)], True), ([(0, 1), (0, 1), (1, 2)], False), ([(1, 1)], False)):

        def warnings(comm, edges=edges):
            mine = np.array(edges).reshape(-1, 2)[comm.rank :: comm.size]
            graph = dgraph.Graph.from_edges(mine, n=3, directed=False, keep_parallel=True, comm=comm)
            return graph.m, graph.facts.warnings

        for m, remarks in on_ranks(ranks, warnings):
            assert m == len(edges) - (edges == [(1, 1)])
            assert any("every edge is there twice" in remark for remark in remarks) == doubled


def test_rows_of_a_binary_file_merge(tmp_path):
    matrix = scipy.sparse.csr_array((np.array([4, 1, 5]), np.array([1, 1, 0]), np.array([0, 2, 3])), (2, 2))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    assert loaded(tmp_path / "a.npz", 2, merge="sum").arcs == [(0, 1, 5), (1, 0, 5)]
    assert loaded(tmp_path / "a.npz", 2, merge="first").arcs == [(0, 1, 4), (1, 0, 5)]


def test_sums_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="63 bits"):
        graph_of([(0, 1, 2**62), (0, 1, 2**62)], 2, "sum", True)
    with pytest.raises(DataError, match="sum of parallel edges"):
        graph_of([(0, 1, np.inf), (0, 1, -np.inf)], 2, "sum", True, "f8")
    assert graph_of([(0, 1, 2**31 - 1), (0, 1, 2**31 - 1)], 2, "sum", True, "i4").arcs == [(0, 1, 2**32 - 2)]
    with pytest.raises(DataError, match="lacks its reverse"):
        graph_of([(0, 1, 2), (1, 0, 3)], 2, "sum", False, mirrored=True)


def test_unweighted_edges_weigh_one(tmp_path):
    path = written(tmp_path, "a.txt", "0 1\n0 1\n1 2\n")
    for rule, arcs in (("sum", [(0, 1, 2), (1, 2, 1)]), ("max", [(0, 1, 1), (1, 2, 1)])):
        assert loaded(path, 2, merge=rule).arcs == arcs


@pytest.mark.parametrize("other", [{"keep_parallel": True}, {"weights": "1..9"}, {"merge": "mean"}])
def test_contradictions_are_refused(other):
    with pytest.raises(UsageError):
        LoadOptions(**({"merge": "sum"} | other))


def test_graphs_built_on_gpus_and_stores_do_not_merge(tmp_path):
    with pytest.raises(UsageError, match="merge= needs the edges on the host"):
        draft("rmat:4", LoadOptions(merge="sum"))
    graph = Graph.from_csr([0, 2, 2], [1, 1], [3, 4], merge="sum", comm=SerialComm())
    assert graph.block.weights.tolist() == [7]
    graph.save_store(tmp_path / "store")
    with pytest.raises(UsageError, match="merge is for graphs"):
        Graph.load(tmp_path / "store", merge="sum", comm=SerialComm())


LISTINGS = {
    "calls": [(0, 1, 3), (1, 0, 4), (0, 1, 1), (2, 0, 1), (2, 3, 5), (3, 2, 2)],
    "equal sums": [(0, 1, 3), (1, 0, 4), (0, 1, 1)],
    "equal counts": [(0, 1, 3), (1, 0, 4)],
    "both arcs of each edge": [(0, 1, 3), (1, 0, 3), (1, 2, 2), (2, 1, 2)],
    "one arc of each edge": [(0, 1, 3), (1, 2, 2), (0, 2, 2)],
}


def both_ways(edges, ranks, weighted, merge=None, options=None):
    """The undirected form, and the graph that is loaded as undirected."""
    columns = [np.array(column) for column in zip(*edges, strict=True)]

    def work(comm):
        here = slice(*(len(edges) * rank // comm.size for rank in (comm.rank, comm.rank + 1)))
        src, dst, weights = (column[here] for column in columns)
        passed = (src, dst, weights if weighted else None)
        graph = Graph.from_edges(*passed, n=5, comm=comm, **(options or {})).undirected(merge)
        loaded = Graph.from_edges(*passed, n=5, comm=comm, directed=False, **(options or {}))
        return share(graph.block, comm), share(loaded.block, comm)

    return [joined(agreed(shares)) for shares in zip(*on_ranks(ranks, work), strict=True)]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("options", [*({"merge": rule} for rule in RULES), {"keep_parallel": True}], ids=str)
def test_the_undirected_form_is_the_graph_loaded_as_undirected(options, ranks):
    for name, edges in LISTINGS.items():
        for weighted in (True, False):
            graph, loaded = both_ways(edges, ranks, weighted, options=options)
            assert graph.arcs == loaded.arcs, (name, weighted)
            assert (graph.m, graph.weights) == (loaded.m, loaded.weights), (name, weighted)
            assert graph.facts.merge == options.get("merge", "min")
            if options != {"merge": "min"}:
                assert graph.facts.duplicates == loaded.facts.duplicates, (name, weighted)
            assert graph.facts.duplicates_kept == options.get("keep_parallel", False)


@settings(max_examples=40, deadline=None)
@given(EDGES, st.integers(1, 3), st.sampled_from(["min", "max", "sum", "count"]), st.booleans())
def test_any_undirected_form(edges, ranks, rule, weighted):
    graph, loaded = both_ways(edges, ranks, weighted, options={"merge": rule})
    assert graph.arcs == loaded.arcs


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_rule_for_the_undirected_form(ranks):
    edges = LISTINGS["calls"]
    merged_by = {"min": 3, "max": 4, "sum": 7, "first": 3, "count": 2}
    for rule, weight in merged_by.items():
        graph, _ = both_ways(edges[:2] + edges[3:], ranks, True, rule)
        assert graph.arcs[:2] == [(0, 1, weight), (0, 2, 1)]
        assert (rule == "min") or f"u → v and v → u merged by {rule}" in graph.facts.notes
    kept, _ = both_ways(edges, ranks, True, "sum", {"keep_parallel": True})
    assert kept.arcs[0] == (0, 1, 8)
    assert "3 parallel edges merged by sum" in describe_of(kept)
    assert both_ways(edges, ranks, False, "sum")[0].arcs[0] == (0, 1, 2)


@pytest.mark.mpi_skip
def test_the_rule_stays_with_the_graph(tmp_path):
    path = written(tmp_path, "calls.csv", "5,9,3\n9,5,4\n5,9,1\n7,5,1\n")
    comm = SerialComm()
    whole = [[5, 7, 1], [5, 9, 8]]
    for options in ({}, {"order": "degree"}):
        graph = Graph.load(path, comm=comm, merge="sum", **options)
        assert graph.undirected().to_pandas().to_numpy().tolist() == whole
        assert graph.induced([5, 9]).undirected().to_pandas().to_numpy().tolist() == whole[1:]
    graph = Graph.load(path, comm=comm, merge="sum")
    graph.save_store(tmp_path / "store")
    assert Graph.load(tmp_path / "store", comm=comm).undirected().to_pandas().to_numpy().tolist() == whole
    grown = graph.with_edges([[5, 9]], weights=[10])
    for both in (grown.undirected(), graph.undirected().with_edges([[5, 9]], weights=[10])):
        assert both.to_pandas().to_numpy().tolist() == [[5, 7, 1], [5, 9, 18]]
    assert graph.undirected() is not graph.undirected("max")
    assert graph.undirected("max").to_pandas().to_numpy().tolist() == [[5, 7, 1], [5, 9, 4]]
    assert dgraph.mst(graph).summary["weight"] == 9
    with pytest.raises(UsageError, match="rule to merge parallel edges 'mean'"):
        graph.undirected("mean")
    kept = Graph.load(path, comm=comm, keep_parallel=True)
    assert (kept.undirected().m, kept.undirected("sum").m) == (4, 2)
    with pytest.raises(UsageError, match="merge='sum': the graph is undirected, and keeps parallel edges"):
        kept.undirected().undirected("sum")
