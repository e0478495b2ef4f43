"""Array rounds: NumPy answers on small graphs what compiled rounds would answer."""

import itertools
import os
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from devices import local_graph

import dgraph
from dgraph._support import first_runs
from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cpu.codegen import generated_module
from dgraph.backend.cpu.round import array_folds, array_phases, array_rounds
from dgraph.backend.cpu.round.interpreted import InterpretedMachine
from dgraph.backend.cpu.threads.team import Team
from dgraph.comm import SerialComm, world
from dgraph.graph.stored_graph import Graph
from dgraph.program import INF, MIN, Field, Program, trace, where
from dgraph.program.row_reducers import LEFT_OUT

N = 300


def arcs(seed=3, count=1500):
    """Return random arcs with loops and parallel ones, and integer weights with zeros."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, N, count), rng.integers(0, N, count), rng.integers(0, 9, count)


@pytest.fixture
def at_once(monkeypatch):
    """Make every run use array rounds, and count the machines."""
    programs = []

    class Counted(array_rounds.ArrayMachine):
        def __init__(self, traced, local, team):
            programs.append(type(traced.program).__name__)
            super().__init__(traced, local, team)

    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(array_rounds, "uncompiled", lambda stem, tiny=False: True)
    monkeypatch.setattr(array_rounds, "spend", lambda stem, seconds: None)
    monkeypatch.setattr(array_phases, "PIECE", 64)
    monkeypatch.setattr("dgraph.backend.cpu.backend.ArrayMachine", Counted)
    return programs


def columns(name, graph, **parameters):
    result = dgraph.run(name, graph.on(device=dgraph.Cpu()), **parameters)
    return result, result.gather()


def graph_of(src, dst, weights=None, **options):
    return Graph.from_edges(src, dst, weights, vertices=np.arange(N), comm=world(), **options)


@pytest.mark.mpi
def test_later_calls_take_the_machines_of_the_first(at_once):
    src, dst, _ = arcs()
    graph = graph_of(*(column[world().rank :: world().size] for column in (src, dst)))
    for source in (7, 8, 7):
        rows = columns("bfs", graph, source=source)[1]
        levels = oracles.bfs(N, src, dst, source)
        if rows is not None:
            assert np.array_equal(rows["distance"], np.where(levels < 0, np.iinfo(np.int64).max, levels))
    assert len(at_once) == len(set(at_once))


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_levels_and_parents_are_those_of_igraph(policy, at_once):
    src, dst, _ = arcs()
    mine = slice(world().rank, None, world().size)
    result, columns_of_all = columns("bfs", graph_of(src[mine], dst[mine]).on(policy=policy), source=7)
    assert {"Levels"} <= set(at_once)
    reason = f"Levels, Parents: {first_runs.REMARK}"
    assert {"what": "rounds", "taken": "NumPy", "reason": reason} in result.report["choices"]
    if columns_of_all is not None:
        levels = oracles.bfs(N, src, dst, 7)
        assert np.array_equal(columns_of_all["distance"], np.where(levels < 0, np.iinfo(np.int64).max, levels))
        reached = np.flatnonzero(levels > 0)
        parents = columns_of_all["predecessor"][reached]
        assert np.array_equal(levels[parents], levels[reached] - 1)
        assert set(zip(parents, reached, strict=True)) <= set(zip(src, dst, strict=True))


@pytest.mark.mpi
@pytest.mark.parametrize("sync", ["auto", "full"])
def test_mirrors_that_no_edge_reached_propose_nothing(sync, at_once):
    """Check the levels of a grid: messages with the values of all positions hold infinity for most."""
    row, column = np.divmod(np.arange(N), 4)
    right, below = np.flatnonzero(column < 3), np.arange(N - 4)
    src, dst = np.concatenate([right, below]), np.concatenate([right + 1, below + 4])
    mine = slice(world().rank, None, world().size)
    graph = graph_of(src[mine], dst[mine], directed=False).on(policy="oec")
    _, columns_of_all = columns("bfs", graph, source=5, options=dgraph.Options(sync=sync, max_rounds=N))
    assert "Levels" in at_once
    if columns_of_all is not None:
        assert np.array_equal(columns_of_all["distance"], abs(row - 1) + abs(column - 1))


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("delta", [1.0, 20.0])
def test_distances_are_those_of_dijkstra(dtype, delta, at_once):
    src, dst, weights = arcs()
    weights = weights.astype(dtype) if dtype is np.int32 else weights / 7
    mine = slice(world().rank, None, world().size)
    graph = graph_of(src[mine], dst[mine], weights[mine])
    _, columns_of_all = columns("sssp", graph, source=7, delta=delta, validate=True)
    assert at_once[0] == "Distances"
    if columns_of_all is not None:
        wanted = oracles.sssp(N, src, dst, weights, 7)
        none = np.inf if dtype is np.float64 else np.iinfo(np.int64).max
        assert columns_of_all["distance"].tolist() == [none if d is None else d for d in wanted]


@pytest.mark.mpi
@pytest.mark.parametrize("calls", [1, 2, 3, 4, 5, 20])
def test_many_rounds_are_compiled_after_all(calls, at_once, monkeypatch):
    """The rounds are compiled after that many calls of phases, on each rank after one more: also within a round."""
    seconds = itertools.count()  # two for each call, by the clock's three readings
    monkeypatch.setattr(array_rounds, "time", SimpleNamespace(thread_time=lambda: next(seconds)))
    monkeypatch.setattr(array_rounds, "PATIENCE", 2 * (calls + world().rank) - 1)
    graph = Graph.load("path:3000", weights="1..9", comm=world())
    parameters = {"source": 0, "delta": 1.0, "return_predecessors": False}
    result, columns_of_all = columns("sssp", graph, validate=True, **parameters)
    assert "Distances" in at_once
    assert result.summary["reached"] == 3000
    assert columns_of_all is None or np.all(np.diff(columns_of_all["distance"]) > 0)


@pytest.mark.quick
def test_rounds_go_on_compiled_once_another_process_compiled_them(at_once, monkeypatch):
    looks, loaded, usual = iter([False, False, False, True]), [], array_rounds.module_for
    monkeypatch.setattr(array_rounds, "LOOKS", 0.0)
    monkeypatch.setattr(array_rounds, "compiled_beside", lambda stem, local: next(looks))
    monkeypatch.setattr(array_rounds, "module_for", lambda *args, **more: loaded.append(more) or usual(*args, **more))
    graph = Graph.load("path:3000", weights="1..9", comm=SerialComm())
    result, columns_of_all = columns("sssp", graph, source=0, delta=1.0, return_predecessors=False, validate=True)
    assert result.summary["reached"] == 3000
    assert np.all(np.diff(columns_of_all["distance"]) > 0)
    assert loaded == [{"pushes": True}]
    assert list(looks) == []


@pytest.mark.quick
def test_machine_code_is_sought_where_numba_keeps_it(monkeypatch, tmp_path):
    monkeypatch.setattr(generated_module, "folder", lambda: tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    for place, variable in (("numba/of_a_folder", True), ("__pycache__", False)):
        if not variable:
            monkeypatch.delenv("NUMBA_CACHE_DIR")
        assert not generated_module.has_machine_code("levels_1", "work_fused")
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "levels_1.work_fused-9.py311.nbi").touch()
        assert generated_module.has_machine_code("levels_1", "work_fused")
        assert not generated_module.has_machine_code("levels_1", "work")


@pytest.mark.quick
def test_pieces_are_all_rows_in_order(monkeypatch):
    rng = np.random.default_rng(4)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 500) * (rng.random(500) < 0.5))])
    for rows in (np.arange(500), rng.permutation(500)[:77], np.arange(0), np.array([3])):
        for piece in (1, 50, 1 << 20):
            monkeypatch.setattr(array_phases, "PIECE", piece)
            parts = [rows[part] for part in array_phases.pieces(offsets, rows)]
            assert np.array_equal(np.concatenate(parts), rows)
            edges = [int((offsets[part + 1] - offsets[part])[:-1].sum()) for part in parts]
            assert max(edges) <= piece


class Nearest(Program):
    """Smallest id that reaches a vertex along arcs to larger hashes; saturates, hashes and selects."""

    best = Field("int64", reduce=MIN)
    far = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Start everywhere."""
        return {"best": v.id, "far": where(v.id < 5, 0, INF), "active": True}

    def edge(self, u, e, v):
        """Propose both."""
        return {"best": where(u.best < v.best, u.best, INF), "far": u.far + 1}


