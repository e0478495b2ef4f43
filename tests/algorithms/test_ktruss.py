"""Trusses on any number of ranks, against edges peeled one level at a time."""

from contextlib import nullcontext
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from battery import CASES
from test_battery import combinations, equal, solve

import dgraph
from dgraph.algorithms.edge_triangles import truss_levels, whole_peel
from dgraph.backend.cpu.threads import plain_kernels
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds.progress import CalledProgress
from dgraph.errors import Cancelled
from dgraph.validate import validate


def trusses(n, src, dst):
    """Return the largest trussness of an edge at each vertex, 0 without edges, and the edges of each truss."""
    neighbours = [set() for _ in range(n)]
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        if u != v:
            neighbours[u].add(v)
            neighbours[v].add(u)
    largest, k, left = np.zeros(n, np.int64), 2, []
    while any(neighbours):
        largest[[bool(member) for member in neighbours]] = k
        left.append({(u, v) for u in range(n) for v in neighbours[u] if u < v})
        k += 1
        edges = [(u, v) for u in range(n) for v in neighbours[u] if u < v]
        while gone := [(u, v) for u, v in edges if len(neighbours[u] & neighbours[v]) < k - 2]:
            for u, v in gone:
                neighbours[u].discard(v)
                neighbours[v].discard(u)
            edges = [(u, v) for u in range(n) for v in neighbours[u] if u < v]
    return largest, left


def check_edges(edges, left, text, least=2, number=np.array):
    """Check that edges are in order, and have the number of the last set of ``left`` that they are in; collective.

    Args:
        edges: of the result.
        left: edges by the positions of their ends, of the trusses from ``least`` on.
        text: of a failure.
        least: the first truss.
        number: original ids → positions.
    """
    rows = edges.gather()
    if rows is None:
        return
    pairs = list(zip(*(number(rows[name]).tolist() for name in ("source", "target")), strict=True))
    wanted = {pair: k for k, pairs_left in enumerate(left, least) for pair in pairs_left}
    assert pairs == sorted(wanted), text
    assert rows["truss"].tolist() == [wanted[pair] for pair in pairs], text


def peels_alone(alone, monkeypatch):
    """Let each of several ranks peel graphs of these sizes alone, or all ranks together."""
    monkeypatch.setattr(truss_levels, "SMALL", plain_kernels.MOST if alone else 0)


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_values(name, monkeypatch):
    n, src, dst, _ = CASES[name].arcs(directed=False)
    wanted, left = trusses(n, src, dst)
    for turn, chosen in enumerate(combinations(name)):
        peels_alone(turn % 2, monkeypatch)
        result, here = solve("ktruss", name, combination=chosen)
        equal(result.columns["truss"], wanted, here, f"truss {chosen}")
        assert result.summary == {"k": len(left) + 1 if left else 0, "edges": len(left[-1]) if left else 0}
        check_edges(result.edges, left, f"{chosen}", number=CASES[name].number)
        peels_alone(turn % 2 == 0, monkeypatch)
        result, here = solve("ktruss", name, combination=chosen, k=3)
        equal(result.columns["in_truss"], wanted >= 3, here, f"in_truss {chosen}")
        assert result.summary == {"members": (wanted >= 3).sum(), "edges": len(left[1]) if len(left) > 1 else 0}
        check_edges(result.edges, left[1:2], f"3-truss {chosen}", 3, CASES[name].number)


@pytest.mark.mpi
def test_rows_of_others_come_some_at_a_time(monkeypatch):
    monkeypatch.setattr("dgraph.graph.halo.ghost_rows.FEWEST", 10)
    peels_alone(False, monkeypatch)
    comm, nx_graph = world(), nx.gnp_random_graph(90, 0.2, seed=2)
    nx_graph.add_edges_from(nx.complete_graph(12).edges)
    graph = dgraph.Graph.from_networkx(nx_graph if comm.rank == 0 else None, comm=comm)
    src, dst = np.array(list(nx_graph.edges)).T
    wanted, left = trusses(90, src, dst)
    for policy in ("oec", "cvc"):
        result = dgraph.run("ktruss", graph.on(policy=policy), validate=True)
        equal(result.columns["truss"], wanted, result.columns["vertex"], policy)
        assert result.summary == {"k": len(left) + 1, "edges": len(left[-1])}
    result = dgraph.run("ktruss", graph, k=6)
    assert result.summary["edges"] == nx.k_truss(nx_graph, 6).number_of_edges()


