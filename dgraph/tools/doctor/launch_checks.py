"""Checks of the launch: ranks and hosts, agreement of launcher and MPI, and a test of messages between all ranks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from dgraph.comm import Comm
from dgraph.tools.doctor.finding import Finding, fail, ok, warn

MESSAGE = 8 << 20
"""Bytes of the messages that measure bandwidth."""

TURNS = 200
"""Number of timed allreduces of one integer."""

SLOW = 100e-6
"""Seconds of an allreduce above which it dominates the rounds on road networks."""

THIN = 200e6
"""Bytes per second below which sending messages costs more than computing them."""

VARIABLES = ("SLURM_JOB_ID", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS")


def launch_findings(comm: Comm, hosts: list[str]) -> Iterator[Finding]:
    """Yield rank 0's findings about the launch; ``hosts`` holds the host of each rank."""
    launched = [f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ]
    mpi = _mpi()
    if comm.size == 1:
        text = "one process, no other ranks"
        yield ok("launcher", f"{text} ({', '.join(launched)})" if launched else f"{text}; mpirun -n 4 starts four")
        if mpi is None and find_spec("mpi4py") is None:
            cure = "for ranks: pip install 'dgraph-analytics[mpi]'"
            yield warn("mpi", "mpi4py is not installed: one process needs none", cure)
    else:
        yield ok("launcher", f"it started {comm.size} ranks, and MPI has as many ({', '.join(launched)})")
    if mpi is not None:
        yield ok("mpi", mpi)
    spread = [f"{host}: {_ranges([r for r, h in enumerate(hosts) if h == host])}" for host in dict.fromkeys(hosts)]
    yield ok("ranks", f"{comm.size} on {len(spread)} host{'s'[: len(spread) > 1]}: {'; '.join(spread)}")


def _mpi() -> str | None:
    if "mpi4py" not in sys.modules:
        return None
    from dgraph.comm.mpi import library

    return library()


def _ranges(ranks: list[int]) -> str:
    """Format ascending ranks as ranges, such as "0-3, 8"."""
    ranges: list[list[int]] = []
    for rank in ranks:
        if ranges and ranges[-1][1] == rank - 1:
            ranges[-1][1] = rank
        else:
            ranges.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def exchange_findings(comm: Comm) -> list[Finding]:
    """Time allreduces, and messages between all pairs with verified contents; collective. Valid on rank 0."""
    if comm.size == 1:
        return []
    one = np.ones(1, np.int64)
    counted = int(comm.allreduce(one)[0])
    began = time.perf_counter()
    for _ in range(TURNS):
        comm.allreduce(one)
    latency = (time.perf_counter() - began) / TURNS
    worst, broken = _pairs(comm)
    rows = comm.allgather(np.array([worst[0], worst[1], broken], np.float64))
    slowest = int(np.argmin(rows[:, 0]))
    bandwidth, peer = rows[slowest, 0], int(rows[slowest, 1])
    return list(_judge(comm, counted, latency, bandwidth, slowest, peer, rows[:, 2]))


def _pairs(comm: Comm) -> tuple[tuple[float, int], int]:
    """Return the lowest bandwidth as (bytes per second, sender), and a sender of a corrupted message (-1: none)."""
    worst, broken = (np.inf, -1), -1
    inbox = np.zeros(MESSAGE, np.uint8)
    for step in range(1, comm.size):
        to, since = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        message = _contents(comm.rank, to)
        for warm in (True, False):
            comm.barrier()
            began = time.perf_counter()
            received = comm.exchange({to: (message, MESSAGE)}, {since: inbox})
            seconds = time.perf_counter() - began
            if not warm and MESSAGE / seconds < worst[0]:
                worst = MESSAGE / seconds, since
        if received.get(since) != MESSAGE or not np.array_equal(inbox, _contents(since, comm.rank)):
            broken = since
        inbox[:] = 0
    return worst, broken


def _contents(sender: int, receiver: int) -> np.ndarray:
    """Make contents that are unique to the pair and not invariant under shifts."""
    words = np.arange(MESSAGE // 8, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (words + np.uint64(1 + sender * 65537 + receiver)).view(np.uint8)


def _judge(comm, counted: int, latency: float, bandwidth: float, rank: int, peer: int, broken: np.ndarray):
    """Yield the findings for the measurements."""
    cure = "have rank and launcher from one MPI; if the network has a debug layer, try another (UCX_TLS, FI_PROVIDER)"
    if counted != comm.size:
        yield fail("allreduce", f"{comm.size} ranks count themselves as {counted}", cure)
        return
    text = f"{latency * 1e6:.0f} µs for an allreduce of one number"
    if latency > SLOW:
        yield warn("allreduce", text, "a round costs at least that: fewer ranks, one a core, or the site's own MPI")
    else:
        yield ok("allreduce", text)
    if (broken >= 0).any():
        receiver = int(np.argmax(broken >= 0))
        yield fail("transport", f"rank {receiver} got another message than rank {broken[receiver]:.0f} sent", cure)
        return
    rate = f"{bandwidth / 1e9:.1f} GB/s (rank {peer} to {rank})"
    text = f"{comm.transport}: every pair, contents checked; the slowest {rate}"
    if bandwidth < THIN:
        yield warn("transport", text, "pip's MPI may use neither network nor shared memory: use the site's own MPI")
    else:
        yield ok("transport", text)
