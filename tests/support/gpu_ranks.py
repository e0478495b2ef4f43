"""Several emulated GPUs in one process: ranks are threads, and kernels of one rank write into the memory of another."""

from __future__ import annotations

import numpy as np
import pytest
from emulated import Device
from simulated import Graph, succeed

import partitioning
from dgraph.algorithms.bfs_programs import Levels
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.transports import Links
from dgraph.backend.schedule_options import parse_schedule
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.report import Progress, Record


def run(size: int, graph: Graph, programs, *, policy="oec", direction="auto", sync="auto", direct=True, blocks=2,
        options=None, wrapped=None, mutant=None):  # fmt: skip
    """Run every program on every rank; return by program a list over ranks of (gids of masters, State, Record).

    Without ``options`` the end of a round is an allreduce of the hosts: the reference.
    """

    devices = [Device(blocks, seed=7 * rank + 1, mutant=mutant) for rank in range(size)]

    def work(comm):
        block = graph.block(comm)
        local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
        backend = CudaBackend(0, 1, False, options or GpuPlan(host_rounds=True), devices[comm.rank])
        name = "p2p" if direct else "mpi-host"
        chosen = {peer: name for peer in range(size) if peer != comm.rank}
        backend.links = Links(comm.duplicate(), chosen, not_direct="" if direct else "not asked for")
        out = []
        for program in programs:
            record = Record(comm, ["test"])
            context = Context(local, comm, backend, record, Progress(), direction, sync)
            if wrapped:
                wrapped(context)
            state = context.run(program)
            record.collect()
            out.append((local.gids[: local.masters], state, record))
        return out

    ranks = succeed(size, work)
    if missed := set(devices[0].mutants) - set().union(*(device.changed for device in devices)):
        pytest.fail(f"no kernel's text has {[old for old, _ in missed]}")
    return [[rank[i] for rank in ranks] for i in range(len(programs))]


def loads_of_bfs(size: int, graph: Graph, source: int, schedule: str, blocks: int) -> list[dict]:
    """Return the facts of each rank's loads by block, of a bfs that pushes; ranks without loads are left out."""
    plan = GpuPlan(**parse_schedule(schedule), record=True)
    (results,) = run(size, graph, [Levels(source=source)], direction="push", blocks=blocks, options=plan)
    return [load for load in (record.rounds.loads.facts() for _, _, record in results) if load is not None]


def field(results, name: str, n: int) -> np.ndarray:
    """Return a field of the whole graph, by gid."""
    whole = None
    for gids, state, _ in results:
        if whole is None:
            whole = np.zeros(n, state[name].dtype)
        whole[gids] = state[name]
    return whole
