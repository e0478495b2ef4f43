"""Whole rows of a rank's masters, and the values of neighbours that other ranks own (ghosts).

A search that folds the in-edges of a vertex in one fixed order gives the same bits on any number of ranks. So all
in-edges and out-edges of a master are brought to its rank, sorted by gid, without loops and parallel edges. Slots
number the vertices that a rank reads: its masters by gid, then ghosts by owner and gid. Entry: :func:`whole_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.local import LocalGraph

Rows = tuple[np.ndarray, np.ndarray]
"""Offsets int64 (rows + 1,) and slots of neighbours, uint32; in each row gids ascend."""


PIECE = 1 << 19
"""Arcs that are sent or numbered at a time."""


@dataclass
class WholeRows:
    """Rows of this rank's masters.

    Attributes:
        masters, slots: number of masters; of masters and ghosts.
        into: rows of in-edges of masters.
        out: rows of out-edges of masters; the same arrays as ``into`` if the graph is undirected.
        pushed: reverse of ``into``: for each slot, the masters that it has an edge to.
        sent: by peer, the masters (lids) whose values the peer reads, uint32.
        ghosts: by peer, the first slot of its masters here, in the order in which it sends them.
    """

    masters: int
    slots: int
    into: Rows
    out: Rows
    pushed: Rows
    sent: list[np.ndarray] = field(default_factory=list)
    ghosts: list[int] = field(default_factory=list)

    def exchange(self, comm: Comm, chosen: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Send rows of ``columns`` (masters, …) where ``chosen`` (masters,) is not 0 to the ranks that read them.

        Collective.

        Returns:
            the slots of ghosts that got values, int64, and their rows of each column.
        """
        kinds = [(f"column {i}", each.dtype, each.shape[1:]) for i, each in enumerate(columns)]
        parts = []
        for lids in self.sent:
            at = np.flatnonzero(chosen[lids])
            part = np.empty(len(at), [("at", np.uint32), *kinds])
            part["at"] = at
            for (name, *_), column in zip(kinds, columns, strict=True):
                part[name] = column[lids[at]]
            parts.append(part)
        received = [got.view(parts[0].dtype) for got in comm.alltoallv([part.view(np.uint8) for part in parts])]
        slots = [got["at"].astype(np.int64) + first for got, first in zip(received, self.ghosts, strict=True)]
        rows = np.concatenate(received)
        return np.concatenate(slots), [rows[name] for name, *_ in kinds]


def whole_rows(local: LocalGraph, comm: Comm) -> WholeRows:
    """Return the whole rows of this rank's masters; collective.

    Raises:
        UsageError: a graph of 2³² vertices or more on several ranks.
    """
    if comm.size == 1:
        out = _simple(local.out.offsets, local.out.neighbours)
        into = _simple(local.incoming.offsets, local.incoming.neighbours) if local.directed else out
        return WholeRows(local.masters, local.masters, into, out, out)
    if not local.directed and not comm.total(int(not local.whole_rows)):
        masters, peers = local.masters, range(comm.size)
        out = _simple(local.out.offsets[: masters + 1], local.out.neighbours)
        none = np.zeros(0, np.uint32)
        sent = [local.peer_mirrors[peer].lids if peer in local.peer_mirrors else none for peer in peers]
        first = [local.own_mirrors[peer].first if peer in local.own_mirrors else 0 for peer in peers]
        return WholeRows(masters, local.size, out, out, _reversed(out, local.size), sent, first)  # type: ignore[arg-type]
    return _brought(local, comm)


def _simple(offsets: np.ndarray, neighbours: np.ndarray) -> Rows:
    """Return rows without repeated neighbours; the given arrays where none is repeated."""
    neighbours = neighbours.view(np.uint32)
    again = neighbours[1:] == neighbours[:-1]
    ends = offsets[1:-1]
    again[ends[(ends > 0) & (ends < len(neighbours))] - 1] = False
    if not again.any():
        return offsets, neighbours
    kept = np.concatenate([[True], ~again])
    lengths = np.add.reduceat(np.append(kept, False).astype(np.int64), np.minimum(offsets[:-1], len(kept)))
    lengths[offsets[:-1] == offsets[1:]] = 0
    return np.concatenate([[0], np.cumsum(lengths)]), neighbours[kept]


