"""Fields in GPU memory by lid where vertices were renumbered (``lid_order.cuh``)."""

from __future__ import annotations

from functools import cache
from typing import Any

from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

WORDS = {1: "u8", 4: "u32", 8: "u64"}
"""Size of a value → C++ type that moves it."""


@cache
def text(size: int) -> str:
    """Return the kernel's text for values of this size."""
    types = f"typedef {WORDS[size]} value_t;"
    return own_text(types, "lid_order")


def by_lid(device: Any, values: Any, place: Any) -> Any:
    """Return ``values[place]`` on the device.

    Args:
        device: of the arrays.
        values: a field by position, contiguous.
        place: position of each lid, uint32.
    """
    gathered = device.xp.empty(len(place), values.dtype)
    if not len(place):
        return gathered
    module = device.module(text(values.itemsize), f"by_lid_{values.itemsize}")
    module.set_environment(words_of(device, [values, place, len(place), gathered]))
    module.launch("by_lid", device.blocks * module.resident("by_lid"))
    return gathered
