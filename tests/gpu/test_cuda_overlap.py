"""Pushes in two parts on emulated GPUs: proposals to mirrors are exchanged beside edges into masters.

Answers, messages and bytes equal those of rounds that are not split.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
import simulated
from emulated import needs_compiler
from emulated_raw import Raw, Stream
from gpu_ranks import field, run
from one_round import in_a_child
from test_cuda_exchange import PROGRAMS, SOURCE, check, mesh

from dgraph.algorithms.bfs import Levels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.codegen import message_layout
from dgraph.backend.cuda.exchange import push_overlap
from dgraph.backend.cuda.gpu_options import Options
from dgraph.errors import PeerLost

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
NAMES = ("level", "dist", "label", "core")
FAR = 2**31 - 1


@pytest.fixture
def cut(monkeypatch):
    """Ranks of all split pushes; every push is split, however small."""
    walked, walk = [], push_overlap.PushOverlap.walk

    def counted(self, sync):
        walked.append(self.exchange.comm.rank)
        assert self.machine.direction == "push"
        walk(self, sync)

    monkeypatch.setattr(push_overlap, "BROAD", 0)
    monkeypatch.setattr(push_overlap, "schedule", lambda *_: push_overlap.WALKER)
    monkeypatch.setattr(push_overlap.PushOverlap, "walk", counted)
    return walked


@pytest.fixture(params=["at once", "late"])
def streams(request, monkeypatch):
    """Run the exchange at once, or as late as possible: when the rounds' stream waits for it."""
    monkeypatch.setattr(Stream, "late", request.param == "late")
    return request.param


def pushed(ranks, graph, programs, parts=True, **choices):
    options = Options(overlap=parts, small=-1, reach=0, renumber=choices.pop("renumber", None))
    return run(ranks, graph, programs, direction=choices.pop("direction", "push"), options=options, **choices)


@cache
def arcs():
    made = simulated.skewed(120, 700, directed=True)
    made.weights = np.random.default_rng(4).integers(1, 60, made.src.size).astype(np.int32)
    return made


@pytest.mark.parametrize(("policy", "sync", "ranks", "renumber"), [
    ("oec", "auto", 3, False), ("cvc", "poison", 4, False), ("hash", "auto", 2, True),
])  # fmt: skip
def test_answers(policy, sync, ranks, renumber, cut, streams):
    results = pushed(ranks, mesh(), [PROGRAMS[name] for name in NAMES], policy=policy, sync=sync, renumber=renumber)
    check(results, NAMES)
    assert {*cut} == {*range(ranks)}
    hidden = [rank[2].seconds.get("hidden", 0) > 0 for result in results for rank in result]
    assert hidden == [any(rank[2].rounds.parts().get("hidden", ())) for result in results for rank in result]
    assert {*hidden} == {streams == "at once"}  # a late exchange overlaps nothing


@pytest.mark.parametrize(("policy", "ranks"), [("oec", 3), ("hvc,threshold=4", 3), ("cvc", 4)])
def test_answers_on_directed_graphs(policy, ranks, cut):
    programs = [Levels(source=SOURCE + 1), Distances(source=SOURCE + 1, delta=9.0).retype(dist="int32")]
    levels, distances = pushed(ranks, arcs(), programs, policy=policy)
    src, dst, weights = arcs().arcs()
    wanted = oracles.bfs(arcs().n, src, dst, SOURCE)
    np.testing.assert_array_equal(field(levels, "level", arcs().n), np.where(wanted < 0, FAR, wanted))
    wanted = [FAR if d is None else d for d in oracles.sssp(arcs().n, src, dst, weights, SOURCE)]
    np.testing.assert_array_equal(field(distances, "dist", arcs().n), wanted)
    assert cut


@pytest.mark.exhaustive
@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(("policy", "ranks"), [("oec", 3), ("cvc", 4)])
@pytest.mark.parametrize("some", [None, 1])
def test_messages_are_those_of_rounds_that_are_not_cut(policy, ranks, some, cut, monkeypatch):
    """Compare messages of programs whose rounds do not depend on order, sums among them.

    ``some``: the only rank that splits its pushes.
    """
    if some is not None:
        cuts = push_overlap.PushOverlap.cuts
        monkeypatch.setattr(
            push_overlap.PushOverlap, "cuts", lambda self: self.exchange.comm.rank == some and cuts(self)
        )
    names = ("level", "core")
    ours, whole = (
        pushed(ranks, mesh(), [PROGRAMS[name] for name in names], parts, policy=policy) for parts in (True, False)
    )
    check(ours, names)
    for mine, theirs in zip(ours, whole, strict=True):
        assert [rank[2].sent for rank in mine] == [rank[2].sent for rank in theirs]
        assert any(rank[2].sent for rank in mine)
        assert mine[0][1].rounds == theirs[0][1].rounds
    assert {*cut} == ({*range(ranks)} if some is None else {some})


