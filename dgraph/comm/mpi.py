"""Ranks over MPI, through mpi4py; no other file imports it.

MPI is initialised by the first :func:`wrapped`, not by the import, so that a launcher of another MPI is refused with
an error message. All waits poll requests, which lets a rank notice timeouts and lost peers.
"""

from __future__ import annotations

import copy
import signal
import sys
import threading
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import mpi4py
import numpy as np

if "mpi4py.MPI" not in sys.modules:
    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True

from mpi4py import MPI

from dgraph._support.threads import shares
from dgraph.comm.base import Comm
from dgraph.comm.forks import began
from dgraph.comm.liveness import Watch, process_key
from dgraph.comm.waiting import wait_idle, wait_until
from dgraph.comm.watchdog import Watchdog
from dgraph.errors import PeerLost, UsageError

CHUNK = 1 << 30
"""Maximum bytes of a message: MPI counts above 2^31 - 1 fail in some libraries (Open MPI 5.0's wheel)."""

OPS = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX}
FOLDS = {"sum": np.add, "min": np.minimum, "max": np.maximum}

NOTE = 1
"""Tag of notes (:class:`MpiNotes`); all other messages have tag 0."""

PAGE = 4096
"""Bytes of a page of memory, or fewer."""

FEW, SHORT = 16, 1024
"""Ranks and bytes up to which an allreduce is an allgather followed by a local reduction."""

FIRST = 4000
"""Bytes of the first step of :meth:`MpiComm.allgatherv` on few ranks: a count and, as a rule, a rank's report. Open MPI
sends at once what fits 4 KiB."""


def wrapped(comm: MPI.Comm = MPI.COMM_WORLD) -> MpiComm:
    """Return the :class:`MpiComm` of an mpi4py communicator; the first call for it is collective.

    It is stored as an attribute of the communicator and freed with it: MPICH supports about 2,000 communicators.

    Raises:
        UsageError: ``comm`` is not an intracommunicator.
    """
    if not MPI.Is_initialized():
        _start()
    began("MPI")
    if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL or comm.Is_inter():
        raise UsageError(f"comm={comm!r} does not join the ranks of a run; give an mpi4py intracommunicator, or none")
    cached = comm.Get_attr(_key())
    if isinstance(cached, MpiComm):
        return cached
    wrapper = MpiComm(comm)
    comm.Set_attr(_key(), wrapper)
    return wrapper


def _start() -> None:
    """Start MPI. Meanwhile a SIGINT ends the process: Python's handler does not run while the library waits for ranks.

    MPICH's launcher leaves a rank waiting there if another was interrupted before.
    """
    plain = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    plain = plain and threading.current_thread() is threading.main_thread()
    if plain:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        MPI.Init_thread(MPI.THREAD_SERIALIZED)
    finally:
        if plain:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def _key() -> int:
    return MPI.Comm.Create_keyval(delete_fn=_freed)


def _freed(comm: MPI.Comm, _: int, ours: MpiComm) -> None:
    if comm not in (MPI.COMM_WORLD, MPI.COMM_SELF):  # deleted in MPI_Finalize, which frees the duplicates
        ours.free()


