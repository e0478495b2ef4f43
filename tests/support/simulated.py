"""Ranks as threads of one process, and small blocks from plain edge arrays: any number of ranks without a launcher."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from dgraph.comm.base import Comm
from dgraph.graph.block import EdgeBlock, gid_type
from dgraph.graph.ids import ConsecutiveIds

TIMEOUT = 60
"""Seconds after which ranks give up waiting for a rank that failed; a rank may compile meanwhile."""


class ThreadComm(Comm):
    """Communicator of one of ``size`` threads, which share arrays between barriers."""

    transport, in_threads = "threads", True

    def __init__(self, rank: int, table: list, meeting: threading.Barrier):
        super().__init__()
        self.rank, self.size, self.table, self.meeting = rank, len(table), table, meeting

    def _share(self, value) -> list:
        if self.size == 1:  # a barrier of one thread takes 50 µs
            return [value]
        self.table[self.rank] = value
        self.meeting.wait(TIMEOUT)
        seen = list(self.table)
        self.meeting.wait(TIMEOUT)
        return seen

    def barrier(self):
        self._share(None)

    def allreduce(self, values, op="sum"):
        return getattr(np.stack(self._share(np.array(values))), op)(axis=0)

    def allgather(self, values):
        return np.stack(self._share(np.array(values)))

    def allgatherv(self, values):
        return self._share(np.array(values))

    def alltoallv(self, parts):
        assert len(parts) == self.size
        shared = self._share([np.array(part) for part in parts])
        assert len({part.dtype for row in shared for part in row}) == 1
        return [row[self.rank] for row in shared]

    def exchange(self, sends, inboxes):
        asked = {peer: self.receive(peer, box.ctypes.data, box.size) for peer, box in inboxes.items()}
        sent = [self.send(peer, message.ctypes.data, message.size) for peer, (message, _) in sends.items()]
        self.wait(lambda: all(request.done() for request in (*asked.values(), *sent)))
        return {peer: request.size for peer, request in asked.items()}

    def send(self, peer, address, size):
        return Message(self._lane(self.rank, peer), 0, address, size)

    def receive(self, peer, address, size):
        return Message(self._lane(peer, self.rank), 1, address, size)

    def _lane(self, sender, receiver):
        """Return the queues of sends and receives from one rank to another that are not matched yet."""
        with LOCK:
            lanes = vars(self.meeting).setdefault("lanes", defaultdict(lambda: (deque(), deque())))
            return lanes[sender, receiver]

    def abort(self, code):
        self.meeting.abort()


LOCK = threading.Lock()


class Message:
    """One side of a message; the first ``done`` after both sides were posted copies the bytes."""

    def __init__(self, lane, side, address, size):
        self.lane, self.address, self.size, self.met = lane, address, size, False
        self.late = time.monotonic() + TIMEOUT
        with LOCK:
            lane[side].append(self)

    def done(self) -> bool:
        with LOCK:
            sent, asked = self.lane
            while sent and asked:
                source, to = sent.popleft(), asked.popleft()
                assert source.size <= to.size, "a message is longer than its receive"
                ctypes.memmove(to.address, source.address, source.size)
                to.size, source.met, to.met = source.size, True, True
        if not self.met and time.monotonic() > self.late:
            raise TimeoutError(f"nobody came for a message of {self.size} bytes")
        return self.met


def on_ranks(size: int, work) -> list:
    """Run ``work(comm)`` on each of ``size`` ranks; return each rank's result, or the error that it raised."""
    table, meeting = [None] * size, threading.Barrier(size)
    results = [None] * size

    def rank(r):
        try:
            results[r] = work(ThreadComm(r, table, meeting))
        except Exception as error:
            results[r] = error

    if size == 1:
        rank(0)
        return results
    threads = [threading.Thread(target=rank, args=(r,)) for r in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def succeed(size: int, work) -> list:
    """Run ``work(comm)`` as :func:`on_ranks`; raise the first rank's error, if any."""
    results = on_ranks(size, work)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


@dataclass
class Graph:
    """All arcs of a small graph, given to every rank of a test; an undirected edge is listed once."""

    n: int
    src: np.ndarray
    dst: np.ndarray
    directed: bool = True
    weights: np.ndarray | None = None

    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return sources, targets and weights, sorted, with both arcs of undirected edges."""
        src, dst, weights = self.src, self.dst, self.weights
        if not self.directed:
            back = src != dst
            src, dst = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
            weights = None if weights is None else np.concatenate([weights, weights[back]])
        order = np.lexsort((dst, src))
        return src[order], dst[order], None if weights is None else weights[order]

    def block(self, comm, bounds=None, dtype=None) -> EdgeBlock:
        """Return this rank's rows, split at ``bounds`` (P + 1,), by default evenly; ``dtype`` is that of targets."""
        src, dst, weights = self.arcs()
        bounds = np.arange(comm.size + 1) * self.n // comm.size if bounds is None else np.asarray(bounds)
        first, stop = int(bounds[comm.rank]), int(bounds[comm.rank + 1])
        offsets = np.searchsorted(src, np.arange(first, stop + 1)).astype(np.int64)
        begin, end = offsets[[0, -1]]
        return EdgeBlock(
            n=self.n,
            m=len(self.src),
            arcs=len(src),
            first=first,
            offsets=offsets - begin,
            targets=dst[begin:end].astype(dtype or gid_type(self.n)),
            weights=None if weights is None else weights[begin:end].copy(),
            directed=self.directed,
            ids=ConsecutiveIds(self.n, base=1),
        )


def graph(n, src, dst, directed=True) -> Graph:
    return Graph(n, np.asarray(src, np.int64), np.asarray(dst, np.int64), directed)


def grid(side: int, seed: int | None = None) -> Graph:
    """Return an undirected ``side`` × ``side`` mesh with ids row by row, or shuffled by ``seed``."""
    ids = np.arange(side * side).reshape(side, side)
    if seed is not None:
        ids = np.random.default_rng(seed).permutation(side * side).reshape(side, side)
    right, down = (ids[:, :-1].ravel(), ids[:, 1:].ravel()), (ids[:-1].ravel(), ids[1:].ravel())
    return graph(side * side, *np.concatenate([right, down], axis=1), directed=False)


def star(leaves: int, directed: bool) -> Graph:
    """Return a hub, vertex 0, and its leaves; directed arcs leave the hub."""
    return graph(leaves + 1, np.zeros(leaves), np.arange(1, leaves + 1), directed)


def skewed(n: int, m: int, directed: bool, seed: int = 7) -> Graph:
    """Return random edges, denser at small ids as in an R-MAT graph, with loops but without parallel edges."""
    rng = np.random.default_rng(seed)
    src, dst = (n * rng.random((2, m)) ** 3).astype(np.int64)
    if not directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    src, dst = np.divmod(np.unique(src * n + dst), n)
    return graph(n, src, dst, directed)


def battery() -> dict[str, Graph]:
    """Return small graphs, each of which can expose an indexing error."""
    chain = np.arange(40)
    graphs = {
        "directed": skewed(90, 700, directed=True),
        "undirected": skewed(90, 500, directed=False),
        "parallel arcs": graph(6, [0, 0, 0, 4, 4, 5], [1, 1, 1, 5, 5, 4]),
        "hub": star(70, directed=True),
        "undirected hub": star(70, directed=False),
        "into a hub": graph(71, np.arange(1, 71), np.zeros(70)),
        "path": graph(41, chain, chain + 1),
        "isolated tail": graph(200, [0, 1, 2, 64], [1, 2, 63, 0]),
        "no arcs": graph(9, [], []),
        "no vertices": graph(0, [], []),
        "three vertices": graph(3, [0, 1, 2], [1, 2, 0]),
        "one loop": graph(1, [0], [0]),
        "mesh": grid(9, seed=3),
    }
    for seed, small in enumerate(graphs.values()):
        small.weights = np.random.default_rng(seed).random(len(small.src)).round(6)
    return graphs
