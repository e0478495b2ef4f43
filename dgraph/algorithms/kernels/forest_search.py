"""Borůvka's rounds on one GPU (``forest.cuh``), over lists of edges and over rows.

:class:`RowSearch` searches a graph's rows, whole or one rank's part. Where there are many edges for each vertex, the
lightest go first: their forest, then the heavier edges that join two of its trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.forest_columns import rounded_sum
from dgraph.algorithms.kernels.forest_cpu import FIRST, MANY, SAMPLE
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
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
        part: the reverse of an arc may be on another rank.
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
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", common("base"), types, common("forest")])


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

    @property
    def real(self) -> bool:
        """True if they are floats."""
        return self.kind.kind == "f"

    def packed(self, vertices: int) -> bool:
        """Return True if a weight and the places of two vertices, of ``vertices``, fit one word."""
        return not self.real and (self.high - self.low).bit_length() + 2 * _bits(vertices) < 64


def _bits(vertices: int) -> int:
    return max(int(vertices - 1).bit_length(), 1)


class Search:
    """Borůvka's rounds over lists of edges.

    Args:
        device: this GPU.
        n: number of vertices.
        weights: of the edges.
        ids: original id of each vertex, on the device; None: its number.
        places: place of each vertex in the order of ids, and vertex at each place; None twice if these are equal.
        rows: arrays of the graph, where there are rows.
        wide: offsets are 64-bit.
        part: the reverse of an arc may be on another rank.

    Attributes:
        arrays: name → array, of the pointers of ``Env`` in its order; None: a null pointer.
        numbers: its other members.
    """

    def __init__(
        self, device: Any, n: int, weights: Weights, ids: Any, places: tuple[Any, Any],
        rows: Mapping[str, Any] = MappingProxyType({}), wide: bool = False, part: bool = False,
    ):  # fmt: skip
        xp, (place, vertex) = device.xp, places
        self.device, self.n, self.weights, self.packed, self.part = device, n, weights, weights.packed(n), part
        name = "uint32" if ids is None else ids.dtype.name
        self.module = device.module(text(wide, weights.kind.name, name, self.packed, part), "forest")
        pairs = 0 if self.packed else n
        self.arrays: dict[str, Any] = {
            **dict.fromkeys(("offsets", "neighbours", "weights")), "original": ids,
            "place": place, "vertex": vertex, "chunk_rows": None, "chunk_first": None,
            "parent": xp.empty(n, np.uint32), "next": xp.empty(n, np.uint32),
            "best": xp.empty(n, np.uint64), "second": xp.empty(pairs, np.uint64),
            "chosen": xp.empty(n, np.uint64), "chosen_pair": xp.empty(pairs, np.uint64),
            "roots": xp.empty(n, np.uint32), "roots_left": xp.empty(n, np.uint32),
            **dict.fromkeys(("from_a", "from_b", "from_key", "from_pair", "to_a", "to_b", "to_key", "to_pair")),
            "counts": xp.zeros(5, np.uint64), "bins": xp.zeros(2 * EXPONENTS, np.int64),
            **dict.fromkeys(("weight", "source", "target", "gids", "sent_ends", "sent_weights")),
        }  # fmt: skip
        self.arrays |= rows
        self.numbers = {
            "n": n, "chunks": len(rows.get("chunk_rows", ())), "all_roots": 1, "root_count": n, "edge_count": 0,
            "capacity": 0, "bits": _bits(n) if self.packed else 32, "least": weights.low, "above": NONE, "upto": NONE,
        }  # fmt: skip

    def columns(self) -> tuple[dict[str, Any], int | float, int]:
        """Return the columns by vertex, on the device, the sum of the weights, and the number of edges."""
        self._drop_lists()
        xp = self.device.xp
        columns = {"weight": xp.empty(self.n, np.float64 if self.weights.real else np.int64)}
        columns |= {name: xp.empty(self.n, np.int64) for name in ("source", "target")}
        self.arrays |= columns
        self._launch("fill")
        _, _, edges, low, high = self.device.read(self.arrays["counts"]).view(np.int64).tolist()
        total: int | float = (high << 32) + low
        if self.weights.real:
            bins = self.device.read(self.arrays["bins"])
            total = rounded_sum(bins[:EXPONENTS], bins[EXPONENTS:], 1075)
        return columns, total, edges

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
            capacity = count
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

    def _drop_lists(self) -> None:
        """Free the lists."""
        for name in ("from", "to"):
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


class RowSearch(Search):
    """Search of the rows of a graph on this GPU.

    Args:
        graph: the graph.
        device: this GPU.
        part: it is one of several ranks' parts.
    """

    def __init__(self, graph: DeviceGraph, device: Any, part: bool):
        self.graph, out, (rows, first) = graph, graph.out, graph.chunks
        arrays = {
            "offsets": out.offsets, "neighbours": out.neighbours, "weights": out.weights,
            "chunk_rows": rows, "chunk_first": first,
        }  # fmt: skip
        weights = Weights.of(graph.local.out)
        super().__init__(device, graph.local.size, weights, graph.original, graph.id_places, arrays, graph.wide, part)

    def light(self) -> int | None:
        """Return the word of the weight up to which edges are listed first; None: all edges at once."""
        weights = self.graph.out.weights
        if weights is None or weights.size <= 2 * MANY * self.n:
            return None
        sample = np.sort(self.device.get(weights[:: max(weights.size // SAMPLE, 1)]))
        high = sample[min(sample.size * 2 * FIRST * self.n // weights.size, sample.size - 1)]
        if sample[0] == sample[-1]:
            return None
        if not self.weights.real:
            return int(high) - self.weights.low
        bits = int(np.float64(high + 0.0).view(np.uint64))
        return ~bits % 2**64 if bits >> 63 else bits | 1 << 63

    def first_round(self) -> None:
        """Let every vertex with a row, which must be whole, join along its first edge, and do the other rounds."""
        for kernel in ("choose_in_rows", "hook", "settle"):
            self._launch(kernel, passes=False)
        roots, sparse = self._counted()[1], self.graph.edges <= 2 * MANY * self.n
        if not self.part:  # a mirror has no row here, and may choose among the edges of others
            self._leave_roots(roots)
        self._list("list_arcs", self.graph.edges // (2 if sparse else 8) + 1, all_roots=False)
        self._rounds()

    def lightest_first(self, bound: int) -> None:
        """Join trees by the edges up to a weight, then by the others."""
        self._list("list_arcs", 3 * FIRST * self.n, upto=bound)
        self._rounds()
        self._launch("flatten")
        self._list("list_arcs", 3 * FIRST * self.n, above=bound)
        self._rounds()


def bytes_needed(graph: DeviceGraph, part: bool) -> int:
    """Return the most bytes that a search of a graph's rows needs beside them."""
    entry = 16 if Weights.of(graph.local.out).packed(graph.local.size) else 24
    return 100 * graph.local.size + entry * graph.edges // (1 if part else 2)
