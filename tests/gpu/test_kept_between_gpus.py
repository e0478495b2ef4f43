"""Machines that several emulated GPUs keep between runs: answers, and ranks of which some kept none."""

import numpy as np
import pytest
from emulated import Device, needs_compiler
from linked import links_for
from simulated import Graph, succeed

import partitioning
from dgraph.algorithms.base import ALGORITHMS
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.report import Progress, Record

pytestmark = [needs_compiler, pytest.mark.mpi_skip]
N = 90
CALLS = (
    ("bfs", {"source": 1}), ("sssp", {"source": 1}), ("cc", {}), ("bfs", {"source": 3}), ("kcore", {}),
    ("pagerank", {"alpha": 0.5}), ("sssp", {"source": 3}), ("hits", {}), ("pagerank", {"alpha": 0.85}),
)  # fmt: skip


def graph():
    """Return a graph with a hub and isolated vertices."""
    rng = np.random.default_rng(5)
    ends = np.stack([rng.integers(0, 70, 260), rng.integers(0, 70, 260) ** 2 // 70])
    ends = np.concatenate([ends, np.stack([np.full(40, 3), np.arange(30, 70)])], axis=1)
    low, high = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    return Graph(N, low, high, False, rng.integers(1, 9, low.size).astype(np.int32))


def answers(size, policy="oec", times=1, lost=None, **options):
    """Return the columns of all calls by gid, each ``times`` times, and the machines that ranks made the last time.

    ``lost``: rank that lets go of its machines before each call but the first ones.
    """

    def on_rank(comm):
        whole = graph()
        block = whole.block(comm)
        local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
        backend = CudaBackend(0, 1, comm.size == 1, GpuPlan(**options), Device(2, seed=3 * comm.rank + 1))
        backend.links = links_for(comm, "p2p") if comm.size > 1 else None
        machines, make = [], backend._made
        backend._made = lambda traced, *more: machines.append(traced) or make(traced, *more)
        answers_of_calls = []
        for _ in range(times):
            machines.clear()
            for name, parameters in CALLS:
                ctx = Context(local, comm, backend, Record(comm, ["test"]), Progress())
                answer = ALGORITHMS[name](**parameters).run(ctx)
                columns = {key: column() if callable(column) else column for key, column in answer.columns.items()}
                answers_of_calls.append({key: np.array(column) for key, column in columns.items()})
                if comm.rank == lost:
                    backend._graphs.machines(local).clear()
        return local.gids[: local.masters], answers_of_calls, len(machines)

    ranks, columns = succeed(size, on_rank), []
    for call in range(times * len(CALLS)):
        whole = {}
        for gids, answers_of_calls, _ in ranks:
            for key, values in answers_of_calls[call].items():
                whole.setdefault(key, np.zeros(N, values.dtype))[gids] = values
        columns.append(whole)
    return columns, [count for *_, count in ranks]


@pytest.mark.parametrize("lost", [None, 1])
@pytest.mark.parametrize(
    ("size", "policy", "options"),
    [
        (2, "oec", {}), (3, "cvc", {}), (3, "iec", {"host_rounds": True}), (4, "hvc", {"small": 8}),
        (3, "oec", {"host_rounds": True}), (2, "metis", {"small": -1}),
    ],
)  # fmt: skip
def test_answers_of_kept_machines(size, policy, options, lost):
    wanted, _ = answers(1)
    answers_of_calls, counts = answers(size, policy, times=3, lost=lost, **options)
    assert [bool(count) for count in counts] == [rank == lost for rank in range(size)]
    for columns, want in zip(answers_of_calls, wanted * 3, strict=True):
        for key, values in want.items():
            np.testing.assert_allclose(columns[key], values, rtol=1e-12)
