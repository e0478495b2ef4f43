"""Rows of this rank's masters, and what moves between masters and ghosts: neighbours that other ranks own.

A search that folds the in-edges of a vertex in one fixed order gives the same bits on any number of ranks. So all
in-edges and out-edges of a master are on its rank, in ascending order of numbers, without loops and parallel edges.
Numbers are of the vertices that the rows name. Entry: :func:`gid_rows`; ``degree_rows.py`` has those by degree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.owner_directed import swap
from dgraph.graph.halo.collected_arcs import ROW, Rows, collected, offsets_of, owners_of, rows_of_keys
from dgraph.graph.local import LocalGraph
from dgraph.graph.rows import transpose

PARTS = 4
"""Arcs of others at a time: one in this many of the rank's own, since they take some 60 bytes each on their way."""

FEWEST = 1 << 16
"""Arcs of others' rows at a time, at least."""


@dataclass
class GhostRows:
    """Rows of masters.

    Attributes:
        comm: the ranks.
        gids: of each number, int64.
        place: number of each master, by lid.
        offsets: int64, of the rows of masters, and in the order of degrees of ghosts, which have no arcs.
        targets: numbers, uint32 (arcs,), ascending in each row.
        sent: by peer, the numbers of the masters whose values the peer reads, uint32.
        ghosts: by peer, the numbers of its masters here, in the order in which it sends them, uint32.
    """

    comm: Comm
    gids: np.ndarray
    place: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray
    sent: list[np.ndarray]
    ghosts: list[np.ndarray]

    @property
    def masters(self) -> int:
        """Number of masters."""
        return len(self.place)

    @property
    def slots(self) -> int:
        """Number of masters and ghosts."""
        return len(self.gids)

    @cached_property
    def by_gid(self) -> np.ndarray:
        """Numbers in ascending order of gids."""
        return np.argsort(self.gids)

    def numbers(self, gids: np.ndarray) -> np.ndarray:
        """Return the number of each gid, int64; -1 for one that has none."""
        if not self.slots:
            return np.full(len(gids), -1)
        positions = np.searchsorted(self.gids, gids, sorter=self.by_gid)
        numbers = self.by_gid[np.minimum(positions, self.slots - 1)]
        return np.where(self.gids[numbers] == gids, numbers, -1)

    def exchange(self, chosen: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Send rows of ``columns`` by number where ``chosen``, by number, is not 0 to the ranks that read them.

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

    def returned(self, values: np.ndarray, fold: np.ufunc = np.add) -> np.ndarray:
        """Fold the values of ghosts into those of their masters, by rank: (masters,), by lid; collective.

        Args:
            values: by number; those of masters change.
            fold: of two values.
        """
        parts = swap(self.comm, [values[ghosts] for ghosts in self.ghosts])
        for masters, part in zip(self.sent, parts, strict=True):
            values[masters] = fold(values[masters], part)
        return values[self.place]

    def pieces(self, wanted: np.ndarray | None = None, *columns: np.ndarray) -> Iterator[list[np.ndarray]]:
        """Yield offsets, targets and ``columns`` of arcs of ghosts' rows, some at a time; collective.

        A target that no row here names is left out.

        Args:
            wanted: True for wanted numbers, of which those of masters are ignored; None: all ghosts.
            columns: values of this rank's arcs.
        """
        wanted = np.ones(self.slots, np.bool_) if wanted is None else wanted
        chosen = [np.flatnonzero(wanted[ghosts]) for ghosts in self.ghosts]
        asked = [ghosts[positions] for ghosts, positions in zip(self.ghosts, chosen, strict=True)]
        served = [masters[positions] for masters, positions in zip(self.sent, swap(self.comm, chosen), strict=True)]
        lengths = np.diff(self.offsets)
        sizes = swap(self.comm, [lengths[masters] for masters in served])
        incoming = sum(int(part.sum()) for part in sizes)
        turns = self.comm.largest(-(-incoming // max(len(self.targets) // PARTS, FEWEST)))
        for turn in range(turns):
            arcs = [self.arcs_of(masters[turn::turns]) for masters in served]
            gids = np.concatenate(swap(self.comm, [self.gids[self.targets[part]] for part in arcs]))
            received = [np.concatenate(swap(self.comm, [column[part] for part in arcs])) for column in columns]
            numbers = self.numbers(gids)
            named = numbers >= 0
            rows, counts = (np.concatenate([part[turn::turns] for part in parts]) for parts in (asked, sizes))
            sources = np.repeat(rows, counts)[named].astype(np.uint64)
            keys = sources << ROW | numbers[named].astype(np.uint64)
            if columns:
                order = np.argsort(keys)
                keys, received = keys[order], [column[named][order] for column in received]
            else:
                keys.sort()
            yield [offsets_of(sources, self.slots), keys.astype(np.uint32), *received]

    def arcs_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the positions of the arcs of these rows, one row after the other."""
        starts, lengths = self.offsets[numbers], self.offsets[numbers + 1] - self.offsets[numbers]
        return np.arange(int(lengths.sum())) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)


@dataclass
class GidRows(GhostRows):
    """Rows in both directions, of masters by gid, then ghosts by owner and gid.

    Attributes:
        into: rows of in-edges of masters; those of out-edges if the graph is undirected.
    """

    into: Rows

    @property
    def out(self) -> Rows:
        """Rows of out-edges of masters."""
        return self.offsets, self.targets

    @cached_property
    def pushed(self) -> Rows:
        """Reverse of ``into``: for each number, the masters that it has an edge to, ascending."""
        if self.slots == self.masters:
            return self.out
        offsets, neighbours = self.into
        every = np.concatenate([offsets, np.full(self.slots + 1 - len(offsets), offsets[-1])])
        return transpose(self.slots, every, neighbours, None)[:2]


def mirror_lists(local: LocalGraph, peers: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return ``sent`` and ``ghosts`` of rows that name a rank's masters and all its mirrors, by lid."""
    none = np.zeros(0, np.uint32)
    sent, ghosts = [none] * peers, [none] * peers
    for peer, side in local.peer_mirrors.items():
        sent[peer] = side.lids  # type: ignore[assignment]
    for peer, side in local.own_mirrors.items():
        ghosts[peer] = np.arange(side.first, side.first + side.count, dtype=np.uint32)
    return sent, ghosts


def name_ghosts(local: LocalGraph, comm: Comm, *arcs: np.ndarray) -> tuple[np.ndarray, list, list]:
    """Return the gids of masters, then of other ends of arcs by owner and gid; and ``sent`` and ``ghosts``; collective.

    Args:
        local: this rank's partition.
        comm: the ranks.
        arcs: row · 2³² + gid of the other end.
    """
    named = np.unique(np.concatenate([keys.astype(np.uint32) for keys in arcs]))
    own = local.gids[: local.masters]
    gids = np.setdiff1d(named, own, assume_unique=True).astype(np.int64)
    owners = owners_of(gids, local, comm)
    order = np.argsort(owners, kind="stable")
    gids, cuts = gids[order], np.cumsum(np.bincount(owners, minlength=comm.size))[:-1]
    sent = [np.searchsorted(own, part).astype(np.uint32) for part in swap(comm, np.split(gids, cuts))]
    ghosts = np.split(np.arange(len(own), len(own) + len(gids), dtype=np.uint32), cuts)
    return np.concatenate([own, gids]), sent, ghosts


def gid_rows(local: LocalGraph, comm: Comm) -> GidRows:
    """Return the rows of this rank's masters; collective.

    Raises:
        UsageError: a graph of 2³² vertices or more on several ranks.
    """
    masters, directed = local.masters, local.directed
    place = np.arange(masters)
    if comm.size == 1 or (not directed and not comm.total(int(not local.whole_rows))):
        offsets, neighbours = local.out.simple_rows
        outward = offsets[: masters + 1], neighbours
        into = local.incoming.simple_rows if directed else outward
        return GidRows(comm, local.gids, place, *outward, *mirror_lists(local, comm.size), into)
    arcs = [collected(local, comm, by_target) for by_target in range(1 + directed)]
    gids, sent, ghosts = name_ghosts(local, comm, *arcs)
    rows = [rows_of_keys(arcs.pop(0), gids, masters) for _ in range(1 + directed)]
    return GidRows(comm, gids, place, *rows[0], sent, ghosts, rows[-1])
