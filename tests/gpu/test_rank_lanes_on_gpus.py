"""Ranks of many personalisations by a GPU's kernels, emulated, against dense iterations; and mutants of the kernels."""

import emulated
import numpy as np
import pytest
import simulated
from flat_run import flat_run
from test_on_replicas import contexts

import dgraph
from dgraph.algorithms.base import ALGORITHMS
from dgraph.algorithms.many_sources.gpu import rank_lanes_cuda
from dgraph.algorithms.many_sources.rank_lanes import RankLanes
from dgraph.comm import SerialComm

pytestmark = [emulated.needs_compiler, pytest.mark.mpi_skip]
N = 240


@pytest.fixture(autouse=True)
def only_kernels(monkeypatch):
    monkeypatch.setattr(RankLanes, "solve", None)


def arcs(parallel=False):
    """Return arcs with a hub, sinks, vertices that nothing enters, and weights."""
    draw = np.random.default_rng(11)
    source, target = draw.integers(0, N - 20, 900), draw.integers(20, N, 900)
    target[:180], source[180:300] = 77, 77
    source = np.where(source % 9 == 4, 21, source)
    pairs = source * N + target
    chosen = np.unique(np.where(source == target, 21 * N + 22, pairs), return_index=True)[1]
    chosen = np.arange(900) if parallel else chosen[source[chosen] != target[chosen]]
    return source[chosen], target[chosen], draw.integers(1, 6, 900)[chosen] / 4


def graph_and_matrix(weighted, directed, parallel=False):
    source, target, weights = arcs(parallel)
    if not directed:
        once = source < target
        source, target, weights = source[once], target[once], weights[once]
    kept = {"keep_parallel": True, "keep_loops": True} if parallel else {}
    named = (weights,) if weighted else ()
    graph = dgraph.Graph.from_edges(source, target, *named, n=N, directed=directed, comm=SerialComm(), **kept)
    matrix = np.zeros((N, N))
    for one, two in ((source, target), (target, source))[: 2 - directed]:
        apart = slice(None) if parallel or directed else np.unique(one * N + two, return_index=True)[1]
        np.add.at(matrix, (two[apart], one[apart]), weights[apart] if weighted else 1.0)
    return graph, matrix


def iterated(matrix, jump, alpha, tol, most):
    sums = matrix.sum(axis=0)
    step, ranks = matrix / np.where(sums, sums, 1.0), np.full(N, 1 / N)
    for number in range(1, most + 1):
        before = ranks
        ranks = (1 - alpha) * jump + alpha * (step @ before + before[sums == 0].sum() * jump)
        if np.abs(ranks - before).sum() < tol:
            return ranks, number
    return ranks, most


def walks_of(count):
    draw = np.random.default_rng(count)
    return [dict.fromkeys(draw.choice(N, 1 + 7 * (k % 3), replace=False).tolist(), 1 + k % 2) for k in range(count)]


def compare(weighted=False, directed=True, parallel=False, count=5, alpha=0.85, tol=1e-10, most=300, mutant=None):
    """Compare all columns with dense iterations; return those of a device."""
    graph, matrix = graph_and_matrix(weighted, directed, parallel)
    backend, walks = emulated.backend(), walks_of(count)
    backend.device.mutants = () if mutant is None else (mutant,)
    asked = {"personalizations": walks, "alpha": alpha, "tol": tol, "max_iter": most}
    answer = flat_run("multi_source_pagerank", graph, backend=backend, validate=mutant is None, **asked)
    rounds = []
    for number, walk in enumerate(walks):
        jump = np.bincount(list(walk), list(walk.values()), N)
        ranks, iterations = iterated(matrix, jump / jump.sum(), alpha, tol, most)
        rounds.append(iterations)
        np.testing.assert_allclose(answer.columns[f"pagerank_{number}"], ranks, rtol=1e-10, atol=1e-14)
    assert answer.summary["iterations"] == max(rounds)
    return answer, backend.device


def set_sizes(monkeypatch, short, long, part):
    for name, size in (("SHORT", short), ("LONG", long), ("PART", part)):
        monkeypatch.setattr(rank_lanes_cuda, name, size)
    monkeypatch.setattr(rank_lanes_cuda, "text", getattr(rank_lanes_cuda.text, "__wrapped__", rank_lanes_cuda.text))


