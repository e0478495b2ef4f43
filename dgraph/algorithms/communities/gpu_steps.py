"""GpuSteps: launches of the kernels of communities on one GPU, with the lists and tables of rows that they share.

The kernels (``community_*.cuh``) are one text. Entry: :class:`GpuSteps`; ``gpu_contraction.py`` and ``gpu_engine.py``
have the steps of a search on it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.communities.community_totals import CROWD, FEW_GROUPS, GROUPS, MOST_GROUPS, SPARSE, group_count
from dgraph.algorithms.communities.gpu_shares import SIDE_BY_SIDE, RowShares
from dgraph.algorithms.communities.refinement import NOISE_BITS, noise
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

WARP_SLOTS = {True: 512, False: 256}
"""Slots of a warp's table in shared memory, by whether sums take 32 bits."""

CLASSES, CHUNKS, SLOTS, COUNTS = 4, 4 * MOST_GROUPS, 5 * MOST_GROUPS, 6 * MOST_GROUPS
"""Words of a tally: rows by sub-round and class, then chunks and slots of long rows by sub-round."""

USED, RESULTS = COUNTS, 2 * COUNTS
"""First words of the cursors and of the results that follow a tally in an array of counters."""

INNER, SQUARES, MOVES, LOOPS, STALLED = (RESULTS + i for i in (0, 1, 5, 6, 7))
"""Words of the results; SQUARES has four limbs of 32 bits. After them, of each sub-round, three cursors of work."""

GATE, WORDS = (RESULTS + 8 + 3 * MOST_GROUPS + i for i in (0, 1))
"""The word of grid barriers, and the number of all words."""

GRIDS = (1, 1 << 11, 32), (1 << 10, 1 << 16, 132), (1 << 15, 1 << 40, 1 << 40)
"""Rows from and to which a grid serves, and its blocks at most: barriers of fewer take less time."""

PASSES = 1 << 13
"""Vertices for which a grid has a block more, as each round passes over all of them a few times."""

MOST_BLOCKS = 32
"""Blocks of a multiprocessor at most."""

TILES, ARCS_OF_A_TILE = 16, 1 << 26
"""Tiles of a chunk of a long row at most, and arcs of a level for each, of GROUPS sub-rounds: chunks for all blocks."""

FEW_FILLED = 1024
"""Groups with arcs to others up to which a contraction adds up the weights between any two in one array, below 2^16."""

MEMBERS = (
    "offsets", "targets", "weights", "mass", "labels", "proposed", "mass_of", "sizes", "sole", "active", "parts",
    "part_mass", "inside", "part_sizes", "draws", "tally", "next_tally", "used", "results", "listed", "chunk_row",
    "chunk_index", "chunk_table", "table", "own_sums", "best_high", "best_low", "best_label", "groups",
    "group_rows", "group_starts", "row_starts", "group_mass", "out_targets", "out_weights", "lengths",
    "out_offsets", "filled", "pairs", "slack", "crossed", "outflow", "inflow", "drift", "flags", "swept",
    "block_counts", "chosen", "place", "vertex", "ids", "wide_ids", "degrees", "gate", "kept", "owners", "search",
    "actives", "n", "scale", "price", "salt", "next_salt", "factor", "least_high", "least_low", "share", "fewest",
    "most_rows", "most_chunks", "most_slots", "tiles", "balanced", "distinct", "gpus", "gpu", "exchange",
    "peer_timeout", "most_sent", "peers", "owned", "sent", "first_group", "end_group", "most_labels", "others",
    "patience", "many",
)  # fmt: skip
"""Members of ``Env``."""


@cache
def text(narrow: bool, slots: int, shared: bool = False) -> str:
    """Return the kernels' text.

    Args:
        narrow: sums of weights take 32 bits.
        slots: of a warp's table.
        shared: several GPUs may share rows out.
    """
    definitions = (
        f"typedef {'u32' if narrow else 'u64'} weight_t;\n#define WARP_SLOTS {slots}\n#define DRAWS {1 << NOISE_BITS}\n"
        f"#define GROUPS {GROUPS}\n#define FEW_GROUPS {FEW_GROUPS}\n#define SPARSE {SPARSE}\n"
        f"#define MOST_GROUPS {MOST_GROUPS}\n#define CROWD {CROWD}\n#define FEW_FILLED {FEW_FILLED}\n"
        f"#define SHARED_ROWS {int(shared)}\n#define SIDE_BY_SIDE {SIDE_BY_SIDE}"
    )
    files = ("lists", "shares", "rows", "moves", "sweep", "refinement", "levels")
    return in_parts(own_text(definitions, "union_find", *(f"community_{file}" for file in files)), 8)


