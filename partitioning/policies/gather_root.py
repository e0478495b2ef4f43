"""Gather the whole graph on rank 0, for policies that need it: memory check, gathering, broadcast of owners."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from partitioning.placement import LookUp, PolicyError


@dataclass(frozen=True)
class Table(LookUp):
    """Owner of every vertex as an array of n entries on every rank."""

    parts: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        """Return the parts that own these gids."""
        return self.parts[gids].astype(np.int32)


RESERVE = 0.1
"""Share of the free memory reserved for other processes on the host."""


def shortage(n: int, entries: int, entry_bytes: float, what: str) -> str:
    """Return an error text if rank 0 lacks ``entry_bytes`` per vertex and adjacency entry; empty if it has them."""
    need, have = entry_bytes * (n + entries), (1 - RESERVE) * free_memory()
    if need <= have:
        return ""
    return (
        f"{what}: {n} vertices and {entries} adjacency entries need about {need / 2**30:.1f} GiB on rank 0, "
        f"which may take {have / 2**30:.1f} GiB"
    )


def on_rank_zero(edges, comm, work: Callable[[np.ndarray, np.ndarray], np.ndarray], dtype) -> Table:
    """Compute every vertex's part as ``work(degrees, targets)`` of the whole graph on rank 0; collective.

    Raises:
        PolicyError: on every rank, if ``work`` failed.
    """
    degrees, targets = (_to_rank_zero(part, comm) for part in (np.diff(edges.offsets), edges.targets))
    parts, failed = np.zeros(0, dtype), ""
    if comm.rank == 0:
        try:
            parts = work(degrees, targets).astype(dtype)
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
    failed = comm.bcast_json(failed)
    if failed:
        raise PolicyError(failed)
    return Table(comm.alltoallv([parts] * comm.size)[0])


def free_memory() -> float:
    """Return the bytes that this process may still allocate; infinity if unknown.

    The smallest of the machine's free memory, its control group's limit, and its own address space limit.
    """
    limits = [float("inf")]
    machine, group = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
    if machine.exists():
        limits.append(_figure(machine, "MemAvailable:") * 1024)
    if (group / "memory.max").exists() and (most := (group / "memory.max").read_text().strip()).isdigit():
        limits.append(int(most) - _figure(group / "memory.stat", "anon"))
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft - _figure(Path("/proc/self/status"), "VmSize:") * 1024)
    return min(limits)


def _figure(file: Path, name: str) -> int:
    """Return the number that follows a name in a file of the kernel."""
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[:1] == [name])


def _to_rank_zero(values, comm) -> np.ndarray:
    return np.concatenate(comm.alltoallv([values, *[values[:0]] * (comm.size - 1)]))
