"""Minimum spanning forest of a whole graph on one GPU (``forest.cuh``).

Where there are many edges for each vertex, the lightest go first: their forest, then the heavier edges that join two of
its trees. The edges of both then are joined once more from the beginning, since the rows of the answer name the trees
of Borůvka's rounds. Several ranks find the light edges on the host.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.forest_columns import rounded_sum
from dgraph.algorithms.kernels.forest_cpu import FIRST, MANY, SAMPLE, Forest
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.errors import UsageError
from dgraph.result.columns import UNREACHED, FieldColumn

EXPONENTS = 2048
"""Exponents of float64."""

NONE = -1
"""Word without an edge, and no lower bound of weights."""


@cache
def text(wide: bool, weights: str, ids: str, packed: bool) -> str:
    """Return the kernels' text.

    Args:
        wide: offsets are 64-bit.
        weights: dtype of the weights.
        ids: dtype of the array of original ids.
        packed: a weight and two places fit one word.
    """
    real = weights[0] == "f"
    types = (
        f"typedef {'i64' if wide else 'u32'} offset_t;\n"
        f"typedef {TYPES[weights]} weight_t;\n"
        f"typedef {TYPES[ids]} original_t;\n"
        f"typedef {'double' if real else 'i64'} value_t;\n"
        f"#define NO_WEIGHT {'INFINITE' if real else f'{UNREACHED}ll'}\n"
        f"static const bool PACKED = {'true' if packed else 'false'};"
    )
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", common("base"), types, common("forest")])


class GpuForest(Forest):
    """Finder of minimum spanning forests on a GPU."""

    def __init__(self, backend: Any):
        super().__init__(None)
        self.backend = backend

    def whole(self, local: Any) -> tuple[dict[str, Any], int | float, int]:
        """Return the columns of the forest, which stay on the GPU, the sum of the weights, and the number of edges."""
        return Search(self.backend.graph_of(local), self.backend.device).found()


class Search:
    """One search for a forest.

    Attributes:
        arrays: name → array, of the pointers of ``Env`` in its order; None: a null pointer.
        numbers: its other members.
    """

    def __init__(self, graph: DeviceGraph, device: Any):
        self.graph, self.device = graph, device
        out, n, xp = graph.out, graph.local.size, device.xp
        kind = np.dtype(np.uint8) if out.weights is None else out.weights.dtype
        self.real = kind.kind == "f"
        low, high = (1, 1) if out.weights is None else graph.local.out.weight_range[:2]
        bits = max(int(n - 1).bit_length(), 1)
        self.packed = not self.real and (int(high) - int(low)).bit_length() + 2 * bits < 64
        name, ids = kind.name, graph.original.dtype.name
        self.module = device.module(text(graph.wide, name, ids, self.packed), "forest")
        self.n, self.kind, self.least = n, kind, 0 if self.real else int(low)
        rows, first = graph.chunks
        pairs = 0 if self.packed else n
        self._check_memory()
        place, vertex = self._places()
        chosen, chosen_pair = xp.empty(n, np.uint64), xp.empty(pairs, np.uint64)
        self.arrays: dict[str, Any] = {
            "offsets": out.offsets, "neighbours": out.neighbours, "weights": out.weights, "original": graph.original,
            "place": place, "vertex": vertex, "chunk_rows": rows, "chunk_first": first,
            "parent": xp.empty(n, np.uint32), "next": xp.empty(n, np.uint32),
            "best": xp.empty(n, np.uint64), "second": xp.empty(pairs, np.uint64),
            "chosen": chosen, "chosen_pair": chosen_pair,
            "roots": xp.empty(n, np.uint32), "roots_left": xp.empty(n, np.uint32),
            **dict.fromkeys(("from_a", "from_b", "from_key", "from_pair", "to_a", "to_b", "to_key", "to_pair")),
            "counts": xp.zeros(5, np.uint64), "bins": xp.zeros(2 * EXPONENTS, np.int64),
            "weight": None, "source": None, "target": None,
        }  # fmt: skip
        self.numbers = {
            "n": n, "chunks": len(rows), "all_roots": 1, "root_count": 0, "edge_count": 0, "capacity": 0,
            "bits": bits if self.packed else 32, "least": self.least, "above": NONE, "upto": NONE,
        }  # fmt: skip

    def _check_memory(self) -> None:
        """Refuse a graph for whose forest the GPU has no memory."""
        need = 100 * self.n + (8 if self.packed else 12) * self.graph.edges
        free = self.device.free(need)
        if need > free:
            raise UsageError(
                f"a spanning forest may need {need:,} bytes of GPU memory beside the graph, and {free:,} are free on "
                f"{self.device.name}; use more ranks, or --backend cpu"
            )

    def _places(self) -> tuple[Any, Any]:
        """Return each vertex's place in the order of ids and the vertex of each place; None where they are equal."""
        graph, xp = self.graph, self.device.xp
        if graph.order is None and graph.local.ascending:
            return None, None
        vertex = xp.argsort(graph.original).astype(np.uint32)
        place = xp.empty(self.n, np.uint32)
        place[vertex] = xp.arange(self.n, dtype=np.uint32)
        return place, vertex

    def found(self) -> tuple[dict[str, Any], int | float, int]:
        """Find the forest; see :meth:`GpuForest.whole`."""
        graph = self.graph
        self._launch("begin", 1)
        bound = self._light()
        if bound is None:
            self._first_round()
        else:
            self._list("list_arcs", 3 * FIRST * self.n, upto=bound)
            self._rounds()
            self._launch("flatten")
            self._list("list_arcs", 3 * FIRST * self.n, above=bound)
            self._rounds()
            self._launch("begin", 0)
            self._list("list_chosen", self.n)
            self._rounds()
        for name in ("from", "to"):
            self.arrays |= dict.fromkeys(f"{name}_{part}" for part in ("a", "b", "key", "pair"))
        xp = self.device.xp
        columns = {"weight": xp.empty(self.n, np.float64 if self.real else np.int64)}
        columns |= {name: xp.empty(self.n, np.int64) for name in ("source", "target")}
        self.arrays |= columns
        self._launch("fill")
        views = {name: FieldView(self.device, values, graph.place) for name, values in columns.items()}
        fields = LazyFields(self.device, views, graph.degree, graph.original)
        _, _, edges, low, high = self.device.read(self.arrays["counts"]).view(np.int64).tolist()
        total: int | float = (high << 32) + low
        if self.real:
            bins = self.device.read(self.arrays["bins"])
            total = rounded_sum(bins[:EXPONENTS], bins[EXPONENTS:], 1075)
        return {name: FieldColumn(fields, name) for name in columns}, total, edges

    def _light(self) -> int | None:
        """Return the word of the weight up to which edges are listed first; None: all edges at once."""
        weights = self.graph.out.weights
        if weights is None or weights.size <= 2 * MANY * self.n:
            return None
        sample = np.sort(self.device.get(weights[:: max(weights.size // SAMPLE, 1)]))
        high = sample[min(sample.size * 2 * FIRST * self.n // weights.size, sample.size - 1)]
        if sample[0] == sample[-1]:
            return None
        if not self.real:
            return int(high) - self.least
        bits = int(np.float64(high + 0.0).view(np.uint64))
        return ~bits % 2**64 if bits >> 63 else bits | 1 << 63

    def _first_round(self) -> None:
        """Let every vertex join the one at the other end of its first edge, and do the other rounds."""
        for kernel in ("choose_in_rows", "hook", "settle"):
            self._launch(kernel, passes=False)
        roots = self._counted()[1]
        self._leave_roots(roots)
        sparse = self.graph.edges <= 2 * MANY * self.n
        self._list("list_arcs", self.graph.edges // (2 if sparse else 8) + 1, roots)
        self._rounds()

    def _list(self, kernel: str, capacity: int, roots: int | None = None, **limits: int) -> None:
        """List edges by a kernel; again with room for all if ``capacity`` did not suffice."""
        limits = {"above": NONE, "upto": NONE} | limits
        self.numbers |= {"edge_count": 0, **limits}
        if roots is None:
            self.numbers |= {"all_roots": 1, "root_count": self.n}
        most = max(self.graph.edges // 2, 1)
        for room in (min(capacity, most), most):
            self._make_list("to", room)
            self.numbers["capacity"] = room
            self._launch(kernel)
            count = self._counted()[0]
            if count <= room:
                break
        self._turn(count)

    def _make_list(self, name: str, room: int) -> None:
        """Make room for a list of edges."""
        known = self.arrays[f"{name}_a"]
        if known is not None and len(known) >= room:
            return
        for part in ("a", "b", "key", "pair"):
            self.arrays[f"{name}_{part}"] = None
        xp, pairs = self.device.xp, 0 if self.packed else room
        self.arrays |= {f"{name}_{part}": xp.empty(room, np.uint32) for part in ("a", "b")}
        self.arrays |= {f"{name}_key": xp.empty(room, np.uint64), f"{name}_pair": xp.empty(pairs, np.uint64)}

    def _turn(self, count: int) -> None:
        """Read from the list that was written, of ``count`` edges."""
        for part in ("a", "b", "key", "pair"):
            one, other = f"from_{part}", f"to_{part}"
            self.arrays[one], self.arrays[other] = self.arrays[other], self.arrays[one]
        self.numbers["edge_count"] = count

    def _leave_roots(self, count: int) -> None:
        """Go on with the roots that are left."""
        self.arrays["roots"], self.arrays["roots_left"] = self.arrays["roots_left"], self.arrays["roots"]
        self.numbers |= {"all_roots": 0, "root_count": count}

    def _rounds(self) -> None:
        """Join trees by the first edge of each until no listed edge joins two."""
        while count := self.numbers["edge_count"]:
            self._make_list("to", count)
            self.numbers["capacity"] = count
            self._pass()
            for kernel in (*(() if self.packed else ("choose_pairs",)), "hook", "settle", "shrink"):
                self._launch(kernel, passes=False)
            edges, roots = self._counted()
            self._turn(edges)
            self._leave_roots(roots)

    def _counted(self) -> tuple[int, int]:
        """Return the edges listed and the roots left, and count anew."""
        edges, roots = self.device.read(self.arrays["counts"])[:2].tolist()
        self.device.clear(self.arrays["counts"])
        return edges, roots

    def _launch(self, kernel: str, argument: int = 0, passes: bool = True) -> None:
        """Launch a kernel, after arrays and numbers were passed if ``passes``: some have changed."""
        if passes:
            self._pass()
        self.module.launch(kernel, self.device.blocks * self.module.resident(kernel), argument)

    def _pass(self) -> None:
        arrays = self.arrays.values()
        places = [0 if each is None or not len(each) else self.device.address(each) for each in arrays]
        words = np.array([*places, *(int(each) % 2**64 for each in self.numbers.values())], np.uint64)
        self.module.set_environment(words)
