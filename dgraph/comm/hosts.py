"""Which host a rank is on. ``DGRAPH_FAKE_HOSTS=2`` makes one look like two, to try on one what ranks of several do: the
first half of the ranks is on one of them, the rest on the other."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path

from dgraph.comm.base import Comm
from dgraph.errors import UsageError

FAKE = "DGRAPH_FAKE_HOSTS"


def host(comm: Comm) -> str:
    """The name of this rank's host, ``#`` and a number behind it where it is one of several that are not there."""
    name, asked = socket.gethostname(), os.environ.get(FAKE, "")
    if not asked:
        return name
    if not asked.isdigit() or int(asked) < 1:
        raise UsageError(f"{FAKE}={asked} is no number of hosts; give 1 or more, or unset it")
    return f"{name}#{comm.rank * int(asked) // comm.size}"


def hosts(comm: Comm) -> list[str]:
    """Of every rank; collective. Two machines with one name have a number behind it."""
    return _distinct(comm, "host", lambda: host(comm))


def ranks_here(comm: Comm) -> list[int]:
    """The ranks that share this machine's cores and GPUs, whatever host they are said to be on; collective."""
    names = _distinct(comm, "machine", socket.gethostname)
    return [rank for rank, name in enumerate(names) if name == names[comm.rank]]


def _distinct(comm: Comm, what: str, name: Callable[[], str]) -> list[str]:
    boots: dict[str, list[str]] = {}
    out = []
    for each, booted in comm.allgather_lasting(what, lambda: [name(), boot()]):
        known = boots.setdefault(each, [])
        if booted not in known:
            known.append(booted)
        out.append(each if booted == known[0] else f"{each} ({known.index(booted) + 1})")
    return out


@cache
def boot() -> str:
    """What tells this running machine from all others."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
