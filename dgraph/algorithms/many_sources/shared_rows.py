"""Searches by hops on ranks as replicas: each holds the rows of the whole graph and takes batches of sources.

Ranks then exchange nothing while they search. It pays if there is a batch for each thread of every rank, and needs
memory for the graph on each; else ranks share out the vertices (``whole_rows.py``). Vertices are numbered by gid in
both, so sums that follow rows have the same bits. Entry: :func:`shared_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.algorithms.many_sources.betweenness.replica import Replica, lacking
from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.whole_rows import WholeRows
from dgraph.graph.rows import transpose

SHARED, SPLIT = "shared out among ranks", "searched by all ranks together"


@dataclass(frozen=True)
class SharedRows:
    """The whole graph on this rank.

    Attributes:
        replica: sends values to the owners of vertices.
        rows: all rows; masters and slots are the vertices by gid.
        at: gids of the sources.
        threads: threads that work on each rank, equal on all.
    """

    replica: Replica
    rows: WholeRows
    at: np.ndarray
    threads: int

    def first(self, turn: int, batch: int) -> int:
        """Return the first source of this rank in a turn, in which every thread of all ranks takes a batch."""
        return (turn * self.replica.comm.size + self.replica.comm.rank) * self.threads * batch

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Return the sums over ranks of integers (n,) by this rank's masters; collective."""
        return np.sum(self.replica.to_owners(values[None]), axis=0)[0]


def shared_rows(ctx, sources: np.ndarray, batch: int, threads: int, vertex: int) -> SharedRows | None:
    """Return the whole graph if ranks are to share out the sources; collective.

    Args:
        ctx: context of the algorithm.
        sources: original ids.
        batch: sources of a batch.
        threads: of this rank.
        vertex: bytes that a search takes for each vertex and thread.

    Returns:
        None: ranks are to share out the vertices, or there is one rank.
    """
    comm, n, arcs = ctx.comm, ctx.local.n, ctx.local.arcs
    if comm.size == 1:
        return None
    threads = -comm.largest(-threads)
    batches = -(-len(sources) // batch)
    if batches < threads * comm.size:
        ctx.record.choose("sources", SPLIT, f"{batches} batches for {threads * comm.size} threads")
        return None
    figures = lacking(comm, 48 * arcs + 64 * n + threads * vertex * n)
    if figures is not None:
        short = f"the graph and its searches take {figures[0]:,} bytes on a rank, and {figures[1]:,} are free"
        ctx.record.choose("sources", SPLIT, short)
        return None
    ctx.record.choose("sources", SHARED, f"the graph fits each; {batches} batches for {threads * comm.size} threads")
    replica = Replica.of(ctx.local, comm, weighted=False, by_id=False)
    out = replica.offsets, replica.targets
    into = transpose(n, *out, None)[:2] if ctx.local.directed else out
    lids = lids_of(ctx.local, sources)
    own = np.where(lids >= 0, ctx.local.gids[np.maximum(lids, 0)] if len(ctx.local.gids) else -1, -1)
    return SharedRows(replica, WholeRows(n, n, into, out, out), comm.allreduce(own, "max"), threads)
