"""METIS on rank 0, for graphs that fit there: few cut arcs on roads and meshes, equal shares of arcs anywhere.

Karypis, Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM J. Sci. Comput. 1998.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from partitioning.placement import Placement, PolicyError
from partitioning.register import policy

SEED = 1
BYTES = 150
"""Memory that METIS and its input need, per vertex and per adjacency entry: 60 on a road, 135 on an R-MAT graph."""


@dataclass(frozen=True)
class Table:
    """The owner of every vertex, written out: the one look-up that takes an array of n entries on every rank."""

    parts: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        return self.parts[gids].astype(np.int32)


@policy("metis", "outgoing edge-cut by METIS on rank 0: fewest cut arcs, balanced by out-arcs")
def metis(edges, comm, reason="asked for") -> Placement:
    wrong = obstacle(edges, comm)
    if wrong:
        raise PolicyError(f"policy 'metis': {wrong}; take 'oec', or 'auto', which knows when METIS pays")
    degrees, targets = _to_rank_zero(np.diff(edges.offsets), comm), _to_rank_zero(edges.targets, comm)
    parts, failed = np.zeros(0, np.min_scalar_type(comm.size - 1)), ""
    if comm.rank == 0:
        try:
            parts = _partition(edges.n, degrees, targets, edges.directed, comm.size).astype(parts.dtype)
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
    failed = comm.bcast_json(failed)
    if failed:
        raise PolicyError(f"policy 'metis': METIS gave up ({failed}); take 'oec'")
    return Placement("metis", reason, "outgoing", Table(comm.alltoallv([parts] * comm.size)[0]))


def obstacle(edges, comm) -> str:
    """Why METIS cannot place this graph, in words; empty if it can. Collective: rank 0 looks for all."""
    return comm.bcast_json(_obstacle(edges) if comm.rank == 0 else None)


def _obstacle(edges) -> str:
    try:
        import pymetis
    except ImportError as missing:
        return f"pymetis cannot be imported ({missing}): pip install pymetis"
    entries = edges.arcs * (2 if edges.directed else 1)
    if edges.n >= 1 << 31 or entries > np.iinfo(pymetis.zero_copy_dtype()).max:
        return f"{edges.n} vertices and {entries} adjacency entries are more than it can number"
    need, have = BYTES * (edges.n + entries), _free_memory()
    if need > have:
        return (
            f"{edges.n} vertices and {entries} adjacency entries need about {need / 2**30:.1f} GiB on rank 0, "
            f"which has {have / 2**30:.1f} GiB free"
        )
    return ""


def _free_memory() -> float:
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


def _partition(n, degrees, targets, directed, size) -> np.ndarray:
    if n <= size:  # METIS may leave parts empty and put two vertices into another
        return np.arange(n)
    import pymetis

    starts, neighbours = adjacency(n, degrees, targets, directed)
    whole = pymetis.zero_copy_dtype()
    options = pymetis.Options()
    options.seed = SEED
    _, parts = pymetis.part_graph(
        size,
        adjacency=pymetis.CSRAdjacency(adj_starts=starts.astype(whole), adjacent=neighbours.astype(whole)),
        vweights=(degrees + 1).astype(whole),
        options=options,
    )
    return np.asarray(parts)


def adjacency(n: int, degrees: np.ndarray, targets: np.ndarray, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    """What METIS wants: undirected, without loops or parallel edges. int64 starts (n + 1,) and neighbours."""
    src, dst = np.repeat(np.arange(n), degrees), targets.astype(np.int64)
    if directed:
        src, dst = np.divmod(np.unique(np.concatenate([src * n + dst, dst * n + src])), n)
    keep = src != dst
    keep[1:] &= (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    src, dst = src[keep], dst[keep]
    return np.concatenate([[0], np.cumsum(np.bincount(src, minlength=n))]), dst
