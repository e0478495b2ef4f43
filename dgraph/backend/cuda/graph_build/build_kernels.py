"""Module text of the kernels that build a graph, and the arguments that they read (``Env``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.backend.cuda.device import cupy_kernels
from dgraph.backend.cuda.device_graph import row_marks
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.build.weights import OCTAVES
from dgraph.graph.generators.recipe import REAL, WHOLE

HERE = Path(__file__).parent

RUN, STRETCH = 32, 32
"""Consecutive items of one thread: words of a vertex set (RUN), entries of rows (STRETCH)."""

LOOPS, EQUAL, EQUAL_LOOPS, MOST, KEPT_LOOPS, HASH, HASH_BACK, VERTICES_HERE, EMPTY, COUNTERS = range(10)
GONE = 2**32 - 1
"""Mark of a slot whose entry was taken, in ``listed_rows.cuh``."""
CUT_OUTGOING, CUT_INCOMING, CUT_GRID, CUT_HUBS = range(4)
RULE_INTEGERS, RULE_SKEWED, RULE_REALS, RULE_OWN, RULE_UNIT = range(5)

MEMBERS = [
    (f"u64 whole[{WHOLE}]", WHOLE), (f"double real[{REAL}]", REAL), ("double bound[3]", 3),
    *((f"u64 {name}", 1) for name in (
        "items", "step", "n", "both", "directed", "keep_loops", "parts", "rank", "cut", "columns", "low", "high",
        "word_count", "window_low", "window_high", "source", "row", "row_end", "begin", "end", "to", "rule",
        "weight_key", "width", "weight_bytes", "octave_count", "packed",
    )),
    ("i64 least", 1), ("i64 cutoff", 1), ("double real_cutoff", 1),
    *((f"{kind} {name}", 1) for kind, name in (
        ("const i64*", "bounds"), ("const u64*", "offsets"), ("const u32*", "hubs"), ("u64*", "counts"),
        ("u64*", "counters"), ("u32*", "rows"), ("u32*", "columns_here"), ("u32*", "words"), ("u32*", "before"),
        ("u32*", "tally"),
        ("u32*", "lids"), ("vertex_id*", "original"), ("const vertex_id*", "asked"), ("u32*", "found"),
        ("u64*", "starts"), ("u32*", "targets"), ("u64*", "keys"), ("u32*", "kept"), ("u32*", "touched"),
        ("u32*", "sources"), ("u32*", "entered"), ("void*", "listed"), ("const void*", "moved"),
        ("void*", "weights"), ("const i64*", "octaves"), ("const dist_t*", "claimed"), ("const dist_t*", "window"),
        ("const i64*", "parents"), ("u32*", "narrowed"), ("u32*", "joined"),
        ("u32*", "tight"), ("u32*", "pointers"), ("u32*", "level"), ("u64*", "broken"),
    )),
]  # fmt: skip
"""Members of ``Env``: C++ declaration, and size in words of eight bytes."""


def text(draft: BuildPlan, proof: str | None = None) -> str:
    """Return the CUDA C++ text of kernels for one generator.

    gids have 64 bits where 32 bits cannot number the vertices.

    Args:
        draft: the graph to build.
        proof: "i64" or "double": the kernels that check distances of this type; None: those that build.
    """
    macros = {name: value for name, value in globals().items() if name.isupper() and type(value) is int}
    del macros["WHOLE"], macros["REAL"]
    macros |= {
        name: value for name, value in vars(rule_numbers).items() if name.startswith(("BROKEN_", "PLATEAUS", "SETTLED"))
    }
    named = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    formula = draft.formula
    named += f"#define EDGE edge_{formula.name}\n"
    named += f"#define WEIGHT weight_{formula.name}\n" if formula.weighted else "#define WEIGHT(u, v) 0\n"
    members = "".join(f"    {member};\n" for member, _ in MEMBERS)
    types = f"typedef {gid_dtype(draft.n)[1]} vertex_id;\ntypedef {proof or 'i64'} dist_t;\n"
    named += f"#define FLOATS {int(proof == 'double')}\n"
    struct = f"{types}struct Env {{\n{members}}};\nCONSTANT Env env;\n"
    names = ("draw_edges", "drawn_arcs", *(["drawn_proof"] if proof else ["ownership", "build_rows"]))
    if formula.name == "listed" and not proof:
        names += ("listed_rows",)
    own = [(HERE / f"{name}.cuh").read_text() for name in names]
    files = [*map(common, ("violations", "tree_proof") if proof else ("violations",)), *own]
    head = [in_parts(control_block.constants(), 4), "#define PERSISTENT 0", named, common("base"), struct]
    return "\n".join([*head, *files])


def gid_dtype(n: int) -> tuple[np.dtype, str]:
    """Return the dtype in which gids are stored on the GPU, and its C++ name."""
    return (np.dtype(np.uint32), "u32") if n <= 1 << 32 else (np.dtype(np.int64), "i64")


class BuildKernels:
    """Compiled kernels of one build plan on one device. ``proof``: as for :func:`text`.

    Attributes:
        device: the device.
        counters: uint64 (COUNTERS,) on the device; kernels add to it.
        arrays: arrays that kernels use, by name of the ``Env`` member.
        in_place: True if listed edges may be overwritten: they become rows where they lie.
        listed_rows: rows in the host's memory that are placed piece by piece; None: there are none.
    """

    def __init__(self, draft: BuildPlan, device, rank: int, parts: int, proof: str | None = None):
        self.device = device
        if parts > 1:
            cupy_kernels.begin(device)
        own = text(draft, proof), f"{'prove' if proof else 'build'}_{draft.formula.name}"
        device.prepare([own] if proof else [own, (row_marks.text(), row_marks.NAME)])
        self._module = device.module(*own)
        cupy_kernels.wait(device)
        self.counters = device.xp.zeros(COUNTERS, np.uint64)
        self.arrays: dict[str, Any] = {}
        self.in_place = False
        self.listed_rows: RawRows | None = None
        formula, rule = draft.formula, draft.rule
        self._values: dict[str, object] = {
            "whole": formula.whole, "real": formula.real, "items": draft.items, "step": 1, "n": draft.n,
            "both": draft.both, "directed": draft.directed, "keep_loops": draft.keep_loops,
            "parts": parts, "rank": rank, "word_count": words(draft.n), "octave_count": OCTAVES.size,
        }  # fmt: skip
        self.take(counters=self.counters, octaves=device.put(OCTAVES.astype(np.int64)))
        if draft.weight_type is not None:
            self._values["weight_bytes"] = draft.weight_type.itemsize
            self._values["rule"] = RULE_REALS if draft.weight_type.kind == "f" else RULE_UNIT
        if draft.own_weights:
            self._values["rule"] = RULE_OWN
        elif rule is not None:
            kinds = {"integers": RULE_INTEGERS, "skewed": RULE_SKEWED, "reals": RULE_REALS}
            self._values |= {"rule": kinds[rule.kind], "weight_key": rule.start}
            if rule.kind == "reals":
                self._values["bound"] = (rule.low, rule.high - rule.low, rule.below)
            elif rule.kind == "integers":
                self._values |= {"least": rule.low, "width": int(rule.high - rule.low + 1)}

    def take(self, **arrays) -> None:
        """Set arrays that kernels use from now on; None: a null pointer."""
        for name, array in arrays.items():
            self.arrays[name] = array  # keeps the memory allocated
            self._values[name] = 0 if array is None else self.device.address(array)

    def set(self, **values: float) -> None:
        """Set numbers that kernels read from now on."""
        self._values |= values

    def launch(self, kernel: str, argument: int = 0) -> None:
        """Launch a kernel with as many blocks as are resident at once."""
        self._module.set_environment(self._packed())
        self._module.launch(kernel, self.device.blocks * self._module.resident(kernel), argument)

    def counted(self) -> np.ndarray:
        """Return the counters as int64, after all kernels."""
        return self.device.get(self.counters).astype(np.int64)

    def _packed(self) -> np.ndarray:
        packed = np.zeros(sum(size for _, size in MEMBERS), np.int64)
        offset = 0
        for member, size in MEMBERS:
            kind, _, name = member.partition("[")[0].rpartition(" ")
            value = self._values.get(name, 0)
            elements = value if isinstance(value, tuple) else (value,)
            if kind == "double":
                packed.view(np.float64)[offset : offset + len(elements)] = elements
            else:
                packed.view(np.uint64)[offset : offset + len(elements)] = [
                    int(element) & (1 << 64) - 1 for element in elements
                ]
            offset += size
        return packed


def words(n: int) -> int:
    """Return the 32-bit words of a set of gids."""
    return (n + 31) // 32


def members(sets: np.ndarray) -> int:
    """Return the number of set bits in an array of words."""
    return int(_SET[sets.view(np.uint8)].sum(dtype=np.int64))


_SET = np.array([number.bit_count() for number in range(256)], np.uint8)
