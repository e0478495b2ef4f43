"""Borůvka's rounds on a GPU (``forest*.cuh``), over lists of edges and over rows.

:class:`RowSearch` searches a graph's rows, whole or one rank's part. Where there are many edges for each vertex, the
lightest go first: their forest, then the heavier edges that join two of its trees. The edges of the forest are then
joined once more from the beginning: the rows of the answer name the trees of Borůvka's rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.forest.forest_columns import rounded_sum
from dgraph.algorithms.kernels.forest.forest_cpu import FIRST, MANY, SAMPLE
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.comm import Comm
from dgraph.graph.local import Csr
from dgraph.result.columns import UNREACHED

EXPONENTS = 2048
"""Exponents of float64."""

NONE = -1
"""Word without an edge, and no lower bound of weights."""


@cache
def text(wide: bool, weights: str, ids: str, packed: bool, part: bool) -> str:
    """Return the kernels' text.

    Args:
        wide: offsets are 64-bit.
        weights: dtype of the weights.
        ids: dtype of the array of original ids.
        packed: a weight and two places fit one word.
        part: the rows are one rank's part of a graph.
    """
    real = weights[0] == "f"
    types = (
        f"typedef {'i64' if wide else 'u32'} offset_t;\n"
        f"typedef {TYPES[weights]} weight_t;\n"
        f"typedef {TYPES[ids]} original_t;\n"
        f"typedef {'double' if real else 'i64'} value_t;\n"
        f"#define NO_WEIGHT {'INFINITE' if real else f'{UNREACHED}ll'}\n"
        f"static const bool PACKED = {'true' if packed else 'false'}, PART = {'true' if part else 'false'};"
    )
    return in_parts(own_text(types, "forest", "forest_rows", *(("forest_parts",) if part else ())), 3)


@dataclass(frozen=True)
class Weights:
    """Weights of the edges of a search.

    Attributes:
        kind: their dtype; uint8 where all are 1.
        low, high: the smallest and the largest; 0 where they are floats.
    """

    kind: np.dtype
    low: int
    high: int

    @classmethod
    def of(cls, rows: Csr) -> Weights:
        """Return those of a rank's arcs."""
        if rows.weight_type is None:
            return cls(np.dtype(np.uint8), 1, 1)
        low, high = (0, 0) if rows.weight_type.kind == "f" else map(int, rows.weight_range[:2])
        return cls(rows.weight_type, low, high)

    def of_all(self, comm: Comm) -> Weights:
        """Return those of all ranks' arcs; collective."""
        low, below = comm.agree(None, self.low, ~self.high)
        return Weights(self.kind, low, ~below)

    @property
    def real(self) -> bool:
        """True if they are floats."""
        return self.kind.kind == "f"

    def packed(self, vertices: int) -> bool:
        """Return True if a weight and the places of two vertices, of ``vertices``, fit one word.

        No edge has the word of all ones, which means none: its places are two different ones.
        """
        return not self.real and (self.high - self.low).bit_length() + 2 * _bits(vertices) <= 64


