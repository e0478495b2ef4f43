"""Rounds of emulated GPUs that end without the host's allreduce: the same answers in as many rounds."""

import numpy as np
import oracles
import pytest
import simulated
from emulated import needs_compiler
from gpu_ranks import field, run
from test_cuda_exchange import PROGRAMS, check, mesh

from dgraph.algorithms.base import OnePass
from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.cc import UnionFindLabels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.multi_gpu import device_bsp
from dgraph.backend.cuda.multi_gpu.device_bsp import DeviceBsp
from dgraph.backend.cuda.round_kernels.launcher import Launcher
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.errors import InternalError
from dgraph.program import ALL, MIN, Field

pytestmark = [pytest.mark.mpi_skip, needs_compiler]


def both(programs, size, **choices):
    """Return the results, and those of the host's loop."""
    small = choices.pop("small", -1)
    ours = run(size, mesh(), programs, options=GpuPlan(small=small), **choices)
    return ours, run(size, mesh(), programs, options=GpuPlan(host_rounds=True, small=small), **choices)


@pytest.mark.parametrize(("policy", "direction", "sync", "ranks", "small"), [
    ("oec", "auto", "auto", 3, -1), ("cvc", "push", "poison", 4, 60), ("iec", "flip", "auto", 2, -1),
])  # fmt: skip
def test_answers_and_rounds_are_those_of_the_host(policy, direction, sync, ranks, small):
    names = [name for name in PROGRAMS if direction != "flip" or name != "dist"]
    ours, hosts = both(
        [PROGRAMS[name] for name in names], ranks, policy=policy, direction=direction, sync=sync, small=small
    )
    check(ours, names)
    for name, mine, theirs in zip(names, ours, hosts, strict=True):
        if name in ("level", "rank", "core"):  # in others a source may already see proposals of the same round
            assert [row[:4] for row in mine[0][2].rounds.kept] == [row[:4] for row in theirs[0][2].rounds.kept], name


def host_work(program, **options):
    """Return the work of rank 0's host: launches, reads of the device, allreduces; and the rounds."""
    done = {"launches": 0, "reads": 0, "agreements": 0}

    def watched(context):
        if context.comm.rank == 0:
            device = context.backend.device
            device.read = counted("reads", device.read)
            for name in ("allreduce", "allgather"):
                setattr(context.comm, name, counted("agreements", getattr(context.comm, name)))
            machine = context.backend.machine

            def make_machine(*args):
                instance = machine(*args)
                instance.kernels.launch = counted("launches", instance.kernels.launch)
                return instance

            context.backend.machine = make_machine

    def counted(what, work):
        def call(*args, **more):
            done[what] += 1
            return work(*args, **more)

        return call

    (results,) = run(2, mesh(), [program], wrapped=watched, options=GpuPlan(small=-1, **options))
    return np.array([*done.values(), results[0][1].rounds])


@pytest.mark.parametrize(("program", "longer", "host", "device"), [
    (PageRank(tol=0.0, max_iter=8), PageRank(tol=0.0, max_iter=16), (6, 2, 1), (5, 1 / 8, 0)),
    (Levels(source=6, limit=8), Levels(source=6, limit=16), (5, 2, 1), (5, 1 / 2, 0)),
])  # fmt: skip
def test_a_round_asks_less_of_the_host(program, longer, host, device, no_host_checks):
    """Check the launches, reads and allreduces per large round."""
    for options, wanted in (({"host_rounds": True}, host), ({}, device)):
        *work, rounds = host_work(longer, **options) - host_work(program, **options)
        assert tuple(np.array(work) / rounds) == wanted


class LeastNeighbour(OnePass):
    """Smallest id among in-neighbours, by a pull over all vertices."""

    domain = ALL
    least = Field("int64", reduce=MIN)

    def edge(self, u, e, v):
        return {"least": u.id}


def test_a_program_of_one_round_launches_no_round_ahead():
    launches, *_ = host_work(LeastNeighbour())
    assert launches == 5  # wake, start and end_round; pull and end_round


@pytest.mark.parametrize("small", [-1, 20, 200])
@pytest.mark.parametrize("likely", [control_block.NEXT_ANY, control_block.NEXT_LARGE, control_block.NEXT_SMALL])
def test_what_was_started_ahead_in_vain_does_nothing(likely, small, monkeypatch):
    """Check every guess of the kind of round that follows a large push."""
    monkeypatch.setattr(DeviceBsp, "_likely", lambda self: likely if self.follows else control_block.NEXT_ANY)
    names = ["dist", "label"]
    check(run(3, mesh(), [PROGRAMS[name] for name in names], direction="push", options=GpuPlan(small=small)), names)


SUMMARIES = {"level": Levels(source=6), "dist": Distances(source=6, delta=2.0), "label": UnionFindLabels()}


