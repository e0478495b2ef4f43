"""Searches from up to 1,024 sources at once on one GPU (``reach_words.cuh``); several run programs instead.

The host reads three numbers a level: it chooses whether all vertices that miss a source scan their in-edges, or those
that the frontier's edges enter.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.passes import passes
from dgraph.algorithms.many_sources.reach_programs import ReachByPrograms
from dgraph.algorithms.many_sources.results import BITS, ENDLESS, LEVELS, Reached
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields

MOST_WORDS = 16
"""64-bit words of a vertex, at most: a line of 128 bytes."""

LONG = 4096
"""In-edges from which on a block scans a row."""

DENSE = 12
"""A frontier with more than one in this many edges is large: every vertex that misses a source scans its in-edges."""


@cache
def text(wide: bool, words: int) -> str:
    """Return the kernels' text. ``wide``: offsets are 64-bit; ``words``: of a vertex."""
    types = f"#define WORDS {words}\ntypedef {'i64' if wide else 'u32'} offset_t;"
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", common("base"), types, common("reach_words")])


def need(n: int, sources: int, words: int, keep: str) -> int:
    """Return the bytes of a search."""
    kept = 4 * sources if keep == LEVELS else sources // 8 + 8 if keep == BITS else 0
    return n * (24 * words + 26 + kept) + (1 << 20)


class GpuReach:
    """Searches on a GPU."""

    def __init__(self, backend: Any):
        self.backend = backend

    def search(self, ctx: Any, sources: np.ndarray, *, keep: str = "", limit: int = ENDLESS) -> Reached:
        """Search from ``sources``; collective. See ``reach.py``; levels and bits stay on the GPU."""
        words, n, device = MOST_WORDS, ctx.local.size, self.backend.device
        while words > 1 and 32 * words >= len(sources):
            words //= 2
        if ctx.comm.size == 1 and ctx.direction == "auto" and self.backend.options.schedule == "auto" and len(sources):
            graph = self.backend.graph_of(ctx.local)
            into = graph.incoming if ctx.local.directed else graph.out
            free = device.free(need(n, len(sources), words, keep))
            while words > 1 and need(n, len(sources), words, keep) > free:
                words //= 2
            if need(n, len(sources), words, keep) <= free:
                return _Search(ctx, device, graph, into, words, lids_of(ctx.local, sources), keep).run(limit)
        return ReachByPrograms(self.backend).search(ctx, sources, keep=keep, limit=limit)


