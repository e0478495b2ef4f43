"""Figures of a field on a GPU, by kernels of our own (``field_stats.cuh``).

CuPy takes seconds to compile its first sum of each kind; these kernels take a tenth of a second.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.module_text import common


@cache
def text(values: str, beside: str) -> str:
    """Return the kernels' text for arrays of these dtypes.

    Bits of floats that are not negative ascend as the floats do, so one integer maximum serves both.
    """
    if values[0] == "f":
        macros = ["#define IS_DISTANCE(x) ((x) - (x) == 0)", "#define ORDERED(x) (i64)bits_of((double)(x))"]
    else:
        none = f"(value_t){np.iinfo(values).max}ull"
        macros = [f"#define IS_DISTANCE(x) ((x) != {none})", "#define ORDERED(x) (i64)(x)"]
    types = f"typedef {TYPES[values]} value_t;\ntypedef {TYPES[beside]} beside_t;"
    return "\n".join(
        [control_block.constants(), "#define PERSISTENT 0", common("base"), types, *macros, common("field_stats")]
    )


def reached(device: Any, values: Any, degree: Any) -> tuple[int, float, int]:
    """Return the number of distances, the largest one, and the edges that leave those vertices.

    Args:
        device: of the arrays.
        values: distance by vertex; the dtype's largest value, or infinity, if there is no path.
        degree: out-degree of each vertex in the whole graph.
    """
    words = _found(device, values, degree, "reached")
    farthest = words[2:].view(np.float64) if values.dtype.kind == "f" else words[2:]
    return int(words[0]), farthest[0].item(), int(words[1])


def largest(device: Any, values: Any) -> tuple[int, int]:
    """Return the largest of integers that are not negative, and how many vertices have it."""
    most, count, _ = _found(device, values, values, "largest", "of_that_size").tolist()
    return most, count


def own(device: Any, values: Any, original: Any) -> int:
    """Count the integers that are equal to the vertex's original id."""
    return int(_found(device, values, original, "own")[0])


def _found(device: Any, values: Any, beside: Any, *kernels: str) -> np.ndarray:
    """Launch kernels one after the other and return their result words."""
    names = values.dtype.name, beside.dtype.name
    module, found = device.module(text(*names), f"figures_{'_'.join(names)}"), device.xp.zeros(3, np.int64)
    places = device.address(values), device.address(beside), len(values), device.address(found)
    module.set_environment(np.array(places, np.int64))
    for kernel in kernels:
        module.launch(kernel, device.blocks * module.resident(kernel))
    return device.read(found)
