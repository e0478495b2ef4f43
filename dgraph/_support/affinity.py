"""CPU affinity: the cores that a rank may use, its fair share of the node, and warnings about launcher bindings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

LAUNCHERS = ("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted")
"""Process names of Open MPI's launchers."""


def mask() -> int:
    """Return the cores that this process may use, as a bit mask."""
    return _mask(0)


def _mask(process: int) -> int:
    if not hasattr(os, "sched_getaffinity"):
        return (1 << (os.cpu_count() or 1)) - 1
    return _bits(frozenset(os.sched_getaffinity(process)))


@cache
def _bits(cores: frozenset[int]) -> int:
    """Return core numbers as a bit mask; every call asks for its own, which seldom change."""
    return sum(1 << core for core in cores)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return mask().bit_count()


@cache
def quota() -> float | None:
    """Return the CPU time limit of the control group (v2 or v1) in cores at the first call; None without a limit."""
    for path in ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"):
        try:
            words = Path(path).read_text().split()
            period = words[1] if len(words) > 1 else Path(path).with_name("cpu.cfs_period_us").read_text()
            if words[0] not in ("max", "-1"):
                return int(words[0]) / int(period)
        except (OSError, ValueError, IndexError):
            continue
    return None


def share(masks: Sequence[int], mine: int) -> int:
    """Return the number of threads that a rank can run in parallel with the other ranks of its node, at least 1.

    A core is divided among the ranks that may use it; the limit of a control group is divided among all.

    Args:
        masks: core masks of all ranks of the node, including this one.
        mine: core mask of this rank.
    """
    worth = sum(1 / sum(other >> core & 1 for other in masks) for core in range(mine.bit_length()) if mine >> core & 1)
    limit = quota()
    if limit is not None:
        worth = min(worth, limit / len(masks))
    return max(1, int(worth + 1e-6))


def binding_warning(masks: Sequence[int], mine: int) -> str:
    """Return a warning if Open MPI's default binding leaves this rank fewer cores than its share, else "".

    Args:
        masks: core masks of all ranks of the node.
        mine: core mask of this rank.
    """
    if "OMPI_COMM_WORLD_SIZE" not in os.environ:
        return ""
    every, here = _launcher_mask().bit_count(), mine.bit_count()
    fair = every // len(masks)
    if share(masks, mine) >= fair:
        return ""
    return (
        f"Open MPI bound this rank to {here} of {every} cores, its share would be {fair}: threads are fewer than "
        "they could be; give mpirun --bind-to none"
    )


@contextmanager
def unbound() -> Iterator[None]:
    """Let this thread use all cores of Open MPI's launcher during the body, and the threads that the body starts.

    Open MPI binds each of two ranks to one core unasked, and a first run would compile all its kernels there.
    """
    own = mask()
    wider = _launcher_mask() | own if "OMPI_COMM_WORLD_SIZE" in os.environ else own
    try:
        _bind(wider, own)
        yield
    finally:
        _bind(own, wider)


def _bind(wanted: int, now: int) -> None:
    """Bind this thread to the cores of a mask; it keeps those of now where the system refuses."""
    if wanted != now:
        with suppress(OSError):
            os.sched_setaffinity(0, [core for core in range(wanted.bit_length()) if wanted >> core & 1])


@cache
def _launcher_mask() -> int:
    """Return the cores of the launcher process, which is not bound, as a bit mask; 0 if none is found."""
    process = os.getppid()
    while process > 1:
        try:
            status = Path(f"/proc/{process}/stat").read_text()
            if status[status.index("(") + 1 : status.rindex(")")] in LAUNCHERS:
                return _mask(process)
            process = int(status[status.rindex(")") + 1 :].split()[1])
        except (OSError, ValueError, IndexError):
            return 0
    return 0