def _brought(local: LocalGraph, comm: Comm) -> WholeRows:
    """Send every arc to the owner of its source, and if the graph is directed to that of its target; collective."""
    if local.n >= 1 << 32:
        raise UsageError(f"searches from many sources number {local.n} vertices in 32 bits; run them on one rank")
    owners = np.full(local.size, comm.rank, np.int32)
    for peer, side in local.own_mirrors.items():
        owners[side.first : side.first + side.count] = peer
    arcs = [_collected(local, comm, owners, backwards) for backwards in range(1 + local.directed)]
    every = np.unique(np.concatenate([each.astype(np.uint32) for each in arcs]))
    mine = local.gids[: local.masters]
    gids = np.setdiff1d(every, mine, assume_unique=True).astype(np.int64)
    of = _owners_of(gids, local, comm)
    order = np.argsort(of, kind="stable")
    gids, counts = gids[order], np.bincount(of, minlength=comm.size)
    known, cuts = np.concatenate([mine, gids]), np.cumsum(counts)
    rows = [_numbered(arcs.pop(), known, local.masters) for _ in range(1 + local.directed)][::-1]
    sent = [np.searchsorted(mine, each).astype(np.uint32) for each in comm.alltoallv(np.split(gids, cuts[:-1]))]
    first = (local.masters + cuts - counts).tolist()
    return WholeRows(local.masters, len(known), rows[-1], rows[0], _reversed(rows[-1], len(known)), sent, first)


def _collected(local: LocalGraph, comm: Comm, owners: np.ndarray, backwards: int) -> np.ndarray:
    """Send arcs to the owners of their sources, or targets; return row · 2³² + gid of the other end, ascending."""
    offsets, targets = local.out.offsets, local.out.neighbours.view(np.uint32)
    mine = local.gids[: local.masters]
    found, many = [], comm.largest(-(-len(targets) // PIECE))
    for turn in range(many):
        part = targets[turn * PIECE : (turn + 1) * PIECE]
        source = np.searchsorted(offsets, np.arange(turn * PIECE, turn * PIECE + len(part)), side="right") - 1
        key, other = (part, source) if backwards else (source, part)
        to = owners[key]
        order, cuts = np.argsort(to, kind="stable"), np.cumsum(np.bincount(to, minlength=comm.size))[:-1]
        ends = (local.gids[key[order]].astype(np.uint32), local.gids[other[order]].astype(np.uint32))
        row, gid = (np.concatenate(comm.alltoallv(np.split(each, cuts))) for each in ends)
        found.append(np.searchsorted(mine, row).astype(np.uint64) << np.uint64(32) | gid)
    arcs = np.concatenate(found) if found else np.zeros(0, np.uint64)
    del found
    arcs.sort()
    again = np.flatnonzero(arcs[1:] == arcs[:-1])
    return np.delete(arcs, again) if len(again) else arcs


def _owners_of(gids: np.ndarray, local: LocalGraph, comm: Comm) -> np.ndarray:
    """Return the owner of each gid (ascending): every rank keeps the owners of a range of gids; collective."""
    bounds = np.linspace(0, local.n, comm.size + 1).astype(np.int64)[1:-1]
    mine = local.gids[: local.masters]
    owned = comm.alltoallv(np.split(mine, np.searchsorted(mine, bounds)))
    low = int(bounds[comm.rank - 1]) if comm.rank else 0
    high = int(bounds[comm.rank]) if comm.rank + 1 < comm.size else local.n
    table = np.zeros(high - low, np.int32)
    for owner, known in enumerate(owned):
        table[known - low] = owner
    asked = comm.alltoallv(np.split(gids, np.searchsorted(gids, bounds)))
    return np.concatenate(comm.alltoallv([table[each - low] for each in asked]))


def _numbered(arcs: np.ndarray, known: np.ndarray, rows: int) -> Rows:
    """Return rows with the positions in ``known`` in place of gids."""
    order = np.argsort(known)
    ascending = known[order]
    neighbours = np.empty(len(arcs), np.uint32)
    for at in range(0, len(arcs), PIECE):
        gids = (arcs[at : at + PIECE] & np.uint64(0xFFFFFFFF)).astype(np.int64)
        neighbours[at : at + PIECE] = order[np.searchsorted(ascending, gids)]
    offsets = np.searchsorted(arcs, np.arange(rows + 1, dtype=np.uint64) << np.uint64(32))
    return offsets.astype(np.int64), neighbours


def _reversed(rows: Rows, slots: int) -> Rows:
    """Return for each slot the rows that hold it, ascending."""
    from dgraph.graph.rows import transpose

    offsets, neighbours = rows
    every = np.concatenate([offsets, np.full(slots + 1 - len(offsets), offsets[-1])])
    turned, sources, _ = transpose(slots, every, neighbours, None)
    return turned, sources
