"""Sums of rows of a graph whose weights are only on a GPU (``row_sums.cuh``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of


@cache
def text(offsets: str, weights: str) -> str:
    """Return the kernel's text for arrays of these dtypes."""
    types = f"typedef {TYPES[offsets]} offset_t;\ntypedef {TYPES[weights]} weight_t;"
    return own_text(types, "row_sums")


def row_sums(device: Any, offsets: Any, weights: Any) -> Any:
    """Return the sum of the weights of every row, float64 (rows,), on the device."""
    names = offsets.dtype.name, weights.dtype.name
    module, rows = device.module(text(*names), f"row_sums_{'_'.join(names)}"), len(offsets) - 1
    sums = device.xp.empty(rows, np.float64)
    module.set_environment(words_of(device, [offsets, weights, rows, sums]))
    module.launch("row_sums", device.blocks * module.resident("row_sums"))
    return sums