def sampled(graph: DeviceGraph) -> np.ndarray:
    """Return a sorted sample of the weights of a graph's arcs; empty where all are 1."""
    weights = graph.out.weights
    if weights is None:
        return np.zeros(0)
    return np.sort(graph.device.get(weights[:: max(weights.size // SAMPLE, 1)]))


@dataclass(frozen=True)
class First:
    """Edges that are listed first.

    Attributes:
        bound: word of the weight up to which edges are listed; None: all edges.
        edges: how many are to be expected on this GPU.
    """

    bound: int | None
    edges: int

    @classmethod
    def of(cls, sample: np.ndarray, n: int, arcs: int, here: int, weights: Weights) -> First:
        """Return the edges of a graph that are listed first.

        Args:
            sample: sorted sample of the weights; empty where all are 1.
            n: number of vertices.
            arcs: number of arcs.
            here: number of arcs on this GPU.
            weights: of the edges.
        """
        many = arcs > 2 * MANY * n
        if not many or not sample.size or sample[0] == sample[-1]:
            return cls(None, here // (8 if many else 2) + 1)
        high = sample[min(sample.size * 2 * FIRST * n // arcs, sample.size - 1)]
        return cls(_word(high, weights), 2 * FIRST * n * here // arcs + 1)


def _word(weight: Any, weights: Weights) -> int:
    """Return the word of a weight, by which edges are ordered."""
    if not weights.real:
        return int(weight) - weights.low
    bits = int(np.float64(weight + 0.0).view(np.uint64))
    return ~bits % 2**64 if bits >> 63 else bits | 1 << 63


def _bits(vertices: int) -> int:
    return max(int(vertices - 1).bit_length(), 1)


class BoruvkaRounds:
    """Borůvka's rounds over lists of edges.

    Args:
        device: this GPU.
        n: number of vertices.
        weights: of the edges.
        text: of the kernels.

    Attributes:
        arrays: name → array, of the pointers of ``Env`` in its order; None: a null pointer.
        numbers: its other members.
    """

    def __init__(self, device: Any, n: int, weights: Weights, text: str):
        xp = device.xp
        self.device, self.n, self.weights, self.packed = device, n, weights, weights.packed(n)
        self.module = device.module(text, "forest")
        pairs = 0 if self.packed else n
        self.arrays: dict[str, Any] = {
            **dict.fromkeys(("offsets", "neighbours", "weights", "original", "place", "vertex")),
            **dict.fromkeys(("chunk_rows", "chunk_first", "tree", "in_giant")),
            "parent": xp.empty(n, np.uint32), "next": xp.empty(n, np.uint32),
            "best": xp.empty(n, np.uint64), "second": xp.empty(pairs, np.uint64),
            "chosen": xp.empty(n, np.uint64), "chosen_pair": xp.empty(pairs, np.uint64),
            "roots": xp.empty(n, np.uint32), "roots_left": xp.empty(n, np.uint32),
            **dict.fromkeys(("from_a", "from_b", "from_key", "from_pair", "to_a", "to_b", "to_key", "to_pair")),
            "counts": xp.zeros(5, np.uint64), "bins": xp.zeros(2 * EXPONENTS, np.int64),
            **dict.fromkeys(("weight", "source", "target", "sent", "received")),
        }  # fmt: skip
        self.numbers = {
            "n": n, "rows": 0, "masters": 0, "chunks": 0, "all_roots": 1, "root_count": n, "edge_count": 0,
            "capacity": 0, "arrived": 0, "bits": _bits(n) if self.packed else 32, "least": weights.low,
            "giant": 0, "above": NONE, "upto": NONE,
        }  # fmt: skip

    def _list(self, kernel: str, capacity: int, all_roots: bool = True, **limits: int) -> None:
        """List edges by a kernel; again with room for all if ``capacity`` did not suffice.

        Args:
            kernel: its name.
            capacity: edges for which there is room at first.
            all_roots: every vertex may be a root; else the present roots remain.
            limits: ``above`` and ``upto`` of ``Env``.
        """
        self.numbers |= {"edge_count": 0, "above": NONE, "upto": NONE, **limits}
        if all_roots:
            self.numbers |= {"all_roots": 1, "root_count": self.n}
        while True:
            self._make_list("to", capacity)
            self.numbers["capacity"] = capacity
            self._launch(kernel)
            count = self._counted()[0]
            if count <= capacity:
                break
            self._drop_list("to")
            require(self.device, (16 if self.packed else 24) * count, "a spanning forest")
            capacity = count
        self._turn(count)

    def _make_list(self, name: str, room: int) -> None:
        """Make room for a list of edges."""
        array = self.arrays[f"{name}_a"]
        if array is not None and len(array) >= room:
            return
        self._drop_list(name)
        xp, pairs = self.device.xp, 0 if self.packed else room
        self.arrays |= {f"{name}_{part}": xp.empty(room, np.uint32) for part in ("a", "b")}
        self.arrays |= {f"{name}_key": xp.empty(room, np.uint64), f"{name}_pair": xp.empty(pairs, np.uint64)}

    def _drop_list(self, name: str) -> None:
        """Free a list of edges."""
        self.arrays |= dict.fromkeys(f"{name}_{part}" for part in ("a", "b", "key", "pair"))

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
        while self._chosen():
            count = self.numbers["edge_count"]
            self._make_list("to", count)
            self.numbers["capacity"] = count
            self._pass()
            for kernel in ("hook", "settle", "shrink"):
                self._launch(kernel, passes=False)
            edges, roots = self._counted()
            self._turn(edges)
            self._leave_roots(roots)

    def _chosen(self) -> bool:
        """Let every tree know its first edge; return False if no edge joins two trees."""
        if not self.packed and self.numbers["edge_count"]:
            self._launch("choose_pairs")
        return bool(self.numbers["edge_count"])

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
        self.module.set_environment(words_of(self.device, [*self.arrays.values(), *self.numbers.values()]))


class RowSearch(BoruvkaRounds):
    """Search of the rows of a graph on this GPU.

    Args:
        graph: the graph.
        device: this GPU.
        n: number of vertices.
        weights: of the edges.
        ids: original id of each vertex, on the device; None: its number.
        places: place of each row in the order of ids, and row at each place; None twice if these are equal.
        part: the rows are one rank's part of the graph, and places are those of the whole graph.
        first: which edges are listed first.
    """

    def __init__(
        self, graph: DeviceGraph, device: Any, n: int, weights: Weights, ids: Any, places: tuple[Any, Any],
        part: bool, first: First,
    ):  # fmt: skip
        kind = "uint32" if ids is None else ids.dtype.name
        super().__init__(device, n, weights, text(graph.wide, weights.kind.name, kind, weights.packed(n), part))
        self.graph, self.first, csr, (rows, begins) = graph, first, graph.out, graph.chunks
        self.arrays |= {
            "offsets": csr.offsets, "neighbours": csr.neighbours, "weights": csr.weights, "original": ids,
            "place": places[0], "vertex": places[1], "chunk_rows": rows, "chunk_first": begins,
            "tree": places[0] if part else self.arrays["parent"],
        }  # fmt: skip
        self.numbers |= {"rows": graph.local.size, "masters": graph.local.masters, "chunks": len(rows)}

    def join(self) -> None:
        """Find the forest."""
        self._launch("begin", 1)
        if self.first.bound is None:
            self._first_round()
            return
        self._list("list_arcs", self.first.edges, upto=self.first.bound)
        self._rounds()
        self._launch("flatten")
        self._mark_giant()
        self._list("list_arcs", self.first.edges, above=self.first.bound)
        self._rounds()
        self._rename()

    def _rename(self) -> None:
        """Join the edges of the forest from the beginning."""
        self._launch("begin", 0)
        self._list("list_chosen", self.n)
        self._rounds()

    def _first_round(self) -> None:
        """Let every vertex join along the first edge of its row, which must be whole, and do the other rounds."""
        for kernel in ("choose_in_rows", "hook", "settle"):
            self._launch(kernel, passes=False)
        self._leave_roots(self._counted()[1])
        self._list("list_arcs", self.first.edges, all_roots=False)
        self._rounds()

    def _mark_giant(self) -> None:
        """Mark the rows of the tree that most rows of a sample belong to."""
        trees, rows = self.arrays["tree"], self.graph.local.size
        if not rows:
            return
        sample, counts = np.unique(self.device.get(trees[:: max(rows // SAMPLE, 1)]), return_counts=True)
        self.numbers["giant"] = int(sample[counts.argmax()])
        self.arrays["in_giant"] = self.device.xp.empty(-(-rows // 32), np.uint32)
        self._launch("mark_giant")

    def columns(self) -> tuple[dict[str, Any], int | float, int]:
        """Return the columns of the masters, on the device, the sum of the weights, and the number of edges."""
        self._drop_list("from")
        self._drop_list("to")
        device, masters = self.device, self.graph.local.masters
        arrays = {"weight": device.xp.empty(masters, np.float64 if self.weights.real else np.int64)}
        arrays |= {name: device.xp.empty(masters, np.int64) for name in ("source", "target")}
        self.arrays |= arrays
        self._launch("fill")
        _, _, edges, low, high = self._summed(device.read(self.arrays["counts"]).view(np.int64)).tolist()
        total: int | float = (high << 32) + low
        if self.weights.real:
            bins = self._summed(device.read(self.arrays["bins"]))
            total = rounded_sum(bins[:EXPONENTS], bins[EXPONENTS:], 1075)
        return gpu_columns(self.graph, arrays), total, edges

    def _summed(self, sums: np.ndarray) -> np.ndarray:
        """Return the sums of the whole graph from those of the masters here."""
        return sums


def bytes_needed(graph: DeviceGraph, n: int, weights: Weights, first: First) -> int:
    """Return the bytes that a search of a graph's rows needs beside them, if no more edges are listed than expected."""
    vertex, entry = (32, 16) if weights.packed(n) else (48, 24)
    listed = first.edges if first.bound is None else max(first.edges, n)
    return vertex * n + 40 * graph.local.size + 2 * entry * listed
