"""Persistent multi-GPU kernel on emulated GPUs: rounds without the host, and ranks whose peer does not answer."""

import ctypes
import itertools
from functools import cache

import numpy as np
import oracles
import pytest
import simulated
from emulated import Device, needs_compiler
from gpu_ranks import field, run
from test_cuda_exchange import FAR, PROGRAMS, check, mesh

from dgraph.algorithms.bfs_programs import Hops, Levels
from dgraph.algorithms.cc import Labels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend import wire
from dgraph.backend.cuda.codegen import control_block, exchange_state, module_text
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.exchange import exchange
from dgraph.backend.cuda.exchange.exchange import Exchange
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.comm.watchdog import Watchdog
from dgraph.errors import InternalError
from dgraph.program import trace
from dgraph.program.analysis import ends_on_empty_frontier, order_independent, runs_locally

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
PATH = 60


@pytest.fixture
def calls(monkeypatch, no_host_checks):
    """Rounds per call of the kernel on rank 0; the last round of a call ends with the host's allreduce."""
    seen, across = [], GpuMachine.run_device_rounds

    def counted(self, limit):
        first = self.round
        across(self, limit)
        if self.device_exchange.comm.rank == 0:
            seen.append(self.round - first + 1)

    monkeypatch.setattr(GpuMachine, "run_device_rounds", counted)
    return seen


def path():
    vertices = np.arange(PATH)
    return simulated.graph(PATH + 1, vertices, vertices + 1, directed=False)


@pytest.mark.parametrize("policy", ["oec", "cvc", "hash"])
def test_a_long_path_is_one_call(policy, calls):
    (results,) = run(3, path(), [Levels(source=1)], policy=policy, direction="push")
    np.testing.assert_array_equal(field(results, "level", PATH + 1), np.arange(PATH + 1))
    assert results[0][1].rounds == PATH + 1
    assert calls == [PATH + 1]
    kept = results[0][2].rounds.kept
    assert [row[2] for row in kept] == [1] * (PATH + 1)


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_limit_of_rounds_is_met_exactly(limit):
    def limited(context):
        context.max_rounds = limit

    (results,) = run(2, path(), [Levels(source=1)], direction="push", wrapped=limited)
    levels = field(results, "level", PATH + 1)
    np.testing.assert_array_equal(levels, np.where(np.arange(PATH + 1) <= limit, np.arange(PATH + 1), FAR))
    assert all(not state.finished and state.rounds == limit for _, state, _ in results)


