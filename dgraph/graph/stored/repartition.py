"""Open a store on another number of ranks than it has parts: whole chunks are assigned to ranks.

If there are more ranks than chunks, a chunk is split by its arcs. Vertices are ordered by (part, gid), and every rank
owns a contiguous range of that order. A vertex's owner follows from its part, looked up by gid, and a binary search of
the ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dgraph.comm.base import Comm
from dgraph.graph.block import gid_type
from dgraph.graph.build.local_graph import number, spread
from dgraph.graph.build.part_layout import PartLayout
from dgraph.graph.build.shuffle import HeldArcs, Masters
from dgraph.graph.local import LocalGraph
from dgraph.graph.rows import sort_rows
from dgraph.graph.stored.files import OWNERS, reading, weights
from dgraph.graph.stored.write import arcs_of_masters
from partitioning.store import Store, part_file


@dataclass(frozen=True)
class PartShare:
    """Share of one part that a rank reads: masters ``first .. stop - 1`` and arcs ``low .. high - 1``, by position."""

    part: int
    first: int
    stop: int
    low: int
    high: int


@dataclass(frozen=True)
class OwnerRanges:
    """Function from gids to owners.

    Attributes:
        parts: part of every gid.
        n: vertices in the whole graph.
        keys: int64 (P - 1,), ascending: part × n + gid of the first vertex of each rank from 1 on.
    """

    parts: np.ndarray
    n: int
    keys: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        """Return the rank that owns each gid, int32."""
        wanted = self.parts[gids].astype(np.int64) * self.n + gids.astype(np.int64)
        return np.searchsorted(self.keys, wanted, side="right").astype(np.int32)


def repartitioned(whole, store: Store, comm: Comm) -> LocalGraph:
    """Build this rank's partition from its pieces of a store; collective. ``whole`` as in ``build.number``.

    Raises:
        DataError: on all ranks, if the store is not as it was written.
    """
    with comm.together(), reading():
        mine = pieces(store, comm.rank, comm.size)
        taken = [_read_piece(store, piece, gid_type(whole.n)) for piece in mine]
        masters = _masters(store, mine, comm.size)
        arcs = _join_pieces(taken, gid_type(whole.n), store)
    return number(whole, [masters], [arcs], owners(whole.n, store, comm), PartLayout(comm.size, comm))[0]


def owners(n: int, store: Store, comm: Comm) -> OwnerRanges:
    """Return the owner function of a store opened by these ranks; collective.

    Raises:
        DataError: on all ranks, if the store is not as it was written.
    """
    with comm.together(), reading():
        key = _first_key(store, pieces(store, comm.rank, comm.size), n)
        parts = store.array(OWNERS, "values", share(store, OWNERS, comm))
    keys = comm.allgather(np.array([key], np.int64))[:, 0]
    keys = np.minimum.accumulate(keys[::-1])[::-1]  # a rank without vertices gets the key of the next one
    return OwnerRanges(parts, n, keys[1:])


def share(store: Store, file: str, comm: Comm) -> range:
    """Return the blocks of a shared array whose checksums this rank verifies for all ranks."""
    blocks = len(store.manifest["files"][file]["arrays"]["values"]["crc32"])
    return range(comm.rank, blocks, comm.size)


def pieces(store: Store, rank: int, ranks: int) -> list[PartShare]:
    """Return the pieces of rank ``rank`` of ``ranks``: whole parts, consecutive chunks, or a share of one chunk."""
    chunks = [
        PartShare(part, first, stop, low, high)
        for part, entry in enumerate(store.manifest["parts"])
        for (first, stop), (low, high) in zip(
            pairwise(entry["chunks"]["masters"]), pairwise(entry["chunks"]["arcs"]), strict=True
        )
    ]
    if ranks > len(chunks):
        chunk = rank * len(chunks) // ranks
        sharing = [r for r in range(ranks) if r * len(chunks) // ranks == chunk]
        return [_share(store, chunks[chunk], sharing.index(rank), len(sharing))]
    parts = len(store.manifest["parts"])
    if parts % ranks == 0:  # whole parts preserve the locality that the policy chose
        share = parts // ranks
        return _merged([chunk for chunk in chunks if chunk.part // share == rank])
    cost = np.cumsum([0] + [chunk.stop - chunk.first + chunk.high - chunk.low for chunk in chunks])
    goals = cost[-1] * np.arange(ranks + 1, dtype=np.int64) // ranks
    cuts = np.searchsorted((cost[1:] + cost[:-1]) // 2, goals)
    cuts[0], cuts[-1] = 0, len(chunks)
    return _merged(chunks[cuts[rank] : cuts[rank + 1]])


def _merged(chunks: list[PartShare]) -> list[PartShare]:
    """Join adjacent chunks of a part into one piece."""
    merged: list[PartShare] = []
    for chunk in chunks:
        if merged and merged[-1].part == chunk.part:
            merged[-1] = PartShare(chunk.part, merged[-1].first, chunk.stop, merged[-1].low, chunk.high)
        else:
            merged.append(chunk)
    return merged


def _share(store: Store, chunk: PartShare, number: int, count: int) -> PartShare:
    """Return one of ``count`` shares of a chunk, equal in arcs."""
    cut = store.manifest["partition"]["cut"]
    steps = np.array([number, number + 1])
    low, high = (chunk.low + (chunk.high - chunk.low) * steps // count).tolist()
    if cut == "vertex":
        first, stop = (chunk.first + (chunk.stop - chunk.first) * steps // count).tolist()
        return PartShare(chunk.part, first, stop, low, high)
    file, masters = part_file(chunk.part), store.manifest["parts"][chunk.part]["masters"]
    offsets, neighbours = store.array(file, "offsets"), np.zeros(0, np.uint32)
    if cut == "incoming":
        neighbours = store.array(file, "neighbours")
    cost = arcs_of_masters(offsets, neighbours, masters, cut)[chunk.first : chunk.stop + 1]
    cost = cost - cost[0] + np.arange(len(cost))
    cuts = chunk.first + np.searchsorted(cost, cost[-1] * steps // count)
    first = chunk.first if number == 0 else int(cuts[0])
    stop = chunk.stop if number == count - 1 else int(cuts[1])
    if cut == "outgoing":
        low, high = int(offsets[first]), int(offsets[stop])
    return PartShare(chunk.part, first, stop, low, high)


def _first_key(store: Store, mine: list[PartShare], n: int) -> int:
    """Return the key of this rank's first vertex; larger than all keys if it has none."""
    for piece in mine:
        if piece.first < piece.stop:
            return piece.part * n + int(store.array(part_file(piece.part), "gids")[piece.first])
    return len(store.manifest["parts"]) * n


