"""Pulls in two parts on emulated GPUs: mirrors' messages are copied while rows of masters are pulled.

Answers and messages are equal, bit for bit, to those of rounds with ``pack``.
"""

from functools import cache

import numpy as np
import oracles
import pytest
import simulated
from emulated import needs_compiler
from emulated_raw import Raw, Stream
from gpu_ranks import field, run

from dgraph.algorithms.pagerank import PageRank, PersonalizedPageRank
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.exchange import pull_overlap
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.multi_gpu import device_bsp
from dgraph.backend.cuda.round_kernels.launcher import Launcher
from dgraph.errors import PeerLost

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
RANK = PageRank(tol=0.0, max_iter=11)


@cache
def hubs(directed=True):
    """Return a graph with rows of all lengths, of masters and of mirrors."""
    return simulated.skewed(230, 1500, directed)


@pytest.fixture(autouse=True)
def copied(monkeypatch, no_host_checks):
    """Copies of all ranks, as (to, size); small pulls are split, too, and short rows count as long."""
    done, copy = [], Raw.copy

    def counted(self, to, source, size, stream=None):
        done.append((to, size))
        copy(self, to, source, size, stream)

    monkeypatch.setattr(pull_overlap, "MUCH", 1)
    for name, edges in (("SHORT_ROW", 4), ("LONG_ROW", 9), ("CHUNK", 8)):
        monkeypatch.setattr(control, name, edges)
    monkeypatch.setattr(Raw, "copy", counted)
    return done


@pytest.fixture(params=["at once", "late"])
def streams(request, monkeypatch):
    """Run kernels of the second stream at once, or when the rounds' stream waits for them."""
    monkeypatch.setattr(Stream, "late", request.param == "late")


def personalized(context):
    """Give the runs of a context personalisation weights."""
    run = context.run
    weight = context.local.gids[: context.local.masters] % 7 / 687.0
    context.run = lambda program: run(program, {"weight": weight})


def same_bits(ranks, program, graph, mutant=None, renumber=None, tiled=True, **choices):
    """Return results after a comparison with rounds that end in the host's allreduce: bits, rounds, messages, bytes."""
    options = [GpuPlan(renumber=renumber), GpuPlan(host_rounds=True, renumber=renumber)]
    here, there = options if tiled else [one.without_edge_copies() for one in options]
    (ours,) = run(ranks, graph, [program], options=here, mutant=mutant, **choices)
    (hosts,) = run(ranks, graph, [program], options=there, **choices)
    np.testing.assert_array_equal(field(ours, "rank", graph.n), field(hosts, "rank", graph.n))
    for mine, theirs in zip(ours, hosts, strict=True):
        assert (mine[1].rounds, mine[1].globals) == (theirs[1].rounds, theirs[1].globals)
        assert mine[2].sent == theirs[2].sent
    return ours


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kept", "directed"), [(1, True), (20, True), (20, False), (10_000, True)])
@pytest.mark.parametrize(("policy", "ranks"), [("oec", 1), ("oec", 3), ("cvc", 4)])
def test_values_of_hubs_that_blocks_keep(policy, ranks, kept, directed, monkeypatch):
    """Compare with a pull that keeps no hubs' values in shared memory, bit for bit."""
    monkeypatch.setattr(control, "HUB_BYTES", 8 * kept)
    graph, choices = hubs(directed), {"policy": policy, "options": GpuPlan(renumber=True).without_edge_copies()}
    (ours,) = run(ranks, graph, [RANK], **choices)
    monkeypatch.setattr(Launcher, "pull_kernel", "pull")
    (plain,) = run(ranks, graph, [RANK], **choices)
    np.testing.assert_array_equal(field(ours, "rank", graph.n), field(plain, "rank", graph.n))


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(("policy", "ranks", "renumber", "tiled"), [
    ("oec", 2, False, False), ("oec", 3, True, False), ("oec", 3, True, True), ("cvc", 4, False, False),
    ("cvc", 4, True, True),
])  # fmt: skip
def test_answers_have_the_same_bits(policy, ranks, renumber, tiled, copied):
    ours = same_bits(ranks, RANK, hubs(), policy=policy, renumber=renumber, tiled=tiled)
    src, dst, _ = hubs().arcs()
    np.testing.assert_allclose(field(ours, "rank", 230), oracles.pagerank(230, src, dst, rounds=11), rtol=1e-12)
    assert copied
    assert all(rank[2].seconds["hidden"] > 0 for rank in ours)
    assert all(any(rank[2].rounds.parts()["hidden"]) for rank in ours)