def test_pulls_between_are_not_cut(cut):
    names = ("level", "dist")
    check(pushed(3, mesh(), [PROGRAMS[name] for name in names], direction="flip", sync="poison"), names)
    assert cut


def test_sums_of_floats_are_not_cut(cut):
    options = Options(overlap=True, small=-1)
    check(run(2, mesh(), [PROGRAMS["rank"]], direction="push", options=options), ["rank"])
    assert not cut


def graphs(found):
    """Return a wrapper that appends (rank, address of the edges walked, graph) of each machine to ``found``."""

    def looked(context):
        if "machine" in vars(context.backend):
            return
        machine = context.backend.machine

        def made(*args):
            program = machine(*args)
            found.append((context.comm.rank, program.kernels._values["out_neighbours"], program.graph))
            return program

        context.backend.machine = made

    return looked


@pytest.mark.parametrize(("policy", "more"), [
    ("iec", {"overlap": True}), ("oec", {"overlap": True, "schedule": "twc"}), ("oec", {}),
    ("oec", {"overlap": True, "record": True}),
])  # fmt: skip
def test_where_nothing_is_cut_no_rows_are_copied(policy, more, cut):
    """Check that nothing is split without edges into mirrors, with a requested schedule, or with recorded counts."""
    found = []
    results = run(3, mesh(), [PROGRAMS["dist"]], policy=policy, direction="push", options=Options(small=-1, **more),
                  wrapped=graphs(found))  # fmt: skip
    check(results, ["dist"])
    assert not cut
    assert len(found) == 3
    assert not any("parts" in graph.__dict__ for _, _, graph in found)
    assert all(edges == graph.out.neighbours.ctypes.data for _, edges, graph in found)


def test_a_round_that_another_schedule_would_walk_stays_whole(monkeypatch):
    """Check that rounds of another schedule, and small rounds, are not split."""
    walked = []
    monkeypatch.setattr(push_overlap.PushOverlap, "walk", lambda self, sync: walked.append(self))
    monkeypatch.setattr(push_overlap, "BROAD", 1)
    thin = simulated.graph(80, np.arange(79), np.arange(1, 80), directed=False)
    (results,) = pushed(2, thin, [PROGRAMS["label"]])
    assert (field(results, "label", thin.n) == 1).all()
    monkeypatch.setattr(push_overlap, "BROAD", 1 << 22)
    check(pushed(2, mesh(), [PROGRAMS["level"]]), ["level"])
    assert not walked


def test_rows_are_brought_into_parts_once_and_others_walk_them_as_they_were(cut):
    """Check that rows are split once, into a copy: a later pull adds floats in the original order."""
    found, programs = [], [PROGRAMS[name] for name in ("dist", "rank", "label")]
    _, ours, _ = run(3, mesh(), programs, options=Options(overlap=True, small=-1, reach=0), wrapped=graphs(found))
    (alone,) = run(3, mesh(), programs[1:2], options=Options(small=-1))
    assert cut
    np.testing.assert_array_equal(field(ours, "rank", mesh().n), field(alone, "rank", mesh().n))
    for rank in range(3):
        graph = next(graph for number, _, graph in found if number == rank)
        parts, whole = graph.parts.neighbours.ctypes.data, graph.out.neighbours.ctypes.data
        assert [edges for number, edges, _ in found if number == rank] == [parts, whole, parts]


def order(monkeypatch, policy="oec"):
    """Return the commands that rank 0's host gives its GPU in a search; ``beside``: on the exchange's stream."""
    given = []

    def watched(context):
        if context.comm.rank:
            return
        device, machine = context.backend.device, context.backend.machine
        record, hold = device.raw.record, device.raw.hold

        def made(*args):
            found = machine(*args)
            launch = found.kernels.launch

            def launched(module, kernel, argument=0, **more):
                part = argument if kernel == "edges" else ""
                given.append(f"{kernel} {part}".strip() + " beside" * (device.stream is not None))
                launch(module, kernel, argument, **more)

            found.kernels.launch = launched
            return found

        def told(what, call):
            def noted(*args):
                given.append(what + " beside" * (len(args) > 1))
                call(*args)

            return noted

        context.backend.machine = made
        device.raw.record, device.raw.hold = told("record", record), told("hold", hold)

    pushed(3, mesh(), [PROGRAMS["level"]], policy=policy, wrapped=watched)
    return given


@pytest.mark.usefixtures("cut")
def test_what_a_round_asks_of_the_host(monkeypatch):
    """Check that the boundary comes first, and that each stream waits for the other's work before it reads it."""
    wanted = [
        "part_degrees", "part_sums", f"edges {-at.OF_MIRRORS}", "record", "hold beside", "pack beside", "unpack beside",
        "record beside", f"edges {-at.OF_MASTERS}", "count_visited", "hold", "count_hidden", "end_round",
    ]  # fmt: skip
    given = order(monkeypatch)
    begin = given.index(wanted[0])
    assert given[begin : begin + 3 * len(wanted)] == 3 * wanted


