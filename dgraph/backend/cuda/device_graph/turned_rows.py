"""In-edges of a graph on a GPU from its out-edges, piece by piece (``turned_rows.cuh``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

NAME = "turned_rows"


@cache
def text() -> str:
    """Return the text of the kernels."""
    return own_text("", NAME)


def turned(device: Any, offsets: Any, neighbours: Any, weights: Any, rows: int, some: int) -> tuple[Any, Any, Any]:
    """Return offsets, sources and weights of the in-edges; sources of a target keep their order.

    Args:
        device: the GPU.
        offsets: (rows + 1,) of out-edges, uint32 or int64.
        neighbours: uint32 (edges,).
        weights: (edges,) of four or eight bytes each, or None.
        rows: vertices.
        some: edges of a piece; bounds the scratch memory.
    """
    xp, edges, wide = device.xp, neighbours.size, offsets.dtype.itemsize == 8
    module = device.module(text(), NAME)
    starts, sources = xp.zeros(rows + 1, np.uint64), xp.empty(edges, np.uint32)
    moved = None if weights is None else xp.empty(edges, weights.dtype)

    def launch(kernel: str, first: int = 0, order: Any = None, targets: Any = None, out: Any = sources) -> None:
        count = min(some, edges - first)
        module.set_environment(words_of(device, [
            offsets, neighbours, rows, wide, first, count, order, targets, starts, out, weights, moved,
            0 if weights is None else weights.itemsize,
        ]))  # fmt: skip
        module.launch(kernel, device.blocks * module.resident(kernel))

    for first in range(0, edges, some):
        launch("count_entries", first)
    xp.cumsum(starts, out=starts)
    begins = xp.empty(rows + 1, np.int64 if wide else np.uint32)
    if wide:
        device.copy(begins, starts.view(np.int64))
    else:
        launch("narrow_starts", out=begins)
    for first in range(0, edges, some):
        order = xp.argsort(neighbours[first : first + some], kind="stable")
        targets = xp.empty(order.size, np.uint32)
        for kernel in ("read_targets", "place_entries", "pass_entries"):
            launch(kernel, first, order, targets)
    return begins, sources, moved