def test_lists_of_long_rows_are_cut_where_mirrors_begin():
    parts = []

    def looked(context):
        prepare = context.backend.machine

        def make_machine(*args):
            machine = prepare(*args)
            graph = machine.graph
            for rows, cut in zip((graph.long_rows, graph.chunks[0]), graph.mirrors_at, strict=True):
                parts.append((cut, len(rows) - cut))
                assert (rows[:cut] < graph.local.masters).all()
                assert (rows[cut:] >= graph.local.masters).all()
            return machine

        context.backend.machine = make_machine

    run(3, hubs(), [RANK], wrapped=looked, options=GpuPlan())
    assert (np.array(parts).reshape(3, 2, 2).max(axis=0) > 1).all()  # both lists have rows of masters and of mirrors


@pytest.mark.parametrize(("program", "wrapped"), [
    (RANK.retype(rank="float32", share="float32", inflow="float32"), None),
    (PageRank(tol=1e-3), None),
    (PersonalizedPageRank(tol=0.0, max_iter=5), personalized),
])  # fmt: skip
@pytest.mark.parametrize(("policy", "sync"), [("oec", "poison"), ("hvc,threshold=4", "auto"), ("hash", "auto")])
def test_programs_have_the_same_bits(program, wrapped, policy, sync, copied):
    same_bits(3, program, hubs(), policy=policy, sync=sync, wrapped=wrapped)
    assert copied


@pytest.mark.parametrize(("policy", "directed", "direction"), [
    ("iec", True, "auto"), ("oec", False, "auto"), ("oec", True, "push"), ("cvc", False, "flip"), ("oec", True, "flip"),
])  # fmt: skip
def test_where_it_does_not_apply(policy, directed, direction, copied):
    """Check that nothing is copied without proposals to mirrors, or in rounds that push."""
    if direction == "flip":
        src, dst, _ = hubs(directed).arcs()
        (ours,) = run(3, hubs(directed), [RANK], policy=policy, direction=direction, options=GpuPlan())
        np.testing.assert_allclose(field(ours, "rank", 230), oracles.pagerank(230, src, dst, rounds=11), rtol=1e-12)
    elif direction == "push":  # atomics add in an unspecified order
        run(3, hubs(directed), [RANK], policy=policy, direction=direction, options=GpuPlan())
    else:
        same_bits(3, RANK, hubs(directed), policy=policy)
    assert bool(copied) == (direction == "flip")


def test_little_is_packed(monkeypatch, copied):
    monkeypatch.setattr(pull_overlap, "MUCH", 1 << 22)
    same_bits(2, RANK, hubs())
    assert not copied


def test_ranks_decide_by_themselves(monkeypatch, copied):
    """Check that peers receive the usual messages if only rank 1 splits its pulls."""
    able = pull_overlap.PullOverlap._bytes
    monkeypatch.setattr(
        pull_overlap.PullOverlap, "_bytes", lambda self, f: self.exchange.comm.rank == 1 and able(self, f)
    )
    same_bits(3, RANK, hubs())
    assert copied


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(("policy", "ranks"), [("oec", 3), ("cvc", 4)])
def test_programs_after_rounds_that_were_started_in_vain(policy, ranks, copied):
    """Check an end, or a limit, while later rounds are already launched, and later programs in the same mailboxes."""

    def limited(context):
        run = context.run

        def some(program):
            context.max_rounds = 7 if program is RANK else None
            return run(program)

        context.run = some

    programs = [PageRank(tol=0.0, max_iter=3), RANK, PageRank(tol=1e-3)]
    ours, hosts = (
        run(ranks, hubs(), programs, policy=policy, wrapped=limited, options=options)
        for options in (GpuPlan(), GpuPlan(host_rounds=True))
    )
    for mine, theirs in zip(ours, hosts, strict=True):
        np.testing.assert_array_equal(field(mine, "rank", 230), field(theirs, "rank", 230))
        assert mine[0][1].rounds == theirs[0][1].rounds
    assert [result[0][1].rounds for result in ours[:2]] == [3, 7]
    assert copied


def test_ranks_that_want_to_see_their_hosts_come_back(monkeypatch, copied):
    """Check a return to the host after every turn: all but one of the rounds launched ahead do nothing."""
    monkeypatch.setattr(device_bsp, "HOST_CHECK_TIME", -1.0)
    same_bits(3, RANK, hubs())
    assert copied