class _Search:
    """Arrays of a search on the GPU, by position.

    Attributes:
        arrays: name → array, of the pointers of ``Env`` in its order; None: a null pointer.
        numbers: its other members.
    """

    def __init__(self, ctx: Any, device: Any, graph: Any, into: Any, words: int, lids: np.ndarray, keep: str):
        self.ctx, self.device, self.graph, self.words, self.keep = ctx, device, graph, words, keep
        xp, n, m = device.xp, graph.local.size, -(-graph.local.size // 32)
        self.at = device.put(lids) if graph.place is None else graph.place[device.put(lids)].astype(np.int64)
        self.module = device.module(text(graph.wide, words), "reach_words")
        long_rows = xp.flatnonzero(xp.greater(into.offsets[1:] - into.offsets[:-1], LONG))
        beyond = np.arange(n, 32 * m)
        self.open = ~self._bitmap(np.concatenate([device.get(long_rows).astype(np.int64), beyond]))
        self.bits = xp.zeros((n, -(-len(lids) // 64) if keep == BITS else 0), np.uint64)
        self.levels = xp.full((n, len(lids) if keep == LEVELS else 0), -1, np.int32)
        rows = [xp.empty((n, words), np.uint64) for _ in range(3)]
        bitmaps = [xp.empty(m, np.uint32) for _ in range(4)]
        self.arrays: dict[str, Any] = {
            "offsets": into.offsets, "neighbours": into.neighbours, "out_offsets": graph.out.offsets,
            "out_neighbours": graph.out.neighbours, "whole": None, "seen": rows[0], "front": rows[1],
            "fresh": rows[2], "active": bitmaps[0], "next": bitmaps[1], "marked": bitmaps[2], "open": bitmaps[3],
            "long_rows": long_rows.astype(np.uint32), "frontier": xp.empty(n, np.uint32),
            "rows": xp.empty(n, np.uint32), "counts": xp.zeros(3, np.uint64), "far": xp.zeros(n, np.int64),
            "reached": xp.zeros(n, np.int64), "levels": self.levels if keep == LEVELS else None,
        }  # fmt: skip
        self.numbers = {
            "n": n, "long_count": len(long_rows), "dense": 0, "frontier_count": 0, "sources": len(lids), "first": 0,
        }  # fmt: skip

    def run(self, limit: int) -> Reached:
        """Search from all sources, ``64 · words`` at a time."""
        batch, depth, masters = 64 * self.words, 0, self.ctx.local.masters
        for turn in passes(self.ctx, len(self.at), batch, 1):
            depth = max(depth, self._batch(turn * batch, self.at[turn * batch : (turn + 1) * batch], limit))
            if self.bits.shape[1]:
                kept = self.bits[:, turn * self.words : (turn + 1) * self.words]
                kept[...] = self.arrays["seen"][:, : kept.shape[1]]
        pairs = len(self.at) + int(self.arrays["reached"].sum())
        far = reached = np.zeros(0, np.int64)
        if not self.keep:
            views = (FieldView(self.device, self.arrays[name], self.graph.place) for name in ("far", "reached"))
            far, reached = (self.device.get(view.at(slice(0, masters))) for view in views)
        field = partial(_field, self.device, self.graph)
        return Reached(far, reached, pairs, depth, self.levels, self.bits, 64, field)

    def _batch(self, first: int, at: Any, limit: int) -> int:
        """Search from some sources; return the largest distance."""
        arrays, numbers = self.arrays, self.numbers
        count = len(at)
        place, bit = np.arange(count) >> 6, np.uint64(1) << (np.arange(count, dtype=np.uint64) & np.uint64(63))
        whole = np.zeros(self.words, np.uint64)
        np.bitwise_or.at(whole, place, bit)
        arrays["whole"] = self.device.put(whole)
        for name in ("seen", "front"):
            arrays[name][...] = 0
            arrays[name][at, self.device.put(place)] = self.device.put(bit)
        for name in ("next", "marked"):
            arrays[name][...] = 0
        arrays["open"][...] = self.open
        arrays["frontier"][:count] = at.astype(np.uint32)
        if arrays["levels"] is not None:
            self.levels[at, first + self.device.put(np.arange(count))] = 0
        arrays["active"][...] = self._bitmap(self.device.get(at))
        numbers |= {"first": first, "frontier_count": count, "dense": 0}
        depth, edges = 0, int(self.device.get((arrays["out_offsets"][at + 1] - arrays["out_offsets"][at]).sum()))
        while numbers["frontier_count"] and depth < limit:
            depth += 1
            numbers["dense"] = int(edges * DENSE > self.graph.edges)
            arrays["counts"][...] = 0
            if not numbers["dense"]:
                self._launch("mark")
            self._launch("list_rows")
            if numbers["long_count"]:
                self._launch("scan_long", depth)
            self._launch("scan_rows", depth)
            self._launch("list_found")
            _, found, edges = self.device.read(arrays["counts"]).tolist()
            for old, new in (("front", "fresh"), ("active", "next")):
                arrays[old], arrays[new] = arrays[new], arrays[old]
            arrays["next"][...] = 0
            if not numbers["dense"]:
                arrays["marked"][...] = 0
            numbers["frontier_count"] = found
        return depth - (numbers["frontier_count"] == 0 and depth > 0)

    def _bitmap(self, vertices: np.ndarray) -> Any:
        """Return a bitmap on the GPU in which few vertices are set, given by position."""
        words, at = np.unique(vertices >> 5, return_inverse=True)
        bits = np.zeros(len(words), np.uint32)
        np.bitwise_or.at(bits, at, np.uint32(1) << (vertices & 31).astype(np.uint32))
        out = self.device.xp.zeros(-(-self.graph.local.size // 32), np.uint32)
        out[self.device.put(words)] = self.device.put(bits)
        return out

    def _launch(self, kernel: str, depth: int = 0) -> None:
        places = [0 if a is None or not len(a) else self.device.address(a) for a in self.arrays.values()]
        self.module.set_environment(np.array([*places, *self.numbers.values()], np.int64))
        self.module.launch(kernel, self.device.blocks * self.module.resident(kernel), depth)


def _field(device: Any, graph: Any, values: Any) -> LazyFields:
    """Return values by position, a column of a table, as a field that stays on the GPU until it is read."""
    values = device.xp.ascontiguousarray(values)
    return LazyFields(device, {"values": FieldView(device, values, graph.place)}, graph.degree, graph.original)
