"""Map sparse original ids to gids: a distributed sample sort of the ids, then look-ups at their owners.

:func:`number_ids` sorts, :func:`to_gids` translates columns. No rank holds more than its part of the ids and one chunk.
:func:`numbered` is the entry; ids that are nearly dense are numbered by ``id_bitmap.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.block import gid_type
from dgraph.graph.build.id_bitmap import id_bitmap
from dgraph.graph.generators.counter import mix
from dgraph.graph.ids import SparseIds, check_ids

CHUNK = 1 << 16
"""Ids that a rank sends at a time."""
NONE = 1 << 63
"""Sentinel above every id."""
SAMPLES = 1024
"""Ids that each rank contributes to the sample from which all ranks compute the splitters."""


def numbered(
    columns: list[np.ndarray],
    listed: np.ndarray | None,
    where: Callable[[int], str],
    ends_at: Callable[[int], str],
    comm: Comm,
) -> tuple[SparseIds, Callable[[np.ndarray, bool], np.ndarray]]:
    """Return the map of the ids that occur, and the function from a column of them to gids; both collective.

    Args:
        columns: as of :func:`number_ids`.
        listed: as of :func:`number_ids`.
        where: as of :func:`number_ids`.
        ends_at: as ``where`` of :func:`to_gids`.
        comm: communicator of the ranks.
    """
    bits = id_bitmap(columns, comm) if listed is None else None
    if bits is not None:
        return bits.ids(comm), bits.gids
    ids = number_ids(columns, listed, where, comm)
    return ids, lambda column, disposable: to_gids(ids, column, ends_at, comm, disposable)


def number_ids(
    columns: list[np.ndarray], listed: np.ndarray | None, where: Callable[[int], str], comm: Comm
) -> SparseIds:
    """Assign ascending gids to the ids that occur in ``columns`` on any rank, or to those ``listed``; collective.

    Args:
        columns: integer arrays of original ids, not negative; this rank's share, repetitions allowed.
        listed: this rank's share of the vertices, if the input lists them; then given on all ranks.
        where: for messages, returns the place in the input where an id is listed for the second time.
        comm: communicator of the ranks.

    Raises:
        DataError: an id listed twice, of which the lowest is named; 2^63 - 1.
    """
    columns = columns if listed is None else [listed]
    lowest = _lowest(columns, comm)
    received = _ReceivedIds(distinct=listed is None)
    for chunk in _chunks(columns, comm):
        for part in comm.alltoallv(_cut(np.sort(chunk).astype(np.int64, copy=False), lowest)):
            received.add(part)
    here = received.ascending()
    twice = here[1:][here[1:] == here[:-1]]
    lowest_twice = -comm.largest(-int(twice[0]) if twice.size else -NONE)
    with comm.together():
        if lowest_twice < NONE:
            raise DataError(f"{where(lowest_twice)}: vertex {lowest_twice} is listed twice; list every vertex once")
        check_ids(here)
    starts = np.concatenate([[0], np.cumsum(comm.allgather(np.array([here.size], np.int64))[:, 0])])
    return SparseIds(here, starts, lowest)


def to_gids(
    ids: SparseIds, column: np.ndarray, where: Callable[[int], str], comm: Comm, disposable: bool = False
) -> np.ndarray:
    """Return the gids of a column of original ids, in the dtype of the graph's gids; collective.

    Args:
        ids: map of the graph's ids.
        column: original ids on this rank.
        where: for messages, returns the place in the input where an edge ends at an id.
        comm: communicator of the ranks.
        disposable: True if ``column`` may be overwritten.

    Raises:
        DataError: an id that is not a vertex; the lowest is named.
    """
    start, offset = int(ids.starts[comm.rank]), 0
    look_up = _LookUp(ids.here, gid_type(int(ids.starts[-1])), start)
    within = disposable and column.flags.owndata and column.itemsize >= look_up.dtype.itemsize
    gids = column.view(look_up.dtype)[: column.size] if within else np.empty(column.size, look_up.dtype)
    for chunk in _chunks([column], comm):
        counts, grouped, places = _owners(chunk.astype(np.int64, copy=False), ids.lowest)
        requests = comm.alltoallv(np.split(grouped, np.cumsum(counts)[:-1]))
        answers = comm.alltoallv([look_up(part) for part in requests])
        gids[offset + places] = np.concatenate(answers)
        offset += chunk.size
    missing = -comm.largest(-look_up.missing)
    with comm.together():
        if missing < NONE:
            raise DataError(
                f"{where(missing)}: an edge ends at {missing}, which the list of vertices does not hold; "
                "add it to that list, or load the edges without one"
            )
    if within:
        size = column.size
        column.resize(-(-size * gids.itemsize // column.itemsize), refcheck=False)
        gids = column.view(look_up.dtype)[:size]
    return gids


def _chunks(columns, comm):
    """Yield pieces of the columns, the same number on every rank."""
    for column in columns:
        for step in range(comm.largest(-(-column.size // CHUNK))):
            yield column[step * CHUNK : (step + 1) * CHUNK]


class _ReceivedIds:
    """Ids received by this rank; if ``distinct``, duplicates are merged as they arrive to bound memory."""

    def __init__(self, distinct: bool):
        self.distinct = distinct
        self.pieces, self.waiting, self.merged = [np.empty(0, np.int64)], 0, 0

    def add(self, ascending: np.ndarray) -> None:
        """Add an ascending array of ids."""
        ids = _unique(ascending) if self.distinct else ascending
        self.pieces.append(ids)
        self.waiting += ids.size
        if self.distinct and self.waiting > self.merged + 4 * CHUNK:
            self.pieces = [self.ascending()]
            self.merged, self.waiting = self.pieces[0].size, 0

    def ascending(self) -> np.ndarray:
        """Return all ids in ascending order."""
        ids = np.concatenate(self.pieces)
        ids.sort()
        return _unique(ids) if self.distinct else ids


def _unique(ascending):
    new = np.ones(ascending.size, bool)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return ascending[new]


def _lowest(columns, comm):
    """Return the lowest id of each rank's range, so that ranks hold about equally many ids; collective.

    Ids whose hash is below a common bound are a fair sample of the distinct ids, regardless of how often each occurs.
    """
    if comm.size == 1:
        return np.zeros(1, np.int64)
    bound, hashes, ids = np.uint64(0xFFFFFFFFFFFFFFFF), np.empty(0, np.uint64), np.empty(0, np.int64)
    for column in columns:
        for offset in range(0, column.size, CHUNK):
            below = _below(column[offset : offset + CHUNK], bound)
            hashes, first = np.unique(np.concatenate([hashes, below[0]]), return_index=True)
            ids = np.concatenate([ids, below[1]])[first]
            if hashes.size > SAMPLES:
                hashes, ids = hashes[:SAMPLES], ids[:SAMPLES]
                bound = hashes[-1]
    bound = comm.allgather(np.array([bound]))[:, 0].min()
    sample = np.unique(np.concatenate(comm.allgatherv(ids[hashes <= bound])))
    lowest = np.zeros(comm.size, np.int64)
    if sample.size:
        lowest[1:] = sample[sample.size * np.arange(1, comm.size) // comm.size]
    return lowest


def _cut(ids, lowest):
    """Split ascending ids by the rank that holds them, consistent with :meth:`SparseIds.to_gid`."""
    owner = np.searchsorted(lowest, ids, side="right") - 1
    cuts = np.searchsorted(owner, np.arange(lowest.size + 1))
    return [ids[cuts[r] : cuts[r + 1]] for r in range(lowest.size)]


class _LookUp:
    """Look-up table from ids to gids on this rank; ``missing`` is the lowest id not found so far, or NONE."""

    def __init__(self, ids: np.ndarray, dtype: np.dtype, start: int):
        self.ids, self.dtype, self.start = ids, dtype, start
        self.missing = NONE
        self.low = int(ids[0]) if ids.size else 0
        span = int(ids[-1]) - self.low if ids.size else 0
        # About one bucket per id, each of equal id range: searches are short if ids are spread evenly.
        self.shift = max(0, span.bit_length() - max(1, ids.size).bit_length())
        positions = np.zeros((span >> self.shift) + 2, np.int32 if ids.size < 1 << 31 else np.int64)
        _fill_buckets(ids, self.low, self.shift, positions)
        self.buckets = positions

    def __call__(self, wanted: np.ndarray) -> np.ndarray:
        places = np.empty(wanted.size, self.dtype)
        missing = _look_up(wanted, self.ids, self.low, self.shift, self.buckets, self.start, places)
        if missing >= 0:
            self.missing = min(self.missing, int(wanted[missing]))
        return places


@njit(cache=True)
def _below(ids, bound):
    """Return hashes and ids of those ids whose hash is at most ``bound``."""
    hashes, kept, count = np.empty(ids.size, np.uint64), np.empty(ids.size, np.int64), 0
    for i in range(ids.size):
        bits = mix(ids[i])
        if bits <= bound:
            hashes[count], kept[count] = bits, ids[i]
            count += 1
    return hashes[:count], kept[:count]


@njit(cache=True)
def _owners(ids, lowest):
    """Return the number of ids for each rank, the ids grouped by rank, and their original positions."""
    counts = np.zeros(lowest.size, np.int64)
    owner = np.empty(ids.size, np.int32)
    for i in range(ids.size):
        low, high = 0, lowest.size - 1
        while low < high:
            middle = (low + high + 1) >> 1
            if lowest[middle] <= ids[i]:
                low = middle
            else:
                high = middle - 1
        owner[i] = low
        counts[low] += 1
    cursor = np.cumsum(counts) - counts
    grouped, places = np.empty_like(ids), np.empty(ids.size, np.int64)
    for i in range(ids.size):
        position = cursor[owner[i]]
        cursor[owner[i]] = position + 1
        grouped[position], places[position] = ids[i], i
    return counts, grouped, places


@njit(cache=True)
def _fill_buckets(ids, low, shift, buckets):
    """Set ``buckets[b]`` to the number of ids below bucket b."""
    for i in range(ids.size):
        buckets[((ids[i] - low) >> shift) + 1] += 1
    for b in range(buckets.size - 1):
        buckets[b + 1] += buckets[b]


@njit(cache=True)
def _look_up(wanted, ids, low, shift, buckets, start, places):
    """Fill ``places`` with gids; return the position of the lowest id that is absent, or -1."""
    missing = np.int64(-1)
    for i in range(wanted.size):
        position, end = np.int64(0), np.int64(0)
        if ids.size and ids[0] <= wanted[i] <= ids[-1]:
            bucket = (wanted[i] - low) >> shift
            position, end = np.int64(buckets[bucket]), np.int64(buckets[bucket + 1])
        last = end
        while position < end:
            middle = (position + end) >> 1
            if ids[middle] < wanted[i]:
                position = middle + 1
            else:
                end = middle
        if (position == last or ids[position] != wanted[i]) and (missing < 0 or wanted[i] < wanted[missing]):
            missing = i
        places[i] = start + position
    return missing