class MpiComm(Comm):
    """Duplicate of an mpi4py communicator, which keeps the user's messages apart from ours; see :func:`wrapped`."""

    transport = "mpi-host"

    def __init__(self, comm: MPI.Comm):
        super().__init__()
        self.comm = comm.Dup()
        self.rank, self.size = self.comm.rank, self.comm.size
        self._duplicates = [self.comm]
        self._abandoned: list[tuple[Callable[[], bool], tuple]] = []
        self._watch: Watch | None = None
        self._watch = Watch(self.allgather(process_key()), self.rank)
        self.watchdog = Watchdog(self.rank, self.size, MpiNotes(self.comm), self._watch, self.comm.Abort)

    def free(self) -> None:
        """Free the MPI communicator and its duplicates, unless abandoned requests still use them; collective."""
        self._abandoned = [(ready, arrays) for ready, arrays in self._abandoned if not ready()]
        while self._duplicates and not self._abandoned:
            self._duplicates.pop().Free()

    def wait(self, ready, size=0):
        """Poll ``ready``, the watched processes and the watchdog; see :meth:`Comm.wait`."""
        self.watchdog.waits += 1
        wait_until(ready, self.deadline, self._check_peers, size)

    def idle(self, ready):
        """Poll ``ready`` and the watched processes at growing intervals; see :meth:`Comm.idle`."""
        wait_idle(ready, self._check_peers)

    def _check_peers(self) -> None:
        if self._watch is not None:
            self._watch.check()
        self.watchdog.check()

    def _wait(self, ready: Callable[[], bool], *arrays: np.ndarray) -> None:
        size = 0
        for array in arrays:  # a generator takes three times as long, and a call has a dozen of exchanges
            size += array.nbytes
        try:
            self.wait(ready, size)
        except (TimeoutError, PeerLost):
            self._abandoned.append((ready, arrays))  # keeps the buffers alive: MPI may still read and write them
            raise

    def barrier(self):
        """Wait for all ranks, with MPI_Ibarrier."""
        self._wait(self.comm.Ibarrier().Test)

    def allreduce(self, values, op="sum"):
        """Run :meth:`begin_allreduce` and wait for its result."""
        return self.begin_allreduce(values, op)()

    def begin_allreduce(self, values, op="sum"):
        """Start MPI_Iallreduce, or MPI_Iallgather and a local reduction if ranks and bytes are few."""
        values = np.ascontiguousarray(values)
        if self.size <= FEW and values.nbytes <= SHORT:  # one step: no rank waits for an intermediate rank that is busy
            gathered = self.begin_allgather(values)
            return lambda: FOLDS[op].reduce(gathered())
        combined = np.empty_like(values)
        request = self.comm.Iallreduce(values, combined, OPS[op])

        def finish() -> np.ndarray:
            self._wait(request.Test, values, combined)
            return combined

        return finish

    def allgather(self, values):
        """Run :meth:`begin_allgather` and wait for its result."""
        return self.begin_allgather(values)()

    def begin_allgather(self, values):
        """Start MPI_Iallgather."""
        values = np.ascontiguousarray(values)
        gathered = np.empty((self.size, *values.shape), values.dtype)
        request = self.comm.Iallgather(values, gathered)

        def finish() -> np.ndarray:
            self._wait(request.Test, values, gathered)
            return gathered

        return finish

    def allgatherv(self, values):
        """Run :meth:`begin_allgatherv` and wait for its result."""
        return self.begin_allgatherv(values)()

    def begin_allgatherv(self, values):
        """Gather counts and first bytes in one step; long arrays then follow as in :meth:`alltoallv`."""
        values = np.ascontiguousarray(values)
        first = np.zeros(FIRST if self.size <= FEW else 8, np.uint8)
        first[:8].view(np.int64)[0] = values.size
        head = values.view(np.uint8)[: first.size - 8] if values.nbytes else first[:0]
        first[8 : 8 + head.size] = head
        gathering = self.begin_allgather(first)

        def finish() -> list[np.ndarray]:
            gathered = gathering()
            counts = gathered[:, :8].copy().view(np.int64).ravel()
            ends = (8 + values.itemsize * counts).tolist()
            if max(ends) > first.size:
                return self._delivered([values] * self.size, counts)
            return [part[8:end].copy().view(values.dtype) for part, end in zip(gathered, ends, strict=True)]

        return finish

    def alltoallv(self, parts):
        """Exchange counts, then point-to-point messages of at most ``CHUNK`` bytes."""
        parts = [np.ascontiguousarray(part) for part in parts]
        counts = np.array([part.size for part in parts], np.int64)
        incoming = np.empty_like(counts)
        self._wait(self.comm.Ialltoall(counts, incoming).Test, counts, incoming)
        return self._delivered(parts, incoming)

    def _delivered(self, parts: list[np.ndarray], incoming: np.ndarray) -> list[np.ndarray]:
        """Send ``parts[r]`` to rank r and return the arrays received, of ``incoming`` items each; collective."""
        gotten = [np.empty(int(count), parts[0].dtype) for count in incoming]
        gotten[self.rank] = parts[self.rank]
        requests = []
        for step in range(1, self.size):
            peer = (self.rank - step) % self.size
            requests += [self.comm.Irecv([piece, MPI.BYTE], peer, 0) for piece in _pieces(gotten[peer])]
        for step in range(1, self.size):
            peer = (self.rank + step) % self.size
            requests += [self.comm.Isend([piece, MPI.BYTE], peer) for piece in _pieces(parts[peer])]
        self._wait(lambda: MPI.Request.Testall(requests), *parts, *gotten)
        return gotten

    def gathered_rows(self, rows, counts, root, threads=1):
        """Receive each rank's bytes at their place: a second copy on ``root`` would take as long as the messages.

        Threads map the pages of new memory first, since messages would map them one by one.
        """
        if self.rank != root:
            mine = np.ascontiguousarray(rows(np.empty))
            requests = [self.comm.Isend([piece, MPI.BYTE], root) for piece in _pieces(mine)] if mine.size else []
            self._wait(lambda: MPI.Request.Testall(requests), mine)
            return mine[:0]
        ends, places, requests = [0, *counts.cumsum().tolist()], [], []
        whole = np.empty(0, np.uint8)

        def make(size, dtype):
            nonlocal whole
            whole = np.empty(ends[-1], dtype)
            places.extend(whole[first:end] for first, end in pairwise(ends))
            for rank, part in enumerate(places):
                if rank != root and part.size:
                    raw = part.view(np.uint8)
                    if threads > 1:
                        _map_pages(raw, threads)
                    requests.extend(self.comm.Irecv([piece, MPI.BYTE], rank, 0) for piece in _pieces(raw))
            return places[root]

        def ended():
            return MPI.Request.Testall(requests)

        try:
            mine = rows(make)
            place = places[root] if places else make(mine.size, mine.dtype)
            if place is not mine:
                shares(lambda part: np.copyto(place[part], mine[part]), mine.size, threads)
        except BaseException:
            self._abandoned.append((ended, (whole,)))
            raise
        self._wait(ended, whole)
        return whole

    def exchange(self, sends, inboxes):
        """Post all receives, then all sends, in chunks of ``CHUNK`` bytes, and wait; see :meth:`Comm.exchange`."""
        status = {}
        requests, statuses = [], []
        for peer, inbox in inboxes.items():
            for start in range(0, max(inbox.size, 1), CHUNK):
                requests.append(self.comm.Irecv([inbox[start : start + CHUNK], MPI.BYTE], peer, 0))
                statuses.append((peer, len(requests) - 1))
        posted = len(requests)
        for peer, (message, bound) in sends.items():
            for start in range(0, max(bound, 1), CHUNK):
                requests.append(self.comm.Isend([message[start : start + CHUNK], MPI.BYTE], peer))
        ends = [MPI.Status() for _ in requests]
        self._wait(
            lambda: MPI.Request.Testall(requests, ends), *inboxes.values(), *(message for message, _ in sends.values())
        )
        for peer, i in statuses[:posted]:
            status[peer] = status.get(peer, 0) + ends[i].Get_count(MPI.BYTE)
        return status

    def send(self, peer, address, size):
        """Start MPI_Isend."""
        return MpiRequest(self.comm.Isend([MPI.buffer.fromaddress(address, size), MPI.BYTE], peer))

    def receive(self, peer, address, size):
        """Start MPI_Irecv."""
        return MpiRequest(self.comm.Irecv([MPI.buffer.fromaddress(address, size), MPI.BYTE], peer, 0))

    def duplicate(self):
        """Duplicate the MPI communicator; the copy shares this one's watchdog and is freed with it. Collective."""
        twin = copy.copy(self)
        twin.comm, request = self.comm.Idup()
        self._wait(request.Test)
        self._duplicates.append(twin.comm)
        return twin

    def abort(self, code):
        """Flush the standard streams and call MPI_Abort."""
        sys.stdout.flush()
        sys.stderr.flush()
        self.comm.Abort(code)


