"""Programs with both ``priority`` and ``apply``: core numbers in five short methods, and waiting for a turn."""

from collections import defaultdict
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
import simulated
from core_programs import Cores, Counted, Distances
from emulated import backend as emulated_backend
from emulated import needs_compiler
from gpu_ranks import field, run
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

import dgraph
import partitioning
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.program import TraceError, trace
from dgraph.report import Progress, Record


@cache
def graph():
    """Graph with hubs, isolated vertices, and cliques up to 12 vertices."""
    rng = np.random.default_rng(3)
    ends, first = [rng.integers(0, 120, (260, 2)), rng.integers(0, 10, (160, 2)) * [1, 11]], 0
    for size in range(2, 13):
        ends += [first + np.array([(a, b) for a in range(size) for b in range(a)]), np.array([[first, 7 * size]])]
        first += size
    src, dst = np.concatenate(ends).T
    both = np.unique(np.sort([src[src != dst], dst[src != dst]], axis=0), axis=1)
    return simulated.graph(140, *both, directed=False)


@cache
def wanted():
    whole = nx.Graph(zip(graph().src.tolist(), graph().dst.tolist(), strict=True))
    whole.add_nodes_from(range(graph().n))
    core = nx.core_number(whole)
    return np.array([core[v] for v in range(graph().n)])


@pytest.mark.mpi
@pytest.mark.parametrize("kind", [Cores, Counted])
@pytest.mark.parametrize(("policy", "direction", "threads"), [
    ("oec", "auto", 2), ("hash", "push", 1), ("cvc", "pull", 2), ("hash", "flip", 2),
])  # fmt: skip
def test_on_threads_and_ranks(kind, policy, direction, threads):
    comm = world()
    block = graph().block(comm)
    local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
    ctx = Context(local, comm, CpuBackend(threads, 1), Record(comm, ["test"]), Progress(), direction)
    state = ctx.run(kind())
    with comm.together():
        np.testing.assert_array_equal(state["core"], wanted()[local.gids[: local.masters]])
        assert state.bucket == wanted().max()
        if kind is Counted:
            assert state.globals["least"] == wanted().max()
            assert state.globals["dropped"] <= graph().n


@cache
def weighted():
    """Directed graph with long and short edges, where vertices change while they wait."""
    drawn = simulated.skewed(200, 900, directed=True)
    src, dst = np.unique([drawn.src, drawn.dst], axis=1)
    weights = np.random.default_rng(5).integers(1, 40, len(src)).astype(np.int32)
    return replace(simulated.graph(drawn.n, src, dst), weights=weights)


@cache
def distances():
    n, (src, dst, weights) = weighted().n, weighted().arcs()
    floats = dijkstra(csr_matrix((weights, (src, dst)), shape=(n, n)), indices=0)
    return np.array([np.iinfo(np.int64).max if d == np.inf else int(d) for d in floats])


@pytest.mark.mpi
@pytest.mark.parametrize(("policy", "direction", "sync"), [
    ("iec", "auto", "auto"), ("cvc", "auto", "poison"), ("cvc", "pull", "auto"), ("iec", "flip", "poison"),
])  # fmt: skip
def test_edges_read_what_apply_writes(policy, direction, sync):
    comm = world()
    block = weighted().block(comm)
    local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
    ctx = Context(local, comm, CpuBackend(2, 1), Record(comm, ["test"]), Progress(), direction, sync)
    state = ctx.run(Distances(source=1))
    with comm.together():
        np.testing.assert_array_equal(state["dist"], distances()[local.gids[: local.masters]])


GPUS = {
    "alone": (1, GpuPlan()), "broad": (1, GpuPlan(small=-1)), "one kernel": (2, GpuPlan()),
    "hosts agree": (3, GpuPlan(host_rounds=True)), "broad, several": (2, GpuPlan(small=-1)),
}  # fmt: skip


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("how", GPUS)
@pytest.mark.parametrize("direction", ["auto", "pull"])
def test_on_gpus(how, direction):
    ranks, options = GPUS[how]
    for kind in (Cores, Counted):
        (results,) = run(ranks, graph(), [kind()], policy="hash", direction=direction, options=options)
        np.testing.assert_array_equal(field(results, "core", graph().n), wanted())
        for _, state, _ in results:
            assert state.bucket == wanted().max()


