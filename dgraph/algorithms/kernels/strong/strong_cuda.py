"""Strongly connected components of a whole graph on one GPU (``strong.cuh``); two searches of the engine come first."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.memory.memory_plan import in_edges, require
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context
from dgraph.program import Program
from dgraph.result.columns import FieldColumn

FEW = 64
"""Trimming ends when a pass decides less than one in this many of the remaining vertices."""


@cache
def text(wide: bool, ids: str) -> str:
    """Return the kernels' text. ``wide``: offsets are 64-bit; ``ids``: dtype of the array of original ids."""
    types = f"typedef {'i64' if wide else 'u32'} offset_t;\ntypedef {TYPES[ids]} original_t;"
    return in_parts(own_text(types, "union_find", "strong"), 2)


class GpuStrong(RowSolver):
    """Finder of strongly connected components on a GPU that holds the whole graph."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes beside the graph and its in-edges.

        A vertex takes 60: part, component, names, labels, sizes, lists of vertices, and the levels of two searches. An
        arc takes 5: arcs between components, of 16 with their copies, are expected to be less than a third of all.
        """
        return 60 * size.vertices + 5 * size.arcs

    def fits(self, ctx: Context) -> bool:
        """Return False where the run asks for rounds of programs: a limit of rounds, checkpoints, a direction."""
        asked = ctx.direction != "auto" or ctx.max_rounds is not None or ctx.checkpoints is not None
        return not asked and self.backend.options.schedule == "auto" and ctx.local.masters > 0

    def solve(self, ctx: Context, ahead: Program, behind: Program) -> tuple[FieldColumn, int, int]:
        """Return the labels, which stay on the GPU, the number of components, and the size of the largest.

        Args:
            ctx: the run.
            ahead: search along arcs, whose ``source`` is still to be set.
            behind: search against them.

        Raises:
            OutOfMemory: there is too little memory for it; programs may find the components.
        """
        graph, device = self.backend.graph_of(ctx.local), self.backend.device
        in_edges(graph)
        require(device, self.bytes(RowSize.whole(ctx.local.size, 0)), "finding components")
        return StrongComponents(graph, device).components(ctx, ahead, behind)


