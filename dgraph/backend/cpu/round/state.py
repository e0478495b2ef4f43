"""Where numbers lie in the arrays that compiled rounds and Python share."""

PUSH, PULL = 0, 1
AUTO, FORCE_PUSH, FORCE_PULL, FLIP = 0, 1, 2, 3

# phases of one call, added up
START, EDGE, VERTEX, STEP, LOWEST, OPEN = 1, 2, 4, 8, 16, 32
FUSED = EDGE + VERTEX + STEP

# control words (int64), written by thread 0 alone when a call ends
ROUND, TICK, MODE, FORCED, SWAPPED, BITS, BITS_SWAPPED, DONE, WHOLE = range(9)
ACTIVE, EDGES, UNEXPLORED, QUEUED, TOTAL_ACTIVE, BUCKET, FAR, FAR_SWAPPED, LOWEST_BUCKET = range(9, 18)
MASTERS, ROWS, N, M, ARCS, MIRRORS_TOUCHED, DIRTIED, TOTAL_EDGES = range(18, 26)
WIDTH, BUCKET_EDGES, BUCKET_ROUNDS, WHOLE_ROWS, BY_ID = range(26, 31)
CONTROLS = 32

# shared counters, one slot a round, four slots in turn: a slot is cleared two rounds before it is used again,
# when no thread can still read it. Counters lie 64 bytes apart.
EDGE_NEXT, VERTEX_NEXT, TOUCHED_TAIL, MIRROR_TAIL, FRONT_TAIL, DIRTY_TAIL, EDGE_SUM, AWAKE = range(0, 64, 8)
FAR_TAIL, FAR_MIN, FAR_NEXT, BITS_TAIL, EXPAND_SUM = range(64, 104, 8)
SUMS_AT = 128
SLOT = 256
MOST_SUMS = (SLOT - SUMS_AT) // 8

# shares of a queue, by slot and thread, 8 words apart: where what a thread found lies, and the next vertex of it
BEGIN, END, NEXT = range(3)

BUFFER = 4096
"""Vertices that a thread collects before it reserves their place in a list."""

BLOCK = 16384
"""Vertices whose float sums are added up first; the same at every thread count, so the bits are too."""

RING = 4096
"""Rounds whose figures are kept until Python reads them: frontier vertices, frontier edges, direction."""

FAR_BASE = 1 << 62
"""Buckets are compared as ``bucket - FAR_BASE``, so that a cleared counter, 0, means none."""

FEW_EDGES, MANY_EDGES = 1024, 4096
"""Mean frontier edges a round since buckets were last opened: below, twice as many open next; above, half as many."""

MOST_BUCKETS = 1 << 20