def test_a_limit_of_the_program_is_not_overrun():
    (results,) = run(2, path(), [Levels(source=1, limit=9)], direction="push")
    assert field(results, "level", PATH + 1).tolist() == [*range(10)] + [FAR] * (PATH - 9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("small", [-1, 40, 150])
def test_where_rounds_stop_being_small_does_not_show(small, calls):
    programs = {name: PROGRAMS[name] for name in ("level", "dist", "label", "core")}
    check(run(2, mesh(), programs.values(), policy="oec", options=GpuPlan(small=small, host_rounds=True)), programs)
    assert bool(calls) == (small > 0)


@pytest.mark.exhaustive
def test_buckets_are_opened_behind_a_round_that_nobody_ran_ahead_of(calls):
    """Check that the counts of the round that opens a bucket start at 0."""
    options = GpuPlan(small=20, host_rounds=True)
    check(run(4, mesh(), [PROGRAMS["dist"]], policy="cvc", direction="push", options=options), ["dist"])
    assert calls


@pytest.mark.exhaustive
def test_what_opens_a_bucket_keeps_none_from_being_wider(monkeypatch):
    """Check that small rounds widen buckets on several GPUs, in one call or many, as on one GPU."""
    monkeypatch.setattr(control_block, "FEW_EDGES", 300)
    monkeypatch.setattr(control_block, "MANY_EDGES", 3000)
    graph = simulated.skewed(900, 5000, directed=False)
    graph.weights = np.random.default_rng(1).integers(1, 256, graph.src.size).astype(np.int32)
    program = Distances(source=1, delta=10.0).retype(dist="int32")
    alone, together, apart = (
        run(ranks, graph, [program], direction="push", options=GpuPlan(small=small))[0][0][1].rounds
        for ranks, small in ((1, None), (2, None), (2, -1))
    )
    assert max(together, apart) <= alone


@pytest.mark.exhaustive
@pytest.mark.parametrize("policy", ["oec", "hash"])
def test_empty_buckets_are_passed_over_without_the_host(policy, calls):
    far = path()
    far.weights = np.full(PATH, 5, np.int32)
    program = Distances(source=1, delta=1.0)
    program.widens = False
    (results,) = run(3, far, [program], policy=policy, direction="push")
    np.testing.assert_array_equal(field(results, "dist", PATH + 1), 5 * np.arange(PATH + 1))
    assert len(calls) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize(("rows", "mailed", "few"), [(0, -1, exchange.FEW), (3, 4, exchange.FEW), (512, -1, 3)])
@pytest.mark.parametrize("policy", ["hash", "cvc"])
def test_one_block_or_all_take_what_came(policy, rows, mailed, few, monkeypatch):
    """Check that one block or all blocks unpack, for any limit on proposals that edges write into messages directly.

    Messages of more than ``few`` positions have a header, and some are bitsets.
    """
    monkeypatch.setattr(exchange_state, "FEW_ROWS", rows)
    monkeypatch.setattr(exchange, "FEW", few)
    monkeypatch.setattr(exchange_state, "MAILED", mailed)
    programs = {name: PROGRAMS[name] for name in ("level", "dist", "core")}
    check(run(3, mesh(), programs.values(), policy=policy, direction="push"), programs)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rows", [0, 1 << 20])
def test_more_rows_than_threads(rows, monkeypatch):
    """Check more received values per peer than threads, unpacked by one block or by all."""
    monkeypatch.setattr(exchange_state, "FEW_ROWS", rows)
    star = simulated.graph(1501, np.zeros(1500, int), np.arange(1, 1501), directed=False)
    (results,) = run(3, star, [Distances(source=1)], policy="hash", direction="push")
    np.testing.assert_array_equal(field(results, "dist", star.n), np.arange(star.n) > 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_wide_offsets(policy, monkeypatch):
    """Check 64-bit offsets, as for 2**31 edges per rank."""
    monkeypatch.setattr(device_graph, "WIDE", 1)
    programs = {name: PROGRAMS[name] for name in ("level", "dist", "core")}
    check(run(3, mesh(), programs.values(), policy=policy, direction="push"), programs)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("options", "mailed"),
    [
        (GpuPlan(), -1),
        (GpuPlan(), 40),
        (GpuPlan(host_rounds=True), exchange_state.MAILED),
        (GpuPlan(small=-1), exchange_state.MAILED),
        (GpuPlan(schedule="twc"), exchange_state.MAILED),
    ],
)
def test_levels_are_peeled_in_the_rounds_of_one_rank(options, mailed, monkeypatch):
    """Check that frontiers equal those of one rank in every round.

    Lost neighbours arrive one by one, or several in a message.
    """
    monkeypatch.setattr(exchange_state, "MAILED", mailed)
    drawn, figures = simulated.skewed(300, 1800, directed=False), []
    kept = drawn.src != drawn.dst
    graph = simulated.graph(drawn.n, drawn.src[kept], drawn.dst[kept], directed=False)
    src, dst, _ = graph.arcs()
    cores = oracles.core_numbers(graph.n, src, dst)
    for ranks, how in ((1, GpuPlan()), (3, options)):
        (results,) = run(ranks, graph, [Peel()], options=how)
        np.testing.assert_array_equal(field(results, "core", graph.n), cores)
        figures.append([row[2:4] for row in results[0][2].rounds.kept])
    assert figures[0] == figures[1]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("program", "mailed", "barriers"),
    [(Levels(source=1), -1, 1), (Labels(), -1, 2), (Labels(), exchange_state.MAILED, 1)],
)
def test_blocks_meet_seldom(program, mailed, barriers, monkeypatch, late_ranks):
    """Check the grid barriers per round: one if edges write proposals directly into messages, else two."""
    monkeypatch.setattr(exchange_state, "MAILED", mailed)
    met, across = [], GpuMachine.run_device_rounds

    def counted(self, limit):
        first, before = self.round, self.words[control_block.GATE]
        across(self, limit)
        met.append((self.words[control_block.GATE] - before) / 2 / (self.round - first + 1))

    monkeypatch.setattr(GpuMachine, "run_device_rounds", counted)
    run(2, path(), [program], policy="hash", direction="push")
    assert len(met) == 2
    assert all(barriers <= meetings < barriers + 0.1 for meetings in met)


def test_mutants_fail():
    """Check a mutant that drops received vertices of far buckets."""
    mutant = "far[k] = far[k] && marked_far(v[k]);", "far[k] = false;"
    with pytest.raises(AssertionError):
        check(run(3, mesh(), [PROGRAMS["dist"]], policy="hash", direction="push", mutant=mutant), ["dist"])


LOCALLY = {"level": Hops(source=6), "dist": PROGRAMS["dist"], "label": Labels()}


