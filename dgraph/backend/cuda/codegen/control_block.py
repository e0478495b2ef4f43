"""Where numbers lie in the words that kernels and Python share; the kernels get the same names as constants."""

PUSH, PULL = 0, 1
AUTO, FORCE_PUSH, FORCE_PULL, FLIP = 0, 1, 2, 3

# control words (int64): written by one thread when a call ends, then copied to the host
ROUND, TICK, MODE, FORCED, SWAPPED, BITS, BITS_SWAPPED, DONE, WHOLE = range(9)
ACTIVE, EDGES, UNEXPLORED, QUEUED, TOTAL_ACTIVE, BUCKET, FAR, FAR_SWAPPED, LOWEST_BUCKET = range(9, 18)
MASTERS, ROWS, N, M, ARCS, MIRRORS_TOUCHED, DIRTIED, TOTAL_EDGES = range(18, 26)
LARGEST, LIVE_COUNT, LIVE_SWAPPED, GATE, SMALL_EDGES, SMALL_QUEUE, LOCAL_EDGES = range(26, 33)
WIDTH, BUCKET_EDGES, BUCKET_ROUNDS, LEFT, TOTAL_LIVE, ENDS = range(33, 39)
SUMS_HERE = 40
CONTROLS = 64

TAKEN_BY = 56
"""The bit of the argument of ``rounds`` from which on it names a schedule."""

PULLED = 100
"""What it names there after a pull that no schedule was asked for: the frontier is left in bits."""

CULL_WARP, CULL_HASH = 1, 2
CULLED = 1024
"""Entries of a block's table of vertices that were proposed to before."""

SWEEP_BIT = 40
"""The bit of the argument of ``edges`` from which on it counts the sweeps of ``hierarchical``."""

# what ``settle`` comes after; SETTLED: nothing is left to settle
STARTED, EDGES_VISITED, APPLIED, LOWEST_FOUND, OPENED, JOINED, SETTLED = range(7)

TO_HOST, TO_BUCKETS, TO_LOOK = 1, 2, 3
"""At LEFT: all ranks stand behind a vertex phase; next is an agreement of hosts, or buckets are to be opened, or the
next round is none of those that were started ahead. At ENDS: by the totals of all ranks the program ends, so that the
agreement is about errors alone."""

FOREST_LARGEST, FOREST_CLEAR, FOREST_UNITED, FOREST_LEAST, FOREST_ROOTS, FOREST_LEFT, FOREST_SINCE = range(7)
FOREST_CAME, FOREST_WORDS = range(7, 9)
"""Of components: a vertex of the largest tree; whether few edges of a sample are outside of it, or LAZILY; whether the
largest trees of all ranks are one, and the smallest label in it; vertices that are listed, since they lean on none,
and since they need a look; the first round; blocks that have come to an election."""

NO_HEAD = 2**32 - 1
"""In place of the first neighbour of a row without edges."""

LEANING, HOOKING_ONE, HOOKING_ALL, LAZILY = range(4)
"""Arguments of kernels of components: what joined trees last; LAZILY, leaning of those that have edges alone, behind
which no vertex tries an edge."""

ELECTS = 4
"""A bit of these: then the largest tree is elected."""

CONCLUDES_AFTER, CONCLUDES_STOPS, CONCLUDES_BEFORE = 40, 44, 45
"""Bits of the argument of ``end_round``: from which on it names a phase; whether this rank wants to see the host; from
which on it names what was started ahead. Below them, the round to stop before."""

BEFORE_ANY, BEFORE_SMALL, BEFORE_BROAD = range(3)
"""What that is: nothing, or whatever the next round may be; the kernel of small rounds; a broad round that pushes."""

# shared counters, one slot a tick, four slots in turn: a slot is cleared two ticks before it is used again, when no
# thread can still read it. Counters lie 64 bytes apart.
TAIL, TOUCHED_TAIL, MIRROR_TAIL, DIRTY_TAIL, EDGE_SUM, MOST, AWAKE, FAR_TAIL = range(0, 64, 8)
FAR_MIN, LIVE_TAIL, HUGE_TAIL, LISTED_TAIL, SWEPT_TAIL = range(64, 104, 8)  # SWEPT_TAIL and two more
POURED_TAIL = 120
SUMS_AT = 128
SLOT = 256
MOST_SUMS = (SLOT - SUMS_AT) // 8

BLOCK = 256
"""Threads of a block, in every kernel."""

PARTS = 4096
"""Float sums are added up in so many parts first; the same on every grid, so the bits are too."""

RING = 4096
"""Rounds whose figures are kept until Python reads them: frontier vertices, frontier edges, direction, schedule."""
FIGURES = 4

LOW_DEGREE = 8
"""Degree up to which a thread walks a vertex's edges alone in a small round: others hardly wait for it."""

SHORT_ROW, LONG_ROW, CHUNK = 16, 4096, 2048
"""A pull over all vertices: rows up to SHORT_ROW edges are a thread's, up to LONG_ROW a warp's, longer ones are cut
into chunks of CHUNK edges, a warp each, whose parts are added in order."""

HUB_BLOCK, HUB_BYTES = 1024, 1 << 16
"""Threads of a block that pulls and keeps what edges read at hubs, and bytes of that: two blocks a multiprocessor leave
its cache half of what it has."""

TILE, TILE_BLOCK, TILE_BYTES = 8128, 640, 8128 * 8 + 8
"""Targets of a tile; threads of a block, of which a multiprocessor holds three; what they share, no more than the
64 KiB that every GPU has: sums in two halves, and behind them the piece that the block has claimed."""

TILES_AT_ONCE, TILED_EDGES = 1 << 14, 1 << 18
"""Tiles whose edges a block counts at a time, in 64 KiB; edges of a chunk that a block brings to their tiles."""

OF_ALL, OF_MIRRORS, OF_MASTERS = range(3)
"""Whose rows a pull over all vertices takes; below 0, as the argument of ``edges``: into whom those edges lead that a
part of a push takes."""

MOST_BUCKETS, FEW_EDGES, MANY_EDGES = 64, 1 << 17, 1 << 22
"""Buckets opened at once: twice as many while their rounds have few edges, half as many when they have many."""

FAR_BASE = 1 << 62
"""Buckets are compared as ``bucket - FAR_BASE``, so that a cleared counter, 0, means none."""


def constants() -> str:
    """These names as C++ constants."""
    known = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
    return "".join(f"#define {name} {value}{'ll' if abs(value) >= 2**31 else ''}\n" for name, value in known.items())