class StrongComponents:
    """One search for all components.

    Attributes:
        arrays: name → array, of the pointers of ``Env`` in its order; None: a null pointer.
        numbers: its other members.
    """

    def __init__(self, graph: Any, device: Any):
        self.graph, self.device, self.n = graph, device, graph.local.size
        xp, n, incoming = device.xp, self.n, graph.incoming
        self.module = device.module(text(graph.wide, graph.original.dtype.name), "strong")
        self.arrays: dict[str, Any] = {
            "offsets": graph.out.offsets, "neighbours": graph.out.neighbours,
            "incoming_offsets": incoming.offsets, "incoming": incoming.neighbours, "original": graph.original,
            "ahead": None, "behind": None, "part": xp.empty(n, np.uint8), "component": xp.empty(n, np.uint32),
            "into": None, "out_of": None, "number": None, "vertices": None, "vertices_left": xp.empty(n, np.uint32),
            "from": None, "to": None, "from_left": None, "to_left": None,
            "sizes": None, "labelled": None, "labels": None, "names": None,
            "products": None, "candidates": None, "counts": xp.zeros(5, np.uint64),
        }  # fmt: skip
        self.numbers = {"n": n, "pivot": 0, "vertex_count": n, "arc_count": 0, "capacity": 0, "label_count": n}

    def components(self, ctx: Context, ahead: Program, behind: Program) -> tuple[FieldColumn, int, int]:
        """Find the components; see :meth:`GpuStrong.solve`."""
        with ctx.record("compute"):
            pivot = self.numbers["pivot"] = self._pivot()
        source = int(self.device.get(self.graph.original[pivot : pivot + 1])[0])
        for name, program in (("ahead", ahead), ("behind", behind)):
            state = ctx.run(type(program)(source=source))
            self.arrays[name] = self._levels(state)
        with ctx.record("compute"):
            self._launch("begin_parts")
            self.arrays["ahead"] = self.arrays["behind"] = None
            if self._trimmed():
                self._contract()
                while self.numbers["vertex_count"]:
                    self._split()
            return self._answer()

    def _pivot(self) -> int:
        """Return the first vertex of the largest in-degree times out-degree."""
        warps, xp = self.device.blocks * self.module.resident("find_pivot") * control_block.BLOCK // 32, self.device.xp
        self.arrays |= {"products": xp.zeros(warps, np.uint64), "candidates": xp.zeros(warps, np.uint32)}
        self._launch("find_pivot")
        products, vertices = (self.device.get(self.arrays[name]) for name in ("products", "candidates"))
        self.arrays |= dict.fromkeys(("products", "candidates"))
        return int(vertices[products == products.max()].min())

    def _levels(self, state: Any) -> Any:
        """Return the levels of a search, by position of this graph."""
        raw = state.raw("level")
        if isinstance(raw, FieldView) and raw.is_whole(self.n, self.graph.place):
            return raw.values
        levels = state.fields.on_device("level")
        return self.graph.arranged(self.device.put(state["level"]) if levels is None else levels)

    def _trimmed(self) -> int:
        """Decide vertices that are components by themselves; return how many other vertices remain."""
        while count := self.numbers["vertex_count"]:
            self._launch("trim")
            remaining = self._counted()[0]
            self._turn_vertices(remaining)
            if FEW * (count - remaining) < count:
                break
        return self.numbers["vertex_count"]

    def _contract(self) -> None:
        """Contract vertices that have arcs to each other, and trim the arcs between the others."""
        xp = self.device.xp
        self.arrays |= {"number": xp.empty(self.n, np.uint32)}
        self._launch("contract")
        self._launch("flatten")
        roots = self._counted()[0]
        self._listed()
        self._turn_vertices(roots)
        self.arrays |= {name: xp.zeros(roots, np.uint32) for name in ("into", "out_of")}
        for trim in itertools.count(1):
            count = self.numbers["vertex_count"]
            self._launch("mark_ends", trim)
            self._launch("trim_ends", trim)
            self._shrink(False)
            if FEW * (count - self.numbers["vertex_count"]) <= count:
                break

    def _listed(self) -> None:
        """List the arcs inside parts: first with room for some, then for as many as there were."""
        xp, arcs, room = self.device.xp, self.numbers["vertex_count"], -1
        while arcs > room:
            room = arcs
            self.arrays |= dict.fromkeys(("from_left", "to_left"))
            require(self.device, 16 * room, "arcs between components")
            self.arrays |= {name: xp.empty(room, np.uint32) for name in ("from_left", "to_left")}
            self.numbers["capacity"] = room
            self._launch("list_arcs")
            arcs = self._counted()[1]
        self._turn_arcs(arcs)
        self.arrays |= {name: xp.empty(arcs, np.uint32) for name in ("from_left", "to_left")}

    def _split(self) -> None:
        """Decide the components that contain the smallest vertex that reaches them, and split the others."""
        self._launch("begin_names")
        changed = self.numbers["arc_count"]
        while changed:
            self._launch("propagate")
            changed = self._counted()[2]
        self._launch("decide")
        self._shrink(True)

    def _shrink(self, named: bool) -> None:
        """Go on with the vertices that are left, and the arcs between them; ``named``: those of equal names."""
        self._launch("shrink", int(named))
        vertices, arcs, _ = self._counted()
        self._turn_vertices(vertices)
        self._turn_arcs(arcs)

    def _answer(self) -> tuple[FieldColumn, int, int]:
        """Name the components and count them; on a replica of the graph, name those of this rank's vertices."""
        xp, replicas, place = self.device.xp, self.graph.replicas, self.graph.place
        self.arrays |= dict.fromkeys(("into", "out_of", "number", "from", "to", "from_left", "to_left"))
        if replicas is not None:
            self.arrays["labelled"], place = replicas.masters, replicas.place
            self.numbers["label_count"] = len(replicas.masters)
        self.arrays |= {"sizes": xp.empty(self.n, np.uint32), "names": xp.empty(self.n, np.int64)}
        self.arrays |= {"labels": xp.empty(self.numbers["label_count"], np.int64)}
        for kernel in ("begin_labels", "name_components", "write_labels"):
            self._launch(kernel)
        components, of_pivot = self.device.read(self.arrays["counts"])[3:].tolist()
        largest = max(of_pivot, int(self.device.get(self.arrays["sizes"].max())))
        view = FieldView(self.device, self.arrays["labels"], place)
        fields = LazyFields(self.device, {"labels": view}, self.graph.degree, self.graph.original)
        return FieldColumn(fields, "labels"), components, largest

    def _turn_vertices(self, count: int) -> None:
        """Go on with the vertices that are left."""
        vertices = self.arrays["vertices"]
        left = self.device.xp.empty(count, np.uint32) if vertices is None else vertices
        self.arrays["vertices"], self.arrays["vertices_left"] = self.arrays["vertices_left"], left
        self.numbers["vertex_count"] = count

    def _turn_arcs(self, count: int) -> None:
        """Go on with the arcs that are left."""
        for name in ("from", "to"):
            left = f"{name}_left"
            self.arrays[name], self.arrays[left] = self.arrays[left], self.arrays[name]
        self.numbers["arc_count"] = count

    def _counted(self) -> list[int]:
        """Return the vertices left, the arcs left, and whether names changed; count these anew."""
        counts = self.device.read(self.arrays["counts"])[:3].tolist()
        self.device.clear(self.arrays["counts"][:3])
        return counts

    def _launch(self, kernel: str, argument: int = 0) -> None:
        self.module.set_environment(words_of(self.device, [*self.arrays.values(), *self.numbers.values()]))
        self.module.launch(kernel, self.device.blocks * self.module.resident(kernel), argument)
