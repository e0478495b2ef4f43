"""Triangles on a GPU (``wedges.cuh``): oriented rows and a bitmap between hubs are made from the graph there.

GPUs with a replica of the graph each share out its rows, and add up their counts. Where the graph does not fit, ranks
orient and move their rows on the host, and count them on CPU threads.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from math import isqrt
from typing import Any

import numpy as np

from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.errors import UsageError
from dgraph.result.columns import FieldColumn

MOST_HUBS = 1 << 18
"""Most vertices of the bitmap, whose words have 32-bit numbers."""


def hubs_of(vertices: int, arcs: int) -> int:
    """Return the number of vertices of the bitmap.

    It takes as many bytes as the neighbours of all rows. Its vertices are in more than nine tenths of the wedges
    of R-MAT up to scale 22; other wedges take a binary search.
    """
    return min(vertices, 8 * isqrt(arcs), MOST_HUBS)


def bitmap_words(hubs: int) -> int:
    """Return the words before the row of vertex ``hubs``, as ``hub_word`` counts them."""
    return (hubs // 32 + 1) * (hubs - hubs // 32 * 16)


@cache
def text(wide: bool) -> str:
    """Return the kernels' text; ``wide``: offsets are 64-bit."""
    types = f"typedef {'i64' if wide else 'u32'} offset_t;"
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", common("base"), types, common("wedges")])


class Wedges:
    """Counter of triangles on a GPU."""

    def __init__(self, backend: Any):
        self.backend = backend

    def whole(self, local: Any) -> tuple[dict[str, Any], int, float]:
        """Count the triangles of a whole graph; collective where GPUs share out the rows of replicas.

        Returns:
            columns ``triangles`` and ``lcc`` (share of pairs of neighbours that are joined), which stay on the GPU, and
            the sum of each.
        """
        graph, device, moves = self.backend.graph_of(local), self.backend.device, self.backend.replicas
        with nullcontext() if moves is None else moves.comm.together():
            count = Count(graph, device, *((0, 1) if moves is None else (moves.comm.rank, moves.comm.size)))
        if moves is not None:
            moves.add_up(count.triangles)
        found = {"triangles": count.triangles, "lcc": count.shares()}
        views = {name: FieldView(device, values, graph.place) for name, values in found.items()}
        fields = LazyFields(device, views, graph.degree, graph.original)
        corners = int(device.get(count.triangles.sum()))
        return {name: FieldColumn(fields, name) for name in views}, corners, fields.total("lcc") or 0.0

    def counter(self, offsets: np.ndarray, targets: np.ndarray) -> Any:
        """Return a counter of rows on the host."""
        from dgraph.algorithms.kernels.wedges_cpu import Counter

        return Counter(Team(1), offsets, targets)


class Count:
    """Triangles in the rows of one part.

    Attributes:
        triangles: at each position, int64; those that the rows of this part close.
    """

    def __init__(self, graph: Any, device: Any, part: int, parts: int):
        """Count them.

        Args:
            graph: the whole graph on the device.
            device: the GPU.
            part: number of this part of the rows.
            parts: how many there are.
        """
        xp, size = device.xp, graph.local.size
        self._graph, self._device, self._hubs = graph, device, hubs_of(size, graph.edges)
        need = 32 * size + 4 * bitmap_words(self._hubs) + 2 * graph.edges
        if need > device.free(need):
            raise UsageError(
                f"counting triangles needs {need:,} bytes of GPU memory beside the graph, and {device.free(need):,} "
                f"are free on {device.name}; use more ranks, or --backend cpu"
            )
        self._starts, self._degrees = xp.zeros(size + 1, np.int64), xp.zeros(size, np.int64)
        self.triangles, self._shares = xp.zeros(size, np.int64), xp.empty(size, np.float64)
        self._bitmap, self._taken = xp.zeros(bitmap_words(self._hubs), np.uint32), xp.zeros(1, np.uint64)
        self._part, self._parts = part, parts
        self._module = device.module(text(graph.wide), "wedges")
        self._launch("count_lower", (), size)
        xp.cumsum(self._starts, out=self._starts)
        targets = xp.empty(int(device.get(self._starts[-1:])[0]), np.uint32)
        self._launch("fill_lower", targets, size)
        self._launch("count_triangles", targets, graph.rows_with_edges(size))
        device.wait()

    def shares(self) -> Any:
        """Return the share of joined pairs of neighbours, float64, once ``triangles`` are those of all parts."""
        self._launch("write_shares", (), self._graph.local.size)
        return self._shares

    def _launch(self, kernel: str, targets: Any, vertices: int) -> None:
        graph, device = self._graph, self._device
        arrays = (
            graph.out.offsets, graph.out.neighbours, vertices, self._starts, self._degrees, targets, self._bitmap,
            self._hubs, self.triangles, self._taken, self._shares, int(graph.sorted_rows), self._part, self._parts,
        )  # fmt: skip
        words = [each if isinstance(each, int) else device.address(each) if len(each) else 0 for each in arrays]
        self._module.set_environment(np.array(words, np.int64))
        self._module.launch(kernel, device.blocks * self._module.resident(kernel))
