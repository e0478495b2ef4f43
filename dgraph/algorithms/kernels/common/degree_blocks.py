"""Rows of vertices by rising degree, in segments by blocks of vertices; those that are not short are bitmaps, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.kernels.common.bit_counters import SHIFT, WORDS
from dgraph.backend.cpu.threads.atomics import OPTIONS
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team

BITMAP, FIRST, LAST, BLOCK = (1 << 32) - 1, 1 << 32, 1 << 33, 34
"""Parts of a segment's second number: bitmap, first and last of a row, and the lowest bit of its block."""

DENSE = 8
"""Entries from which on a segment has a bitmap: 64 bytes of it for each."""


@dataclass(frozen=True)
class DegreeBlocks:
    """Vertices by rising degree, then number, and rows of their places.

    Attributes:
        order: vertex at each place, uint32 (vertices,).
        starts: of the rows by place, int64 (vertices + 1,).
        rows: places of neighbours, ascending in each row, uint32 (arcs,).
        widths: degree at each place; ``word_widths``: at every 64th, then the largest degree; uint32.
        firsts: first segment of each row, int64 (vertices + 1,).
        blocks: block of each segment, uint32 (segments,).
        segments: first entry of each in ``rows``; number of its bitmap (0: it is short), ``FIRST``, ``LAST`` and block.
            int64 (segments + 1, 2), so that a segment and its end lie side by side.
        bitmaps: bit i of word w is place 64 w + i of the block; the first is empty. uint64 (bitmaps, ``WORDS``).
    """

    order: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    widths: np.ndarray
    word_widths: np.ndarray
    firsts: np.ndarray
    blocks: np.ndarray
    segments: np.ndarray
    bitmaps: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All arrays, as kernels take them."""
        return tuple(vars(self).values())

    def scratch(self, threads: int) -> tuple[np.ndarray, ...]:
        """Return cursors, chains, their heads, homes and lengths, planes of counters, and groups, for threads."""
        longest = int(np.diff(self.starts[-2:]).max(initial=0))
        count = -(-len(self.order) >> SHIFT)
        return (
            np.empty((threads, longest), np.int64), np.empty((threads, longest), np.int32),
            np.full((threads, count), -1, np.int32), np.empty((threads, longest, 2), np.int64),
            np.zeros((threads, count), np.int32),
            np.zeros((threads, max(longest.bit_length(), 3) + 1, WORDS), np.uint64), np.empty((threads, 8), np.int64),
        )  # fmt: skip


def degree_blocks(offsets: np.ndarray, targets: np.ndarray, team: Team, threads: int) -> DegreeBlocks:
    """Return the blocks of a graph that has both arcs of every edge, without loops."""
    degrees = np.diff(offsets)
    order = np.argsort(degrees, kind="stable").astype(np.uint32)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.uint32)
    starts = np.concatenate([[0], np.cumsum(degrees[order])])
    rows = np.empty(len(targets), np.uint32)
    _fill_rows(offsets, targets, order, place, starts[:-1].copy(), rows)
    begin = np.ones(len(rows), bool)
    begin[1:] = rows[1:] >> SHIFT != rows[:-1] >> SHIFT
    begin[starts[:-1][starts[:-1] < starts[1:]]] = True
    begins = np.append(np.flatnonzero(begin), len(rows))
    firsts, blocks, dense = np.searchsorted(begins, starts), rows[begins[:-1]] >> SHIFT, np.diff(begins) >= DENSE
    segments = np.zeros((len(begins), 2), np.int64)
    segments[:, 0] = begins
    segments[:-1, 1] = np.where(dense, np.cumsum(dense), 0) | blocks.astype(np.int64) << BLOCK
    ends = firsts[np.flatnonzero(starts[:-1] < starts[1:])]
    segments[ends, 1] |= FIRST
    segments[np.append(ends, len(blocks))[1:] - 1, 1] |= LAST
    bitmaps = np.zeros((int(dense.sum()) + 1, WORDS), np.uint64)
    team.run(_fill_bitmaps, threads, rows, segments.reshape(-1), bitmaps.reshape(-1))
    widths = degrees[order].astype(np.uint32)
    word_widths = np.append(widths[::64], widths[-1:])
    return DegreeBlocks(order, starts, rows, widths, word_widths, firsts, blocks, segments, bitmaps)


@plain_first
@njit(**OPTIONS)
def _fill_rows(offsets, targets, order, place, cursors, rows):
    for p in range(len(order)):
        v = order[p]
        for i in range(offsets[v], offsets[v + 1]):
            u = place[targets[i]]
            rows[cursors[u]] = p
            cursors[u] += 1


@plain_first
@njit(**OPTIONS)
def _fill_bitmaps(t, threads, rows, segments, bitmaps):
    count = len(segments) // 2 - 1
    for segment in range(count * t // threads, count * (t + 1) // threads):
        number = segments[2 * segment + 1] & BITMAP
        if number:
            for j in range(segments[2 * segment], segments[2 * segment + 2]):
                place = np.int64(rows[j]) & ((1 << SHIFT) - 1)
                bitmaps[number * WORDS + (place >> 6)] |= np.uint64(1) << np.uint64(place & 63)
