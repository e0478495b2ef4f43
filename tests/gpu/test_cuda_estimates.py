"""Core numbers by H-index estimates on emulated GPUs: on one GPU, between ranks, rows of every length; refusals."""

from functools import cache

import networkx
import numpy as np
import pytest
import simulated
from devices import device_of, on_devices
from emulated import needs_compiler
from gpu_ranks import field, run
from test_cuda_exchange import mesh

import dgraph
import partitioning
from dgraph.algorithms.kcore import Estimate, Peel
from dgraph.algorithms.kernels import hindex_arrays
from dgraph.algorithms.kernels.hindex_cuda import HindexMachine
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.cuda.device import nvrtc
from dgraph.backend.cuda.gpu_options import Options
from dgraph.engine.rounds.context import Context
from dgraph.errors import InternalError, UsageError
from dgraph.graph.build.local_graph import build
from dgraph.program import trace
from dgraph.report import Progress, Trace

pytestmark = pytest.mark.mpi_skip
SHORT = {"TINY_ROW": 3, "WARP_ROW": 12, "PIECE": 32, "BINS": 32, "EXACT": 12, "MOST_CLAIMED": 40}
"""Sizes that give small graphs rows of every kind, and estimates beyond the bins of one value each."""


@cache
def dense():
    """Return a graph of core numbers up to 14, with hubs and a long path."""
    drawn, path = simulated.skewed(300, 5000, directed=False), np.arange(299, 330)
    src, dst = np.append(drawn.src, path), np.append(drawn.dst, path + 1)
    return simulated.graph(331, src[src != dst], dst[src != dst], directed=False)


GRAPHS = {
    "dense": dense, "mesh": mesh, "grid": lambda: simulated.grid(7, seed=3),
    "star": lambda: simulated.star(70, False), "no arcs": lambda: simulated.graph(9, [], [], False),
    "no vertices": lambda: simulated.graph(0, [], [], False),
}  # fmt: skip


def core_numbers(graph):
    """Return core numbers by networkx."""
    whole = networkx.Graph(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    whole.add_nodes_from(range(graph.n))
    found = networkx.core_number(whole)
    return np.array([found[v] for v in range(graph.n)], np.int64)


def alone(graph, program, device, **options):
    """Return the program's final state on one rank."""

    def work(comm):
        block = graph.block(comm)
        local = build(block, partitioning.plan("oec", block, 1, comm), comm)
        backend = CudaBackend(0, 1, True, Options(**options), device)
        return Context(local, comm, backend, Trace(comm, ["test"]), Progress()).run(program)

    return simulated.succeed(1, work)[0]


@pytest.fixture
def short(monkeypatch):
    for name, value in SHORT.items():
        monkeypatch.setattr(hindex_arrays, name, value)


@on_devices
@pytest.mark.parametrize("name", GRAPHS)
def test_alone(device, name):
    graph = GRAPHS[name]()
    for blocks in (1, 3):
        state = alone(graph, Estimate(), device_of(device, blocks))
        assert state.finished
        np.testing.assert_array_equal(state["core"], core_numbers(graph))


@on_devices
def test_rows_of_every_length_alone(device, short):
    for blocks in (2, 3):
        state = alone(dense(), Estimate(), device_of(device, blocks), renumber=blocks == 3)
        np.testing.assert_array_equal(state["core"], core_numbers(dense()))


@needs_compiler
@pytest.mark.parametrize(("policy", "sync", "ranks", "direct", "small", "device"), [
    ("oec", "auto", 2, True, None, False), ("oec", "poison", 3, False, 40, True), ("hash", "full", 3, True, -1, False),
    ("oec", "auto", 3, True, 60, True), ("hash", "poison", 2, True, None, True), ("hash", "auto", 4, True, 25, True),
])  # fmt: skip
def test_between_ranks(policy, sync, ranks, direct, small, device, short):
    """Check long, short and no phases of a rank alone, and exchanges with and without the hosts."""
    for graph in (dense(), mesh()):
        options = Options(small=small, blocks=3, host_rounds=not device)
        (results,) = run(ranks, graph, [Estimate()], policy=policy, sync=sync, direct=direct, options=options)
        np.testing.assert_array_equal(field(results, "core", graph.n), core_numbers(graph))


@needs_compiler
def test_the_same_rounds_on_every_grid():
    """Check that rounds do not depend on threads and blocks: a round reads only what earlier rounds wrote."""
    rounds = {alone(dense(), Estimate(), device_of("emulated", blocks)).rounds for blocks in (1, 2, 3)}
    assert len(rounds) == 1
    assert 2 * rounds.pop() < alone(dense(), Peel(), device_of("emulated", 2)).rounds


@needs_compiler
def test_a_rank_goes_on_alone():
    """Check the exchanges on a path over three ranks: few, since a rank alone lowers its whole part."""
    at = np.arange(60)
    path = simulated.graph(61, at, at + 1, False)
    exchanges = {}
    for small in (None, -1):
        (results,) = run(3, path, [Estimate()], options=Options(small=small, host_rounds=True))
        assert field(results, "core", 61).tolist() == [1] * 61
        exchanges[small] = results[0][1].rounds
    assert exchanges[None] < 8 < 25 < exchanges[-1]


@needs_compiler
def test_exchanges_without_the_host_are_the_same(monkeypatch):
    """Check equal exchanges and recorded rounds.

    Only exchanges of many changes, and the last one, use the host's allreduce.
    """
    calls, across = [], HindexMachine.run_device_rounds

    def counted(self, limit):
        first = self.round
        across(self, limit)
        if self.device_exchange.comm.rank == 0:
            calls.append(self.round - first + 1)

    monkeypatch.setattr(HindexMachine, "run_device_rounds", counted)
    told = {}
    for device in (False, True):
        (results,) = run(3, dense(), [Estimate()], options=Options(small=50, host_rounds=not device))
        np.testing.assert_array_equal(field(results, "core", dense().n), core_numbers(dense()))
        kept = results[0][2].rounds.kept
        told[device] = results[0][1].rounds, len(kept)
        assert all(state.finished for _, state, _ in results)
    assert told[False] == told[True] == (sum(calls), sum(calls))
    assert 1 < len(calls) < sum(calls)


@needs_compiler
def test_a_rank_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "0.3")
    across = HindexMachine.run_device_rounds
    monkeypatch.setattr(
        HindexMachine,
        "run_device_rounds",
        lambda self, limit: None if self.device_exchange.comm.rank else across(self, limit),
    )
    with pytest.raises(InternalError, match=r"rank 0 waited for .* rank 1 for more than 0.3 s"):
        run(2, mesh(), [Estimate()], options=Options())


