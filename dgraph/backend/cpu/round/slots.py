# ruff: noqa: F821
# mypy: ignore-errors
"""Places of a round's counters on CPU threads: source at the head of the rounds in a program's generated file.

See ``state.py`` for the layout and ``phases.py`` for generated files.
"""


@njit(**INLINE)
def slot(c):
    """Return where the counters of the current round begin."""
    return (c[TICK] & 3) * SLOT


@njit(**INLINE)
def next_slot(c):
    """Return where the counters of the next round begin."""
    return ((c[TICK] + 1) & 3) * SLOT


@njit(**INLINE)
def share_of(tick, t):
    """Return the index of thread t's share of the queue of round ``tick``."""
    return 8 * (4 * t + (tick & 3))


@njit(**INLINE)
def far_count(c):
    """Return the index of the length of the waiting list; its two lists count apart where threads follow vertices."""
    return np.int64(FAR_COUNT + 8 * (c[FAR_SWAPPED] & 1) if FOLLOWS else FAR_COUNT)


@njit(**INLINE)
def buffer_of(W, t, k):
    """Return thread t's buffer ``k``."""
    return offset(W.buffers, (t * BUFFERS + k) * BUFFER)


@njit(**SPLICED)
def clear_slot(t, threads, W, c):
    """Clear the counters and shares that the round after the next will use; also of idle threads; thread 0 does."""
    if t == 0:
        cleared = ((c[TICK] + 2) & 3) * SLOT
        for i in range(0, SUMS_AT + 8 * SUMS, 8):
            W.shared[cleared + i] = 0
        for sharer in range(c[TEAM]):
            share = share_of(c[TICK] + 2, sharer)
            W.shares[share + BEGIN] = W.shares[share + END] = 0


@njit(**INLINE)
def blocks_of(c):
    """Return the number of blocks of masters."""
    return (c[MASTERS] + BLOCK - 1) // BLOCK


@njit(**INLINE)
def parts_of(W, c):
    """Return the float sums of blocks; in turns where a round has one barrier, after which others still read them."""
    return offset(W.parts, (c[TICK] & 1) * blocks_of(c) * FLOAT_SUMS if AT_ONCE else 0)
