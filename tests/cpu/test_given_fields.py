"""A program that only reads a given field works on the caller's array; one that writes it works on a copy."""

import numpy as np
import pytest
import simulated

import partitioning
from dgraph.algorithms.bfs_programs import CloserHops, PushedParents
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.report import Progress, Record

pytestmark = pytest.mark.mpi_skip


class Deeper(PushedParents):
    """Parents, after which levels are one deeper."""

    def apply(self, v, g):
        return {"level": v.level + 1, "active": False}


READS, WRITES, PROPOSES = PushedParents().deep(), Deeper().deep(), CloserHops()
LEVELS = {READS: [0, 1, 2, 9, 1], WRITES: [0, 2, 3, 9, 2], PROPOSES: [0, 1, 2, 3, 1]}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("program", LEVELS)
def test_an_array_is_taken_only_where_no_round_writes_it(program, dtype):
    comm = SerialComm()
    block = simulated.graph(5, np.array([0, 1, 2, 0]), np.array([1, 2, 3, 4])).block(comm)
    local = build(block, partitioning.plan("oec", block, 1, comm), comm)
    ctx = Context(local, comm, CpuBackend(1, 1), Record(comm, ["test"]), Progress(), "push")
    levels = np.array([0, 1, 2, 9, 1], dtype)
    before = levels.copy()
    state = ctx.run(program, {"level": levels, "touched": np.ones(5, bool)})
    np.testing.assert_array_equal(levels, before)
    assert np.shares_memory(state["level"], levels) == (program is READS and dtype == "int32")
    assert state["level"].tolist() == LEVELS[program]
