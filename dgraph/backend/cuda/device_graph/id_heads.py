"""First neighbours of rows by original id (``id_heads.cuh``), where rows begin with hubs.

Searches want hubs first; the smallest valid predecessor wants the smallest id first. Few vertices need another one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of


@cache
def text(offsets: str, original: str) -> str:
    """Return the kernel's text for arrays of these dtypes."""
    types = f"typedef {TYPES[offsets]} offset_t;\ntypedef {TYPES[original]} original_t;"
    return own_text(types, "id_heads")


def id_heads(device: Any, offsets: Any, neighbours: Any, original: Any) -> Any:
    """Return the positions of the ID_HEADS neighbours of smallest id of every row: uint32 (ID_HEADS · rows,).

    Those of one rank of the order lie side by side; ``NO_HEAD`` behind the last neighbour.
    """
    names, rows = (offsets.dtype.name, original.dtype.name), len(offsets) - 1
    heads = device.xp.empty(control_block.ID_HEADS * rows, np.uint32)
    if not rows:
        return heads
    module = device.module(text(*names), f"id_heads_{'_'.join(names)}")
    module.set_environment(words_of(device, [offsets, neighbours, original, rows, heads]))
    module.launch("find_id_heads", device.blocks * module.resident("find_id_heads"))
    return heads
