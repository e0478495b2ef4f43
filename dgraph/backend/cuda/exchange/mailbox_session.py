"""The mailboxes of a graph's ranks, and how long a GPU waits for what should come into its own."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.cuda.transports import Links, Mailboxes
from dgraph.comm import Comm
from dgraph.errors import UsageError

if TYPE_CHECKING:
    from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph

PATIENCE = "DGRAPH_PEER_TIMEOUT"
"""Environment variable: seconds that a GPU waits for another one's message; without it, the watchdog's limit."""

UNWATCHED = 60.0
"""Seconds that it waits where the watchdog is off as well."""


class MailboxSession:
    """A graph's mailboxes: they serve one program after the other, and are made anew when one needs larger ones.

    Args:
        role_sizes: positions of each role over all ranks: an exchange of none does not take place.

    Attributes:
        table: what kernels are told of peers, on the GPU, once an exchange has made it.
        number, stamp: exchanges and agreements of kernels so far, the same on every rank.
        broken: a rank gave up; its peers have been told, and nothing can be sent any more.
    """

    def __init__(self, boxes: Mailboxes, sizes: Mapping[int, int], role_sizes: Mapping[str, int]):
        self.boxes, self.sizes, self.role_sizes = boxes, dict(sizes), role_sizes
        self.table: Any = None
        self.number, self.stamp, self.broken = 0, 0, False

    def serves(self, links: Links, sizes: Mapping[int, int]) -> bool:
        """Whether messages of these sizes fit, by the transports that are wanted."""
        same = (self.boxes.chosen, self.boxes.not_direct) == (links.chosen, links.not_direct)
        return same and not self.broken and all(size <= self.sizes.get(peer, 0) for peer, size in sizes.items())


def post_of(graph: DeviceGraph, comm: Comm, links: Links, sizes: Mapping[int, int]) -> MailboxSession:
    """Mailboxes for messages of these sizes, by peer. Collective."""
    have = graph.post
    lacks = have is None or not have.serves(links, sizes)
    if comm.largest(lacks):
        if have is not None:
            have.boxes.close()
            sizes = {peer: max(size, have.sizes.get(peer, 0)) for peer, size in sizes.items()}
        graph.post = None
        graph.post = MailboxSession(Mailboxes(graph.device, comm, sizes, sizes, links), sizes, _role_sizes(graph, comm))
    return graph.post


def _role_sizes(graph: DeviceGraph, comm: Comm) -> dict[str, int]:
    roles = ("row", "column", "any")
    spans = [[mirrors.span(role) for mirrors in graph.local.mine.values()] for role in roles]
    mine = np.array([sum(high - low for low, high in each) for each in spans], np.int64)
    return dict(zip(roles, comm.allreduce(mine).tolist(), strict=True), none=0)


def patience(comm: Comm) -> float:
    """Seconds that a GPU waits for another one: as long as the watchdog lets ranks wait, where it is on."""
    text = os.environ.get(PATIENCE)
    if text is None:
        return comm.watchdog.seconds if comm.watchdog.seconds < math.inf else UNWATCHED
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise UsageError(f"{PATIENCE}={text!r} is no number of seconds above 0; leave it out for --watchdog's")
    return seconds
