"""Host of each rank.

``DGRAPH_FAKE_HOSTS=2`` makes one host look like two, to test multi-host behaviour on one machine: the first half of
the ranks is on one, the rest on the other.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path

from dgraph.comm.base import Comm
from dgraph.errors import UsageError

FAKE = "DGRAPH_FAKE_HOSTS"


@cache
def machine() -> str:
    """Return the name of this machine; every report has it, and the system takes 10 µs."""
    return socket.gethostname()


def host(comm: Comm) -> str:
    """Return the name of this rank's host, followed by ``#`` and a number if it is a fake one."""
    name, asked = machine(), os.environ.get(FAKE, "")
    if not asked:
        return name
    if not asked.isdigit() or int(asked) < 1:
        raise UsageError(f"{FAKE}={asked} is not a number of hosts; give 1 or more, or unset it")
    return f"{name}#{comm.rank * int(asked) // comm.size}"


def hosts(comm: Comm) -> list[str]:
    """Return the host name of every rank, numbered if two machines share a name; collective."""
    return _distinct(comm, "host", lambda: host(comm))


def ranks_here(comm: Comm) -> list[int]:
    """Return the ranks that share this machine's cores and GPUs, ignoring fake hosts; collective."""
    names = _distinct(comm, "machine", machine)
    return [rank for rank, name in enumerate(names) if name == names[comm.rank]]


def _distinct(comm: Comm, what: str, name: Callable[[], str]) -> list[str]:
    boots: dict[str, list[str]] = {}
    names = []
    for host, booted in comm.allgather_cached(what, lambda: [name(), boot()]):
        seen = boots.setdefault(host, [])
        if booted not in seen:
            seen.append(booted)
        names.append(host if booted == seen[0] else f"{host} ({seen.index(booted) + 1})")
    return names


@cache
def boot() -> str:
    """Return the kernel's boot id, which is unique to this running machine; "" if there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
