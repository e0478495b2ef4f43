"""Copy the rows of a CSR with some arcs removed and some inserted, in one pass and without sorting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.changes.local_numbers import Numbers
from dgraph.graph.local import Csr


@dataclass(frozen=True)
class ChangedArcs:
    """Arcs of a change that one rank holds, by gid of the changed graph.

    Attributes:
        src, dst: int64 (k,).
        weights: in the dtype of the graph's weights, or None.
    """

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, chosen) -> ChangedArcs:
        return ChangedArcs(self.src[chosen], self.dst[chosen], None if self.weights is None else self.weights[chosen])

    def reversed(self) -> ChangedArcs:
        """Return the reverses."""
        return ChangedArcs(self.dst, self.src, self.weights)


def find(csr: Csr, gids: np.ndarray, rows: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last position (exclusive) of arcs in a CSR: int64 (k,) each.

    Args:
        csr: rows in which gids ascend.
        gids: gid of every lid.
        rows: lids of the sources, -1 for vertices that are not here.
        targets: gids of the targets.

    Positions of an arc that is not there are equal: the place where it would be inserted.
    """
    low, high = np.zeros((2, rows.size), np.int64)
    _find(csr.offsets, csr.neighbours, gids, rows, targets, low, high)
    return low, high


def merged(csr: Csr, gids: np.ndarray, numbers: Numbers, cut: tuple, put: tuple) -> Csr:
    """Return a CSR without some arcs and with others.

    Args:
        csr: the former rows; they are not changed.
        gids: gids in the changed graph, by former lid.
        numbers: lids after the change.
        cut: arcs to remove: (former lids of rows, lids of rows, gids of neighbours), all parallel ones of each.
        put: arcs to insert: (former lids of rows or -1, lids of rows, gids of neighbours, lids of neighbours, weights
            or None). Equal ones stand by their weights.
    """
    cut_from, cut_rows, cut_gids = cut
    put_from, put_rows, put_gids, put_lids, put_weights = put
    low, high = find(csr, gids, cut_from, cut_gids)
    order = np.lexsort((low, cut_rows))
    order = order[low[order] < high[order]]
    cuts = cut_rows[order], low[order], high[order]
    first, position = find(csr, gids, put_from, put_gids)
    weighed = csr.weights is not None
    if weighed:
        _among_equals(csr.weights, put_weights, first, position)
    order = np.lexsort((put_weights, put_gids, put_rows)) if weighed else np.lexsort((put_gids, put_rows))
    puts = put_rows[order], position[order], put_lids[order].astype(np.uint32)
    inserted = put_weights[order].astype(csr.weights.dtype, copy=False) if weighed else None  # type: ignore[union-attr]
    size = csr.arcs - int((high - low).sum()) + len(put_rows)
    neighbours = np.empty(size, np.uint32)
    weights = np.empty(size, csr.weights.dtype) if weighed else None  # type: ignore[union-attr]
    former, lids = numbers.former, numbers.lids
    counts = np.diff(csr.offsets)
    if lids is None or _in_order(counts, lids):
        offsets = np.zeros((len(counts) if former is None else len(former)) + 1, np.int64)
        offsets[slice(1, None) if lids is None else lids.astype(np.int64) + 1] = counts
        if lids is not None:  # a row that was empty or new has its place after the rows that are before it now
            starts = np.where(put_from < 0, 0, csr.offsets[np.maximum(put_from, 0)])
            puts = puts[0], puts[1] + (np.cumsum(offsets)[put_rows] - starts)[order], puts[2]
        np.subtract.at(offsets, cuts[0] + 1, cuts[2] - cuts[1])
        np.add.at(offsets, puts[0] + 1, 1)
        np.cumsum(offsets, out=offsets)
        _merge(csr.neighbours, csr.weights, lids, *cuts[1:], *puts[1:], inserted, neighbours, weights)
    else:
        offsets = np.empty(len(former) + 1, np.int64)  # type: ignore[arg-type]
        old = csr.offsets, csr.neighbours, csr.weights
        _merge_by_row(former, *old, lids, *cuts, *puts, inserted, offsets, neighbours, weights)
    return Csr(offsets, neighbours, weights)


