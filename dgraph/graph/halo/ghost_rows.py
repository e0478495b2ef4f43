"""Rows of this rank's masters, and what moves between masters and ghosts: neighbours that other ranks own.

A search that folds the in-edges of a vertex in one fixed order gives the same bits on any number of ranks. So all
in-edges and out-edges of a master are on its rank, in ascending order of numbers, without loops and parallel edges.
Numbers are of the vertices that the rows name: masters by gid, then ghosts by owner and gid. Entry: :func:`ghost_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.owner_directed import swap
from dgraph.graph.halo.collected_arcs import Rows, collected, owners_of, rows_of_keys, simple_rows
from dgraph.graph.local import LocalGraph
from dgraph.graph.rows import transpose


@dataclass
class GhostRows:
    """Rows of masters.

    Attributes:
        comm: the ranks.
        gids: of each number, int64.
        masters: number of masters; their numbers come first.
        out: rows of out-edges of masters.
        into: rows of in-edges of masters; the same arrays as ``out`` if the graph is undirected.
        sent: by peer, the masters whose values the peer reads, uint32.
        ghosts: by peer, its masters here, in the order in which it sends them, uint32.
    """

    comm: Comm
    gids: np.ndarray
    masters: int
    out: Rows
    into: Rows
    sent: list[np.ndarray]
    ghosts: list[np.ndarray]

    @property
    def slots(self) -> int:
        """Number of masters and ghosts."""
        return len(self.gids)

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the rows of out-edges, int64."""
        return self.out[0]

    @property
    def targets(self) -> np.ndarray:
        """Numbers of the targets of out-edges, uint32, ascending in each row."""
        return self.out[1]

    @cached_property
    def pushed(self) -> Rows:
        """Reverse of ``into``: for each number, the masters that it has an edge to, ascending."""
        if self.slots == self.masters:
            return self.out
        offsets, neighbours = self.into
        every = np.concatenate([offsets, np.full(self.slots + 1 - len(offsets), offsets[-1])])
        return transpose(self.slots, every, neighbours, None)[:2]

    def exchange(self, chosen: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Send rows of ``columns`` (masters, …) where ``chosen`` (masters,) is not 0 to the ranks that read them.

        Collective.

        Returns:
            the ghosts that got values, int64, and their rows of each column.
        """
        fields = [(f"column {i}", column.dtype, column.shape[1:]) for i, column in enumerate(columns)]
        parts = []
        for masters in self.sent:
            positions = np.flatnonzero(chosen[masters])
            part = np.empty(len(positions), [("position", np.uint32), *fields])
            part["position"] = positions
            for (name, *_), column in zip(fields, columns, strict=True):
                part[name] = column[masters[positions]]
            parts.append(part)
        received = swap(self.comm, parts)
        numbers = [ghosts[part["position"]] for ghosts, part in zip(self.ghosts, received, strict=True)]
        rows = np.concatenate(received)
        return np.concatenate(numbers).astype(np.int64), [rows[name] for name, *_ in fields]


def ghost_rows(local: LocalGraph, comm: Comm) -> GhostRows:
    """Return the rows of this rank's masters; collective.

    Raises:
        UsageError: a graph of 2³² vertices or more on several ranks.
    """
    masters, directed = local.masters, local.directed
    none = np.zeros(0, np.uint32)
    sent, ghosts = [none] * comm.size, [none] * comm.size
    if comm.size == 1:
        out = simple_rows(local.out.offsets, local.out.neighbours)
        into = simple_rows(local.incoming.offsets, local.incoming.neighbours) if directed else out
        return GhostRows(comm, local.gids, masters, out, into, sent, ghosts)
    if not directed and not comm.total(int(not local.whole_rows)):
        out = simple_rows(local.out.offsets[: masters + 1], local.out.neighbours)
        for peer, side in local.peer_mirrors.items():
            sent[peer] = side.lids  # type: ignore[assignment]
        for peer, side in local.own_mirrors.items():
            ghosts[peer] = np.arange(side.first, side.first + side.count, dtype=np.uint32)
        return GhostRows(comm, local.gids, masters, out, out, sent, ghosts)
    arcs = [collected(local, comm, by_target) for by_target in range(1 + directed)]
    named = np.unique(np.concatenate([keys.astype(np.uint32) for keys in arcs]))
    own = local.gids[:masters]
    gids = np.setdiff1d(named, own, assume_unique=True).astype(np.int64)
    owners = owners_of(gids, local, comm)
    order = np.argsort(owners, kind="stable")
    gids, cuts = gids[order], np.cumsum(np.bincount(owners, minlength=comm.size))
    numbered = np.concatenate([own, gids])
    rows = [rows_of_keys(arcs.pop(0), numbered, masters) for _ in range(1 + directed)]
    sent = [np.searchsorted(own, part).astype(np.uint32) for part in swap(comm, np.split(gids, cuts[:-1]))]
    ghosts = np.split(np.arange(masters, len(numbered), dtype=np.uint32), cuts[:-1])
    return GhostRows(comm, numbered, masters, rows[0], rows[-1], sent, ghosts)
