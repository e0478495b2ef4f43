"""A graph that one GPU evicts, with its mailboxes, while the others keep theirs."""

import numpy as np
import pytest
from emulated import Device, needs_compiler
from linked import links_for
from simulated import Graph, succeed

import partitioning
from dgraph.algorithms.bfs_programs import Levels
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory.memory_plan import in_edges
from dgraph.engine.rounds.context import Context
from dgraph.errors import OutOfMemory
from dgraph.graph.build.local_graph import build
from dgraph.program import MIN, Field, Program
from dgraph.report import Progress, Record

pytestmark = [needs_compiler, pytest.mark.mpi_skip]
N = 60


class Labels(Program):
    """Smallest id that reaches a vertex: wider messages than those of levels."""

    monotone = True
    label = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"label": v.id, "active": True}

    def edge(self, u, e, v):
        return {"label": u.label}


def ring():
    """Return a directed ring with chords."""
    vertices = np.arange(N)
    return Graph(N, np.concatenate([vertices, vertices]), np.concatenate([(vertices + 1) % N, (7 * vertices + 3) % N]))


@pytest.mark.parametrize("program", [Levels(source=1), Labels()])
@pytest.mark.parametrize("loser", [0, 1, 2])
def test_mailboxes_are_made_anew_on_all_ranks(program, loser):
    def work(comm):
        graph = ring()
        block = graph.block(comm)
        local = build(block, partitioning.plan("oec", block, comm.size, comm), comm)
        backend = CudaBackend(0, 1, False, GpuPlan(host_rounds=True), Device(2, seed=comm.rank + 1))
        backend.links = links_for(comm, "p2p")
        backend.prepare = lambda local, comm: None  # as for a graph that GPUs built, which is not dropped on all ranks
        context = Context(local, comm, backend, Record(comm, ["test"]), Progress())
        before = context.run(Levels(source=1))["level"].copy()
        if comm.rank == loser:
            backend._graphs.clear()
        values = context.run(program)
        return local.gids[: local.masters], values[next(iter(program.fields))], before

    for gids, values, before in succeed(3, work):
        np.testing.assert_array_equal(values, before if isinstance(program, Levels) else np.ones(len(gids)))


def test_in_edges_that_do_not_fit_are_refused():
    def work(comm):
        graph = ring()
        block = graph.block(comm)
        local = build(block, partitioning.plan("oec", block, 1, comm), comm)
        device = Device(2)
        device_graph = DeviceGraph(local, device)
        device.memory = 100
        with pytest.raises(
            OutOfMemory, match=r"in-edges may need .* bytes of GPU memory beside the graph, and 100 are free"
        ):
            in_edges(device_graph)
        device.memory = 1 << 30
        assert in_edges(device_graph) is device_graph.incoming
        device.memory = 0
        assert in_edges(device_graph) is device_graph.incoming

    succeed(1, work)
