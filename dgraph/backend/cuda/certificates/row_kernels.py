"""Module text of the kernels that check an answer against rows, and the arguments that they read (``Env``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.module_text import common

MEMBERS = [
    ("u64", "n"), ("u64", "rows"), ("u64", "first"), ("u64", "count"), ("u64", "arcs"),
    ("const offset_t*", "offsets"), ("const u32*", "neighbours"),
    ("const weight_t*", "weights"), ("const u32*", "original"), ("const u32*", "place"), ("u64", "directed"),
    ("u64*", "broken"),
    ("const dist_t*", "claimed"), ("const dist_t*", "window"), ("const i64*", "parents"), ("u32*", "joined"),
    ("u32*", "tight"), ("u32*", "pointers"), ("u32*", "level"),
    ("u64", "low"), ("u64", "high"), ("u64", "window_low"), ("u64", "window_high"),
    ("u64", "source"), ("u64", "unit"), ("i64", "cutoff"), ("double", "real_cutoff"),
    ("const i64*", "values"), ("u32*", "words"), ("u32*", "counts"), ("u32*", "queue"), ("u64", "end"),
    ("i64", "core"), ("u64", "multiple"), ("u32*", "forest"), ("u32*", "lowest"), ("u32*", "joined_to"),
    ("u32*", "pairs"), ("u32*", "behind"), ("u32*", "before"), ("u32*", "removed"), ("u32*", "entered"),
    ("u32*", "ends"), ("u32*", "best"), ("const u32*", "above"), ("const u32*", "taken"),
    ("const u64*", "level_starts"), ("u64", "levels"), ("void*", "forest_weights"),
    ("const i64*", "sources"), ("const i64*", "targets"), ("const i64*", "first_ends"), ("const i64*", "second_ends"),
    ("const void*", "edge_weights"), ("u32*", "numbers"), ("const i64*", "order"),
    ("const double*", "found"), ("double*", "ranks"), ("double*", "share"), ("double*", "inflow"),
    ("double*", "leaving"), ("const double*", "jump"), ("double*", "totals"), ("double", "alpha"),
]  # fmt: skip
"""Members of ``Env``, eight bytes each: C++ type and name. ``n``: vertices of the graph; ``rows``: rows here; ``first``
and ``count``: vertices that are checked here, see :meth:`RowKernels.by_vertex`."""

NUMBERS = {
    "tree": {name: value for name, value in vars(rules).items() if name.startswith(("BROKEN_", "PLATEAUS", "SETTLED"))},
    "color": {"GAP": rules.COLOR["gap"]} | {f"BROKEN_{name.upper()}": row for name, row in rules.COLOR.items()},
    "core": {"QUEUED": rules.CORE["queued"]} | {f"BROKEN_{name.upper()}": row for name, row in rules.CORE.items()},
    "component": {f"BROKEN_{name.upper()}": row for name, row in rules.COMPONENT.items()},
    "strong": {"CHANGED": rules.STRONG["changed"]}
    | {f"BROKEN_{name.upper()}": row for name, row in rules.STRONG.items()},
    "forest": {"CHANGED": rules.FOREST["changed"]}
    | {f"BROKEN_{name.upper()}": row for name, row in rules.FOREST.items()},
    "set": {f"BROKEN_{name.upper()}": row for name, row in rules.SET.items()},
    "rank": {"MOST_ARRIVING": rules.RANK["most_arriving"]}
    | {f"BROKEN_{name.upper()}": row for name, row in rules.RANK.items()}
    | {f"TOTAL_{name.upper()}": word for name, word in rules.TOTALS.items()},
}
"""Family of kernels → names and values of its constants."""


@cache
def text(family: str, offsets: str, weights: str | None, distance: str = "int64") -> str:
    """Return the CUDA C++ text of a family's kernels for arrays of these dtypes."""
    kind = 0 if weights is None else 1 if weights[0] == "i" else 2
    macros = {"PERSISTENT": 0, "WEIGHTS": kind, "FLOATS": int(distance[0] == "f"), **NUMBERS[family]}
    named = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    types = (
        f"typedef {TYPES[offsets]} offset_t;\ntypedef {TYPES[weights or 'int32']} weight_t;\n"
        f"typedef {TYPES[distance]} dist_t;\n"
    )
    members = "".join(f"    {kind} {name};\n" for kind, name in MEMBERS)
    beside = {"tree": "row_proof", "component": "joined_trees", "strong": "joined_trees"}
    parts = [f"{family}_proof"] if family not in beside else [f"{family}_proof", beside[family]]
    files = ["violations", "rows_walk", *sorted(parts, key="joined_trees".__ne__)]
    struct = f"struct Env {{\n{members}}};\nCONSTANT Env env;\n"
    return "\n".join([control_block.constants(), named, common("base"), types, struct, *map(common, files)])


class RowKernels:
    """Kernels of one family on one GPU, with the arrays that they read and write.

    Attributes:
        broken: uint64 (rules, 2) on the device: violations of each rule and the smallest place.
        arrays: arrays in use, by name of the ``Env`` member.
    """

    def __init__(self, family: str, device: Any, rows: Any, n: int, directed: bool, distance: str = "int64"):
        weights = None if rows.weights is None else rows.weights.dtype.name
        name = "_".join(filter(None, ("certify", family, rows.offsets.dtype.name, weights, distance)))
        self.device = device
        self._module = device.module(text(family, rows.offsets.dtype.name, weights, distance), name)
        self._values: dict[str, float] = {"n": n, "rows": len(rows.offsets) - 1, "arcs": len(rows.neighbours)}
        self._values |= {"count": self._values["rows"], "directed": directed, "core": -1}
        self.arrays: dict[str, Any] = {}
        self.broken = device.put(np.array([[0, rules.NONE]] * rules.PROOFS, np.uint64))
        self.take(broken=self.broken, offsets=rows.offsets, neighbours=rows.neighbours, weights=rows.weights)
        self._rows = rows
        self.by_row()

    def by_row(self) -> None:
        """Read arrays by row from now on."""
        self.set(first=0)
        self.take(original=self._rows.original, place=self._rows.place)

    def take(self, **arrays: Any) -> None:
        """Set arrays that kernels use from now on; None: a null pointer."""
        for name, array in arrays.items():
            self.arrays[name] = array  # keeps the memory allocated
            self._values[name] = 0 if array is None else self.device.address(array)

    def by_vertex(self, first: int, count: int, **arrays: Any) -> None:
        """Read from now on these arrays of the vertices from gid ``first`` on, where they are no rows of this rank."""
        self.set(first=first, count=count)
        self.take(original=None, place=None, **arrays)

    def set(self, **values: float) -> None:
        """Set numbers that kernels read from now on."""
        self._values |= values

    def launch(self, kernel: str, argument: int = 0) -> None:
        """Launch a kernel with as many blocks as are resident at once."""
        packed = np.zeros(len(MEMBERS), np.int64)
        for word, (kind, name) in enumerate(MEMBERS):
            value = self._values.get(name, 0)
            if kind == "double":
                packed.view(np.float64)[word] = value
            else:
                packed.view(np.uint64)[word] = int(value) & rules.NONE
        self._module.set_environment(packed)
        self._module.launch(kernel, self.device.blocks * self._module.resident(kernel), argument)

    def violations(self, rows: dict[str, int]) -> dict[str, tuple[int, int]]:
        """Return violations and smallest place of rules, after all kernels."""
        words = self.device.get(self.broken)
        return {name: (int(words[row, 0]), int(words[row, 1])) for name, row in rows.items()}