def test_several_fields_and_infinity_are_combined_as_by_compiled_rounds(at_once, monkeypatch):
    src, dst, _ = arcs(count=500)
    local = local_graph(N, src, dst, directed=True)
    traced = trace(Nearest(), None)
    results = []
    for machine in (
        array_rounds.ArrayMachine(traced, local, Team(1)),
        InterpretedMachine(traced, local, Team(1), "push"),
    ):
        machine.start({})
        machine.apply_totals(*machine.totals(), starting=True)
        machine.fused(1000)
        assert machine.done
        results.append({name: values.copy() for name, values in machine.fields().items()})
    for name in ("best", "far"):
        assert np.array_equal(results[0][name], results[1][name])
    assert results[0]["far"].max() == np.iinfo(np.int64).max


def test_sums_saturate():
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    a, b = np.array([most, least, 5, most]), np.array([1, -1, 6, least])
    assert array_phases.saturating_add(a, b).tolist() == [most, least, 11, -1]
    assert array_phases.saturating_subtract(a, b).tolist() == [most - 1, least + 1, -1, most]


def test_a_program_is_compiled_after_it_has_taken_long(tmp_path, monkeypatch):
    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(first_runs, "folder", lambda: tmp_path)
    monkeypatch.setattr(generated_module, "_modules", {})
    monkeypatch.setattr(first_runs, "_spent", {})
    stem = generated_module.stem_of(trace(Levels(source=0, limit=9), None), True)
    assert generated_module.uncompiled(stem)
    for _ in range(3):
        first_runs.spend(stem, 0.3)
        assert generated_module.uncompiled(stem)
    first_runs.spend(stem, 0.3)
    assert not generated_module.uncompiled(stem)  # the next run of this process compiles
    first_runs._spent.clear()
    assert generated_module.uncompiled(stem)  # another rank of the same job
    (slow,) = tmp_path.glob("*.slow")
    os.utime(slow, (time.time() - 3600,) * 2)
    assert not generated_module.uncompiled(stem)  # a later job
    assert not generated_module.uncompiled(stem, tiny=True)
    slow.unlink()
    assert generated_module.uncompiled(stem)
    compiled = tmp_path / f"{stem}.py"
    compiled.touch()
    os.utime(compiled, (time.time() - 3600,) * 2)
    assert not generated_module.uncompiled(stem)
    assert generated_module.uncompiled(stem, tiny=True)
    monkeypatch.setenv("DGRAPH_COMPILE", "always")
    assert not generated_module.uncompiled(stem)


