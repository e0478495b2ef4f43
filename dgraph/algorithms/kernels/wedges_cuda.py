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
        """Count the triangles of a whole graph.

        Returns:
            columns ``triangles`` and ``lcc`` (share of pairs of neighbours that are joined), which stay on the GPU, and
            the sum of each.
        """
        graph, device = self.backend.graph_of(local), self.backend.device
        xp, size = device.xp, graph.local.size
        hubs = hubs_of(size, graph.edges)
        need = 32 * size + 4 * bitmap_words(hubs) + 2 * graph.edges
        moves = self.backend.replicas
        with nullcontext() if moves is None else moves.comm.together():
            if need > device.free(need):
                raise UsageError(
                    f"counting triangles needs {need:,} bytes of GPU memory beside the graph, and "
                    f"{device.free(need):,} are free on {device.name}; use more ranks, or --backend cpu"
                )
        part, parts = (0, 1) if moves is None else (moves.comm.rank, moves.comm.size)
        starts, degrees, counts = xp.zeros(size + 1, np.int64), xp.zeros(size, np.int64), xp.zeros(size, np.int64)
        taken, shares, ordered = xp.zeros(1, np.uint64), xp.empty(size, np.float64), int(graph.sorted_rows)
        bitmap = xp.zeros(bitmap_words(hubs), np.uint32)
        module = device.module(text(graph.wide), "wedges")

        def launch(kernel: str, targets: Any, vertices: int = size) -> None:
            rows = graph.out.offsets, graph.out.neighbours, vertices
            arrays = *rows, starts, degrees, targets, bitmap, hubs, counts, taken, shares, ordered, part, parts
            words = [each if isinstance(each, int) else device.address(each) if len(each) else 0 for each in arrays]
            module.set_environment(np.array(words, np.int64))
            module.launch(kernel, device.blocks * module.resident(kernel))

        launch("count_lower", ())
        xp.cumsum(starts, out=starts)
        targets = xp.empty(int(device.get(starts[-1:])[0]), np.uint32)
        launch("fill_lower", targets)
        launch("count_triangles", targets, graph.rows_with_edges(size))
        if moves is not None:
            moves.add_up(counts)
        launch("write_shares", targets)
        views = {
            name: FieldView(device, values, graph.place) for name, values in (("triangles", counts), ("lcc", shares))
        }
        fields = LazyFields(device, views, graph.degree, graph.original)
        corners = int(device.get(counts.sum()))
        return {name: FieldColumn(fields, name) for name in views}, corners, fields.total("lcc") or 0.0

    def counter(self, offsets: np.ndarray, targets: np.ndarray) -> Any:
        """Return a counter of rows on the host."""
        from dgraph.algorithms.kernels.wedges_cpu import Counter

        return Counter(Team(1), offsets, targets)
