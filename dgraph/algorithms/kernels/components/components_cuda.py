"""Connected components of a whole graph on one GPU, in one round instead of one for each step of label propagation.

Module text and launches of the union-find kernels (``components.cuh``), also for several GPUs (``cc_multi_cuda.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.single_machine import SingleMachine
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.own_kernels import own_text
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.program import Traced

ELECTED_LEANING, ELECTED_HOOKING = (
    control_block.HOOKING_FIRST | control_block.ELECTS,
    control_block.HOOKING_ONE | control_block.ELECTS,
)

BEGINNING = ("hook_first",), ("hook_roots",), ("jump", ELECTED_LEANING), ("hook_one",), ("jump", ELECTED_HOOKING)
"""Launches that join a few edges of every vertex and elect the largest tree."""

BEGINNING_UNORDERED = BEGINNING[0], ("jump", control_block.HOOKING_FIRST), *BEGINNING[1:]
"""Launches of BEGINNING where vertices are not numbered by degree, as on roads.

Paths to local minima are long there, and ``hook_roots`` would walk them without help.
"""

WINDOW = control_block.WINDOW_BYTES // 4
"""Vertices whose parents a block holds in shared memory."""

FEW_EDGES, SHORT_ROWS = 8, 128
"""Mean and largest degree up to which vertices that are not numbered by degree are joined by windows.

With more edges a vertex, it pays to skip those inside of the largest tree; a thread walks a row.
"""

WINDOWS = ("join_windows",), ("join_between",)
"""Launches that join all edges of a graph of short rows."""

LOWEST = 5
"""Word of :func:`environment` with the address of ``lowest``."""

NAMING = ("jump", control_block.HOOKING_ALL), ("label_trees",), ("label",)
"""Launches that give every vertex the smallest original id of its tree."""

MEMBERS = ("hook_first",), ("hook_roots", ELECTED_LEANING), ("hook_one", ELECTED_HOOKING), ("mark_largest",)
"""Launches of BEGINNING between ranks that exchange the members of their largest trees."""

MEMBERS_LAZILY = (
    ("hook_first", control_block.NONEMPTY_ONLY),
    ("hook_roots", control_block.NONEMPTY_ONLY | control_block.ELECTS),
    ("mark_largest",),
)
"""Launches of MEMBERS where rows begin with hubs.

The first neighbour joins most vertices; ``send_inside`` decides which others need a tree.
"""

NO_MEMBERS = (
    ("hook_first",),
    ("jump", control_block.HOOKING_FIRST),
    ("hook_one",),
    ("jump", ELECTED_HOOKING),
    ("mark_largest",),
)
"""Launches of BEGINNING between ranks that do not exchange members; the first neighbour joins few there."""


@cache
def text(wide: bool, ids: str = "uint32", several: bool = False) -> str:
    """Return the kernels' text.

    Args:
        wide: offsets have 64 bits.
        ids: dtype of the array of original ids.
        several: the kernels of several GPUs take the place of the last ones of a single GPU.
    """
    types = f"typedef {'i64' if wide else 'u32'} offset_t;\ntypedef {TYPES[ids]} original_t;"
    kinds = ("components_multi",) if several else ("components_single", "components_windows")
    return in_parts(own_text(types, "union_find", "components", *kinds), 4)


def environment(
    graph: DeviceGraph,
    parent,
    lowest,
    forest,
    marks: tuple = ((), (), ()),
    lists: bool = False,
    ends_only: bool = False,
) -> np.ndarray:
    """Return ``Env`` of the kernels.

    Args:
        graph: on the device.
        parent: parent of each vertex.
        lowest: smallest label, at roots.
        forest: counters.
        marks: arrays ``inside``, ``apart`` and ``remaining``.
        lists: pass the lists of long rows.
        ends_only: no mirror has edges.
    """
    rows = (graph.long_rows, *graph.chunks) if lists else ((), (), ())
    heads = graph.heads if graph.order is not None else ()
    arrays = (graph.out.offsets, graph.out.neighbours, heads, graph.original, parent, lowest, forest, *marks, *rows)
    places = [graph.device.address(array) if len(array) else 0 for array in arrays]
    size, masters = graph.local.size, graph.local.masters
    sources = graph.rows_with_edges(masters if ends_only else size)
    ones = graph.rows_of_many if ends_only and len(heads) else sources
    counts = (size, masters, sources, ones, len(rows[0]), len(rows[1]), WINDOW)
    return np.array([*places, *counts], np.int64)


def launch_all(device, module, *launches: tuple) -> None:
    """Launch kernels of ``module`` in order."""
    for kernel, *argument in launches:
        module.launch(kernel, device.blocks * module.resident(kernel), *argument)


class ComponentsSingle(SingleMachine):
    """Machine for a program whose ``kernel`` is "components", on an undirected graph on one rank."""

    direction, dtype = "push", np.int64

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: GpuPlan):
        super().__init__(traced, graph, device, options)
        self.parent = device.xp.empty(max(graph.local.size, 1), np.uint32)
        self._forest = device.xp.empty(control_block.FOREST_WORDS, np.int64)
        self.bytes = self.parent.nbytes + self._forest.nbytes
        self.environment = environment(graph, self.parent, self.parent, self._forest)

    def kernels(self) -> tuple[str, str]:
        """Return the kernels."""
        return text(self.graph.wide, self.graph.original.dtype.name), "components"

    def start(self, fields: Mapping[str, np.ndarray]) -> None:
        """Allocate the labels, and pass the arrays to the kernels."""
        super().start(fields)
        self.device.clear(self._forest)
        self.environment[LOWEST] = self.device.address(self.column)
        self.module.set_environment(self.environment)

    def solve(self) -> None:
        """Join all edges, and name the trees."""
        graph, local = self.graph, self.graph.local
        launches: tuple[tuple, ...]
        if graph.order is not None:
            launches = *BEGINNING, ("hook_rest",), *NAMING
        elif graph.edges > FEW_EDGES * local.size or graph.largest > SHORT_ROWS:
            launches = *BEGINNING_UNORDERED, ("hook_rest",), *NAMING
        else:
            launches = *WINDOWS, *((("label_by_root",),) if local.ascending == local.size else NAMING)
        launch_all(self.device, self.module, *launches)

    def arrays(self) -> dict[str, Any]:
        """Return the smallest original id of each vertex's component: int64."""
        (field,) = self.traced.proposes
        return {field: self.column if self.done else self.graph.original.astype(np.int64)}
