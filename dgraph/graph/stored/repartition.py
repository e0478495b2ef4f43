"""A store's chunks on another number of ranks: whole ones are dealt out, or parted by their arcs if ranks are more.

Vertices are ordered by (part, gid), and every rank owns a stretch of that order: so the part, looked up by gid, and a
search among the stretches tell any vertex's owner.
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
from dgraph.graph.stored.files import OWNERS, told, weights
from dgraph.graph.stored.write import arcs_of_masters
from partitioning.store import Store, part_file


@dataclass(frozen=True)
class Piece:
    """What a rank takes of one part: masters ``first .. stop - 1`` and arcs ``low .. high - 1``, by position there."""

    part: int
    first: int
    stop: int
    low: int
    high: int


@dataclass(frozen=True)
class Stretches:
    """The owner of any vertex. ``keys``: part × n + gid of the first vertex of ranks 1 …, ascending."""

    parts: np.ndarray
    n: int
    keys: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        wanted = self.parts[gids].astype(np.int64) * self.n + gids.astype(np.int64)
        return np.searchsorted(self.keys, wanted, side="right").astype(np.int32)


def repartitioned(whole, store: Store, comm: Comm) -> LocalGraph:
    """This rank's partition, made of what it takes of a store; collective. ``whole`` as in ``build.number``.

    Raises:
        DataError: on all ranks, if the store is not as it was written.
    """
    with comm.together(), told():
        mine = pieces(store, comm.rank, comm.size)
        taken = [_taken(store, piece, gid_type(whole.n)) for piece in mine]
        masters = _masters(store, mine, comm.size)
        held = _joined(taken, gid_type(whole.n), store)
    return number(whole, [masters], [held], owners(whole.n, store, comm), PartLayout(comm.size, comm))[0]


def owners(n: int, store: Store, comm: Comm) -> Stretches:
    """Who owns a vertex when a store is opened by these ranks; collective.

    Raises:
        DataError: on all ranks, if the store is not as it was written.
    """
    with comm.together(), told():
        key = _first_key(store, pieces(store, comm.rank, comm.size), n)
        parts = store.array(OWNERS, "values", share(store, OWNERS, comm))
    keys = comm.allgather(np.array([key], np.int64))[:, 0]
    keys = np.minimum.accumulate(keys[::-1])[::-1]  # a rank without a vertex begins where the next one does
    return Stretches(parts, n, keys[1:])


def share(store: Store, file: str, comm: Comm) -> range:
    """The blocks of an array of all ranks that this one checks for all."""
    blocks = len(store.manifest["files"][file]["arrays"]["values"]["crc32"])
    return range(comm.rank, blocks, comm.size)


def pieces(store: Store, rank: int, ranks: int) -> list[Piece]:
    """What rank ``rank`` of ``ranks`` takes: whole parts, or consecutive chunks, or a share of a single chunk."""
    chunks = [
        Piece(part, first, stop, low, high)
        for part, told in enumerate(store.manifest["parts"])
        for (first, stop), (low, high) in zip(
            pairwise(told["chunks"]["masters"]), pairwise(told["chunks"]["arcs"]), strict=True
        )
    ]
    if ranks > len(chunks):
        chunk = rank * len(chunks) // ranks
        sharing = [r for r in range(ranks) if r * len(chunks) // ranks == chunk]
        return [_share(store, chunks[chunk], sharing.index(rank), len(sharing))]
    parts = len(store.manifest["parts"])
    if parts % ranks == 0:  # whole parts: what the policy kept together stays together
        each = parts // ranks
        return _merged([chunk for chunk in chunks if chunk.part // each == rank])
    cost = np.cumsum([0] + [chunk.stop - chunk.first + chunk.high - chunk.low for chunk in chunks])
    goals = cost[-1] * np.arange(ranks + 1, dtype=np.int64) // ranks
    cuts = np.searchsorted((cost[1:] + cost[:-1]) // 2, goals)
    cuts[0], cuts[-1] = 0, len(chunks)
    return _merged(chunks[cuts[rank] : cuts[rank + 1]])


def _merged(chunks: list[Piece]) -> list[Piece]:
    """Adjacent chunks of a part as one piece."""
    out: list[Piece] = []
    for chunk in chunks:
        if out and out[-1].part == chunk.part:
            out[-1] = Piece(chunk.part, out[-1].first, chunk.stop, out[-1].low, chunk.high)
        else:
            out.append(chunk)
    return out


def _share(store: Store, chunk: Piece, number: int, count: int) -> Piece:
    """One of ``count`` shares of a chunk, equal in arcs."""
    cut = store.manifest["partition"]["cut"]
    steps = np.array([number, number + 1])
    low, high = (chunk.low + (chunk.high - chunk.low) * steps // count).tolist()
    if cut == "vertex":
        first, stop = (chunk.first + (chunk.stop - chunk.first) * steps // count).tolist()
        return Piece(chunk.part, first, stop, low, high)
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
    return Piece(chunk.part, first, stop, low, high)


def _first_key(store: Store, mine: list[Piece], n: int) -> int:
    """Of this rank's first vertex; beyond all others where it has none."""
    for piece in mine:
        if piece.first < piece.stop:
            return piece.part * n + int(store.array(part_file(piece.part), "gids")[piece.first])
    return len(store.manifest["parts"]) * n


def _masters(store: Store, mine: list[Piece], ranks: int) -> Masters:
    gids, degrees = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for piece in mine:
        gids.append(store.array(part_file(piece.part), "gids")[piece.first : piece.stop])
        degrees.append(store.array(part_file(piece.part), "out_degree")[piece.first : piece.stop])
    owned, theirs = np.concatenate(gids), np.concatenate(degrees)
    order = np.argsort(owned, kind="stable")
    return Masters(owned[order], theirs[order], np.zeros(ranks, np.int64))


def _taken(store: Store, piece: Piece, dtype: np.dtype) -> tuple:
    """Rows, counts, targets and weights of a piece, by gid."""
    file = part_file(piece.part)
    gids, offsets = store.array(file, "gids"), store.array(file, "offsets")
    low, high = piece.low, piece.high
    if store.manifest["partition"]["cut"] == "incoming":  # arcs go with their targets, wherever they stand
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


def _joined(taken: list[tuple], dtype: np.dtype, store: Store) -> HeldArcs:
    """All pieces' rows. A source that has rows in several parts gets one, its targets ascending."""
    kind = store.manifest["graph"]["weights"]
    none = [
        (np.zeros(0, dtype), np.zeros(0, np.int64), np.zeros(0, dtype), None if kind is None else np.zeros(0, kind))
    ]
    columns = list(zip(*(none + taken), strict=True))
    rows, counts, targets = (np.concatenate(column) for column in columns[:3])
    weight = None if kind is None else np.concatenate(columns[3])
    if len(taken) > 1 and store.manifest["partition"]["cut"] != "outgoing":
        found, place = np.unique(rows, return_inverse=True)
        offsets = np.zeros(len(found) + 1, np.int64)
        np.add.at(offsets, place + 1, counts)
        np.cumsum(offsets, out=offsets)
        weight = None if weight is None else spread(offsets[:-1].copy(), place, counts, weight)
        rows, targets, counts = found, spread(offsets[:-1].copy(), place, counts, targets), np.diff(offsets)
        sort_rows(offsets, targets, weight)
    return HeldArcs(rows, counts, targets, weight, ours=True)
