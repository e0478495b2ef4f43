"""Compiled rounds on one rank.

Answers are equal bit for bit for any number of rounds per call, threads and directions, and equal to those of the
reference loop.
"""

import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from flat_run import flat_run
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import dgraph
from dgraph._support import interrupts
from dgraph.algorithms.bfs_programs import Levels, SmallestTree, Tree
from dgraph.algorithms.cc import Labels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.kcore_parts.shells import Shells
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cpu.codegen.constant_folding import folded
from dgraph.backend.cpu.round import machine as cpu_machine
from dgraph.backend.cpu.round.interpreted import InterpretedMachine
from dgraph.backend.cpu.round.machine import CpuMachine
from dgraph.backend.cpu.round.state import RING
from dgraph.backend.cpu.threads.field_figures import reached
from dgraph.backend.cpu.threads.team import Team
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds.drivers import HostDriven
from dgraph.engine.sync import Sync
from dgraph.errors import InternalError, PeerLost
from dgraph.graph.build.local_graph import build
from dgraph.program import trace
from dgraph.report import Progress, Record
from partitioning import plan

pytestmark = pytest.mark.starts_children

PROGRAMS = {
    "distances": Distances(source=5, delta=40.0).retype(dist="int32"),
    "levels": Levels(source=5),
    "labels": Labels(),
    "pagerank": PageRank(tol=0.0, max_iter=20),
    "peel": Peel(),
    "shells": Shells(first=3),
}
TEAMS = {1: Team(1), 2: Team(2)}