@needs_compiler
@pytest.mark.mpi_skip
def test_on_a_gpu_without_peers():
    """Check that the module of a graph without mirrors has the kernels by which the host opens the first bucket."""
    drawn = graph()
    loaded = dgraph.Graph.from_edges(drawn.src, drawn.dst, n=drawn.n, directed=False, comm=SerialComm())
    result = dgraph.run(Cores(), loaded.on(device=emulated_backend()))
    np.testing.assert_array_equal(result.columns["core"], wanted())


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("how", GPUS)
def test_edges_read_what_apply_writes_on_gpus(how):
    ranks, options = GPUS[how]
    for policy in ("hash", "cvc"):
        (results,) = run(ranks, weighted(), [Distances(source=1)], policy=policy, sync="poison", options=options)
        np.testing.assert_array_equal(field(results, "dist", weighted().n), distances())


class Keeper:
    """Checkpoints of one rank: the state after ``after`` rounds, from which the next run goes on."""

    began = None

    def __init__(self, after):
        self.after, self.snapshot = after, None

    def completed(self, program):
        return None

    def resume(self, program, machine):
        if self.snapshot is not None:
            machine.restore(self.snapshot)

    def request(self):
        return 0

    def until(self, round):
        return max(self.after - round, 1)

    def boundary(self, program, machine, requests):
        if machine.round == self.after:
            kept = machine.snapshot()
            self.snapshot = replace(kept, fields={name: np.array(values) for name, values in kept.fields.items()})

    def finished(self, program, state, machine):
        pass


@pytest.mark.mpi
def test_runs_resume():
    comm = world()
    cases = (Counted(), graph(), "core", wanted()), (Distances(source=1), weighted(), "dist", distances())
    for program, drawn, name, right in cases:
        block = drawn.block(comm)
        local = build(block, partitioning.plan("hash", block, comm.size, comm), comm)
        keeper = Keeper(5)
        for _ in range(2):
            ctx = Context(local, comm, CpuBackend(2, 1), Record(comm, ["test"]), Progress(), checkpoints=keeper)
            state = ctx.run(program)
            with comm.together():
                np.testing.assert_array_equal(state[name], right[local.gids[: local.masters]])
        assert keeper.snapshot is not None


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.exhaustive
@pytest.mark.parametrize("ranks", [1, 2])
def test_runs_resume_on_gpus(ranks):
    keepers = defaultdict(lambda: Keeper(5))
    for _ in range(2):
        (results,) = run(
            ranks, graph(), [Counted()], policy="hash", options=GpuPlan(),
            wrapped=lambda ctx: setattr(ctx, "checkpoints", keepers[ctx.comm.rank]),
        )  # fmt: skip
        np.testing.assert_array_equal(field(results, "core", graph().n), wanted())
    assert all(keeper.snapshot is not None for keeper in keepers.values())


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.exhaustive
def test_rounds_are_the_same_on_every_device():
    """Check that the first bucket opens before the first round if no vertex is in bucket 0: no round is empty."""
    connected = simulated.grid(9)
    comm = SerialComm()
    block = connected.block(comm)
    local = build(block, partitioning.plan("oec", block, 1, comm), comm)
    rounds = [Context(local, comm, CpuBackend(2, 1), Record(comm, ["test"]), Progress()).run(Cores()).rounds]
    for ranks in (1, 2):
        (((_, state, _), *_),) = run(ranks, connected, [Cores()], options=GpuPlan())
        rounds.append(state.rounds)
    assert rounds == [rounds[0]] * 3


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("ranks", [1, 2])
def test_mutants_fail(ranks):
    mutant = ("PRIORITY && awake && bucket(v) > G.bucket", "false")
    (results,) = run(ranks, graph(), [Cores()], policy="hash", options=GpuPlan(), mutant=mutant)
    assert (field(results, "core", graph().n) != wanted()).any()


def refused(match, **changes):
    with pytest.raises(TraceError, match=match):
        trace(type("Cores", (Cores,), changes)(), None)


@pytest.mark.mpi_skip
def test_refused():
    refused("leave out .* live", live=lambda self, v, g: True)
    refused("leave out .* whole", step=lambda self, g: {"whole": True, "done": g.active == 0})
