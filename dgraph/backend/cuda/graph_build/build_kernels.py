"""The kernels of building, and the numbers that they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.graph.build.weights import OCTAVES
from dgraph.graph.generators.recipe import REAL, WHOLE

HERE = Path(__file__).parent

RUN, STRETCH = 32, 32
"""Words of a set, and entries of rows, that a thread walks."""

LOOPS, EQUAL, EQUAL_LOOPS, MOST, KEPT_LOOPS, HASH, VERTICES_HERE, COUNTERS = range(8)
CUT_OUTGOING, CUT_INCOMING, CUT_GRID, CUT_HUBS = range(4)
RULE_INTEGERS, RULE_SKEWED, RULE_REALS, RULE_OWN, RULE_UNIT = range(5)
BROKEN_SOURCE, BROKEN_NEGATIVE, BROKEN_BEYOND, BROKEN_ROOT, BROKEN_OUT, BROKEN_NONE = range(6)
BROKEN_LOST, BROKEN_SHORT, BROKEN_ARC, BROKEN_TIGHT, BROKEN_ALONE, PLATEAUS, PROOFS = range(6, 13)

MEMBERS = [
    (f"u64 whole[{WHOLE}]", WHOLE), (f"double real[{REAL}]", REAL), ("double bound[3]", 3),
    *((f"u64 {name}", 1) for name in (
        "items", "step", "n", "both", "directed", "keep_loops", "parts", "rank", "cut", "columns", "low", "high",
        "word_count", "window_low", "window_high", "source", "row", "row_end", "begin", "end", "to", "rule",
        "weight_key", "width", "weight_bytes", "octave_count",
    )),
    ("i64 least", 1), ("i64 cutoff", 1), ("double real_cutoff", 1),
    *((f"{kind} {name}", 1) for kind, name in (
        ("const i64*", "bounds"), ("const u32*", "hubs"), ("u64*", "counts"), ("u64*", "counters"),
        ("u32*", "rows"), ("u32*", "columns_here"), ("u32*", "words"), ("u32*", "before"), ("u32*", "tally"),
        ("u32*", "lids"), ("vertex_id*", "original"), ("const vertex_id*", "asked"), ("u32*", "found"),
        ("u64*", "starts"), ("u32*", "targets"), ("u64*", "keys"), ("u32*", "kept"), ("u32*", "touched"),
        ("void*", "weights"), ("const i64*", "octaves"), ("const dist_t*", "claimed"), ("const dist_t*", "window"),
        ("const i64*", "parents"), ("u32*", "joined"), ("u32*", "tight"), ("u64*", "broken"),
    )),
]  # fmt: skip
"""Of ``env``: C++ type and name, and how many words of eight bytes."""


def text(draft: BuildPlan, proof: str | None = None) -> str:
    """All kernels, for one generator; 64-bit gids where 32 bits cannot number the vertices.

    Args:
        proof: "i64" or "double": the kernels that prove distances of this type, beside those that make rows.
    """
    known = {name: value for name, value in globals().items() if name.isupper() and type(value) is int}
    del known["WHOLE"], known["REAL"]
    named = "".join(f"#define {name} {value}\n" for name, value in known.items())
    formula = draft.formula
    named += f"#define EDGE edge_{formula.name}\n"
    named += f"#define WEIGHT weight_{formula.name}\n" if formula.weighted else "#define WEIGHT(u, v) 0\n"
    members = "".join(f"    {member};\n" for member, _ in MEMBERS)
    types = f"typedef {gid_dtype(draft.n)[1]} vertex_id;\ntypedef {proof or 'i64'} dist_t;\n"
    named += f"#define FLOATS {int(proof == 'double')}\n"
    struct = f"{types}struct Env {{\n{members}}};\nCONSTANT Env env;\n"
    files = [
        (HERE / f"{name}.cuh").read_text()
        for name in ("draw_edges", "ownership", "build_rows", *(["certificate"] if proof else []))
    ]
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", named, common("base"), struct, *files])


def gid_dtype(n: int) -> tuple[np.dtype, str]:
    """What gids are stored in on the GPU: a dtype, and its name in C++."""
    return (np.dtype(np.uint32), "u32") if n <= 1 << 32 else (np.dtype(np.int64), "i64")


class BuildKernels:
    """The kernels of one draft on one device. ``proof``: as of :func:`text`.

    Attributes:
        device: it.
        counters: uint64, what kernels add to.
        arrays: what they work on, by name.
    """

    def __init__(self, draft: BuildPlan, device, rank: int, parts: int, proof: str | None = None):
        self.device = device
        self._module = device.module(text(draft, proof), f"{'prove' if proof else 'build'}_{draft.formula.name}")
        self.counters = device.xp.zeros(COUNTERS, np.uint64)
        self.arrays: dict[str, Any] = {}
        formula, rule = draft.formula, draft.rule
        self._values: dict[str, object] = {
            "whole": formula.whole, "real": formula.real, "items": draft.items, "step": 1, "n": draft.n,
            "both": draft.both, "directed": draft.directed, "keep_loops": draft.keep_loops,
            "parts": parts, "rank": rank, "word_count": words(draft.n), "octave_count": OCTAVES.size,
        }  # fmt: skip
        self.take(counters=self.counters, octaves=device.put(OCTAVES.astype(np.int64)))
        if draft.weight_type is not None:
            self._values["weight_bytes"] = draft.weight_type.itemsize
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
        """Arrays that kernels work on from now on; None: none."""
        for name, array in arrays.items():
            self.arrays[name] = array  # which keeps it there
            self._values[name] = 0 if array is None else self.device.address(array)

    def set(self, **values: float) -> None:
        """Numbers that kernels read from now on."""
        self._values |= values

    def launch(self, kernel: str, argument: int = 0) -> None:
        """Start a kernel on the whole GPU."""
        self._module.set_environment(self._packed())
        self._module.launch(kernel, self.device.blocks * self._module.resident(kernel), argument)

    def counted(self) -> np.ndarray:
        """The counters: int64; waits for the kernels."""
        return self.device.get(self.counters).astype(np.int64)

    def _packed(self) -> np.ndarray:
        packed = np.zeros(sum(size for _, size in MEMBERS), np.int64)
        at = 0
        for member, size in MEMBERS:
            kind, _, name = member.partition("[")[0].rpartition(" ")
            value = self._values.get(name, 0)
            given = value if isinstance(value, tuple) else (value,)
            if kind == "double":
                packed.view(np.float64)[at : at + len(given)] = given
            else:
                packed.view(np.uint64)[at : at + len(given)] = [int(each) & (1 << 64) - 1 for each in given]
            at += size
        return packed


def words(n: int) -> int:
    """32-bit words of a set of gids."""
    return (n + 31) // 32


def members(sets: np.ndarray) -> int:
    """How many bits of an array of words are set."""
    return int(_SET[sets.view(np.uint8)].sum(dtype=np.int64))


_SET = np.array([number.bit_count() for number in range(256)], np.uint8)
