"""What is said of a field that lies on a GPU, by kernels of their own: CuPy takes seconds to compile its first sum of
each kind, and these a tenth of one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.module_text import common


@cache
def text(values: str, beside: str) -> str:
    """The kernels, for arrays of these dtypes. Bits of floats that are not negative ascend as the floats do."""
    if values[0] == "f":
        told = ["#define IS_DISTANCE(x) ((x) - (x) == 0)", "#define ORDERED(x) (i64)bits_of((double)(x))"]
    else:
        none = f"(value_t){np.iinfo(values).max}ull"
        told = [f"#define IS_DISTANCE(x) ((x) != {none})", "#define ORDERED(x) (i64)(x)"]
    types = f"typedef {TYPES[values]} value_t;\ntypedef {TYPES[beside]} beside_t;"
    return "\n".join(
        [control_block.constants(), "#define PERSISTENT 0", common("base"), types, *told, common("field_stats")]
    )


def reached(device: Any, values: Any, degree: Any) -> tuple[int, float, int]:
    """How many distances there are, the farthest, and edges that leave those vertices.

    Args:
        values: by vertex; the dtype's largest value, or infinity, where there is no path.
        degree: edges that leave each vertex in the whole graph.
    """
    words = _found(device, values, degree, "reached")
    farthest = words[2:].view(np.float64) if values.dtype.kind == "f" else words[2:]
    return int(words[0]), farthest[0].item(), int(words[1])


def largest(device: Any, values: Any) -> tuple[int, int]:
    """The largest of integers, 0 or more, and how many vertices have it."""
    most, count, _ = _found(device, values, values, "largest", "of_that_size").tolist()
    return most, count


def own(device: Any, values: Any, original: Any) -> int:
    """How many integers are equal to what stands beside them."""
    return int(_found(device, values, original, "own")[0])


def _found(device: Any, values: Any, beside: Any, *kernels: str) -> np.ndarray:
    """The words that these kernels leave, one after the other."""
    names = values.dtype.name, beside.dtype.name
    module, found = device.module(text(*names), f"figures_{'_'.join(names)}"), device.xp.zeros(3, np.int64)
    places = device.address(values), device.address(beside), len(values), device.address(found)
    module.set_environment(np.array(places, np.int64))
    for kernel in kernels:
        module.launch(kernel, device.blocks * module.resident(kernel))
    return device.read(found)