@pytest.fixture(scope="module")
def local():
    """An undirected R-MAT graph with a path at its end: large and small frontiers, which span several bitmap words."""
    rng = np.random.default_rng(9)
    src, dst = (rng.integers(0, 900, 9000) ** 2 // 900 for _ in range(2))
    path = np.arange(900, 1500)
    src, dst = np.concatenate([src, [0], path[:-1]]), np.concatenate([dst, [900], path[1:]])
    keep = src != dst
    weights = rng.integers(1, 60, src.size, np.int32)
    comm = SerialComm()
    graph = dgraph.Graph.from_edges(src[keep], dst[keep], weights[keep], n=1501, directed=False, comm=comm)
    return build(graph.block, plan("oec", graph.block, comm.size, comm), comm)


def fields(local, name, limit, threads=1, direction="auto"):
    machine = CpuMachine(trace(PROGRAMS[name], local.out.weights.dtype), local, TEAMS[threads], direction)
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(limit)
    return machine.state, machine.round


@pytest.mark.parametrize("name", PROGRAMS)
def test_rounds_a_call_do_not_show(local, name):
    """Check that queues, bits and buckets, which a call swaps, are restored in the next call."""
    whole, rounds = fields(local, name, 1 << 20)
    for limit in (1, 3):
        values_of_fields, count = fields(local, name, limit)
        assert count == rounds
        for key, values in whole.items():
            np.testing.assert_array_equal(values_of_fields[key], values, err_msg=f"{key} at {limit} rounds a call")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("direction", ["auto", "push", "flip"])
def test_threads_do_not_show(local, name, direction):
    answer = {
        "levels": "level",
        "distances": "dist",
        "labels": "label",
        "pagerank": "rank",
        "peel": "core",
        "shells": "start",
    }[name]
    one, two = (fields(local, name, 1 << 20, threads, direction)[0][answer] for threads in (1, 2))
    if name == "pagerank":  # pushes add floats in any order
        np.testing.assert_allclose(two, one, rtol=1e-13)
    else:
        np.testing.assert_array_equal(two, one)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("direction", ["push", "pull", "flip"])
def test_fused_rounds_equal_the_reference_loop(local, name, direction):
    comm = SerialComm()
    machine = CpuMachine(trace(PROGRAMS[name], local.out.weights.dtype), local, TEAMS[1], direction)
    record = Record(comm, ["test"])
    run = HostDriven(machine, Sync(machine, local, comm, "auto", record), local.arcs, comm, record, Progress())
    run.start({})
    run.run(1 << 20)
    fused, rounds = fields(local, name, 1 << 20, direction=direction)
    assert machine.round == rounds
    for key, values in fused.items():
        np.testing.assert_array_equal(machine.state[key], values, err_msg=key)


@pytest.mark.parametrize("threads", TEAMS)
@pytest.mark.parametrize("delta", [3.0, 40.0, 1e9])
def test_followed_buckets_equal_dijkstra(local, threads, delta, monkeypatch):
    """Threads of one rank that follow the vertices of a bucket find SciPy's distances, with long and short lists."""
    monkeypatch.setattr(cpu_machine, "SMALL", 16)  # the team takes small frontiers, too
    program = Distances(source=5, delta=delta).retype(dist="int32")
    program.follows = True
    machine = CpuMachine(trace(program, local.out.weights.dtype), local, TEAMS[threads], "auto")
    assert machine.module.FOLLOWS
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(7)
    shape = (local.size, local.size)
    graph = csr_array((local.out.weights, local.out.neighbours, local.out.offsets), shape=shape)
    expected = dijkstra(graph, indices=5)
    dist = machine.fields()["dist"].astype(float)
    np.testing.assert_array_equal(np.where(dist == np.iinfo(np.int32).max, np.inf, dist), expected)
    assert machine.words[cpu_machine.slots.FAR] == 0
    assert not machine.arrays.flags.any()
    assert not machine.arrays.waiting.any()


@pytest.mark.parametrize("kind", [Levels, Tree, SmallestTree])
def test_rounds_of_a_search_count_what_a_pass_over_its_levels_counts(local, kind):
    """Vertices, depth and out-edges are those of the levels, at every limit, direction and number of threads."""
    for threads, direction, limit in [(1, "push", 1 << 30), (2, "flip", 1 << 30), (2, "auto", 4), (1, "auto", 1)]:
        program = kind(source=5, limit=limit)
        machine = CpuMachine(trace(program, local.out.weights.dtype), local, TEAMS[threads], direction)
        machine.start({})
        machine.apply_totals(*machine.totals(), True)
        while not machine.done:
            machine.fused(7)
        counted = machine.fields()
        assert counted.levels == reached(counted["level"], local.out_degree)
        assert counted.levels[1] == min(limit, counted.levels[1])


@pytest.mark.parametrize(("first", "last"), [(0, 3), (5, 5), (RING - 2, RING + 3), (3, 2 * RING), (RING, RING)])
def test_figures_are_those_of_the_last_rounds(first, last):
    ring = np.arange(3 * RING)
    machine = SimpleNamespace(results=SimpleNamespace(ring=ring), round=last)
    rounds = np.arange(max(first, last - RING), last) % RING
    np.testing.assert_array_equal(CpuMachine.figures(machine, first), ring.reshape(RING, 3)[rounds])


def test_a_thread_alone_leaves_a_bucket_that_grows_to_the_team(local, monkeypatch):
    """A search that begins at the end of a path gets the whole team in the R-MAT graph, though one bucket holds all."""
    monkeypatch.setattr(cpu_machine, "SMALL", 16)
    program = Distances(source=1499, delta=1e9).retype(dist="int32")
    program.follows = True
    machine = CpuMachine(trace(program, np.dtype(np.int32)), local, TEAMS[2], "auto")
    teams, usual_call = [], CpuMachine._call
    machine.start({})
    machine.apply_totals(*machine.totals(), True)

    def listed_call(self, phases, limit=1, threads=None, small=0):
        teams.append(threads)
        return usual_call(self, phases, limit, threads, small)

    monkeypatch.setattr(CpuMachine, "_call", listed_call)
    while not machine.done:
        machine.fused(1 << 20)
    assert teams[0] == 1
    assert 2 in teams


def test_a_team_refuses_more_threads_than_it_has():
    with pytest.raises(ValueError, match="3 threads requested of a team of 2"):
        TEAMS[2].run(lambda t, threads: t, 3)


def test_a_threads_error_reaches_the_caller():
    def fails(t, threads):
        if t == 1:
            raise RuntimeError("thread 1")

    with pytest.raises(RuntimeError, match="thread 1"):
        TEAMS[2].run(fails, 2)


def test_folding_keeps_what_is_not_decided():
    text = """
def f(x):
    if YES and x > 1:
        return 1
    if NO or not YES:
        return 2
    while NO:
        x += 1
    return 3 if NO else x
"""
    out = folded(text, {"YES": True, "NO": False})
    assert " ".join(out.split()) == "def f(x): if x > 1: return 1 pass pass return x"


@pytest.mark.mpi
def test_what_does_not_compile_ends_every_rank(monkeypatch):
    """Check that ranks do not wait at the second turn for the first rank of a node, whose compilation failed."""

    def refuse(machine):
        raise RuntimeError("no compiler here")

    for kind in (CpuMachine, InterpretedMachine):
        monkeypatch.setattr(kind, "compiled", False)
    if world().rank == 0:
        monkeypatch.setattr(CpuMachine, "compile", refuse)
    with pytest.raises(RuntimeError if world().size == 1 else InternalError, match="no compiler here"):
        flat_run("bfs", "path:9", source=0, backend="cpu")


def test_a_rank_that_lost_another_does_not_wait_for_an_agreement():
    """Check that the allreduce after a lost peer has a deadline of 10 s, in which a failed rank can report."""
    asked = []

    class Deaf(SerialComm):
        size = 2

        def allreduce(self, values, op="sum"):
            asked.append(self.deadline - time.monotonic())
            raise TimeoutError

    class Waiting:
        minima, waiting = 0, False

        def totals(self):
            return np.zeros(2, np.int64), np.zeros(0)

    def lost():
        raise PeerLost("rank 0 waited for a message from rank 1")

    run = HostDriven.__new__(HostDriven)
    run.machine, run.comm, run.error, run.checkpoints, run.beside = Waiting(), Deaf(), None, None, 0
    run.progress = Progress()
    run._attempt(lost)
    with pytest.raises(PeerLost, match="waited for a message from rank 1"):
        run._agree()
    assert 5 < asked[0] <= 10


def test_ctrl_c_ends_interpreted_rounds_at_once(local, interruptible, monkeypatch):
    def rounds(*_, **__):
        signal.raise_signal(signal.SIGINT)
        ended.append("rounds")

    ended: list[str] = []
    machine = InterpretedMachine(trace(Levels(source=5), None), local, Team(1), "auto")
    monkeypatch.setattr(CpuMachine, "_call", rounds)
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        machine._call()
    assert not ended
