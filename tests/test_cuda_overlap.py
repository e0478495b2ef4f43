"""Broad rounds in pieces, on emulated GPUs: what a piece proposed to mirrors travels beside the next piece."""

import pytest
from emulated import needs_compiler
from emulated_raw import Stream
from gpu_ranks import run
from test_cuda_exchange import PROGRAMS, check, mesh

from dgraph.backend.cuda import Options, overlap

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
NAMES = ("level", "dist", "label")


@pytest.fixture
def cut(monkeypatch):
    """Every push is cut, however small; counts those of all ranks."""
    walked, walk = [], overlap.Overlap.walk

    def counted(self):
        walked.append(self.exchange.comm.rank)
        assert self.machine.arrays.mirrors.size >= overlap.PIECES * self.machine.local.mirrors  # each once a piece
        walk(self)

    monkeypatch.setattr(overlap, "BROAD", 0)
    monkeypatch.setattr(overlap.Overlap, "walk", counted)
    return walked


@pytest.fixture
def late(monkeypatch):
    """Exchanges run as late as they may: when the rounds' stream waits for them."""
    monkeypatch.setattr(Stream, "late", True)


@pytest.mark.parametrize(("policy", "sync", "ranks"), [("oec", "auto", 3), ("cvc", "poison", 4)])
def test_answers(policy, sync, ranks, cut):
    programs = [PROGRAMS[name] for name in NAMES]
    options = Options(overlap=True, small=-1)
    results = run(ranks, mesh(), programs, policy=policy, sync=sync, direction="push", options=options)
    check(results, NAMES)
    assert {*cut} == {*range(ranks)}
    assert all(rank[2].seconds["hidden"] > 0 for result in results for rank in result)
    assert all(any(rank[2].rounds.parts()["hidden"]) for result in results for rank in result)


def test_exchanges_that_come_late(cut, late):
    """Every piece has been walked before the first is sent."""
    options = Options(overlap=True, small=-1)
    check(run(3, mesh(), [PROGRAMS[name] for name in NAMES], policy="hash", direction="push", options=options), NAMES)
    assert cut


def test_what_must_not_be_sent_twice_is_not_cut(cut):
    options = Options(overlap=True, small=-1)
    check(run(2, mesh(), [PROGRAMS["core"], PROGRAMS["rank"]], direction="push", options=options), ["core", "rank"])
    assert not cut


def test_mutants_fail(cut):
    """A mirror that improves in two pieces is listed once, although the first was sent."""
    mutant = "visit.mirror_stamp = 1u << 31 |", "visit.mirror_stamp = (u32)FRESH(c + TICK) + 0 *"
    options = Options(overlap=True, small=-1)
    results = run(3, mesh(), [PROGRAMS["dist"]], policy="hash", direction="push", options=options, mutant=mutant)
    with pytest.raises(AssertionError):
        check(results, ["dist"])
