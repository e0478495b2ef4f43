"""What is said of distances that lie on a GPU, by a kernel of its own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda import layout
from dgraph.backend.cuda.expressions import TYPES
from dgraph.backend.cuda.text import common


@cache
def text(values: str, degrees: str) -> str:
    """The kernel, for arrays of these dtypes. Bits of floats that are not negative ascend as the floats do."""
    if values[0] == "f":
        told = ["#define IS_DISTANCE(x) ((x) - (x) == 0)", "#define ORDERED(x) (i64)bits_of((double)(x))"]
    else:
        none = f"(value_t){np.iinfo(values).max}ull"
        told = [f"#define IS_DISTANCE(x) ((x) != {none})", "#define ORDERED(x) (i64)(x)"]
    types = f"typedef {TYPES[values]} value_t;\ntypedef {TYPES[degrees]} degree_t;"
    return "\n".join([layout.constants(), "#define PERSISTENT 0", common("base"), types, *told, common("reached")])


def reached(device: Any, values: Any, degree: Any) -> tuple[int, float, int]:
    """How many distances there are, the farthest, and edges that leave those vertices.

    Args:
        values: by vertex; the dtype's largest value, or infinity, where there is no path.
        degree: edges that leave each vertex in the whole graph.
    """
    names = values.dtype.name, degree.dtype.name
    module, found = device.module(text(*names), f"reached_{'_'.join(names)}"), device.xp.zeros(3, np.int64)
    places = device.address(values), device.address(degree), len(values), device.address(found)
    module.set_environment(np.array(places, np.int64))
    module.launch("reached", device.blocks * module.resident("reached"))
    words = device.read(found)
    farthest = words[2:].view(np.float64) if values.dtype.kind == "f" else words[2:]
    return int(words[0]), farthest[0].item(), int(words[1])
