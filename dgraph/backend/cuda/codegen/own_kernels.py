"""Kernels that belong to no program: their text, and the words of their ``Env``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.module_text import common


def own_text(definitions: str, *names: str) -> str:
    """Return the text of files of kernels, after types and constants that they need."""
    head = [control_block.constants(), "#define PERSISTENT 0", common("base")]
    return "\n".join([*head, *filter(None, [definitions]), *map(common, names)])


def words_of(device: Any, values: Iterable[Any]) -> np.ndarray:
    """Return integers, and addresses of arrays, as the words of an ``Env``; None and empty arrays are null pointers."""
    words = [
        0
        if value is None
        else value % 2**64
        if type(value) is int
        else int(value) % 2**64
        if isinstance(value, (int, np.integer))
        else device.address(value)
        if value.size
        else 0
        for value in values
    ]
    return np.array(words, np.uint64)
