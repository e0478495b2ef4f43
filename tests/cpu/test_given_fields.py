"""A program that only reads a given field works on the caller's array; one that writes it works on a copy."""

import numpy as np
import pytest
import simulated

import partitioning
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.program import INF, MIN, Field, Program, where
from dgraph.report import Progress, Record

pytestmark = pytest.mark.mpi_skip


class Reads(Program):
    """Smallest in-neighbour one level up."""

    level = Field("int32", given=True)
    parent = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"active": v.level != INF}

    def edge(self, u, e, v):
        return {"parent": where(u.level + 1 == v.level, u.id, INF)}


class Writes(Reads):
    """The same, after which levels are one deeper."""

    def apply(self, v, g):
        return {"level": v.level + 1, "active": False}


class Proposes(Reads):
    """A search that starts from its levels."""

    level = Field("int32", given=True, reduce=MIN)

    def edge(self, u, e, v):
        return {"level": u.level + 1}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("kind", [Reads, Writes, Proposes])
def test_an_array_is_taken_only_where_no_round_writes_it(kind, dtype):
    comm = SerialComm()
    block = simulated.graph(5, np.array([0, 1, 2, 0]), np.array([1, 2, 3, 4])).block(comm)
    local = build(block, partitioning.plan("oec", block, 1, comm), comm)
    ctx = Context(local, comm, CpuBackend(1, 1), Record(comm, ["test"]), Progress(), "push")
    levels = np.array([0, 1, 2, 9, 1], dtype)
    before = levels.copy()
    state = ctx.run(kind(), {"level": levels})
    np.testing.assert_array_equal(levels, before)
    assert np.shares_memory(state["level"], levels) == (kind is Reads and dtype == "int32")
    right = {Reads: [0, 1, 2, 9, 1], Writes: [0, 2, 3, 9, 2], Proposes: [0, 1, 2, 3, 1]}[kind]
    assert state["level"].tolist() == right
