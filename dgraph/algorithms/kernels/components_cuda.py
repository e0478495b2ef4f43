"""Connected components of a whole graph on one GPU, in one round instead of one for each step of label propagation.

Module text and launches of the union-find kernels (``components.cuh``), also for several GPUs (``cc_multi_cuda.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.interface import Machine
from dgraph.backend.snapshot import Snapshot
from dgraph.program import Traced

ELECTED_LEANING, ELECTED_HOOKING = (
    control_block.HOOKING_FIRST | control_block.ELECTS,
    control_block.HOOKING_ONE | control_block.ELECTS,
)

BEGINNING = ("hook_first",), ("hook_roots",), ("jump", ELECTED_LEANING), ("hook_one",), ("jump", ELECTED_HOOKING)
"""Launches that join a few edges of every vertex and elect the largest tree."""

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
def text(wide: bool, ids: str = "uint32") -> str:
    """Return the kernels' text. ``ids``: dtype of the array of original ids."""
    types = f"typedef {'i64' if wide else 'u32'} offset_t;\ntypedef {TYPES[ids]} original_t;"
    files = map(common, ("components", "components_single", "components_multi"))
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", common("base"), types, *files])


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
    counts = (size, masters, sources, ones, len(rows[0]), len(rows[1]))
    return np.array([*places, *counts], np.int64)


def launch_all(device, module, *launches: tuple) -> None:
    """Launch kernels of ``module`` in order."""
    for kernel, *argument in launches:
        module.launch(kernel, device.blocks * module.resident(kernel), *argument)


class ComponentsSingle(Machine):
    """Machine for a program whose ``kernel`` is "components", on an undirected graph on one rank: one round.

    Attributes:
        state: the field → an empty array, since nothing is exchanged.
    """

    direction, done, compiled = "push", False, True
    round = total_active = total_edges = 0

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: Options):
        self.traced, self.graph, self.device = traced, graph, device
        self.module = device.module(text(graph.wide, graph.original.dtype.name), "components")
        n, xp = max(graph.local.size, 1), device.xp
        self.parent, self.lowest = xp.empty(n, np.uint32), xp.empty(n, np.int64)
        self._forest = xp.zeros(control_block.FOREST_WORDS, np.int64)
        self.environment = environment(graph, self.parent, self.lowest, self._forest)
        self.state = {field: np.empty(0, np.int64) for field in traced.fields}

    def compile(self) -> None:
        """Do nothing: the kernels, which do not depend on the program, were loaded by the constructor."""

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Pass the arrays to the kernels."""
        self.module.set_environment(self.environment)

    def fused(self, limit: int) -> int:
        """Run the one round."""
        launch_all(self.device, self.module, *BEGINNING, ("hook_rest",), *NAMING)
        self.device.wait()
        self.round, self.done = 1, True
        return 1

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all vertices and edges; there are no sums."""
        return np.array([self.graph.local.masters, self.graph.edges], np.int64), np.empty(0)

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Apply the totals."""
        self.total_active, self.total_edges = (int(x) for x in integers)

    def globals(self) -> dict[str, int | float]:
        """Return no globals."""
        return {}

    def figures(self, first: int) -> np.ndarray:
        """Return vertices, edges and direction (push) of the one round; int64 (1, 3)."""
        return np.array([[self.total_active, self.total_edges, 0]], np.int64)

    def fields(self) -> LazyFields:
        """Return the smallest original id of each vertex's component: int64."""
        graph = self.graph
        labels = self.lowest[: graph.local.size] if self.done else graph.original.astype(np.int64)
        (field,) = self.traced.proposes
        return LazyFields(
            self.device, {field: FieldView(self.device, labels, graph.place)}, graph.degree, graph.original
        )

    def restore(self, kept: Snapshot) -> None:
        """Do nothing: the one round is repeated."""