def summaries(name, **choices):
    """Return by rank the summary of a program's answer, and the one that its fields show."""
    (results,) = run(3, mesh(), [SUMMARIES[name]], **choices)
    degree, shown = np.bincount(mesh().arcs()[0], minlength=mesh().n), []
    for gids, state, _ in results:
        there = state[name] == gids + 1 if name == "label" else state[name] != np.iinfo(state[name].dtype).max
        last = state[name][there].max(initial=0), degree[gids[there]].sum()
        shown.append((int(there.sum()), *((0, 0) if name == "label" else map(int, last))))
    count, farthest, arcs = zip(*shown, strict=True)
    whole = sum(count), max(farthest), sum(arcs)
    return [state.summary for _, state, _ in results], [(mine, whole) for mine in shown]


@pytest.mark.parametrize(("name", "small"), [("level", -1), ("dist", 200), ("label", -1)])
def test_the_summary_is_that_of_the_fields(name, small):
    summary, shown = summaries(name, options=GpuPlan(small=small))
    assert summary == shown


def test_no_summary_is_counted_before_the_program_ends():
    shut = "if (is_shut(gate)) return;", ""
    summary, shown = summaries("level", options=GpuPlan(small=-1), direction="push", mutant=shut)
    assert summary != shown


def test_a_program_that_the_host_ends_has_no_summary():
    summary, _ = summaries("level", options=GpuPlan(host_rounds=True))
    assert summary == [None] * 3


@pytest.mark.parametrize("limit", [1, 7, 9])
def test_a_limit_of_rounds_is_met_exactly(limit):
    def limited(context):
        context.max_rounds = limit

    (results,) = run(2, mesh(), [PageRank(tol=0.0, max_iter=12)], wrapped=limited, options=GpuPlan())
    assert [(state.rounds, state.finished) for _, state, _ in results] == [(limit, False)] * 2
    src, dst, _ = mesh().arcs()
    np.testing.assert_allclose(
        field(results, "rank", mesh().n), oracles.pagerank(mesh().n, src, dst, rounds=limit), rtol=1e-12
    )


def test_a_rank_that_wants_to_see_its_host_brings_all_back(monkeypatch):
    monkeypatch.setattr(device_bsp, "HOST_CHECK_TIME", -1.0)
    programs = [PROGRAMS["rank"], PROGRAMS["dist"]]
    check(run(2, mesh(), programs, options=GpuPlan(small=-1)), ["rank", "dist"])


@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_components_by_trees(policy):
    (results,) = run(3, mesh(), [UnionFindLabels()], policy=policy, options=GpuPlan())
    check([results], ["label"])


def test_nobody_waits_for_a_rank_that_cannot_go_on(monkeypatch):
    """Check that an error on one rank ends all ranks long before GPUs' waits time out."""
    launches = GpuMachine.edge_launches

    def fails(self):
        if self.device_exchange.comm.rank == 1 and self.round == 2:
            raise MemoryError("no room")
        return launches(self)

    monkeypatch.setattr(GpuMachine, "edge_launches", fails)
    with pytest.raises((MemoryError, InternalError), match=r"no room|waited for a message and rank 1 gave up"):
        run(3, mesh(), [Levels(source=6)], direction="push", options=GpuPlan(small=-1))


def test_a_start_that_fails_is_told_as_it_was(monkeypatch):
    def fails(self, names):
        if self.graph.local.gids[0] == 0:
            raise MemoryError("no room")

    monkeypatch.setattr(Launcher, "set_environments", fails)
    with pytest.raises((MemoryError, InternalError), match="no room"):
        run(2, mesh(), [Levels(source=6)])


def test_mutants_fail():
    """Check a mutant that takes a rank's own sums for those of all ranks."""
    mutant = "p < env.others ? word_of(p", "false ? word_of(p"
    results = run(3, mesh(), [PROGRAMS["rank"]], mutant=mutant, options=GpuPlan(small=-1))
    with pytest.raises(AssertionError):
        check(results, ["rank"])


@pytest.mark.parametrize("options", [GpuPlan(small=-1, reach=0), GpuPlan(host_rounds=True), GpuPlan(reach=4)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_pulls_leave_out_who_has_nobody_to_look_back_at(ranks, options):
    """Check that pulls skip exactly the vertices without in-edges: the source, and isolated vertices at the end."""
    src = np.append(199, np.arange(100))
    graph, levels = simulated.graph(200, src, np.arange(101)), [Levels(source=200, limit=200)]
    (results,) = run(ranks, graph, levels, policy="iec", direction="pull", options=options)
    assert field(results, "level", 200)[:101].tolist() == [*range(1, 102)]
    assert [state.rounds for _, state, _ in results] == [102] * ranks
    fewer = ("(u64)env.pulled)", "(u64)env.pulled / 32 * 32)")
    (results,) = run(ranks, graph, levels, policy="iec", direction="pull", options=options, mutant=fewer)
    assert field(results, "level", 200)[:101].tolist() != [*range(1, 102)]
