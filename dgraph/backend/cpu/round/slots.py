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
def share_of(shares, tick, t):
    """Return the index of thread t's share of the queue of round ``tick``."""
    return (tick & 3) * (len(shares) // 4) + 8 * t


@njit(**SPLICED)
def clear_slot(t, W, c):
    """Clear the counters and shares that the round after the next will use; thread 0 does."""
    if t == 0:
        cleared = ((c[TICK] + 2) & 3) * SLOT
        for i in range(SLOT):
            W.shared[cleared + i] = 0
        first = share_of(W.shares, c[TICK] + 2, 0)
        for share in range(first, first + len(W.shares) // 4, 8):
            W.shares[share + BEGIN] = W.shares[share + END] = 0


@njit(**INLINE)
def blocks_of(c):
    """Return the number of blocks of masters."""
    return (c[MASTERS] + BLOCK - 1) // BLOCK
