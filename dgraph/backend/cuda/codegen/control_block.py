"""Layout of the control block and of round counters, shared by Python and kernels.

The control block is the state of a machine's rounds: int64 words on the GPU, which one thread writes at the end of a
call and the host then copies. :func:`constants` gives kernels the same names.
"""

from dgraph.backend.compile_flags import TOP
from dgraph.backend.cuda.codegen.state_struct import record, slots, struct
from dgraph.program.row_reducers import LEFT_OUT

__all__ = ["LEFT_OUT", "TOP", "constants"]

PUSH, PULL = 0, 1
AUTO, FORCE_PUSH, FORCE_PULL, FLIP, GATHER = range(5)
"""Values of FORCED, the rule by which a machine's rounds choose their direction.

GATHER: as AUTO, except that the first round pulls if most edges leave its frontier.
"""

_BEFORE = {*globals()}  # names defined from here to _SLOTS are words of the round state

ROUND, TICK, MODE, FORCED, SWAPPED, BITS, BITS_SWAPPED, DONE, WHOLE = range(9)
ACTIVE, EDGES, UNEXPLORED, QUEUED, TOTAL_ACTIVE, BUCKET, FAR, FAR_SWAPPED, LOWEST_BUCKET = range(9, 18)
MIRRORS_TOUCHED, DIRTIED, TOTAL_EDGES, LARGEST, LIVE_COUNT, LIVE_SWAPPED, GATE, SMALL_EDGES = range(18, 26)
SMALL_QUEUE, LOCAL_EDGES, WIDTH, BUCKET_EDGES, BUCKET_ROUNDS, RETURN_STATE, TOTAL_LIVE = range(26, 33)
PROGRAM_ENDS, ARRIVED, SUMS = range(33, 36)
"""Words of the round state in host arrays; SUMS is the first of MOST_SUMS."""

_SLOTS = slots(globals(), _BEFORE | {"_BEFORE"})
MOST_SUMS = 16
"""Most summed globals of a program, for each of integers and floats."""
CONTROLS = SUMS + MOST_SUMS
"""Words of the round state."""

ROUND_STATE = record(_SLOTS, CONTROLS)
"""The round state as one record; :func:`round_state` gives kernels the same struct.

What kernels of many rounds keep of it in registers is in ``round_state.cuh``.
"""

SCHEDULE_BIT = 56
"""Lowest bit of the argument of kernel ``rounds`` that names the schedule which visited the round's edges."""

PULLED = 100
"""Schedule number of a pull without a schedule: the frontier is returned as a bitmap."""

CULL_WARP, CULL_HASH = 1, 2

NO_WALK, WALK_LIST, WALK_ROWS, WALK_IN_ROWS = range(4)
"""Values of flag WALK, the edges that a module's schedule walks.

None; those of a list of active vertices; all rows, tested for active vertices; all rows of in-edges.
"""

SMALLEST_ID, FIRST_IS_SMALLEST = 1, 2
"""Values of flag SMALLEST: the smallest id is proposed; and the first that is proposed along a row is the smallest."""

PEELS, PEEL_LEVELS, PEEL_BOUNDED = 1, 2, 4
"""Bits of flag KCORE_PEEL: edges peel vertices; ``start`` is a field; ``top`` is a field that bounds levels."""

PROPOSALS_LISTED, PROPOSALS_KEPT, PROPOSALS_MAILED, PROPOSALS_ALL_MAILED = range(4)
"""Values of flag MIRROR_PROPOSALS, the path of proposals to mirrors in the persistent multi-GPU kernel.

Listed mirrors are sent at the end of the round, or of all local rounds; or each proposal that changed its mirror is
written into a message at once, or each proposal, where it would count twice.
"""

CULLED = 1024
"""Entries of a block's hash table of vertices that were proposed to recently."""

SWEEP_BIT = 40
"""Lowest bit of the argument of kernel ``edges`` that counts the sweeps of ``hierarchical``."""

# phases that ``end_phase`` ends
STARTED, EDGES_VISITED, APPLIED, LOWEST_FOUND, OPENED, JOINED, NO_PHASE = range(7)

NEEDS_HOST, NEEDS_BUCKET, NEEDS_LAUNCH = 1, 2, 3
"""Values of RETURN_STATE. All ranks have ended a vertex phase.

NEEDS_HOST: an allreduce of hosts comes next. NEEDS_BUCKET: a bucket has to be opened. NEEDS_LAUNCH: the next round is
of another kind than those launched ahead. PROGRAM_ENDS, a word of its own: by all ranks' totals the program ends, so
that the allreduce only exchanges errors.
"""

FOREST_LARGEST, FOREST_CLEAR, FOREST_UNITED, FOREST_LEAST, FOREST_ROOTS, FOREST_REMAINING, FOREST_SINCE = range(7)
FOREST_ARRIVED, FOREST_WORDS = range(7, 9)
"""Words of ``env.forest``, for components by union-find.

In order: a vertex of the largest tree; 1 if few edges of a sample are outside of it, or NONEMPTY_ONLY; 1 if the largest
trees of all ranks are one; the smallest label in it; number of listed roots; number of listed vertices that need a
look; the first round; number of blocks that arrived at an election.
"""

NO_HEAD = 2**32 - 1
"""First neighbour of a row without edges, in arrays of row heads."""

ID_HEADS = 4
"""Neighbours of smallest id of a row that are tested before the row is scanned for the smallest valid one."""

