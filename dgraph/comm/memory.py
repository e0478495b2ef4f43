"""Free memory of this host."""

from __future__ import annotations

from pathlib import Path


def free_memory() -> int | None:
    """Return the bytes that can be allocated: MemAvailable, or less if the control group's limit leaves less.

    Returns:
        None if the system does not report it.
    """
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            limit, taken = (Path("/sys/fs/cgroup", name).read_text().strip() for name in (most, used))
            if limit != "max":
                free = min(free, max(int(limit) - int(taken), 0))
        except (OSError, ValueError):
            continue
    return free