def test_the_interior_leaves_room_for_the_exchange(cut, monkeypatch):
    """Check the grids: a multiprocessor holds 6 blocks of the walker, or 4 and 3 of the exchange.

    So the walker leaves out two. Kernels that run alone get the whole GPU.
    """
    grids, scans = set(), set()

    def watched(context):
        device, machine = context.backend.device, context.backend.machine

        def made(*args):
            found = machine(*args)
            launch = found.kernels.launch

            def launched(module, kernel, argument=0, blocks=None, **more):
                if kernel in ("part_degrees", "part_sums"):
                    scans.add(blocks)
                if kernel in ("pack", "unpack", "edges"):
                    grids.add((kernel, device.stream is not None or argument == -at.OF_MASTERS, blocks))
                launch(module, kernel, argument, blocks=blocks, **more)

            found.kernels.launch = launched
            return found

        context.backend.machine = made

    resident = {"edges": 6, "pack": 4, "unpack": 3}
    monkeypatch.setattr(
        "dgraph.backend.cuda.round_kernels.launcher.Launcher.resident", lambda self, module, kernel: resident[kernel]
    )
    check(pushed(4, mesh(), [PROGRAMS["level"]], policy="cvc", wrapped=watched), ["level"])
    beside = {("edges", True, 8), ("pack", True, 2), ("unpack", True, 2)}  # blocks on two multiprocessors
    assert grids == beside | {("edges", False, None), ("pack", False, None), ("unpack", False, None)}
    assert len(scans - {None}) == len(scans) == 1  # both passes split a list equally
    assert cut


@pytest.mark.usefixtures("cut")
def test_no_more_is_hidden_than_exchanges_took():
    machines = []

    def watched(context):
        machine = context.backend.machine

        def made(*args):
            machines.append(machine(*args))
            return machines[-1]

        context.backend.machine = made

    check(pushed(3, mesh(), [PROGRAMS["core"]], wrapped=watched), ["core"])
    for machine in machines:
        post = machine.all_words[machine.arrays.post_at :]
        took = sum(
            post[[message_layout.POST_PACKING, message_layout.POST_WAITING, message_layout.POST_UNPACKING]].tolist()
        )
        assert 0 < post[message_layout.POST_HIDDEN] <= took
    assert len(machines) == 3


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize(("name", "mutant"), [
    ("dist", ("sums[i] -= (prefix_t)here;", "")),
    ("dist", ("boundary[count] = (prefix_t)here + boundary[i]", "boundary[count] = (prefix_t)here")),
    ("dist", ("if (list.count == 0) list.boundary[0] = 0;", "if (list.count == 0) list.boundary[0] = 64;")),
    ("dist", ("{queue, sums, env.middles, count", "{queue, sums, env.out_offsets, count")),
    ("dist", ("env.middles[u] - env.out_offsets[u]", "env.out_offsets[u + 1] - env.middles[u]")),
    ("core", ("if (number == -OF_MASTERS)", "if (false)")),
    ("core", ("if (number == -OF_MIRRORS)", "if (false)")),
])  # fmt: skip
def test_mutants_of_kernels_fail(name, mutant, monkeypatch):
    """Check mutants: prefix sums of the whole, or of the other part; edges of a part skipped, or walked twice."""
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "2")

    def right():
        try:
            check(pushed(3, mesh(), [PROGRAMS[name]], policy="hash", mutant=mutant), [name])
        except (AssertionError, RuntimeError):
            return False
        return True

    assert not in_a_child(right)  # it may write out of bounds


def masters_first(monkeypatch):
    """Make proposals to mirrors arise after their exchange."""
    words = SimpleNamespace(OF_MIRRORS=at.OF_MASTERS, OF_MASTERS=at.OF_MIRRORS, LOCAL_EDGES=at.LOCAL_EDGES)
    monkeypatch.setattr(push_overlap, "at", words)


def not_waited_for(monkeypatch):
    """Make the rounds' stream not wait for the exchange."""
    hold = Raw.hold
    monkeypatch.setattr(Stream, "late", True)
    monkeypatch.setattr(Raw, "hold", lambda self, event, stream=None: hold(self, event, stream) if stream else None)


@pytest.mark.parametrize("mutant", [masters_first, not_waited_for])
def test_mutants_of_the_host_fail(mutant, cut, monkeypatch):
    mutant(monkeypatch)
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "2")
    with pytest.raises((AssertionError, PeerLost)):
        check(pushed(3, mesh(), [PROGRAMS["level"]], policy="hash"), ["level"])