@pytest.mark.mpi_skip
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_share_large_rounds(threads):
    nx_graph = nx.barabasi_albert_graph(600, 12, seed=3)
    graph = dgraph.Graph.from_networkx(nx_graph, comm=SerialComm(), device=dgraph.Cpu(threads=threads))
    wanted, left = trusses(600, *np.array(nx_graph.edges).T)
    result = dgraph.run("ktruss", graph)
    assert (result.columns["truss"] == wanted).all()
    assert result.summary == {"k": len(left) + 1, "edges": len(left[-1])}
    for k in (3, 5):
        result = dgraph.run("ktruss", graph, k=k)
        assert (result.columns["in_truss"] == (wanted >= k)).all()
        assert result.summary["edges"] == len(left[k - 2])
    with pytest.warns(dgraph.errors.ConvergenceWarning):
        short = dgraph.run("ktruss", graph, options=dgraph.Options(max_rounds=5))
    assert short.rounds == 5
    assert (short.columns["truss"] <= wanted).all()


@pytest.mark.mpi
@pytest.mark.parametrize("alone", [True, False])
def test_a_round_limit(alone, monkeypatch):
    peels_alone(alone, monkeypatch)
    graph = dgraph.Graph.load("rmat:7")
    text = "ktruss did not converge: it was stopped after 1 rounds"
    warned = pytest.warns(dgraph.errors.ConvergenceWarning, match=text) if world().rank == 0 else nullcontext()
    with warned:
        result = dgraph.run("ktruss", graph, options=dgraph.Options(max_rounds=1))
    assert (result.converged, result.rounds) == (False, 1)


@pytest.mark.mpi
def test_other_edges_are_refused():
    graph = dgraph.Graph.load("rmat:6,symmetric", order="degree")
    result = dgraph.run("ktruss", graph, validate=True)
    last = slice(None, -1) if len(result.edges.values) and graph.comm.rank == graph.comm.size - 1 else slice(None)
    fewer = {name: getattr(result.edges, name)[last] for name in ("source", "target", "values")}
    others = {
        "its edges are not those of the truss": replace(result.edges, **fewer),
        "trussness of edges is that of a peel": replace(result.edges, values=result.edges.values + 1),
        "is not a vertex of the graph": replace(result.edges, source=result.edges.source + 64),
    }
    asked = {"comm": graph.comm, "parameters": {"k": None}, "rounds": 0}
    for words, edges in others.items():
        verdict = validate("ktruss", graph.undirected().block, result.columns, edges=edges, **asked)
        assert words in verdict.failure


@pytest.mark.mpi
@pytest.mark.parametrize("alone", [True, False])
def test_a_run_that_one_rank_cancels_ends_on_all(alone, monkeypatch):
    peels_alone(alone, monkeypatch)

    class Stopped(CalledProgress):
        def cancelled(self):
            return world().rank == world().size - 1

    graph = dgraph.Graph.load("rmat:7,symmetric")
    with pytest.raises(Cancelled, match="its answer is incomplete"):
        dgraph.run("ktruss", graph, progress=Stopped(lambda event: None))


@pytest.mark.mpi_skip
@pytest.mark.parametrize("k", [None, 5])
def test_first_runs_peel_in_the_same_rounds(k, monkeypatch):
    graph = dgraph.Graph.load("rmat:8,symmetric", comm=SerialComm(), device="cpu")
    answers, kinds = [], []
    for first in (True, False):
        monkeypatch.setattr(truss_levels, "suits", lambda arcs, first=first: not first)
        kind = truss_levels.LevelsOverRanks if first else truss_levels.WholeLevels
        usual = kind.__init__
        monkeypatch.setattr(
            kind, "__init__", lambda self, *args, usual=usual: kinds.append(type(self)) or usual(self, *args)
        )
        result = dgraph.ktruss(graph, k=k)
        answers.append((result.gather(), result.edges.gather(), result.summary))
    assert kinds == [truss_levels.LevelsOverRanks, truss_levels.WholeLevels]
    (columns, edges, summary), (whole, whole_edges, whole_summary) = answers
    assert summary == whole_summary
    for one, other in ((columns, whole), (edges, whole_edges)):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], name)


@pytest.mark.mpi_skip
def test_a_run_on_many_edges_ends_the_first_runs_of_small_graphs(monkeypatch):
    compiled: list[str] = []
    monkeypatch.setattr(plain_kernels.first_runs, "uncompiled", lambda stem: True)
    monkeypatch.setattr(plain_kernels.first_runs, "compiled", compiled.append)
    for most, once in ((2 * plain_kernels.MOST, True), (2 * plain_kernels.MOST + 1, False)):
        monkeypatch.setattr(plain_kernels, "_needed", set())
        assert not whole_peel.suits(10)
        assert whole_peel.suits(most) != once
        assert whole_peel.suits(most)
        assert whole_peel.suits(10)
    assert compiled == 2 * ["plain.dgraph.algorithms.edge_triangles.whole_peel"]
    assert not whole_peel.suits(2**32)
