"""The whole graph on rank 0, for policies that cannot do without: what it takes, whether it is there, and how."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from partitioning.placement import LookUp, PolicyError


@dataclass(frozen=True)
class Table(LookUp):
    """The owner of every vertex, written out: the one look-up that takes an array of n entries on every rank."""

    parts: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        return self.parts[gids].astype(np.int32)


RESERVE = 0.1
"""Share of the free memory that is left to everything else on the host."""


def shortage(n: int, entries: int, each: float, what: str) -> str:
    """The memory plan of rank 0: empty if ``each`` bytes a vertex and adjacency entry are there, else in words."""
    need, have = each * (n + entries), (1 - RESERVE) * free_memory()
    if need <= have:
        return ""
    return (
        f"{what}: {n} vertices and {entries} adjacency entries need about {need / 2**30:.1f} GiB on rank 0, "
        f"which may take {have / 2**30:.1f} GiB"
    )


def on_rank_zero(edges, comm, work: Callable[[np.ndarray, np.ndarray], np.ndarray], dtype) -> Table:
    """``work(degrees, targets)`` of the whole graph on rank 0 gives every vertex's part; collective.

    Raises:
        PolicyError: on every rank, if it failed there.
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
    """Bytes that this process may still take: the machine's, its control group's, its own limit; inf if none says."""
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
    """The number that follows a name in a file of the kernel's."""
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[:1] == [name])


def _to_rank_zero(values, comm) -> np.ndarray:
    return np.concatenate(comm.alltoallv([values, *[values[:0]] * (comm.size - 1)]))
