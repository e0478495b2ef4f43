"""Arrays of a machine: sized as a whole, refused with figures if they do not fit, then allocated once.

They lie side by side in one allocation, those that start from zero first: one memset prepares them for the next run.
Fields are apart, since results keep them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dgraph.backend import wire
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.codegen import exchange_state
from dgraph.backend.cuda.codegen.module_text import own_arrays
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.device_graph.propagation_blocking import most_pieces
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.schedules import SCHEDULES, Sizes
from dgraph.errors import OutOfMemory
from dgraph.program import BEST, MODE, Traced
from dgraph.program.analysis import falls_below_ceiling

MOST_RESIDENT = 2048 // control.BLOCK
"""Most blocks that a multiprocessor of any GPU so far holds at once."""

KEPT = 5
"""Edges are filtered if at most one in KEPT stays."""

WRITTEN_FIRST = frozenset({
    "queue0", "queue1", "sums0", "sums1", "huge", "huge_sums", "touched", "mirrors", "dirty", "far0", "far1",
    "live0", "live1", "parent", "lowest", "fold_keys", "fold_counts", "fold_parts", "fold_votes",
    "fold_support",
})  # fmt: skip
"""Arrays of which no element is read before it is written: they need not be zeroed."""

READ_ROUNDS = 512
"""Rounds whose figures the host reads with the control block: 16 KiB, which take less than another copy."""

ALIGNED = 256
"""Bytes to whose multiples arrays that lie side by side are aligned."""

STORED = {"bool": "uint8"}
"""dtype of a field → dtype of its array, where they differ: atomics need whole bytes."""


class GpuWorkArrays:
    """Arrays that a program's rounds write.

    Attributes:
        fields: field → array, by position.
        words: control block, float sums, globals and the counter of the grid barrier, in one array.
        tiled: True if in-edges are binned by target; ``tiles`` then has them.
        awaits_heads: True if the next machine of the program tests them.
        heads_by_id: True if rows' first neighbours by id are tested before the rows.
        board: ``words``, from ``post_at`` on the words of the exchange, and from ``ring_at`` on the figures of rounds.
        read: the part of ``board`` that the host reads in one copy: figures of the first ``READ_ROUNDS`` rounds.
        bytes: size of all arrays; ``kept_bytes``: of all but the fields.

    Raises:
        OutOfMemory: the arrays exceed the free memory.
    """

    def __init__(self, traced: Traced, graph: DeviceGraph, device, pulls: bool, options: GpuPlan):
        self.device, self.pulls = device, pulls
        size, t = graph.local.size, traced
        self._size = size
        self.integers_at = control.CONTROLS + control.MOST_SUMS
        self.floats_at = self.integers_at + max(len(t.globals), 1)
        self.gate_at = self.floats_at + max(len(t.globals), 1)
        self.post_at = self.gate_at + 1
        pieces = 0
        self.tiled = options.bins_edges(t, graph.extent, pulls)
        if self.tiled:
            self.tiles = graph.weighted_tiles if t.weighted else graph.tiles  # made first, while scratch memory is free
        elif pulls:
            _ = graph.incoming
        if t.row_reducer:
            pieces = len(graph.fold_chunks(t.row_reducer)[0])
        elif t.all and pulls and not self.tiled:
            pieces, _ = len(graph.chunks[0]), graph.long_rows
        tests_heads = options.tests_id_heads(t, graph.extent, pulls)
        self.heads_by_id = tests_heads and graph.pays_id_heads()
        self.awaits_heads = tests_heads and not self.heads_by_id
        if self.heads_by_id:
            _ = graph.id_heads
        arrays = wanted(t, graph.extent, pieces, pulls, options, device.blocks, device.threads)
        self.bytes = bytes_of(arrays)
        free = device.free(self.bytes)
        if self.bytes > free:
            raise OutOfMemory(
                f"{type(t.program).__name__} needs {self.bytes:,} bytes of GPU memory beside the graph, "
                f"{free:,} are free on {device.name}; use more GPUs"
            )
        xp = device.xp
        self._fields = {name: arrays.pop(f"f_{name}") for name in t.fields}
        ordered = sorted(arrays.items(), key=lambda entry: entry[0] in WRITTEN_FIRST)
        sizes = [-(-count * np.dtype(dtype).itemsize // ALIGNED) * ALIGNED for _, (count, dtype) in ordered]
        first = ALIGNED  # the first bytes stand for all arrays without elements
        memory = xp.empty(first + sum(sizes), np.uint8)
        zeroed = sum(size for (name, _), size in zip(ordered, sizes, strict=True) if name not in WRITTEN_FIRST)
        self._zero = memory[: first + zeroed]
        self.clear()
        self.all = {}
        for (name, (count, dtype)), size in zip(ordered, sizes, strict=True):
            start, length = (first, count * np.dtype(dtype).itemsize) if count else (0, np.dtype(dtype).itemsize)
            self.all[name] = memory[start : start + length].view(dtype)
            first += size
        self.all["words"] = self.all["board"][: self.post_at]
        self.ring_at = self.board.size - control.RING * control.FIGURES
        self.all["post"] = self.board[self.post_at : self.ring_at]
        self.all["ring"] = self.board[self.ring_at :]
        self.read = self.board[: self.ring_at + READ_ROUNDS * control.FIGURES]
        self.kept_bytes = self.bytes - sum(count * np.dtype(dtype).itemsize for count, dtype in self._fields.values())
        self.fields: dict[str, Any] = {}
        for name, of in self._fields.items():
            self.set_field(name, xp.zeros(*of))

    def __getattr__(self, name: str):
        try:
            return self.__dict__["all"][name]
        except KeyError:
            raise AttributeError(name) from None

    def set_field(self, name: str, array: Any) -> None:
        """Take an array for a field, of the field's dtype and at least as many elements as there are vertices."""
        self.all[f"f_{name}"] = array
        self.fields[name] = array if len(array) == self._size else array[: self._size]

    def dtype(self, name: str) -> np.dtype:
        """Return the dtype of a field's array."""
        return np.dtype(self._fields[name][1])

    def new_field(self, name: str) -> None:
        """Allocate a field, whose elements are undefined."""
        self.set_field(name, self.device.xp.empty(*self._fields[name]))

    def drop_fields(self) -> None:
        """Let go of all fields, which are a result's from now on."""
        for name in self._fields:
            del self.all[f"f_{name}"], self.fields[name]

    def clear(self) -> None:
        """Zero the arrays that start from zero."""
        self.device.clear(self._zero)

    @property
    def queues(self) -> tuple:
        """Both vertex queues, of which ``SWAPPED`` names the current one."""
        return self.all["queue0"], self.all["queue1"]

    @property
    def bits(self) -> tuple:
        """Both frontier bitmaps, of which ``BITS_SWAPPED`` names the current one."""
        return self.all["bits0"], self.all["bits1"]