def order(program):
    """Return the commands that rank 0's host gives its GPU, in order; ``beside``: on the stream of copies."""
    commands = []

    def watched(context):
        if context.comm.rank:
            return
        device, machine = context.backend.device, context.backend.machine
        raw = device.raw
        record, hold, copy = raw.record, raw.hold, raw.copy

        def make_machine(*args):
            instance = machine(*args)
            launch = instance.kernels.launch

            def launched(module, kernel, argument=0, **more):
                part = argument if kernel in ("pull_tiles", "join_tiles_part") else ""
                commands.append(f"{kernel} {part}".strip() + " beside" * (device.stream is not None))
                launch(module, kernel, argument, **more)

            instance.kernels.launch = launched
            return instance

        def told(what, call, place):
            def noted(*args):
                commands.append(what + " beside" * (len(args) > place))
                call(*args)

            return noted

        context.backend.machine = make_machine
        raw.record, raw.hold, raw.copy = told("record", record, 1), told("hold", hold, 1), told("copy", copy, 3)

    run(3, hubs(), [program], wrapped=watched, options=GpuPlan())
    return commands


def test_what_a_round_asks_of_the_host():
    """Check the commands of a round: each stream waits for the other's work before it reads it."""
    first = len(order(PageRank(tol=0.0, max_iter=8)))
    rounds = order(PageRank(tol=0.0, max_iter=16))
    wanted = [
        "find_largest_term", f"pull_tiles {control.OF_MIRRORS}", f"join_tiles_part {control.OF_MIRRORS}", "record",
        "hold beside", *2 * ["copy beside"], "announce beside", "record beside", f"pull_tiles {control.OF_MASTERS}",
        f"join_tiles_part {control.OF_MASTERS}", "hold", "combine_messages", "vertex_phase", "end_round",
    ]  # fmt: skip
    begin = rounds.index(wanted[0])
    assert rounds[begin : begin + 8 * len(wanted)] == 8 * wanted
    assert len(rounds) - first == 8 * len(wanted)


def test_messages_go_to_the_next_higher_rank_first(copied):
    """Check that ranks start with different peers."""
    went = []

    def watched(context):
        def make_machine(*args):
            instance = machine(*args)
            device_rounds = instance.device_rounds

            def recorded_rounds(sync):
                driver = device_rounds(sync)
                boxes, rank = instance.device_exchange.post.boxes, context.comm.rank
                peers = {
                    boxes.outbox(peer, parity) + 64: peer for peer in range(4) if peer != rank for parity in (0, 1)
                }
                went.append((rank, [peers[to] for to, _, _ in driver.copies._pieces[1]]))
                return driver

            instance.device_rounds = recorded_rounds
            return instance

        machine, context.backend.machine = context.backend.machine, make_machine

    run(4, hubs(), [RANK], wrapped=watched, options=GpuPlan())
    assert sorted(went) == [(rank, [(rank + step) % 4 for step in (1, 2, 3)]) for rank in range(4)]


@pytest.mark.parametrize("mutant", [
    ("reset((u32)(peer.first + i));", ";"),
    ("KERNEL announce(i64 asked) {\n    if (is_over()) return;", "KERNEL announce(i64 asked) {"),
    ("if (of == OF_MIRRORS) return {(u64)mirrors, (u64)count};", "if (of == OF_MIRRORS) return {0, (u64)count};"),
    ("return {0, (u64)mirrors};", "return {0, (u64)count};"),
])  # fmt: skip
def test_mutants_of_kernels_fail(mutant, monkeypatch):
    """Check mutants: sent proposals are not reset; empty rounds are announced; rows of one kind are pulled twice."""
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "2")
    with pytest.raises((AssertionError, PeerLost)):
        same_bits(3, PageRank(tol=0.0, max_iter=3), hubs(), mutant=mutant)


def other_mailbox(monkeypatch):
    pieces = pull_overlap.PullOverlap._pieces.func
    monkeypatch.setattr(pull_overlap.PullOverlap, "_pieces", property(lambda self: pieces(self)[::-1]))


def masters_first(monkeypatch):
    part, turned = (
        pull_overlap.PullOverlap._part,
        {control.OF_MIRRORS: control.OF_MASTERS, control.OF_MASTERS: control.OF_MIRRORS},
    )
    monkeypatch.setattr(pull_overlap.PullOverlap, "_part", lambda self, of, blocks=None: part(self, turned[of], blocks))


def announced_before_copies(monkeypatch):
    monkeypatch.setattr(Stream, "start", lambda self, kernel: kernel())


def unpacked_before_copies(monkeypatch):
    """Make the rounds' stream not wait."""
    hold = Raw.hold
    monkeypatch.setattr(Stream, "late", True)
    monkeypatch.setattr(Raw, "hold", lambda self, event, stream=None: hold(self, event, stream) if stream else None)


@pytest.mark.parametrize("mutant", [other_mailbox, masters_first, announced_before_copies, unpacked_before_copies])
def test_mutants_of_the_host_fail(mutant, monkeypatch):
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "2")
    mutant(monkeypatch)
    with pytest.raises((AssertionError, PeerLost)):
        same_bits(3, RANK, hubs())
