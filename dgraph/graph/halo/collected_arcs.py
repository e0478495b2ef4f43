"""Arcs brought to the ranks that own their ends, as rows without loops and parallel arcs."""

from __future__ import annotations

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.owner_directed import fetch, scatter, swap
from dgraph.errors import UsageError
from dgraph.graph.local import LocalGraph

Rows = tuple[np.ndarray, np.ndarray]
"""Offsets int64 (rows + 1,) and numbers of neighbours, uint32, ascending in each row."""

PIECE = 1 << 19
"""Arcs that are sent or numbered at a time."""

ROW = np.uint64(32)
"""Bits by which a row is shifted in a key, below which the other end of the arc stands."""


def offsets_of(rows: np.ndarray, count: int) -> np.ndarray:
    """Return the offsets, int64 (count + 1,), of arcs by the rows that they stand in."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows.astype(np.int64), minlength=count), out=offsets[1:])
    return offsets


def collected(
    local: LocalGraph, comm: Comm, by_target: int = 0, ends: Rows | None = None, once: bool = True
) -> np.ndarray:
    """Send arcs to the owners of their sources, or targets; collective.

    Args:
        local: this rank's partition.
        comm: the ranks.
        by_target: 1 to send them to the owners of targets.
        ends: sources and targets, lids; None: those of all local arcs.
        once: parallel arcs count once.

    Returns:
        The master's lid · 2³² + gid of the other end, ascending, without loops.

    Raises:
        UsageError: a graph of 2³² vertices or more.
    """
    if local.n >= 1 << 32:
        raise UsageError(f"rows of {local.n} vertices on several ranks number them in 32 bits; run on one rank")
    offsets, targets = local.out.offsets, local.out.neighbours.view(np.uint32)
    owners, own = local.owners(comm.rank), local.gids[: local.masters]
    count = len(targets) if ends is None else len(ends[0])
    parts = [np.zeros(0, np.uint64)]
    for turn in range(comm.largest(-(-count // PIECE))):
        piece = slice(turn * PIECE, min((turn + 1) * PIECE, count))
        if ends is None:
            source = np.searchsorted(offsets, np.arange(piece.start, piece.stop), side="right") - 1
            target = targets[piece]
        else:
            source, target = (end[piece] for end in ends)
        kept = source != target
        end, other = (target[kept], source[kept]) if by_target else (source[kept], target[kept])
        row, gid = scatter(comm, owners[end], *(local.gids[lids].astype(np.uint32) for lids in (end, other)))
        parts.append(np.searchsorted(own, row).astype(np.uint64) << ROW | gid)
    keys = np.concatenate(parts)
    del parts
    keys.sort()
    again = np.flatnonzero(keys[1:] == keys[:-1]) if once else ()
    return np.delete(keys, again) if len(again) else keys


def owners_of(gids: np.ndarray, local: LocalGraph, comm: Comm) -> np.ndarray:
    """Return the owner of each gid: every rank keeps the owners of a range of gids; collective."""
    bounds = np.linspace(0, local.n, comm.size + 1).astype(np.int64)
    own, low = local.gids[: local.masters], bounds[comm.rank]
    table = np.zeros(bounds[comm.rank + 1] - low, np.int32)
    for owner, part in enumerate(swap(comm, np.split(own, np.searchsorted(own, bounds[1:-1])))):
        table[part - low] = owner
    keepers = np.searchsorted(bounds[1:-1], gids, side="right")
    return fetch(comm, keepers, gids, lambda names: (table[names - low],))[0]


def rows_of_keys(keys: np.ndarray, numbered: np.ndarray, rows: int) -> Rows:
    """Return rows with the positions in ``numbered`` in place of gids."""
    order = np.argsort(numbered)
    ascending = numbered[order]
    neighbours = np.empty(len(keys), np.uint32)
    for first in range(0, len(keys), PIECE):
        gids = (keys[first : first + PIECE] & np.uint64(0xFFFFFFFF)).astype(np.int64)
        neighbours[first : first + PIECE] = order[np.searchsorted(ascending, gids)]
    offsets = np.searchsorted(keys, np.arange(rows + 1, dtype=np.uint64) << ROW)
    return offsets.astype(np.int64), neighbours