@njit(cache=True)
def _find(offsets, neighbours, gids, rows, targets, first, last):
    for i in range(rows.size):
        if rows[i] < 0:
            continue
        for turn in range(2):
            low, high = offsets[rows[i]], offsets[rows[i] + 1]
            while low < high:
                middle = (low + high) >> 1
                gid = gids[neighbours[middle]]
                if gid < targets[i] or (turn == 1 and gid == targets[i]):
                    low = middle + 1
                else:
                    high = middle
            if turn == 0:
                first[i] = low
            else:
                last[i] = low


@njit(cache=True)
def _in_order(counts, lids):
    """Return True if rows that are not empty keep their order."""
    last = np.int64(-1)
    for row in range(counts.size):
        if counts[row]:
            if np.int64(lids[row]) < last:
                return False
            last = np.int64(lids[row])
    return True


@njit(cache=True)
def carry(values, former, carried):
    """Copy values by former lid to ``carried`` by lid; new vertices keep what ``carried`` has."""
    for i in range(carried.size):
        if former[i] >= 0:
            carried[i] = values[former[i]]


@njit(cache=True)
def _among_equals(weights, new, first, positions):
    """Move ``positions`` back from the end of the equal arcs to the place of the weight."""
    for i in range(positions.size):
        while positions[i] > first[i] and weights[positions[i] - 1] > new[i]:
            positions[i] -= 1


@njit(cache=True)
def _merge(
    neighbours, weights, lids, cut_low, cut_high, put_at, put_lids, put_weights, targets, out_weights
):  # fmt: skip
    """Merge where rows keep their order: positions ascend over all rows, and what lies between is copied at once."""
    c, p, position, end = 0, 0, np.int64(0), np.int64(0)
    while True:
        putting = p < put_at.size and (c == cut_low.size or put_at[p] <= cut_low[c])
        cutting = not putting and c < cut_low.size
        last = np.int64(neighbours.size)
        if putting:
            last = put_at[p]
        elif cutting:
            last = cut_low[c]
        if last > position:
            if lids is None:
                targets[end : end + last - position] = neighbours[position:last]
            else:
                piece, renamed = neighbours[position:last], targets[end : end + last - position]
                for i in range(last - position):
                    renamed[i] = lids[piece[i]]
            if weights is not None:
                out_weights[end : end + last - position] = weights[position:last]
            end += last - position
            position = last
        if putting:
            targets[end] = put_lids[p]
            if weights is not None:
                out_weights[end] = put_weights[p]
            end += 1
            p += 1
        elif cutting:
            position = cut_high[c]
            c += 1
        else:
            break


@njit(cache=True)
def _merge_by_row(
    former, offsets, neighbours, weights, lids, cut_rows, cut_low, cut_high, put_rows, put_at, put_lids, put_weights,
    out_offsets, targets, out_weights,
):  # fmt: skip
    c, p, end = 0, 0, np.int64(0)
    for row in range(former.size):
        out_offsets[row] = end
        position, stop = np.int64(0), np.int64(0)
        if former[row] >= 0:
            position, stop = offsets[former[row]], offsets[former[row] + 1]
        while True:
            cutting = c < cut_rows.size and cut_rows[c] == row
            putting = p < put_rows.size and put_rows[p] == row
            if putting and cutting:
                putting = put_at[p] <= cut_low[c]
            last = stop
            if putting:
                last = put_at[p]
            elif cutting:
                last = cut_low[c]
            for i in range(position, last):
                targets[end + i - position] = lids[neighbours[i]]
            if weights is not None:
                for i in range(position, last):
                    out_weights[end + i - position] = weights[i]
            if last > position:
                end += last - position
                position = last
            if putting:
                targets[end] = put_lids[p]
                if weights is not None:
                    out_weights[end] = put_weights[p]
                end += 1
                p += 1
            elif cutting:
                position = cut_high[c]
                c += 1
            else:
                break
    out_offsets[former.size] = end


@njit(cache=True)
def count_some(neighbours, counted, counts):
    """Count how often lids occur, of those that ``counted`` marks."""
    for i in range(neighbours.size):
        if counted[neighbours[i]]:
            counts[neighbours[i]] += 1
