"""Cores: those that a rank may use, its share of them, and a launcher that leaves it too few."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

LAUNCHERS = ("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted")
"""Names of Open MPI's processes above a rank."""


def mask() -> int:
    """The cores that this process may use, a bit each."""
    return _mask(0)


def _mask(process: int) -> int:
    if not hasattr(os, "sched_getaffinity"):
        return (1 << (os.cpu_count() or 1)) - 1
    return sum(1 << core for core in os.sched_getaffinity(process))


def cores() -> int:
    """How many they are."""
    return mask().bit_count()


def quota() -> float | None:
    """Cores' worth of time that this control group has, version 2 or 1; None where it is not limited."""
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
    """Threads that a rank can run side by side with its node's others: each core is divided among those that may use
    it, and the time that a control group allows among all.

    Args:
        masks: of all ranks of the node, this one's too.
        mine: this rank's.
    """
    worth = sum(1 / sum(other >> core & 1 for other in masks) for core in range(mine.bit_length()) if mine >> core & 1)
    limit = quota()
    if limit is not None:
        worth = min(worth, limit / len(masks))
    return max(1, int(worth + 1e-6))


def withheld(masks: Sequence[int], mine: int) -> str:
    """What to say where Open MPI, which binds ranks to cores unasked, leaves this one less than its share; else ""."""
    if "OMPI_COMM_WORLD_SIZE" not in os.environ:
        return ""
    every, here = _launcher_cores(), mine.bit_count()
    fair = every // len(masks)
    if share(masks, mine) >= fair:
        return ""
    return (
        f"Open MPI bound this rank to {here} of {every} cores, its share would be {fair}: threads are fewer than "
        "they could be; give mpirun --bind-to none"
    )


def _launcher_cores() -> int:
    """Cores of the launcher's process above this one, which it does not bind; 0 where none is found."""
    process = os.getppid()
    while process > 1:
        try:
            found = Path(f"/proc/{process}/stat").read_text()
            if found[found.index("(") + 1 : found.rindex(")")] in LAUNCHERS:
                return _mask(process).bit_count()
            process = int(found[found.rindex(")") + 1 :].split()[1])
        except (OSError, ValueError, IndexError):
            return 0
    return 0
