"""Closeness and betweenness on any number of ranks, against NetworkX; sums have the same bits on all of them."""

from itertools import combinations as subsets

import emulated
import networkx as nx
import numpy as np
import pytest
from battery import CASES
from flat_run import flat_run
from test_battery import combinations, equal, solve

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError
from dgraph.validate import validate


def drawn(name):
    """Return a case as a graph of NetworkX, without parallel edges."""
    case = CASES[name]
    n, src, dst, _ = case.arcs()
    G = nx.DiGraph() if case.directed else nx.Graph()
    G.add_nodes_from(range(n))
    G.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return G


def alone(name):
    """Return a case as a graph of this process."""
    case = CASES[name]
    return dgraph.Graph.from_edges(
        case.src, case.dst, n=case.n, directed=case.directed, sparse_ids=case.n is None, comm=SerialComm()
    )


def close(column, wanted, vertices, what):
    """Compare this rank's column with the oracle's whole one, up to rounding."""
    with world().together():
        np.testing.assert_allclose(column, np.array([wanted[v] for v in vertices.tolist()]), 1e-11, 1e-13, err_msg=what)


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_closeness(name):
    wanted = nx.closeness_centrality(drawn(name))
    wanted = np.array([wanted[v] for v in range(len(wanted))])
    for chosen in combinations(name)[:2]:
        result, here = solve("closeness", name, combination=chosen)
        equal(result.columns["closeness"], wanted, here, f"closeness {chosen}")


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_betweenness(name):
    wanted, bits = nx.betweenness_centrality(drawn(name)), dgraph.run("bc", alone(name)).columns["bc"]
    for chosen in combinations(name)[:2]:
        result, here = solve("bc", name, combination=chosen)
        close(result.columns["bc"], wanted, here, f"bc {chosen}")
        equal(result.columns["bc"], bits, here, f"bits of bc {chosen}")


@pytest.mark.mpi
def test_drawn_sources_are_those_of_any_number_of_ranks():
    for name, more in (("bc", {"endpoints": True}), ("bc", {"normalized": False}), ("closeness", {})):
        for state in (1, -5):
            settings = more | {"k": 20, "random_state": state}
            alone_column = dgraph.run(name, alone("skewed"), validate=True, **settings).columns[name]
            result, here = solve(name, "skewed", validate=True, **settings)
            equal(result.columns[name], alone_column, here, f"{name} {settings}")


@pytest.mark.mpi_skip
def test_a_drawn_source_is_reached_by_the_others_alone():
    """Check estimates against those of every possible draw: one of them has all values."""
    distances = nx.floyd_warshall_numpy(nx.path_graph(7))
    ends = np.arange(6)
    column = dgraph.closeness(dgraph.Graph.from_edges(ends, ends + 1, directed=False), k=3).columns["closeness"]
    matching = 0
    for sources in map(list, subsets(range(7), 3)):
        others = 3 - np.isin(np.arange(7), sources)
        matching += np.allclose(column, others / distances[sources].sum(axis=0))
    assert matching == 1