def _masters(store: Store, mine: list[PartShare], ranks: int) -> Masters:
    gids, degrees = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for piece in mine:
        gids.append(store.array(part_file(piece.part), "gids")[piece.first : piece.stop])
        degrees.append(store.array(part_file(piece.part), "out_degree")[piece.first : piece.stop])
    owned, theirs = np.concatenate(gids), np.concatenate(degrees)
    order = np.argsort(owned, kind="stable")
    return Masters(owned[order], theirs[order], np.zeros(ranks, np.int64))


def _read_piece(store: Store, piece: PartShare, dtype: np.dtype) -> tuple:
    """Read rows, counts, targets and weights of a piece, as gids."""
    file = part_file(piece.part)
    gids, offsets = store.array(file, "gids"), store.array(file, "offsets")
    low, high = piece.low, piece.high
    if store.manifest["partition"]["cut"] == "incoming":  # arcs follow their targets: scan all of the part's rows
        low, high = 0, int(offsets[-1])
    blocks = store.blocks(file, "neighbours", low, high)
    lids, weight = store.array(file, "neighbours", blocks)[low:high], weights(store, piece.part, blocks)
    weight = None if weight is None else weight[low:high]
    counts = np.diff(np.clip(offsets, low, high))
    if store.manifest["partition"]["cut"] == "incoming":
        kept = (lids >= piece.first) & (lids < piece.stop)
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        counts, lids = np.diff(before[offsets]), lids[kept]
        weight = None if weight is None else weight[kept]
    rows = np.flatnonzero(counts)
    return gids[rows].astype(dtype), counts[rows], gids.astype(dtype)[lids], weight


def _join_pieces(taken: list[tuple], dtype: np.dtype, store: Store) -> HeldArcs:
    """Join the rows of all pieces. A source with rows in several parts gets one row, its targets ascending."""
    kind = store.manifest["graph"]["weights"]
    none = [
        (np.zeros(0, dtype), np.zeros(0, np.int64), np.zeros(0, dtype), None if kind is None else np.zeros(0, kind))
    ]
    columns = list(zip(*(none + taken), strict=True))
    rows, counts, targets = (np.concatenate(column) for column in columns[:3])
    weight = None if kind is None else np.concatenate(columns[3])
    if len(taken) > 1 and store.manifest["partition"]["cut"] != "outgoing":
        sources, place = np.unique(rows, return_inverse=True)
        offsets = np.zeros(len(sources) + 1, np.int64)
        np.add.at(offsets, place + 1, counts)
        np.cumsum(offsets, out=offsets)
        weight = None if weight is None else spread(offsets[:-1].copy(), place, counts, weight)
        rows, targets, counts = sources, spread(offsets[:-1].copy(), place, counts, targets), np.diff(offsets)
        sort_rows(offsets, targets, weight)
    return HeldArcs(rows, counts, targets, weight, ours=True)
