"""Arrays that the compiled rounds of one machine share, by name: work arrays, their current roles, and results.

Compiled code and Python read these arrays by the names defined here and nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.backend.cpu.round.state import (
    BITS_SWAPPED,
    BLOCK,
    BUFFER,
    BUFFERS,
    COUNTERS,
    FAR_SWAPPED,
    RING,
    STATE,
    SWAPPED,
)


class WorkArrays(NamedTuple):
    """Arrays that only rounds use; those that the program does not need are empty.

    Three pairs swap roles from round to round; :func:`lists_of` returns them in their current roles.

    Attributes:
        queue: lids of the frontier, uint32.
        touched: lids of masters that changed in this round, uint32.
        mirrors: lids of mirrors that got a proposal in this round, uint32.
        dirty: lids of masters to broadcast, uint32; without entries if they are those of the frontier.
        flags: 1 for a vertex that is listed in ``touched`` or ``mirrors``, uint8, in whole words of 64; also for the
            frontier while its queue becomes a bitmap.
        flag_words: the same memory, 8 flags an entry, uint64.
        bits: frontier as a bitmap, uint64.
        next_bits: bitmap of the vertices that a pull changed.
        waiting: 1 for a master that is listed in ``far``, uint8.
        far: lids of masters that wait for their bucket, uint32.
        far_next: list to which those of later buckets move.
        live: lids of live masters in blocks of BLOCK, uint32.
        live_counts: their number in each block, int64.
        parts: float sums of each block of masters, float64.
        shared: counters of four rounds, int64; see ``state.py``.
        gate: state of the barrier, int64.
        counts: of an edge kernel: 8 counters, and one for each block of masters, int64.
        buffers: lists in which a thread collects vertices, uint32 (threads, BUFFERS, BUFFER).
        shares: ranges of the queue that each thread wrote, int64; see ``state.py``.
        keys: scratch of a thread for a row reducer, int64 (threads, room).
        states: each thread's copy of the control block, int64 (threads, STATE).
        hints: of each vertex the in-neighbour whose proposal a pull took, uint32; see ``state.py``.
    """

    queue: np.ndarray
    touched: np.ndarray
    mirrors: np.ndarray
    dirty: np.ndarray
    flags: np.ndarray
    flag_words: np.ndarray
    bits: np.ndarray
    next_bits: np.ndarray
    waiting: np.ndarray
    far: np.ndarray
    far_next: np.ndarray
    live: np.ndarray
    live_counts: np.ndarray
    parts: np.ndarray
    shared: np.ndarray
    gate: np.ndarray
    counts: np.ndarray
    buffers: np.ndarray
    shares: np.ndarray
    keys: np.ndarray
    states: np.ndarray
    hints: np.ndarray


class Lists(NamedTuple):
    """Lists and bitmaps of a round in their current roles; see :class:`WorkArrays`."""

    queue: np.ndarray
    touched: np.ndarray
    far: np.ndarray
    far_next: np.ndarray
    bits: np.ndarray
    next_bits: np.ndarray


def lists_of(W, c):
    """Return the lists of work arrays ``W`` in the roles that control block ``c`` gives them; Numba compiles it."""
    queue, touched, far, far_next, bits, next_bits = W.queue, W.touched, W.far, W.far_next, W.bits, W.next_bits
    if c[SWAPPED] & 1:
        queue, touched = touched, queue
    if c[FAR_SWAPPED] & 1:
        far, far_next = far_next, far
    if c[BITS_SWAPPED] & 1:
        bits, next_bits = next_bits, bits
    return Lists(queue, touched, far, far_next, bits, next_bits)


class Results(NamedTuple):
    """Arrays from which Python reads what rounds computed.

    Attributes:
        integers: globals, int64; entries of float globals are unused.
        floats: globals, float64; entries of integer globals are unused.
        sums: integer globals reduced over this rank's masters, int64, 8 words apart, as in the counters.
        float_sums: float globals summed over this rank's masters, float64.
        ring: frontier vertices, frontier edges and direction of the last RING fused rounds, int64.
    """

    integers: np.ndarray
    floats: np.ndarray
    sums: np.ndarray
    float_sums: np.ndarray
    ring: np.ndarray


def work_arrays(
    size: int, masters: int, threads: int, *,
    pulls: bool, dirty: bool, buckets: bool, live: bool, kernel: bool, float_sums: int, room: int, hints: np.ndarray,
) -> WorkArrays:  # fmt: skip
    """Allocate the work arrays of a program.

    Args:
        size: masters and mirrors.
        masters: masters.
        threads: threads of the team.
        pulls: the program may pull.
        dirty: it lists dirty masters.
        buckets: it has a priority.
        live: it lists live masters.
        kernel: it has an edge kernel, which lists masters of its own.
        float_sums: number of float globals that it sums.
        room: scratch entries of a thread for a row reducer.
        hints: of the graph; see :class:`WorkArrays`.
    """
    blocks, words = masters // BLOCK + 1, (size + 63) // 64 if pulls else 0

    def lids(wanted: bool = True) -> np.ndarray:
        return np.empty(size if wanted else 0, np.uint32)

    flags = np.zeros((size + 63) & -64, np.uint8)
    return WorkArrays(
        queue=lids(), touched=lids(), mirrors=lids(), dirty=lids(dirty or kernel),
        flags=flags, flag_words=flags.view(np.uint64),
        bits=np.zeros(words, np.uint64), next_bits=np.zeros(words, np.uint64),
        waiting=np.zeros(size if buckets else 0, np.uint8),
        far=lids(buckets or kernel), far_next=lids(buckets or kernel),
        live=lids(live), live_counts=np.zeros(blocks, np.int64),
        parts=np.zeros(2 * blocks * max(float_sums, 1)),
        shared=np.zeros(COUNTERS, np.int64), gate=np.zeros(16, np.int64),
        counts=np.zeros(8 + blocks if kernel else 0, np.int64),
        buffers=np.empty((threads, BUFFERS, BUFFER), np.uint32), shares=np.zeros(4 * 8 * threads, np.int64),
        keys=np.zeros((threads, room), np.int64), states=np.zeros((threads, STATE), np.int64),
        hints=hints,
    )  # fmt: skip


def clear(arrays: WorkArrays, results: Results) -> None:
    """Zero the arrays that are zero when they are allocated."""
    for array in (
        arrays.flags, arrays.bits, arrays.next_bits, arrays.waiting, arrays.live_counts, arrays.parts, arrays.shared,
        arrays.gate, arrays.counts, arrays.shares, arrays.states, results.sums, results.float_sums,
    ):  # fmt: skip
        array.fill(0)


def results(globals_: int, sums: int) -> Results:
    """Allocate the results of a program with that many globals, of which ``sums`` are reduced over vertices."""
    most, wide = max(globals_, 1), max(sums, 1)
    return Results(
        integers=np.zeros(most, np.int64), floats=np.zeros(most), sums=np.zeros(8 * wide, np.int64),
        float_sums=np.zeros(wide), ring=np.empty(3 * RING, np.int64),
    )  # fmt: skip
