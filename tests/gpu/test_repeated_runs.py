"""Runs that start a kept machine before ranks have agreed that all have theirs."""

import re

import numpy as np
import pytest
from emulated import Device, needs_compiler
from linked import links_for
from simulated import on_ranks, star, succeed

import partitioning
from dgraph.algorithms.base import check_source
from dgraph.algorithms.bfs import Levels
from dgraph.algorithms.kcore import Peel
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.round_kernels.renewal import Renewal
from dgraph.engine.rounds.context import Context
from dgraph.errors import OutOfMemory, PeerLost, UsageError
from dgraph.graph.build.local_graph import build
from dgraph.report import Progress, Record

pytestmark = [needs_compiler, pytest.mark.mpi_skip]

RANKS = 3


def setting(comm):
    """Return this rank's part of a star, and its backend."""
    block = star(12, directed=False).block(comm)
    local = build(block, partitioning.plan("oec", block, comm.size, comm), comm)
    backend = CudaBackend(0, 1, False, GpuPlan(), Device(2, seed=comm.rank + 1))
    backend.links = links_for(comm, "p2p")
    return local, backend


def context(comm, local, backend, repeats):
    return Context(local, comm, backend, Record(comm, ["test"]), Progress(), repeats=repeats)


@pytest.mark.parametrize("loser", [None, 0, 2])
@pytest.mark.parametrize(
    "program", [Levels(source=1), Peel(), PageRank(tol=0.0, max_iter=5)], ids=lambda p: type(p).__name__
)
def test_a_rank_that_lost_its_machine_has_all_start_again(program, loser):
    """Check integers, minima and sums of floats among the totals."""

    def work(comm):
        local, backend = setting(comm)
        name = next(iter(program.fields))
        first = context(comm, local, backend, repeats=False).run(program)
        values = first[name].copy()
        if comm.rank == loser:
            backend._graphs.clear()
        machines = []
        backend._made = lambda *arguments: machines.append(1) or CudaBackend._made(backend, *arguments)
        again = context(comm, local, backend, repeats=True).run(program)
        np.testing.assert_array_equal(again[name], values)
        assert again.rounds == first.rounds
        return len(machines)

    assert succeed(RANKS, work) == [int(loser is not None)] * RANKS  # a graph that one rank evicted leaves all


def test_a_run_does_not_use_mailboxes_that_another_program_replaced():
    """Check a program of small messages before and after one whose messages need larger mailboxes."""

    def work(comm):
        local, backend = setting(comm)
        first = context(comm, local, backend, repeats=False).run(Levels(source=1))["level"].copy()
        boxes = backend.graph_of(local).post
        context(comm, local, backend, repeats=False).run(PageRank(tol=0.0, max_iter=2))
        assert backend.graph_of(local).post is not boxes
        for _ in range(2):
            again = context(comm, local, backend, repeats=True).run(Levels(source=1))
            np.testing.assert_array_equal(again["level"], first)

    succeed(RANKS, work)


@pytest.mark.parametrize("repeats", [False, True])
def test_a_source_that_no_rank_owns_is_refused_by_all(repeats):
    def work(comm):
        local, backend = setting(comm)
        context(comm, local, backend, repeats=False).run(Levels(source=1))
        ctx = context(comm, local, backend, repeats)
        with pytest.raises(UsageError, match="source 77 is not a vertex of the graph: its 13 ids lie between 1 and 13"):
            ctx.run(Levels(source=check_source(ctx, 77, "bfs")))
        after = context(comm, local, backend, repeats)
        return after.run(Levels(source=check_source(after, 1, "bfs"))).rounds

    assert len(set(succeed(RANKS, work))) == 1


def test_the_degree_of_the_last_source_is_kept():
    def work(comm):
        local, backend = setting(comm)
        ctx, agreements, total = context(comm, local, backend, repeats=True), [], comm.total
        comm.total = lambda value: agreements.append(value) or total(value)
        return [ctx.degree_of(vertex) for vertex in (1, 1, 3, 3, 1, 99)], len(agreements)

    assert succeed(RANKS, work) == [([12, 12, 1, 1, 12, 0], 4)] * RANKS


@pytest.mark.parametrize("loser", [0, 2])
def test_an_error_of_one_rank_is_raised_by_all(loser, monkeypatch):
    renew, short = Renewal.renew, []

    def fails(machine, traced):
        if machine.graph.device in short:
            raise OutOfMemory("no room")
        renew(machine, traced)

    def work(comm):
        local, backend = setting(comm)
        context(comm, local, backend, repeats=False).run(Levels(source=1))
        if comm.rank == loser:
            short.append(backend.device)
            monkeypatch.setattr(Renewal, "renew", fails)
        context(comm, local, backend, repeats=True).run(Levels(source=1))

    outcomes = on_ranks(RANKS, work)
    assert [(type(outcome), str(outcome)) for outcome in outcomes] == [(OutOfMemory, "no room")] * RANKS


@pytest.mark.parametrize("repeats", [False, True])
def test_a_rank_that_fails_at_the_start_notifies_its_peers(repeats, monkeypatch):
    """Check the reduction of the first totals, in which GPUs wait for each other."""
    launch, lost = GpuMachine.launch, []

    def fails(machine, *calls):
        if machine.graph.device in lost and calls[0][1] == "end_round":
            raise OutOfMemory("no room")
        launch(machine, *calls)

    def work(comm):
        local, backend = setting(comm)
        context(comm, local, backend, repeats=False).run(Levels(source=1))
        if comm.rank == 2:
            lost.append(backend.device)
            monkeypatch.setattr(GpuMachine, "launch", fails)
        context(comm, local, backend, repeats).run(Levels(source=1))

    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "2")
    for outcome in on_ranks(RANKS, work):
        assert isinstance(outcome, PeerLost)
        assert re.search(r"rank \d waited for a message and rank 2 gave up", str(outcome))
