"""Mailboxes of a graph's ranks, kept between programs, and the time limit of a GPU that waits for a message."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.cuda.transports import Links, Mailboxes, close
from dgraph.comm import Comm
from dgraph.errors import UsageError

if TYPE_CHECKING:
    from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph

PATIENCE = "DGRAPH_PEER_TIMEOUT"
"""Environment variable: seconds that a GPU waits for a peer's message; default: the watchdog's limit."""

UNWATCHED = 60.0
"""Seconds that a GPU waits if the watchdog is off and ``DGRAPH_PEER_TIMEOUT`` is not set."""


class MailboxSession:
    """Mailboxes of a graph, reused by one program after the other.

    Args:
        sizes: peer → bytes of the largest message.
        role_sizes: role → positions summed over all ranks; an exchange of a role with none does not take place.

    Attributes:
        table: the kernels' table of peers, on the GPU, once an exchange has made it.
        number, stamp: exchanges and agreements of kernels so far, the same on every rank.
        broken: True once a rank gave up; its peers have been notified, and nothing can be sent any more.
    """

    def __init__(self, boxes: Mailboxes, sizes: Mapping[int, int], role_sizes: Mapping[str, int]):
        self.boxes, self.sizes, self.role_sizes = boxes, dict(sizes), role_sizes
        self.table: Any = None
        self.number, self.stamp, self.broken = 0, 0, False

    def serves(self, links: Links, sizes: Mapping[int, int]) -> bool:
        """Return True if messages of these sizes fit and the wanted transports are those in use."""
        same = (self.boxes.chosen, self.boxes.not_direct) == (links.chosen, links.not_direct)
        return same and not self.broken and all(size <= self.sizes.get(peer, 0) for peer, size in sizes.items())


def post_of(graph: DeviceGraph, comm: Comm, links: Links, sizes: Mapping[int, int]) -> MailboxSession:
    """Return the graph's mailboxes, made anew if any rank needs larger ones or has lost its own; collective."""
    have = graph.post
    lacks, lost = have is None or not have.serves(links, sizes), have is None
    lacking, losing = comm.allreduce(np.array([lacks, lost], np.int64)).tolist()
    if lacking:
        close(None if have is None else have.boxes, comm)
        if have is not None and not losing:  # both sides of a pair have to take the same sizes
            sizes = {peer: max(size, have.sizes.get(peer, 0)) for peer, size in sizes.items()}
        graph.post = None
        graph.post = MailboxSession(Mailboxes(graph.device, comm, sizes, sizes, links), sizes, _role_sizes(graph, comm))
    return graph.post


def _role_sizes(graph: DeviceGraph, comm: Comm) -> dict[str, int]:
    roles = ("row", "column", "any")
    spans = [[mirrors.span(role) for mirrors in graph.local.own_mirrors.values()] for role in roles]
    mine = np.array([sum(high - low for low, high in ranges) for ranges in spans], np.int64)
    return dict(zip(roles, comm.allreduce(mine).tolist(), strict=True), none=0)


def patience(comm: Comm) -> float:
    """Return the seconds that a GPU waits for a peer's message.

    Raises:
        UsageError: ``DGRAPH_PEER_TIMEOUT`` is not a number of seconds above 0.
    """
    text = os.environ.get(PATIENCE)
    if text is None:
        return comm.watchdog.seconds if comm.watchdog.seconds < math.inf else UNWATCHED
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise UsageError(f"{PATIENCE}={text!r} is not a number of seconds above 0; leave it out for --watchdog's")
    return seconds
