"""Arrays moved between emulated GPUs, piece by piece."""

import numpy as np
import pytest
from emulated import Device, needs_compiler
from linked import links_for
from simulated import succeed

from dgraph.backend.cuda.transports import bulk_moves
from dgraph.backend.cuda.transports.bulk_moves import BulkMoves

pytestmark = [needs_compiler, pytest.mark.mpi_skip]
LENGTH = 101


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(bulk_moves, "PIECE", 64)


def arrays(size):
    """Return an array for each rank."""
    return np.random.default_rng(3).integers(0, 1000, (size, LENGTH)).astype(np.uint64)


@pytest.mark.parametrize("transport", ["p2p", "mpi-host"])
@pytest.mark.parametrize("name", ["minimum", "add"])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_arrays_of_all_ranks_are_combined(size, name, transport):
    of_ranks = arrays(size)

    def work(comm):
        moves, array = (
            BulkMoves(Device(seed=comm.rank + 1), comm, links_for(comm, transport)),
            of_ranks[comm.rank].copy(),
        )
        for _ in range(2):
            moves.allreduce(array, getattr(np, name))
        return array

    function = getattr(np, name)
    once = function.reduce(of_ranks)
    for combined in succeed(size, work):
        np.testing.assert_array_equal(combined, function.reduce([once] * size))


def test_pieces_are_read_before_any_rank_sends_again():
    """A GPU copies a piece out of its inbox later than the host asks for it, and the next move uses the same inbox."""
    of_ranks = arrays(3)

    def work(comm):
        moves, done = BulkMoves(Device(seed=comm.rank + 1), comm, links_for(comm, "p2p")), []

        def noted(name, function):
            def call(*args):
                done.append(name)
                return function(*args)

            return call

        moves._receive, moves.boxes.wait = noted("read", moves._receive), noted("wait", moves.boxes.wait)
        comm.allgather, comm.agree = noted("meet", comm.allgather), noted("meet", comm.agree)
        moves.allreduce(of_ranks[comm.rank].copy(), np.add)
        return done

    for done in succeed(3, work):
        assert done.count("meet") == 2
        between = done[done.index("meet") + 1 : len(done) - done[::-1].index("meet") - 1]
        assert between[-1] == "wait"
        assert "read" in between