class MpiNotes:
    """Notes over MPI with a tag of their own; see :class:`dgraph.comm.watchdog.Notes`."""

    def __init__(self, comm: MPI.Comm):
        self.comm = comm
        self._sent: list[tuple[MPI.Request, np.ndarray]] = []

    def send(self, number):
        """Start sending ``number`` to every other rank."""
        self._sent = [(request, note) for request, note in self._sent if not request.Test()]
        note = np.array([number], np.int64)
        for peer in range(self.comm.size):
            if peer != self.comm.rank:
                self._sent.append((self.comm.Isend(note, peer, NOTE), note))

    def received(self):
        """Receive all notes that have arrived, as (sender, number)."""
        notes, status, note = [], MPI.Status(), np.empty(1, np.int64)
        while self.comm.Iprobe(MPI.ANY_SOURCE, NOTE, status):
            self.comm.Recv(note, status.source, NOTE)
            notes.append((status.source, int(note[0])))
        return notes


class MpiRequest:
    """Pending MPI message, as :class:`dgraph.comm.base.Request`."""

    __slots__ = ("request", "status")

    def __init__(self, request: MPI.Request):
        self.request, self.status = request, MPI.Status()

    def done(self) -> bool:
        """Return True if the request has completed (MPI_Test)."""
        return self.request.Test(self.status)

    @property
    def size(self) -> int:
        """Bytes received."""
        return self.status.Get_count(MPI.BYTE)


def send_to_myself(source: int, to: int, size: int) -> None:
    """Send ``size`` bytes from one address of this process to another, with MPI alone in this process."""
    MPI.Init_thread(MPI.THREAD_SERIALIZED)
    MPI.COMM_SELF.Sendrecv(
        [MPI.buffer.fromaddress(source, size), MPI.BYTE], 0, 0, [MPI.buffer.fromaddress(to, size), MPI.BYTE], 0, 0
    )


def library() -> str:
    """Return the MPI library's name and version."""
    return " ".join(MPI.Get_library_version().split("\n")[0].split(",")[0].split())


def _map_pages(raw: np.ndarray, threads: int) -> None:
    """Write to each page of new memory, on several threads."""
    shares(lambda part: raw[part][::PAGE].fill(0), raw.size, threads)


def _pieces(array: np.ndarray):
    raw = array.view(np.uint8)
    return [raw[start : start + CHUNK] for start in range(0, raw.size, CHUNK)]