@pytest.mark.parametrize(("short", "long", "part"), [(64, 512, 512), (2, 9, 7), (0, 1, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_equal_dense_iterations(short, long, part, weighted, monkeypatch):
    """Rows of a group, of a warp and in parts; with and without directions and parallel arcs; more walks than lanes."""
    set_sizes(monkeypatch, short, long, part)
    compare(weighted, count=19)
    compare(weighted, directed=False)
    compare(weighted, parallel=True, tol=0.0, most=3)
    compare(weighted, alpha=1.0, tol=0.0, most=9)


@pytest.mark.parametrize(("size", "policy"), [(2, "oec"), (3, "cvc"), (4, "iec"), (3, "hash")])
def test_several_gpus_keep_ranges(size, policy):
    source, target, _ = arcs()
    graph, (_, matrix) = simulated.Graph(N, source, target, True), graph_and_matrix(False, True)

    def run(ctx):
        answer = ALGORITHMS["multi_source_pagerank"](sources=[78, 4, 231], tol=1e-10, max_iter=300).run(ctx)
        return ctx.local.gids[: ctx.local.masters], answer.columns, answer.summary["iterations"]

    parts, rounds = contexts(size, graph, run, policy=policy), []
    for source in (78, 4, 231):
        ranks, iterations = iterated(matrix, np.eye(N)[source - 1], 0.85, 1e-10, 300)
        rounds.append(iterations)
        for gids, columns, _ in parts:
            np.testing.assert_allclose(columns[f"pagerank_{source}"], ranks[gids], rtol=1e-10, atol=1e-14)
    assert [part[2] for part in parts] == [max(rounds)] * size


def test_bits_are_those_of_every_run():
    first, second = (compare()[0].columns["pagerank_3"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_short_memory_takes_the_host(monkeypatch):
    graph, _ = graph_and_matrix(False, True)
    monkeypatch.undo()
    backend = emulated.backend()
    expected = dgraph.multi_source_pagerank(graph, sources=[3, 77])
    monkeypatch.setattr(backend.device, "memory", 1 << 20)
    answer = flat_run("multi_source_pagerank", graph, backend=backend, sources=[3, 77])
    assert "on the host" in [choice["taken"] for choice in answer.report["choices"]]
    np.testing.assert_array_equal(answer.columns["pagerank_3"], expected.columns["pagerank_3"])


MUTANTS = [
    ("e += DEEP * step) take_edges", "e += step) take_edges"),
    ("(end - e + step - 1) / step", "(end - e) / step"),
    ("mask = GROUP; mask < 32", "mask = GROUP; mask < 16"),
    ("smaller(first + PART,", "larger(first + PART,"),
    ("p = first + group_id(); p < end", "p = first + group_id(); p + 1 < end"),
    ("env.part_rows[p] >= row", "env.part_rows[p] > row"),
    ("from + group_id(), to, GROUPS", "from + group_id(), to, GROUPS + 1"),
    ("settled && !length && !home", "settled && !length"),
    ("going.of[k] != 0 ?", "true ?"),
    ("if (portion == 0) sink", "if (portion != 0) sink"),
    ("(u32)k + 1", "(u32)k"),
    ("x[k].of[0] *= weight, x[k].of[1] *= weight;", "x[k].of[0] *= weight;"),
    ("at = threadIdx.x + 2 * LANES; at < BLOCK", "at = threadIdx.x + 2 * LANES; at < 2 * LANES"),
    ("warp < BLOCK / 32; warp++) all", "warp < 1; warp++) all"),
    ("if (leaving == 0) increase", "if (leaving != 0) increase"),
    ("i % (u64)env.rows * LANES + i / (u64)env.rows", "i"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_rejected(mutant, monkeypatch):
    for weighted, *sizes in ((False, 2, 9, 7), (True, 20, 40, 50)):
        set_sizes(monkeypatch, *sizes)
        try:
            _, device = compare(weighted, count=7, tol=1e-6, mutant=mutant)
        except AssertionError:
            return
        assert device.changed == {mutant}
    pytest.fail("every answer was right")