Wanted = dict[str, tuple[int, Any]]


def wanted(
    traced: Traced,
    extent: GraphSize,
    pieces: int,
    pulls: bool,
    options: GpuPlan,
    processors: int,
    threads: int = control.BLOCK,
) -> Wanted:
    """Return the arrays of a program: name → (length, dtype).

    Args:
        traced: the program.
        extent: sizes of the graph.
        pieces: chunks of the longest rows, where all vertices pull or rows are folded.
        pulls: True if the program may pull.
        options: options of the run.
        processors: multiprocessors of the GPU.
        threads: threads of a block.
    """
    size, t = extent.size, traced
    prefix = np.uint64 if extent.wide else np.uint32
    frontier = 0 if t.all else size
    bucketed, lists = t.priority is not None, t.apply is not None or t.priority is not None
    bits = (size + 31) // 32 if (pulls or options.sweeps) and not t.all else 0
    row = SCHEDULES.get(options.schedule)
    huge = size if (row and row.huge) or options.features or extent.wide else 0
    blocks = max(processors * MOST_RESIDENT, options.blocks or 0, options.grid)
    places = extent.edges * (2 if options.emit_limit else 1)
    sizes = Sizes(size, places, extent.wide, threads, blocks, extent.largest, len(t.reads_u), options.values)
    scratch = row.scratch(sizes) if row else (0, 0, 0)
    sifted = options.filters_edges(t, extent, pulls)
    words = (extent.edges + 31) // 32 if sifted else 0
    post = exchange_state.POST_PEERS + exchange_state.POST_PEER * extent.peers
    tiled = options.bins_edges(t, extent, pulls)
    searches = t.once and extent.mirrored and options.persistent_bfs_blocks(extent) > 0
    cut = most_pieces(extent.size, extent.edges, processors)[1] if tiled else 0
    return {
        **{f"f_{name}": _field(size, STORED.get(f.dtype, f.dtype)) for name, f in t.fields.items()},
        "board": (
            control.CONTROLS + control.MOST_SUMS + 2 * max(len(t.globals), 1) + 1 + post
            + control.RING * control.FIGURES, np.int64,
        ),
        "counters": (4 * control.SLOT, np.int64), "totals": (2 + control.MOST_SUMS, np.int64),
        "parts": (control.PARTS * max(len(t.float_sums), 1), np.float64),
        "queue0": (frontier, np.uint32), "queue1": (frontier, np.uint32),
        "sums0": (frontier, prefix), "sums1": (frontier, prefix),
        "huge": (huge, np.uint32), "huge_sums": (huge, prefix), "scanned": (1 << 16, np.int64),
        "touched": (frontier if lists else 0, np.uint32), "mirrors": (size if extent.mirrored else 0, np.uint32),
        "marks": (extent.chunks << wire.GPU.chunk_bits >> 5, np.uint32),
        "awake": ((extent.masters + 31) // 32 if extent.peers and not t.all else 0, np.uint32),
        "dirty": (frontier, np.uint32), "stamps": (size if t.flagged else 0, np.uint32),
        "seen": ((size + 31) // 32 if t.once else 0, np.uint32),
        "hits": ((size + 31) // 32 if searches else 0, np.uint32),
        "waiting": ((size + 31) // 32 if bucketed else 0, np.uint32),
        "far0": (size if bucketed else 0, np.uint32), "far1": (size if bucketed else 0, np.uint32),
        "live0": (size if t.live is not None else 0, np.uint32),
        "live1": (size if t.live is not None else 0, np.uint32),
        "bits0": (bits, np.uint32), "bits1": (bits, np.uint32),
        "parent": (0, np.uint32), "lowest": (0, np.int64),
        "forest": (0, np.int64),
        "marked_edges": (words, np.uint32), "marked_sums": (words, prefix),
        "kept": (extent.edges // KEPT if sifted else 0, np.uint32),
        "kept_offsets": (size + 1 if sifted else 0, prefix),
        "scratch0": (scratch[0], np.uint32), "scratch1": (scratch[1], np.uint32), "scratch2": (scratch[2], np.uint64),
        "tile_parts": (cut * control.TILE, np.uint64), "tile_words": (4 if tiled else 0, np.uint32),
        "chunk_parts": (0 if t.row_reducer else 8 * len(t.proposes) * pieces, np.uint8),
        **_tables(t, pieces, size, extent.mirrored),
        "record": (blocks * control.BLOCK if options.record else 0, np.int64),
        **(arrays.wanted(t, extent) if (arrays := own_arrays(t)) else {}),
    }  # fmt: skip


def _tables(t: Traced, chunks: int, size: int, mirrored: bool) -> Wanted:
    """Return the arrays in which rows of a row reducer are folded in chunks, and those that say which rows to fold."""
    if not t.row_reducer:
        return {}
    own = {BEST: 8 * control.FOLD_CHUNK}  # not a constant of all kernels: ``fold_best.cuh`` has it
    slots = (own.get(t.row_reducer) or getattr(control, f"{t.row_reducer.name.upper()}_SLOTS")) * chunks
    keys = slots if t.row_reducer is MODE else 0
    counted = size if falls_below_ceiling(t) and not mirrored else 0
    return {
        "fold_keys": (keys, np.uint64), "fold_counts": (slots, np.uint32), "fold_parts": (2 * chunks, np.int64),
        "fold_stamps": (chunks, np.uint32), "fold_votes": (chunks, np.uint32),
        "fold_marks": ((size + 31) // 32, np.uint32), "fold_support": (counted, np.uint64),
    }  # fmt: skip


def bytes_of(arrays: Wanted) -> int:
    """Return the bytes of arrays."""
    return sum(prod((count,)) * np.dtype(dtype).itemsize for count, dtype in arrays.values())


def _field(size: int, dtype: str) -> tuple[int, str]:
    """Return length and dtype of a field. Bytes fill whole 32-bit words: an atomic on one byte touches its word."""
    return ((size + 7) // 4 * 4 if np.dtype(dtype).itemsize == 1 else max(size, 1)), dtype