@needs_compiler
@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_leaves_bounds(limit, device):
    def limited(context):
        context.max_rounds = limit

    options = Options(small=4 if device else -1, host_rounds=not device)
    (results,) = run(2, mesh(), [Estimate()], policy="hash", options=options, wrapped=limited)
    right, found = core_numbers(mesh()), field(results, "core", mesh().n)
    assert (found >= right).all()
    assert (found > right).any()
    assert all(not state.finished and state.rounds == limit for _, state, _ in results)


@needs_compiler
@pytest.mark.parametrize(("ranks", "mutant"), [
    (1, ("x[k] <= high[k]", "x[k] < high[k]")),
    (1, ("FRESH(sums + b), sums[b] = 0;", "FRESH(sums + b);")),
    (1, ("? (i64)count : UNKNOWN", "? (i64)count : (i64)count")),
    (3, ("if (has_received) take_support", "if (false) take_support")),
    (3, ("again.add(mine && f.support == UNKNOWN, v);", "")),
])  # fmt: skip
def test_mutants_fail(ranks, mutant, short):
    if ranks == 1:
        found = alone(dense(), Estimate(), device_of("emulated", 2, mutant))["core"]
    else:
        (results,) = run(ranks, dense(), [Estimate()], mutant=mutant, options=Options(small=-1, host_rounds=True))
        found = field(results, "core", dense().n)
    assert (found != core_numbers(dense())).any()


@needs_compiler
def test_one_core():
    """Check that estimates of members of the k-core are not above k."""
    right = core_numbers(dense())
    for k in (1, 7, int(right.max()) + 1):
        found = alone(dense(), Estimate(first=k - 1, single=True), device_of("emulated", 2))["core"]
        np.testing.assert_array_equal(found, np.minimum(right, k))


@needs_compiler
@pytest.mark.parametrize("policy", ["iec", "cvc"])
def test_partitions_without_whole_rows_are_refused(policy):
    with pytest.raises(UsageError, match=r"all edges of a vertex on one rank.*--policy oec or metis, or use --variant"):
        run(3, mesh(), [Estimate()], policy=policy)


@needs_compiler
def test_a_schedule_walks_the_programs_rounds():
    state = alone(mesh(), Estimate(), device_of("emulated", 2), schedule="twc")
    np.testing.assert_array_equal(state["core"], core_numbers(mesh()))
    assert state.rounds == alone(mesh(), Peel(), device_of("emulated", 2), schedule="twc").rounds


def test_without_a_gpu(monkeypatch):
    monkeypatch.setattr("dgraph.backend.has_gpu", lambda: False)
    graph = dgraph.Graph.from_edges(np.array([0]), np.array([1]), n=2).undirected()
    with pytest.raises(UsageError, match="kcore --variant estimates says how a GPU walks edges"):
        dgraph.run("kcore", graph, variant="estimates")
    assert dgraph.run("kcore", graph, variant="peeling").summary["largest_core"] == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize(("architecture", "core", "fused"), [
    ("sm_75", "int32", True), ("sm_80", "int32", False), ("sm_90", "int64", True), ("sm_100", "int64", False),
])  # fmt: skip
def test_kernels_compile(architecture, core, fused):
    pytest.importorskip("cuda.bindings.nvrtc")
    whole = module_text.hindex(trace(Estimate().retype(core=core), None), module_text.Variant(fused=fused))
    assert nvrtc.compiled(whole, architecture, "estimates")
