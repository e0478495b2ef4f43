"""Layout of the arrays that compiled rounds and Python share: control block, counters, queue shares, constants."""

PUSH, PULL = 0, 1
AUTO, FORCE_PUSH, FORCE_PULL, FLIP = 0, 1, 2, 3
FORCED_WORDS = {"auto": AUTO, "push": FORCE_PUSH, "pull": FORCE_PULL, "flip": FLIP}

# phases of one call: a sum of these
START, EDGE, VERTEX, STEP, LOWEST, OPEN = 1, 2, 4, 8, 16, 32
FUSED = EDGE + VERTEX + STEP

# round state (int64): indices of the control block and of each thread's copy of it during a call; thread 0 stores its
# copy in the control block when the call ends
ROUND, TICK, MODE, FORCED, SWAPPED, BITS, BITS_SWAPPED, DONE, WHOLE = range(9)
ACTIVE, EDGES, UNEXPLORED, QUEUED, TOTAL_ACTIVE, BUCKET, FAR, FAR_SWAPPED, LOWEST_BUCKET = range(9, 18)
MASTERS, ROWS, N, M, ARCS, MIRRORS_TOUCHED, DIRTIED, TOTAL_EDGES = range(18, 26)
WIDTH, BUCKET_EDGES, BUCKET_ROUNDS, WHOLE_ROWS, BY_ID = range(26, 31)
# those of edge kernels: other ranks have rows of this rank's masters; two words of the kernel's own, -1 at the start
SENDS, OWN, OWN_TOO = range(31, 34)
# entries of a thread's scratch array for a row reducer
ROOM = 34
# vertices and out-edges of all frontiers so far, the next one included; negative after a resume
VISITED, VISITED_EDGES = range(35, 37)
# where threads follow vertices: length of the shared waiting list, and of this thread's own
LISTED, LATER = range(37, 39)
# threads of the team
TEAM = 39
# True if the original ids of this rank's vertices are their lids
NUMBERED = 40
# True if out-edges are in-edges and every row is whole: neighbours of active vertices can be marked
MIRRORED_ROWS = 41
CONTROLS = 42
STATE = CONTROLS + 8
"""Words from one thread's copy to that of the next: the last are unused, so that copies share no cache line."""

# shared counters: four slots used in turn, one per round. A slot is cleared two rounds before it is used again, when no
# thread can still read it. Counters lie 64 bytes apart, each on its own cache line.
EDGE_NEXT, VERTEX_NEXT, TOUCHED_TAIL, MIRROR_TAIL, FRONT_TAIL, DIRTY_TAIL, EDGE_SUM, AWAKE = range(0, 64, 8)
FAR_TAIL, FAR_MIN, FAR_NEXT, BITS_TAIL, FOLLOWED_EDGES, LATER_SUM = range(64, 112, 8)
SUMS_AT = 128
SLOT = 256
FAR_COUNT = 4 * SLOT
"""Index, behind the slots, of the length of the waiting list during a call; ``far_count`` of ``slots.py`` uses two."""
COUNTERS = FAR_COUNT + 16
MOST_SUMS = (SLOT - SUMS_AT) // 8

# shares of a queue, one per slot and thread, 8 words apart: the range of the queue that the thread wrote, and the next
# vertex to take from it
BEGIN, END, NEXT = range(3)

BUFFER = 4096
"""Vertices that a thread buffers before it reserves space for them in a shared list."""

BUFFERS = 4
"""Buffers of a thread; those that a program does not use take no memory."""

HEAVY = 64
"""Mean out-edges of a frontier from which a thread may take fewer than 16 of its vertices."""

MARKED = 8
"""Quotient of all edges and the frontier's above which it marks the rows to fold; else each row searches its edges."""

LINE = 16
"""Neighbours in a cache line."""

PREFETCHED = 1 << 16
"""Vertices of the next frontier whose rows are prefetched."""

AHEAD = 8
"""Vertices of a queue by which an edge kernel prefetches rows."""

PIECE, SHORT, LANES = 64, 8, 4
"""Most edges of a row that are added in the precision of a float field, most that a loop without vectors takes, and
most that are combined without a branch on their number."""

BLOCK = 1024
"""Vertices per partial float sum; their values stay in a core's cache between a pull and ``apply``. The number does not
depend on that of threads, so neither do the bits of the sum."""

RUNS = 32
"""Runs of adjacent blocks that a thread takes in a round: in a run the processor prefetches from block to block."""

RING = 4096
"""Rounds whose figures are kept until Python reads them: frontier vertices, frontier edges, direction."""

FAR_BASE = 1 << 62
"""Offset of bucket numbers in counters: they hold ``bucket - FAR_BASE``, so that a cleared counter, 0, means none."""

FEW_EDGES, MANY_EDGES = 512, 2048
"""Mean frontier edges per round since the last opening of buckets: below the first, twice as many buckets are opened
next; above the second, half as many. Where threads follow vertices, of each thread."""

MANY_THREADS = 4
"""Threads for which rounds need those edges. More wait longer at barriers: of 8 each needs twice as many, of 16 or more
four times."""

FOLLOWED = 1024
"""Most vertices of a bucket that a thread keeps to itself; a longer list is shared in the next round [GAPBS]."""

CLEAR, NEAR, WAITING = range(3)
"""Flags of a vertex where threads follow vertices: in no list, in one of the open bucket, in the waiting list."""

GROUP = 8
"""Vertices whose flags a thread clears at once."""

NO_EDGES, LAST_HINT = 1, (1 << 32) - 1
"""Hint of a vertex without in-edges; 0 means that none is known, and others are LAST_HINT minus the in-neighbour."""

MOST_LOCAL = 128
"""Most rounds of a rank between two exchanges."""

COUNTED = 1 << 18
"""Range of the keys of a row up to which the row reducer MODE counts them in a table."""

SORTED = 24
"""Most keys of a row that a row reducer sorts or compares instead of counting them in a hash table."""

MOST_BUCKETS = 1 << 20
"""Most buckets opened at once."""
