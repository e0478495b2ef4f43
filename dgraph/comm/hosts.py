"""Which host a rank is on. ``DGRAPH_FAKE_HOSTS=2`` makes one look like two, to try on one what ranks of several do: the
first half of the ranks is on one of them, the rest on the other."""

from __future__ import annotations

import os
import socket

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
    """Of every rank; collective."""
    with comm.together():
        mine = host(comm)
    return comm.allgather_json(mine)
