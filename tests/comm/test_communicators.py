"""Communicators that a program creates, uses for a run, and frees thousands of times, like a service."""

import math
import time

import numpy as np
import pytest
from flat_run import flat_run

import dgraph
from dgraph._support import threads
from dgraph.comm import communicator, world
from dgraph.errors import UsageError

FIRST = 8192
"""Bytes of the first step of ``allgatherv``; importing ``dgraph.comm.mpi`` would load MPI into sessions without it."""

MANY = 2_500 if world().size <= 2 else 250
"""More communicators than MPICH supports per rank, so that a leak fails; two ranks suffice to show it."""

pytestmark = pytest.mark.mpi


def split(key):
    """Return a communicator of all ranks in ascending order of ``key``."""
    MPI = pytest.importorskip("mpi4py.MPI")
    world()
    return MPI.COMM_WORLD.Split(0, key)


def test_a_communicator_is_known_again():
    mpi = split(world().rank)
    once = communicator(mpi)
    assert communicator(mpi) is once
    mpi.Free()


def test_communicators_come_and_go():
    """The order of ranks alternates, so state kept from the previous communicator would belong to the wrong rank."""
    for turn in range(MANY):
        mpi = split(world().rank if turn % 2 else -world().rank)
        comm = communicator(mpi)
        assert (comm.rank, comm.size) == (mpi.rank, mpi.size)
        if turn % 100 == 0:
            twin = comm.duplicate()
            assert twin.allgather(np.array([comm.rank])).tolist() == comm.allgather(np.array([comm.rank])).tolist()
        mpi.Free()


def test_runs_on_communicators_that_go():
    want = dgraph.run("bfs", "path:9", source=0).gather()
    for turn in range(3):
        mpi = split(world().rank if turn % 2 else -world().rank)
        columns = flat_run("bfs", "path:9", source=0, comm=mpi).gather()
        if mpi.rank == 0:
            assert columns["distance"].tolist() == list(range(9))
        mpi.Free()
    if world().rank == 0:
        assert want["distance"].tolist() == list(range(9))


@pytest.mark.parametrize("wrong", [5, "world", "null"])
def test_what_is_no_communicator_is_refused(wrong):
    MPI = pytest.importorskip("mpi4py.MPI")
    world()
    with pytest.raises(UsageError, match="comm="):
        communicator(MPI.COMM_NULL if wrong == "null" else wrong)


@pytest.mark.parametrize("size", [3, 1000], ids=["short", "long"])
def test_a_rank_waits_for_others_up_to_its_deadline(size):
    """The abandoned collective completes once the others join: the buffers that MPI writes are kept alive."""
    mpi = split(world().rank)
    comm = communicator(mpi)
    if comm.size > 1 and comm.rank == 0:
        comm.deadline = time.monotonic() + 0.2
        with pytest.raises(TimeoutError):
            comm.allreduce(np.ones(size, np.int64))
        comm.deadline = math.inf
        world().barrier()
    elif comm.size > 1:
        world().barrier()
        assert comm.allreduce(np.ones(size, np.int64)).tolist() == [comm.size] * size
    assert comm.total(1) == comm.size
    mpi.Free()


@pytest.mark.parametrize("size", [3, 1000], ids=["short", "long"])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("op", ["sum", "min", "max"])
def test_allreduce(op, dtype, size):
    """Short arrays use an allgather. Other work may run between start and completion."""
    comm = world()
    rows = np.random.default_rng(7).integers(-1000, 1000, (comm.size, size)).astype(dtype)
    want = {"sum": rows.sum, "min": rows.min, "max": rows.max}[op](axis=0)
    mine = rows[comm.rank].copy()
    finish = comm.begin_allreduce(mine, op)
    time.sleep(0.01 * (comm.rank == 0))
    combined = finish()
    assert combined.dtype == dtype
    assert combined.tolist() == want.tolist() == comm.allreduce(mine, op).tolist()
    assert mine.tolist() == rows[comm.rank].tolist()


def columns_of_ranks(dtype, length):
    """Return an array for each rank, of one dtype and several lengths."""
    lengths = [(length + rank) * (rank != 1) for rank in range(world().size)]
    return [np.random.default_rng(rank).bytes(n * np.dtype(dtype).itemsize) for rank, n in enumerate(lengths)]


@pytest.mark.parametrize("dtype", ["u1", "i8", "S3"])
@pytest.mark.parametrize("length", [0, 5, FIRST // 8 - 2, FIRST - 9, FIRST + 5, 100_000])
def test_arrays_of_any_length_are_gathered(dtype, length, monkeypatch):
    """Check lengths around what fits the first step, by ranks that have nothing, and that arrays are writable."""
    monkeypatch.setattr(threads, "SHARE", 1000)
    comm, columns = world(), columns_of_ranks(dtype, length)
    mine = np.frombuffer(columns[comm.rank], dtype).copy()
    for column, wanted in zip(comm.allgatherv(mine), columns, strict=True):
        assert (column.dtype, column.tobytes()) == (np.dtype(dtype), wanted)
        assert comm.size == 1 or column.flags.writeable
    for root in {0, comm.size - 1}:
        whole = comm.gathered(mine, root, 3)
        assert (whole.dtype, whole.tobytes()) == (np.dtype(dtype), b"".join(columns) if comm.rank == root else b"")


def test_what_seldom_changes_is_gathered_anew_where_one_rank_has_another_value(monkeypatch):
    comm, gathered = world(), []
    whole = type(comm).allgather_json
    monkeypatch.setattr(type(comm), "allgather_json", lambda self, value: gathered.append(value) or whole(self, value))

    def told(turn: int) -> list:
        """From the third turn on the last rank has another value."""
        last = comm.rank == comm.size - 1
        return comm.allgather_cached("test", lambda: ["rank", comm.rank, last and turn >= 2])

    first = [["rank", rank, False] for rank in range(comm.size)]
    later = [*first[:-1], ["rank", comm.size - 1, True]]
    assert [told(turn) for turn in range(4)] == [first, first, later, later]
    assert len(gathered) == 2
    assert comm.allgather_cached("other test", lambda: comm.rank) == list(range(comm.size))

    def fails_on_the_first():
        if comm.rank == 0:
            raise UsageError("nothing to say")
        return "something"

    with pytest.raises(UsageError, match="nothing to say"):
        comm.allgather_cached("test", fails_on_the_first)
    assert told(3) == later


@pytest.mark.mpi
@pytest.mark.parametrize("placed", [False, True])
def test_rows_are_gathered_whether_they_are_in_place_or_not(placed):
    """Check every root; rank 0 has no rows, and the others' are longer than a page."""
    comm = world()
    counts = 1000 * np.arange(comm.size)
    parts = [rank + np.arange(count) / 7 for rank, count in enumerate(counts)]

    def rows(make):
        mine = parts[comm.rank]
        if placed:
            place = make(mine.size, mine.dtype)
            place[:] = mine
        return place if placed else mine

    for root in range(comm.size):
        whole = comm.gathered_rows(rows, counts, root, 2)
        assert np.array_equal(whole, np.concatenate(parts) if comm.rank == root else [])
