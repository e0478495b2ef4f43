"""Residuals by round, of ``--record residual``: those of dense iterations in NumPy, on any number of ranks."""

import numpy as np
import pytest
import simulated
from emulated import backend, needs_compiler
from flat_run import flat_run
from gpu_ranks import run

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import world
from dgraph.program import ADD, ALL, Field, Global, Program

N, ITERATIONS = 60, 9
SETTINGS = {
    "pagerank": {"tol": 1e-30, "max_iter": ITERATIONS},
    "hits": {"tol": 1e-30, "max_iter": ITERATIONS},
    "eigenvector": {"tol": 1e-30, "max_iter": ITERATIONS},
    "katz": {"tol": 1e-30, "max_iter": ITERATIONS, "alpha": 0.02},
}


def edges():
    """Return sources and targets of a directed graph without dangling vertices, loops or parallel edges."""
    draws = np.random.default_rng(4).integers(0, N, (2, 400))
    pairs = np.unique(np.hstack([draws, [np.arange(N), (np.arange(N) + 1) % N]]), axis=1)
    return pairs[:, pairs[0] != pairs[1]]


def load():
    src, dst = edges() if world().rank == 0 else np.empty((2, 0), np.int64)
    return dgraph.Graph.from_edges(src, dst, n=N, directed=True, comm=world())


def iterated(name):
    """Return the L1 change of each iteration, computed with a dense matrix."""
    matrix = np.zeros((N, N))
    matrix[tuple(edges()[::-1])] = 1.0  # row: target
    if name == "pagerank":
        return _changes(np.full(N, 1 / N), lambda x: 0.15 / N + 0.85 * (matrix / matrix.sum(axis=0)) @ x)
    if name == "katz":
        return _changes(np.zeros(N), lambda x: 0.02 * matrix @ x + 1)
    if name == "hits":
        return _changes(np.full(N, 1 / N), lambda x: _ones(matrix.T @ _ones(matrix @ x)))
    return _changes(np.full(N, N**-0.5), lambda x: _unit(x + matrix @ x))


def _changes(x, following):
    changes = []
    for _ in range(ITERATIONS):
        before, x = x, following(x)
        changes.append(np.abs(x - before).sum())
    return np.array(changes)


def _ones(x):
    return x / x.sum()


def _unit(x):
    return x / np.linalg.norm(x)


def recorded(result):
    return [row.get("residual") for row in result.report["rounds"]["kept"]]


def check(name, residuals):
    wanted = iterated(name)
    if name == "hits":
        wanted = np.repeat(wanted, 2)
    if name == "eigenvector":
        assert residuals.pop(0) is None  # the first round scales the start
    assert residuals == pytest.approx(wanted.tolist(), rel=1e-9)


@pytest.mark.mpi
@pytest.mark.parametrize("name", SETTINGS)
def test_residuals_are_those_of_dense_iterations(name):
    result = flat_run(name, load(), record="residual", **SETTINGS[name])
    check(name, recorded(result))
    plain = flat_run(name, load(), **SETTINGS[name])
    assert set(recorded(plain)) == {None}
    assert result.rounds == plain.rounds
    for column, values in plain.columns.items():
        assert np.array_equal(result.columns[column], values)


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", SETTINGS)
def test_residuals_on_a_gpu(name):
    result = flat_run(name, load(), record="residual", backend=backend(), **SETTINGS[name])
    check(name, recorded(result))


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("host_rounds", [False, True])
def test_residuals_between_gpus(host_rounds):
    def recording(context):
        context.record.residuals = True

    program = PageRank(tol=0.0, max_iter=ITERATIONS)
    graph = simulated.graph(N, *edges(), directed=True)
    (ranks,) = run(3, graph, [program], options=GpuPlan(host_rounds=host_rounds), wrapped=recording)
    for _, _, record in ranks:
        check("pagerank", [row["residual"] for row in record.rounds.summary()["kept"]])


class Halving(Program):
    """Values halve until their sum is below ``tol``: a program of a user that names its residual."""

    tol: float = 1.0
    domain = ALL
    residual = "remaining"

    value = Field("float64")
    nothing = Field("float64", reduce=ADD)
    remaining = Global("float64", reduce=ADD)

    def init(self, v, g):
        """Start from 1."""
        return {"value": 1.0}

    def edge(self, u, e, v):
        """Send nothing."""
        return {"nothing": 0.0}

    def apply(self, v, g):
        """Halve."""
        return {"value": v.value / 2, "remaining": v.value / 2}

    def step(self, g):
        """End below the tolerance."""
        return {"done": g.remaining < self.tol}


@pytest.mark.mpi
def test_programs_of_users_name_their_residual():
    result = dgraph.run(Halving(), load(), options=dgraph.Options(record="residual"))
    assert recorded(result) == [N * 0.5**k for k in range(1, 7)]


@pytest.mark.mpi
def test_scores_without_bound_have_no_residual_that_json_cannot_write():
    result = flat_run("katz", load(), record="residual", alpha=1e200)
    assert result.report["rounds"]["kept"][-1].get("residual", 0.0) < np.inf
    assert not result.converged


@pytest.mark.mpi
def test_refusals():
    graph = load()
    without = sorted(set(ALGORITHMS) - set(SETTINGS))
    for name in without:
        values = {"source": 0} if ALGORITHMS[name].needs_source else {}
        with pytest.raises(dgraph.UsageError, match=f"{name} has no residual to record.*eigenvector, hits, katz, page"):
            dgraph.run(name, graph, options=dgraph.Options(record="residual"), **values)
    with pytest.raises(dgraph.UsageError, match=r"unknown thing to record 'tiem'.*load, ranges, residual, time"):
        dgraph.Options(record="residual,tiem")


@pytest.mark.mpi_skip
def test_gpu_records_are_refused_beside_it_on_cpus():
    with pytest.raises(dgraph.UsageError, match="record='load' is about GPUs"):
        flat_run("pagerank", load(), backend="cpu", record="residual, load")
