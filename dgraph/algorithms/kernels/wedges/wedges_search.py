"""Launches of ``wedges.cuh``: rows are oriented, hubs marked, triangles counted. Entry: :class:`WedgeCounter`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.wedges.wedges_memory import bitmap_words
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph

MEMBERS = (
    "offsets", "neighbours", "place", "vertices", "starts", "degrees", "targets", "bitmap", "hubs", "counts", "taken",
    "shares", "sorted", "part", "parts",
)  # fmt: skip
"""Members of ``Env``."""


@cache
def text(wide: bool) -> str:
    """Return the kernels' text; ``wide``: offsets are 64-bit."""
    types = f"typedef {'i64' if wide else 'u32'} offset_t;"
    return own_text(types, "wedges")


@dataclass
class WedgeRows:
    """Oriented rows of a whole graph, whose pairs of targets are wedges.

    Attributes:
        starts: of the rows in ``targets``, int64 (vertices + 1,).
        targets: places, uint32, ascending in each row.
        hubs: number of vertices of the bitmap.
        bitmap: arcs between them, uint32.
    """

    starts: Any
    targets: Any
    hubs: int
    bitmap: Any


class WedgeCounter:
    """Kernels on one GPU.

    Args:
        graph: a whole graph, or one rank's part.
        device: the GPU.
        place: place of each position of a part, uint32; None: positions of a whole graph are places.
    """

    def __init__(self, graph: DeviceGraph, device: Any, place: Any = None):
        self.graph, self.device, self.place = graph, device, place
        self._module = device.module(text(graph.wide), "wedges")

    def oriented(self) -> tuple[Any, Any]:
        """Return the starts of the oriented rows, int64, and the distinct neighbours of each position, uint32."""
        xp, size = self.device.xp, self.graph.local.size
        starts, degrees = xp.zeros(size + 1, np.int64), xp.zeros(size, np.uint32)
        self._of_rows("count_lower", starts=starts, degrees=degrees)
        xp.cumsum(starts, out=starts)
        return starts, degrees

    def targets(self, starts: Any) -> Any:
        """Return the targets, places, of the oriented rows, in the order of arcs."""
        targets = self.device.xp.empty(int(self.device.get(starts[-1:])[0]), np.uint32)
        self._of_rows("fill_lower", starts=starts, targets=targets)
        return targets

    def wedges(self, starts: Any, targets: Any, hubs: int) -> WedgeRows:
        """Return the rows of a whole graph with their bitmap."""
        bitmap = self.device.xp.zeros(bitmap_words(hubs), np.uint32)
        self._launch("mark_hubs", starts=starts, targets=targets, bitmap=bitmap, hubs=hubs)
        return WedgeRows(starts, targets, hubs, bitmap)

    def triangles(self, wedges: WedgeRows, rows: int, part: int = 0, parts: int = 1) -> Any:
        """Return the triangles at each place, int64, that the rows of one part close.

        Args:
            wedges: the rows.
            rows: their number without trailing empty ones.
            part: number of this part of the rows.
            parts: how many there are.
        """
        xp, arrays = self.device.xp, vars(wedges)
        counts, taken = xp.zeros(len(wedges.starts) - 1, np.int64), xp.zeros(1, np.uint64)
        self._launch("count_triangles", vertices=rows, counts=counts, taken=taken, part=part, parts=parts, **arrays)
        self.device.wait()
        return counts

    def shares(self, counts: Any, degrees: Any) -> Any:
        """Return the share of joined pairs of neighbours, float64, from triangles and distinct neighbours."""
        shares = self.device.xp.empty(len(counts), np.float64)
        self._launch("write_shares", vertices=len(counts), counts=counts, degrees=degrees, shares=shares)
        return shares

    def _of_rows(self, kernel: str, **arrays: Any) -> None:
        csr, place = self.graph.out, self.place
        ordered = place is None and self.graph.sorted_rows
        self._launch(
            kernel, offsets=csr.offsets, neighbours=csr.neighbours, place=place, vertices=self.graph.local.size,
            sorted=int(ordered), **arrays,
        )  # fmt: skip

    def _launch(self, kernel: str, **values: Any) -> None:
        self._module.set_environment(words_of(self.device, map(values.get, MEMBERS)))
        self._module.launch(kernel, self.device.blocks * self._module.resident(kernel))
