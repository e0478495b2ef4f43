"""Certificates on several emulated GPUs: verdicts and messages as on CPUs, with a wrong value on every rank."""

import re

import numpy as np
import pytest
from algorithm_cases import rows
from emulated import Device, needs_compiler
from linked import links_for
from simulated import succeed

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm
from dgraph.graph.load_options import LoadOptions
from dgraph.validate import validate
from dgraph.validate.host.host_prover import HostProver

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
ANSWERS = [row for row in rows("NUDGED") if row[0] not in ("bfs", "sssp")]
SPLITS = [
    (2, "oec", "rmat:6,symmetric"), (3, "cvc", "rmat:6,symmetric"), (2, "hash", "road:7x7"), (3, "oec", "road:7x7"),
]  # fmt: skip
ARCS = [(2, "oec", "rmat:6,edge_factor=2"), (3, "hvc", "rmat:5,edge_factor=3"), (2, "hash", "path:20")]


def judged(comm, engine, graph, local, algorithm, columns, result, parameters, provers):
    """Return the failures that the ranks' GPUs and their CPUs name for columns of which each has every P-th row."""
    mine = {name: values[comm.rank :: comm.size] for name, values in columns.items()}
    settings = ALGORITHMS[algorithm](**parameters).settings()
    end = {"rounds": result.rounds, "converged": result.converged}
    there = engine.evidence(graph, local, algorithm)
    verdicts = []
    for evidence, device in ((there, engine.device), (graph.block, None)):
        provers[comm.rank] = device
        verdicts.append(validate(algorithm, evidence, mine, comm, parameters=settings, **end))
    return [(verdict.passed, _rounded(verdict.failure)) for verdict in verdicts]


def _rounded(text):
    """Return a message without the digits that the order of a sum decides."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.6f}", text or "")


@pytest.fixture
def provers(monkeypatch):
    """Dict of ranks: those of a device must not use the CPU's prover."""
    on_gpu, init = {}, HostProver.__init__

    def checked_init(self, distributed, *more):
        assert on_gpu.get(distributed.comm.rank) is None, "the ranks' CPUs checked it"
        init(self, distributed, *more)

    monkeypatch.setattr(HostProver, "__init__", checked_init)
    return on_gpu


@pytest.mark.parametrize(("ranks", "policy", "spec"), SPLITS)
@pytest.mark.parametrize(("algorithm", "parameters", "column", "step"), ANSWERS)
def test_a_wrong_value_on_any_rank_has_the_message_of_the_cpus(
    ranks, policy, spec, algorithm, parameters, column, step, provers
):
    check(ranks, policy, spec, algorithm, parameters, column, step, provers)


@pytest.mark.parametrize(("ranks", "policy", "spec"), ARCS)
@pytest.mark.parametrize("step", [1, -1])
def test_strong_components_of_directed_graphs(ranks, policy, spec, step, provers):
    check(ranks, policy, spec, "scc", {}, "labels", step, provers)


def check(ranks, policy, spec, algorithm, parameters, column, step, provers):
    """Check that GPUs and CPUs of all ranks accept the answer, and name the same violation of each wrong one."""
    whole = dgraph.Graph.load(spec, comm=SerialComm(), weights="1..9")
    result = dgraph.run(algorithm, whole, **parameters)
    answer = {name: np.array(values) for name, values in result.columns.items()}
    wrong = [answer]
    for vertex in (0, int(np.argmax(answer[column])), whole.n * 2 // 3, whole.n - 1):
        wrong.append({name: values.copy() for name, values in answer.items()})
        wrong[-1][column][vertex] += step

    def work(comm):
        engine = CudaBackend(0, 1, False, GpuPlan(), Device(blocks=2, seed=comm.rank + 1))
        engine.links = links_for(comm, "p2p")
        graph = engine.build(spec, comm, policy, LoadOptions(weights="1..9")).on(device=engine)
        local = graph.partition().local
        return [
            judged(comm, engine, graph, local, algorithm, columns, result, parameters, provers) for columns in wrong
        ]

    every = succeed(ranks, work)
    assert all(rank == every[0] for rank in every), "ranks disagree"
    assert every[0][0] == [(True, "")] * 2
    refused = 0
    for gpus, cpus in every[0][1:]:
        assert gpus == cpus
        refused += not gpus[0]
    assert refused