def tiles_of(arcs: int, groups: int) -> int:
    """Return the tiles of a chunk of a level's long rows, in a round of ``groups`` sub-rounds."""
    return min(1 << (arcs * GROUPS // (ARCS_OF_A_TILE * groups)).bit_length(), TILES)


def slots_of(counts: np.ndarray, groups: int) -> int:
    """Return the most slots of tables of one of ``groups`` sub-rounds, of a tally."""
    return int(counts[SLOTS:COUNTS].reshape(-1, groups).sum(axis=0).max())


def squares_of(counts: np.ndarray) -> int:
    """Return the sum of squares that counters hold."""
    return sum(int(counts[SQUARES + i]) << 32 * i for i in range(4))


class GpuLevel:
    """Rows of a level, as :class:`GraphLevel`, on a GPU.

    Attributes:
        rows: ``offsets`` int64 (n + 1,), ``targets`` uint32, ``weights`` (None: each is 1), ``mass`` int64 (n,), and
            ``distinct``, 1 if no row has two arcs to one vertex.
        loops: weight within the vertices, counted twice.
        lists: arrays of the lists of all rows, once they are there.
        filled: number of rows that have arcs, then.
    """

    filled = 0

    def __init__(self, offsets: Any, targets: Any, weights: Any, mass: Any, loops: int, distinct: bool = True):
        self.n, self.loops = len(offsets) - 1, loops
        self.rows = {"offsets": offsets, "targets": targets, "weights": weights, "mass": mass}
        self.rows["distinct"] = int(distinct)
        self.lists: dict[str, Any] | None = None


class GpuSteps:
    """Launches on arrays of a GPU: labels are uint32 (n,).

    Args:
        device: the GPU.
        narrow: True if all weights are 1 and their sum is below 2^32.
        theta: randomness of the refinement.
        left: returns the number of rounds that a launch may take, 1 or more.
        replicas: GPUs that hold the same graph and run the same steps; None: there are no others.

    Attributes:
        units: of the quality, once level 0 is there.
    """

    units: Units

    def __init__(self, device: Any, narrow: bool, theta: float | None, left: Callable[[], int], replicas: Any = None):
        self.device, self.xp, self.theta, self.left = device, device.xp, theta, left
        self.kind = np.uint32 if narrow else np.uint64
        self.shares, slots = RowShares.of(device, replicas, COUNTS), WARP_SLOTS[narrow]
        name = f"communities_{'narrow' if narrow else 'wide'}"
        self.module = device.module(text(narrow, slots, self.shares is not None), name)
        self.counters = [self.xp.zeros(WORDS, np.uint64) for _ in range(2)]
        self.tables: dict[str, Any] = {
            "table": None,
            "block_counts": self.xp.empty(MOST_BLOCKS * device.blocks, np.uint64),
        }
        self.draws = None if theta is None else device.put(noise())

    def _launch(
        self, kernel: str, arrays: dict[str, Any], argument: int = 0, blocks: int = 0, cooperative: bool = False,
        **numbers: Any,
    ) -> None:  # fmt: skip
        """Start a kernel for as many vertices as there are rows, or as the first array has values.

        Lists of ``arrays`` name the counters with their tally, and results go to the other ones.
        """
        tally, other = self.counters
        address = self.device.address(other)
        n = len(arrays["offsets"]) - 1 if "offsets" in arrays else len(next(iter(arrays.values())))
        results = {"next_tally": address, "used": address + 8 * USED, "results": address + 8 * RESULTS}
        results |= {"gate": address + 8 * GATE, "draws": self.draws}
        if "targets" in arrays:
            results["tiles"] = tiles_of(len(arrays["targets"]), GROUPS)
        members = {"n": n, "tally": tally} | self.tables | results | arrays | numbers
        self.module.set_environment(words_of(self.device, map(members.get, MEMBERS)))
        blocks = blocks or self.device.blocks * self.module.resident(kernel)
        self.module.launch(kernel, blocks, argument, cooperative)

    def shares_of(self, level: GpuLevel, share: int = FEW_GROUPS * SPARSE) -> RowShares | None:
        """Return the shares of a level's rows, if they are shared out; ``share`` as of :meth:`RowShares.fits`."""
        shares = self.shares
        return shares if shares is not None and shares.fits(level.n, len(level.rows["targets"]), share) else None

    def copied(self, array: Any) -> Any:
        """Return a copy, without a kernel of CuPy's, which it would compile."""
        copy = self.xp.empty(len(array), array.dtype)
        self.device.copy(copy, array)
        return copy

    def _clear(self) -> None:
        self.device.clear(self.counters[1])

    def _counted(self) -> np.ndarray:
        """Return the counters of the last launches, whose tally is then that of the next lists."""
        self.counters.reverse()
        return self.device.read(self.counters[0]).copy()

    def _squares(self, masses: Any) -> int:
        """Return the exact sum of the squares of masses."""
        self._clear()
        self._launch("add_squares_of", {"mass_of": masses})
        return squares_of(self._counted())

    def _tallied(self, arrays: dict[str, Any], salt: int) -> np.ndarray:
        """Return the tally of all rows."""
        self._clear()
        self._launch("tally_rows", arrays, next_salt=salt)
        return self._counted()

    def _listing(self, counts: np.ndarray, lists: dict[str, Any], n: int = 0) -> dict[str, Any]:
        """Return arrays for the lists of a tally, ``lists`` where they are long enough; make room in the tables.

        Args:
            counts: the tally.
            lists: arrays.
            n: vertices of a level whose active rows a round has; 0: of rows for another step.
        """
        xp = self.xp
        rows, chunks = int(counts[:CHUNKS].sum()), int(counts[CHUNKS:SLOTS].sum())
        if not lists or len(lists["listed"]) < rows:
            lists["listed"] = xp.empty(rows, np.uint32)
        if "chunk_row" not in lists or len(lists["chunk_row"]) < chunks:
            lists |= {"chunk_row": xp.empty(chunks, np.uint32), "chunk_index": xp.empty(chunks, np.uint32)}
            lists |= {"chunk_table": xp.empty(chunks, np.uint64)}
        groups = group_count(rows, n) if n else GROUPS
        tables, slots = self.tables, slots_of(counts, groups)
        if tables["table"] is None or len(tables["table"]) < slots:
            tables["table"] = None
            tables["table"] = xp.zeros((slots, 2), self.kind)
        if "own_sums" not in tables or len(tables["own_sums"]) < chunks:
            tables |= {"own_sums": xp.zeros(chunks, np.uint64), "best_high": xp.empty(chunks, np.int64)}
            tables |= {"best_low": xp.empty(chunks, np.uint64), "best_label": xp.empty(chunks, np.uint32)}
        return lists

    def _fewest(self, counts: np.ndarray) -> int:
        """Return as few groups of the rows of a tally as tables have room for: a group ends with barriers."""
        groups = GROUPS
        while groups > 1 and slots_of(counts, groups // 2) <= len(self.tables["table"]):
            groups //= 2
        return groups

    def lists_of(self, level: GpuLevel) -> dict[str, Any]:
        """Return the lists of all rows of a level, with their tally."""
        if level.lists is None:
            counts = self._tallied(level.rows, 0)
            lists, level.filled = self._listing(counts, {}), int(counts[:CHUNKS].sum())
            self._clear()
            lists["tally"] = self.copied(self.counters[0][:COUNTS])
            self._launch("list_rows", level.rows | lists)
            level.lists = lists
        return level.lists

    def _grid(self, kernel: str, rows: int, n: int) -> tuple[int, int, int]:
        """Return the blocks of a cooperative kernel for rows of n, and the rows from and to which it has these."""
        least, most, blocks = next(grid for grid in reversed(GRIDS) if rows >= grid[0] or grid is GRIDS[0])
        blocks = max(blocks, n // PASSES)
        return min(blocks, self.device.blocks * self.module.resident(kernel)), least, most