def test_tiny_graphs_do_without_machine_code_where_numba_is_not_loaded_and_on_several_ranks(monkeypatch):
    asked = []
    monkeypatch.setattr(array_rounds, "uncompiled", lambda stem, tiny: asked.append(tiny))
    alone, levels = local_graph(N, *arcs()[:2], directed=True), trace(Levels(source=0, limit=9), None)
    monkeypatch.setitem(sys.modules, "numba", sys)
    array_rounds.answers_at_once(levels, alone)
    array_rounds.answers_at_once(levels, replace(alone, masters=N - 1))
    array_rounds.answers_at_once(levels, replace(alone, masters=N - 1, m=array_rounds.TINY + 1))
    monkeypatch.delitem(sys.modules, "numba")
    array_rounds.answers_at_once(levels, alone)
    assert asked == [False, True, False, True]


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("name", "program"),
    [("cdlp", "CommunityLabels"), ("kcore", "Peel"), ("mis", "Independent"), ("pagerank", "PageRank")],
)
def test_programs_that_apply_pull_and_sum_pass_their_certificates(name, program, at_once):
    src, dst, _ = arcs()
    mine = slice(world().rank, None, world().size)
    graph = graph_of(src[mine], dst[mine], directed=name == "pagerank")
    result, _ = columns(name, graph, validate=True)
    assert program in at_once
    assert result.report["outcome"]["validation"]["passed"]


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["bfs", "pagerank", "mis", "kcore"])
def test_ranks_whose_first_runs_took_longer_make_the_others_compile(name, at_once, monkeypatch):
    monkeypatch.setattr(array_rounds, "CpuMachine", InterpretedMachine)
    if world().rank:
        monkeypatch.setenv("DGRAPH_COMPILE", "never")
    src, dst, _ = arcs()
    mine = slice(world().rank, None, world().size)
    source = {"source": 7} if name == "bfs" else {}
    graph = graph_of(src[mine], dst[mine], directed=name != "mis").on(policy="cvc")
    result, _ = columns(name, graph, validate=True, **source)
    assert result.report["outcome"]["validation"]["passed"]
    numpy_ran = any(choice["taken"] == "NumPy" for choice in result.report["choices"])
    assert numpy_ran == (world().size == 1)


