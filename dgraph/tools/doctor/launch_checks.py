"""The launch: ranks, hosts, whether launcher and MPI belong together, and the exchange between ranks, tried."""

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
"""Bytes of the messages whose bandwidth is measured."""

TURNS = 200
"""Allreduces of one number whose time is measured."""

SLOW = 100e-6
"""Seconds of an allreduce above which rounds on roads cost more than their work."""

THIN = 200e6
"""Bytes a second below which messages cost more than computing them."""

VARIABLES = ("SLURM_JOB_ID", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS")


def launch_findings(comm: Comm, hosts: list[str]) -> Iterator[Finding]:
    """What rank 0 can say of the launch; ``hosts`` by rank."""
    launched = [f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ]
    mpi = _mpi()
    if comm.size == 1:
        found = "one process, no other ranks"
        yield ok("launcher", f"{found} ({', '.join(launched)})" if launched else f"{found}; mpirun -n 4 starts four")
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
    """0-3, 8: for people."""
    out: list[list[int]] = []
    for rank in ranks:
        if out and out[-1][1] == rank - 1:
            out[-1][1] = rank
        else:
            out.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def exchange_findings(comm: Comm) -> list[Finding]:
    """Agree, and send to every other rank in turn, with contents checked; collective. Rank 0 has the findings."""
    if comm.size == 1:
        return []
    one = np.ones(1, np.int64)
    agreed = int(comm.allreduce(one)[0])
    began = time.perf_counter()
    for _ in range(TURNS):
        comm.allreduce(one)
    latency = (time.perf_counter() - began) / TURNS
    worst, broken = _pairs(comm)
    rows = comm.allgather(np.array([worst[0], worst[1], broken], np.float64))
    slowest = int(np.argmin(rows[:, 0]))
    bandwidth, peer = rows[slowest, 0], int(rows[slowest, 1])
    return list(_told(comm, agreed, latency, bandwidth, slowest, peer, rows[:, 2]))


def _pairs(comm: Comm) -> tuple[tuple[float, int], int]:
    """The least bandwidth of a pair (bytes a second, the peer), and a peer whose message came broken (-1: none)."""
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
    """Bytes that only this message has: neither shifted nor of another pair."""
    words = np.arange(MESSAGE // 8, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (words + np.uint64(1 + sender * 65537 + receiver)).view(np.uint8)


def _told(comm, agreed: int, latency: float, bandwidth: float, rank: int, peer: int, broken: np.ndarray):
    cure = "have rank and launcher from one MPI; if the network has a debug layer, try another (UCX_TLS, FI_PROVIDER)"
    if agreed != comm.size:
        yield fail("agreement", f"{comm.size} ranks count themselves as {agreed}", cure)
        return
    found = f"{latency * 1e6:.0f} µs for all ranks to agree on a number"
    if latency > SLOW:
        yield warn("agreement", found, "a round costs at least that: fewer ranks, one a core, or the site's own MPI")
    else:
        yield ok("agreement", found)
    if (broken >= 0).any():
        receiver = int(np.argmax(broken >= 0))
        yield fail("transport", f"rank {receiver} got another message than rank {broken[receiver]:.0f} sent", cure)
        return
    rate = f"{bandwidth / 1e9:.1f} GB/s (rank {peer} to {rank})"
    found = f"{comm.transport}: every pair, contents checked; the slowest {rate}"
    if bandwidth < THIN:
        yield warn("transport", found, "pip's MPI may know neither network nor shared memory: take the site's own MPI")
    else:
        yield ok("transport", found)