@cache
def strictly(policy):
    """Return the results without local rounds."""
    return run(3, mesh(), LOCALLY.values(), policy=policy, options=GpuPlan(host_rounds=True, local_rounds=False))


@pytest.mark.exhaustive
@pytest.mark.parametrize("most", [1, 16, 1000])
@pytest.mark.parametrize("policy", ["oec", "hash", "cvc"])
def test_local_rounds_come_to_the_same(policy, most, monkeypatch):
    """Check results and fewer exchanges; under cvc mirrors would need every round, so ranks exchange after each."""
    strict = strictly(policy)
    monkeypatch.setattr(exchange_state, "MOST_LOCAL", most)
    monkeypatch.setattr(exchange_state, "MOST_LOCAL_IN_BUCKET", most)
    ahead = run(3, mesh(), LOCALLY.values(), policy=policy, options=GpuPlan(local_rounds=True))
    check(strict, LOCALLY)
    check(ahead, LOCALLY)
    rounds = [[result[0][1].rounds for result in runs] for runs in (strict, ahead)]
    assert policy == "cvc" or all(few < many for many, few in zip(*rounds, strict=True))


@pytest.mark.parametrize(
    ("program", "column", "bound"),
    [(Hops(source=1), "level", "MOST_LOCAL"), (Distances(source=1, delta=1000.0), "dist", "MOST_LOCAL_IN_BUCKET")],
)
def test_a_rank_exchanges_after_so_many_rounds_of_its_own(program, column, bound, monkeypatch):
    """Check the exchanges on a path whose part per rank is longer than the bound.

    With a bound that is never reached, a part costs one exchange.
    """
    block, exchanges = PATH // 2, []
    for name in ("MOST_LOCAL", "MOST_LOCAL_IN_BUCKET"):
        monkeypatch.setattr(exchange_state, name, 3 if name != bound else 0)
    for most in (4, 1000):
        monkeypatch.setattr(exchange_state, bound, most)
        (results,) = run(2, path(), [program], options=GpuPlan(local_rounds=True))
        np.testing.assert_array_equal(field(results, column, PATH + 1), np.arange(PATH + 1))
        exchanges.append(results[0][1].rounds)
    assert exchanges[0] >= block // 5 > exchanges[1]


def test_programs_that_may_run_locally():
    weight = np.dtype(np.int32)
    may = {type(p).__name__: runs_locally(trace(p, weight)) for p in (Levels(), Hops(), Labels(), Distances(), Peel())}
    assert may == {"Levels": False, "Hops": True, "Labels": True, "Distances": True, "Peel": False}


@pytest.mark.exhaustive
def test_a_rank_that_shares_no_vertex_takes_part(calls):
    """Check two separate paths: a rank without shared vertices sends no messages but takes part in the allreduce."""
    vertices = np.arange(20)
    src, dst = np.concatenate([vertices, 40 + vertices]), np.concatenate([vertices + 1, 41 + vertices])
    graph = simulated.graph(61, src, dst, directed=False)
    for program, name, wanted in (
        (Levels(source=1), "level", [*range(21)] + [FAR] * 40),
        (Peel(), "core", [1] * 21 + [0] * 19 + [1] * 21),
    ):
        (results,) = run(3, graph, [program], direction="push")
        assert field(results, name, 61).tolist() == wanted
    assert calls


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_one_core(ranks, k):
    """Check that the first pass also drops vertices whose degree is below the level."""
    src, dst, _ = mesh().arcs()
    (results,) = run(ranks, mesh(), [Peel(first=k - 1, single=True)], direction="push")
    np.testing.assert_array_equal(field(results, "core", mesh().n) >= k, oracles.core_numbers(mesh().n, src, dst) >= k)


def test_programs_whose_proposals_may_travel_one_by_one():
    """Check that float sums, which depend on the order of edges, are excluded."""
    assert order_independent(trace(Distances(), np.dtype(np.float32)))
    assert order_independent(trace(Peel(), None))
    assert not order_independent(trace(PageRank(), None))