@pytest.mark.mpi_skip
@pytest.mark.parametrize("endpoints", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_named_sources_are_scaled_as_by_networkx(normalized, endpoints, monkeypatch):
    G, nodes = drawn("skewed"), [3, 17, 40]
    monkeypatch.setattr("random.Random.sample", lambda self, population, k: nodes)
    wanted = nx.betweenness_centrality(G, k=3, normalized=normalized, endpoints=endpoints, seed=1)
    graph = dgraph.Graph.from_networkx(G)
    result = dgraph.bc(graph, sources=nodes, normalized=normalized, endpoints=endpoints, validate=True)
    np.testing.assert_allclose(result.columns["bc"], [wanted[v] for v in result.columns["vertex"].tolist()], 1e-12)


@pytest.mark.mpi
def test_paths_of_a_grid_beyond_float64():
    """From a corner of a long grid, 2^1100 and more paths lead to a vertex: numbers are scaled, shares stay exact."""
    length, comm = 1600, world()
    ids = np.arange(2 * length)
    rungs = np.stack([ids[:-2:2], ids[2::2]]), np.stack([ids[:-2:2], ids[3::2]])
    more = np.stack([ids[1:-2:2], ids[2::2]]), np.stack([ids[1:-2:2], ids[3::2]])
    src, dst = np.concatenate([*rungs, *more], axis=1)[:, comm.rank :: comm.size]
    graph = dgraph.Graph.from_edges(src, dst, n=2 * length, directed=False, comm=comm)
    result = dgraph.run("bc", graph, sources=[0], normalized=False)
    level = result.columns["vertex"] // 2
    n, scale = 2 * length, (2 * length - 1) / 2
    behind = 2 * (length - 1 - level)  # every path from 0 to them passes one of the two vertices of the level
    wanted = np.where(level > 0, behind / 2 * scale, 0.0)
    wanted[result.columns["vertex"] == 1] = 0.0  # at distance 2, behind both vertices of level 1
    chosen = (level > 1) | (result.columns["vertex"] < 2)
    with comm.together():
        assert n == result.columns["vertex"][-1] + 1 or comm.size > 1
        keep = chosen & (result.columns["vertex"] != 0)
        np.testing.assert_allclose(result.columns["bc"][keep], wanted[keep], 1e-9)


@pytest.mark.mpi_skip
def test_paths_that_differ_too_much_are_refused():
    """One of two ways to the same distance doubles its paths at each step, the other has one path."""
    length = 1100
    ids = np.arange(2 * length)
    ladder = [(0, 1)] if False else []
    src = [*ids[:-2:2], *ids[:-2:2], *ids[1:-2:2], *ids[1:-2:2]]
    dst = [*ids[2::2], *ids[3::2], *ids[2::2], *ids[3::2]]
    single = 2 * length + np.arange(length)
    src += [0, *single[:-1].tolist(), *ladder]
    dst += [single[0], *single[1:].tolist()]
    graph = dgraph.Graph.from_edges(src, dst, n=3 * length, directed=True, comm=SerialComm())
    with pytest.raises(DataError, match=r"differ by a factor of more than 2\^900"):
        dgraph.run("bc", graph, sources=[0])


@pytest.mark.mpi
def test_the_certificate_of_many_sources():
    """More sources than are searched again: the total and the bound find a change and an exchange."""
    result, _ = solve("bc", "skewed")
    from test_battery import graph_of

    graph, settings = graph_of("skewed", None), dgraph.algorithms.ALGORITHMS["bc"]().settings()
    vertex, order = result.columns["vertex"], graph.comm.largest(int(result.columns["bc"].argmax()))
    assert order >= 0

    def verdict(change):
        columns = {"vertex": vertex, "bc": result.columns["bc"].copy()}
        change(columns["bc"])
        return validate("bc", graph.block, columns, graph.comm, parameters=settings, rounds=0)

    assert verdict(lambda column: None).passed
    most = graph.comm.allreduce(np.array([result.columns["bc"].max()]), "max")[0]

    def raised(column):
        column[result.columns["bc"] == most] *= 1 + 1e-6

    def lowered(column):
        column[result.columns["bc"] == most] = 0.0

    assert "'the total is that of the distances'" in verdict(raised).failure
    assert "'betweenness is at least the dependencies'" in verdict(lowered).failure


@pytest.mark.mpi_skip
def test_what_is_refused():
    graph = dgraph.Graph.load("path:5", comm=SerialComm())
    with pytest.raises(UsageError, match="k = 6 sources cannot be drawn from 5 vertices"):
        dgraph.closeness(graph, k=6)
    with pytest.raises(UsageError, match="leave one of the two out"):
        dgraph.bc(graph, k=2, sources=[1])
    with pytest.raises(UsageError, match="have no weights"):
        dgraph.bc(graph, sources={1: 2.0})
    for sources, words in (([], "is empty"), ([1, 9], "source 9 is not a vertex"), ([1, 2, 1], "1 is given twice")):
        with pytest.raises(UsageError, match=words):
            dgraph.bc(graph, sources=sources)


@pytest.mark.mpi_skip
def test_parallel_edges_and_loops_count_once():
    src, dst = np.array([0, 0, 0, 1, 2, 2, 3, 1]), np.array([1, 1, 2, 3, 3, 3, 4, 1])
    options = {"directed": False, "keep_loops": True, "keep_parallel": True}
    graph = dgraph.Graph.from_edges(src, dst, n=5, comm=SerialComm(), **options)
    wanted = nx.betweenness_centrality(nx.Graph(zip(src.tolist(), dst.tolist(), strict=True)))
    np.testing.assert_allclose(dgraph.bc(graph, validate=True).columns["bc"], [wanted[v] for v in range(5)], 1e-14)


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("endpoints", [False, True])
@pytest.mark.parametrize("name", ["skewed", "two_islands"])
def test_on_an_emulated_gpu(name, endpoints):
    G, nodes = drawn(name), [0, 3, 17]
    G = G.to_undirected() if endpoints else nx.DiGraph(G)
    directed = not endpoints
    if directed:  # one way, up to a few edges both ways
        G.remove_edges_from([(u, v) for u, v in list(G.edges) if u > v and (u + v) % 5])
    graph = dgraph.Graph.from_edges(*np.array(list(G.edges)).T, n=len(G), directed=directed, comm=SerialComm())
    wanted = dgraph.bc(graph, sources=nodes, endpoints=endpoints).columns["bc"]
    result = flat_run(
        "bc", graph, backend=emulated.backend(), sources=nodes, endpoints=endpoints, normalized=True, validate=True
    )
    np.testing.assert_allclose(result.columns["bc"], wanted, 1e-11, 1e-13)
    again = flat_run("bc", graph, backend=emulated.backend(), sources=nodes, endpoints=endpoints)
    np.testing.assert_array_equal(again.columns["bc"], result.columns["bc"])


@pytest.mark.mpi
def test_ranks_share_out_sources_or_vertices(monkeypatch):
    """A rank takes sources if the graph fits each rank, else vertices; bits are those of one rank both times."""
    runs = [("bc", "rmat:8", {"endpoints": True}), ("bc", "grid:12x15", {}), ("closeness", "rmat:11", {})]
    two = dgraph.Cpu(threads=2)  # as many batches as threads, on any machine
    graphs = {spec: dgraph.Graph.load(spec, comm=world(), device=two) for _, spec, _ in runs}
    of_one_rank = [dgraph.run(name, dgraph.Graph.load(spec, comm=SerialComm()), **more) for name, spec, more in runs]
    for words, why in (("shared out among ranks", "the graph fits"), ("searched by all ranks", "bytes on a rank")):
        for (name, spec, more), wanted in zip(runs, of_one_rank, strict=True):
            result = dgraph.run(name, graphs[spec], **more)
            equal(result.columns[name], wanted.columns[name], result.columns["vertex"], f"{name} {words}")
            assert (result.summary, result.rounds) == (wanted.summary, wanted.rounds)
            chosen = [choice for choice in result.report["choices"] if choice["what"] == "sources"]
            with world().together():
                assert len(chosen) == (world().size > 1)
                assert all(words in choice["taken"] and why in choice["reason"] for choice in chosen)
        monkeypatch.setattr("dgraph.engine.rounds.passes.free_memory", lambda: 1000)
