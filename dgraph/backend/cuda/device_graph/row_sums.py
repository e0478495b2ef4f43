"""Sums of rows of a graph whose weights are only on a GPU (``row_sums.cuh``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.module_text import common


@cache
def text(offsets: str, weights: str) -> str:
    """Return the kernel's text for arrays of these dtypes."""
    types = f"typedef {TYPES[offsets]} offset_t;\ntypedef {TYPES[weights]} weight_t;"
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", common("base"), types, common("row_sums")])


def row_sums(device: Any, offsets: Any, weights: Any) -> Any:
    """Return the sum of the weights of every row, float64 (rows,), on the device."""
    names = offsets.dtype.name, weights.dtype.name
    module, rows = device.module(text(*names), f"row_sums_{'_'.join(names)}"), len(offsets) - 1
    sums = device.xp.empty(rows, np.float64)
    places = device.address(offsets), device.address(weights), rows, device.address(sums)
    module.set_environment(np.array(places, np.int64))
    module.launch("row_sums", device.blocks * module.resident("row_sums"))
    return sums