@pytest.mark.parametrize("kernel", ["across", "pack"])
def test_a_rank_that_does_not_answer_for_the_watchdogs_seconds_ends_the_job(kernel, monkeypatch):
    """Check that only rank 0 expires if rank 1 skips a kernel, as if it were stopped; rank 1 then gets its signal."""
    monkeypatch.delenv("DGRAPH_PEER_TIMEOUT", raising=False)
    bitten = []

    def expire(self, peers, round):
        bitten.append((self.rank, peers, round, self._phase, list(self._fields)))
        raise InternalError("the job ends")

    def watched(context):
        context.comm.watchdog.rank, context.comm.watchdog.seconds = context.comm.rank, 0.3

    monkeypatch.setattr(Watchdog, "expire", expire)
    options = skips(kernel, monkeypatch)
    with pytest.raises(InternalError, match="the job ends"):
        run(2, path(), [Levels(source=1)], direction="push", options=options, wrapped=watched)
    where = ("exchange between GPUs", ["level"]) if kernel == "across" else ("reduce", ["level"])
    assert bitten == [(0, [1], 1, *where)]


def test_programs_that_may_run_ahead():
    weight = np.dtype(np.int32)
    programs = (Levels(), Labels(), Distances(), Peel())
    may = {type(p).__name__: ends_on_empty_frontier(trace(p, weight)) for p in programs}
    assert may == {"Levels": True, "Labels": True, "Distances": True, "Peel": False}


@pytest.mark.parametrize("kernel", ["across", "pack"])
def test_a_rank_that_does_not_answer_is_named(kernel, monkeypatch):
    """Check that rank 0 gives up if rank 1 skips a kernel, as if it hung, and that all ranks report it."""
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "0.3")
    options = skips(kernel, monkeypatch)
    with pytest.raises(InternalError, match=r"rank 0 waited for .* rank 1 for more than 0.3 s"):
        run(2, path(), [Levels(source=1)], direction="push", options=options)


def skips(kernel, monkeypatch):
    """Make rank 1 skip a kernel; return options of a run that uses the kernel."""
    if kernel == "across":
        across = GpuMachine.run_device_rounds
        monkeypatch.setattr(
            GpuMachine,
            "run_device_rounds",
            lambda self, limit: None if self.device_exchange.comm.rank else across(self, limit),
        )
    else:
        launch = Exchange._launch
        monkeypatch.setattr(
            Exchange, "_launch",
            lambda self, name, asked: None if self.comm.rank and name == "pack" else launch(self, name, asked),
        )  # fmt: skip
    return GpuPlan(small=-1, host_rounds=True) if kernel == "pack" else None


def test_every_encoding_is_met(monkeypatch):
    kinds, launch = set(), Exchange._launch

    def looked(self, name, asked):
        launch(self, name, asked)
        if name == "pack":
            heads = (ctypes.c_int64 * 8).from_address
            kinds.update(heads(self.post.boxes.outbox(p, self.post.number & 1))[wire.GPU.kind_word] for p in self.peers)

    monkeypatch.setattr(Exchange, "_launch", looked)
    graph = simulated.skewed(4000, 9000, directed=False)
    (results,) = run(2, graph, [Labels()], policy="hash", options=GpuPlan(small=-1, host_rounds=True))
    src, dst, _ = graph.arcs()
    np.testing.assert_array_equal(field(results, "label", graph.n), oracles.components(graph.n, src, dst) + 1)
    assert kinds == {wire.NOTHING, wire.EVERYTHING, wire.BITSET, wire.OFFSETS}


def test_the_encoding_of_fewest_bytes_is_chosen():
    traced = trace(Labels(), None)
    variant, device = module_text.ModuleFlags(fused=False), Device()
    ask = "KERNEL ask(i64 at) { i64* a = env.record; a[4] = chosen(a[0], Span{a[1], a[2]}, a[3], at); }"
    module = device.module(module_text.round_kernels(traced, variant) + ask, "ask")
    members, words = [name for _, name in module_text.environment(traced)], np.zeros(5, np.int64)
    values = np.zeros(len(members), np.int64)
    values[members.index("record")] = words.ctypes.data
    module.set_environment(values)
    spans = [(0, 1), (0, 40), (7, 1024), (1000, 1030), (0, 9000)]
    for (low, high), width, whole in itertools.product(spans, (0, 4, 8), (0, 1)):
        total, chunks = high - low, (high - 1) // 1024 - low // 1024 + 1
        for count in {0, 1, min(10, total), total // 40, total // 32, total // 20, total // 2, total}:
            words[:4] = count, low, high, width
            module.launch("ask", 1, whole)
            size = {
                wire.OFFSETS: (4 * count + 7) // 8 * 8 + count * width,
                wire.BITSET: (4 * chunks + 7) // 8 * 8 + 128 * chunks + count * width,
                wire.EVERYTHING: total * width,
            }
            if not whole and count < total:
                del size[wire.EVERYTHING]
            wanted = {kind for kind, bytes in size.items() if bytes == min(size.values())}
            assert words[4] in (wanted if count else {wire.NOTHING}), (low, high, width, whole, count)