@pytest.mark.parametrize("name", array_folds.FOLDS)
def test_folds_of_many_rows_are_those_of_each(name):
    rng = np.random.default_rng(5)
    rows, keys, values = rng.integers(0, 9, 60), rng.integers(0, 6, 60), rng.integers(0, 4, 60)
    rows[rows == 4] = 5  # one row is empty

    def fold(row):
        mine = keys[rows == row].tolist()
        sums = {key: values[(rows == row) & (keys == key)].sum() for key in mine}
        most = max(sums, key=lambda key: (sums[key], -key), default=LEFT_OUT)
        return {
            "mode": (max(mine, key=lambda key: (mine.count(key), -key), default=LEFT_OUT),),
            "best": (most, sums.get(most, 0)),
            "mex": (min(set(range(99)) - set(mine)),),
            "hindex": (max(h for h in range(99) if sum(key >= h for key in mine) >= h),),
        }[name]

    folded = array_folds.FOLDS[name](rows, keys, *([values] if name == "best" else []), 9)
    assert list(zip(*folded, strict=True)) == [fold(row) for row in range(9)]


def test_the_second_process_of_long_runs_makes_later_ones_compile(tmp_path, monkeypatch):
    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(first_runs, "folder", lambda: tmp_path)
    for process in range(3):
        monkeypatch.setattr(first_runs, "BEGAN", time.time() + 10 * process)
        monkeypatch.setattr(first_runs, "_spent", {})
        assert first_runs.uncompiled("long") == (process < 2)
        first_runs.spend("short", 0.9 * first_runs.LONG)
        for _ in range(2):  # two ranks of a job, or two runs
            first_runs.spend("long", 0.6 * first_runs.LONG)
        for path in tmp_path.iterdir():
            os.utime(path, (first_runs.BEGAN + 5,) * 2)
        assert first_runs.uncompiled("short")


def test_large_graphs_are_compiled(at_once, monkeypatch):
    local = local_graph(N, *arcs()[:2], directed=True)
    levels, ranks = trace(Levels(source=0, limit=9), None), trace(PageRank(), None)
    assert array_rounds.answers_at_once(levels, local)
    assert array_rounds.answers_at_once(ranks, local)
    monkeypatch.setattr(array_rounds, "FEW", local.m - 1)
    for beside in (True, False):
        monkeypatch.setattr(array_rounds, "has_machine_code", lambda *_, beside=beside: beside)
        assert array_rounds.answers_at_once(levels, local) is not beside
    assert not array_rounds.answers_at_once(ranks, local)
    monkeypatch.setattr(array_rounds, "FEW_OF_FRONTIERS", local.m - 1)
    assert not array_rounds.answers_at_once(levels, local)