HOOKING_FIRST, HOOKING_ONE, HOOKING_ALL, NONEMPTY_ONLY = range(4)
"""Steps of components, as kernels' arguments: the step that united trees last.

HOOKING_FIRST hooks each vertex to the smallest of its first neighbours. NONEMPTY_ONLY: so did the first step, for
vertices with edges alone, and no later step tries single edges.
"""

ELECTS = 4
"""Bit beside a step of components: elect the largest tree after it."""

END_PHASE_BIT, END_STOP_BIT, END_NEXT_BIT = 40, 44, 45
"""Bits of the argument of ``end_round``; below them, the round to stop before.

From END_PHASE_BIT on, the phase that it ends; END_STOP_BIT, this rank wants to return to its host; from END_NEXT_BIT
on, one of NEXT_ANY, NEXT_SMALL and NEXT_LARGE.
"""

NEXT_ANY, NEXT_SMALL, NEXT_LARGE = range(3)
"""Launches that follow ``end_round``: none, or any; the persistent kernel; a large round that pushes, or a search
whose first round does."""

# Counters of a round, 64 bytes apart, in one of four slots by ``tick % 4``. A slot is cleared two ticks before its next
# use, when no thread can still read it.
TAIL, TOUCHED_TAIL, MIRROR_TAIL, DIRTY_TAIL, EDGE_SUM, MOST_DEGREE, AWAKE, FAR_TAIL = range(0, 64, 8)
FAR_MIN, LIVE_TAIL, HUGE_TAIL, LISTED_TAIL, SWEPT_TAIL = range(64, 104, 8)  # SWEPT_TAIL and two more
EMITTED_TAIL = 120
SUMS_AT = 128
SLOT = SUMS_AT + 8 * MOST_SUMS

BLOCK = 256
"""Threads of a block, except for kernels of other sizes below."""

PARTS = 4096
"""Partial sums of each float sum; fixed, so that results have the same bits on every grid."""

RING = 4096
"""Rounds whose figures are kept until Python reads them: frontier vertices and edges, direction, schedule."""
FIGURES = 4

LOW_DEGREE = 8
"""Largest degree up to which each thread of a small round walks a vertex's edges alone."""

FOLD_ALONE, FOLD_LONG, FOLD_CHUNK = 8, 128, 256
"""Limits, in edges, of the rows of row reducers: a thread, a warp, and a warp for each chunk of a longer row."""

DEGREES_BITS = 7
"""Logarithm of the positions in a tile of :attr:`RowClasses.degree_bounds`."""

HINDEX_LONG, HINDEX_CHUNK = 1024, 1024
"""Largest row that a warp folds by HINDEX, in registers, and edges of a chunk of a longer row."""

FOLD_MIDDLE, FOLD_TABLES = 2048, 1 << 14
"""Largest rows that a block folds by MODE in MIDDLE_BYTES of shared memory, and in TABLE_BYTES."""

MIDDLE_BYTES, TABLE_BYTES = 25 << 10, 55 << 10
"""Bytes of dynamic shared memory; eight and four such blocks fit a multiprocessor of 228 KiB."""

MODE_SLOTS, MEX_SLOTS, HINDEX_SLOTS = 2 * FOLD_CHUNK, FOLD_CHUNK // 32 + 1, HINDEX_CHUNK + 1
"""Slots of the table of a long row for each of its chunks, by row reducer."""

SHORT_ROW, LONG_ROW, CHUNK = 16, 4096, 2048
"""Limits, in edges, of the rows of a pull over all vertices.

A thread takes a row up to SHORT_ROW, a warp one up to LONG_ROW. Longer rows are cut into chunks of CHUNK edges, a
warp each, and their partial results are combined in order.
"""

HUB_BLOCK, HUB_BYTES = 1024, 1 << 16
"""Threads of a block that caches source values of hubs in shared memory, and bytes of that cache.

Two blocks a multiprocessor leave half of its L1 cache.
"""

TILE, TILE_BLOCK, TILE_BYTES = 8128, 640, 8128 * 8 + 8
"""Targets of a bin (tile) of propagation blocking, threads of a block, and bytes of its shared memory.

A multiprocessor holds three blocks. The bytes are within the 64 KiB of every GPU: sums in two halves, then the piece
that the block has claimed.
"""

TILES_AT_ONCE, TILED_EDGES = 1 << 14, 1 << 18
"""Bins whose edges a block counts in one pass, in 64 KiB; edges of a chunk that a block distributes."""

WINDOW_BLOCK, WINDOW_BYTES = 1024, 1 << 16
"""Threads of a block that joins consecutive vertices in shared memory, and bytes of that memory."""

OF_ALL, OF_MIRRORS, OF_MASTERS = range(3)
"""Rows that a pull over all vertices takes; as a negative argument of ``edges``, targets of a partial push."""

MOST_BUCKETS, FEW_EDGES, MANY_EDGES = 64, 1 << 17, 1 << 22
"""Most buckets opened at once, and mean edges of a round below and above which their number changes.

It doubles below FEW_EDGES and halves above MANY_EDGES.
"""

FAR_BASE = 1 << 62
"""Offset of buckets in comparisons: ``bucket - FAR_BASE``, so that a cleared counter, 0, means none."""


def round_state() -> str:
    """Return the struct of the round state in C++."""
    return struct("RoundState", ROUND_STATE)


def constants() -> str:
    """Return these names as C++ macros."""
    macros = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
    macros = {name: value for name, value in macros.items() if name.lower() not in _SLOTS}
    return "".join(f"#define {name} {value}{'ll' if abs(value) >= 2**31 else ''}\n" for name, value in macros.items())
