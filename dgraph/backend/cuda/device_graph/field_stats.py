"""Figures of a field on a GPU, by kernels of our own (``field_stats.cuh``).

CuPy takes seconds to compile its first sum of each kind; these kernels take a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

PARTS = 256
"""Blocks of ``total``: fixed, so that sums have the same bits on every GPU."""

_words: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Device → the words that its kernels return figures in."""


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
    return own_text("\n".join([types, *macros]), "field_stats")


@cache
def named(values: np.dtype, beside: np.dtype) -> tuple[str, str]:
    """Return the kernels' text, and the name of its module."""
    return text(values.name, beside.name), f"figures_{values.name}_{beside.name}"


def begin_reached(device: Any, values: Any, degree: Any) -> Callable[[], tuple[int, float, int]]:
    """Begin to find the number of distances, the largest one, and the edges that leave those vertices.

    Args:
        device: of the arrays.
        values: distance by vertex; the dtype's largest value, or infinity, if there is no path.
        degree: out-degree of each vertex in the whole graph.

    Returns:
        The function that waits for the figures; call it before other figures are asked for.
    """
    begun, kind = _begun(device, values, degree, "reached"), values.dtype.kind

    def figures() -> tuple[int, float, int]:
        words = begun()
        farthest = words[2:3].view(np.float64) if kind == "f" else words[2:3]
        return int(words[0]), farthest[0].item(), int(words[1])

    return figures


def largest(device: Any, values: Any) -> tuple[int, int]:
    """Return the largest of integers that are not negative, and how many vertices have it."""
    most, count = _found(device, values, values, "largest", "of_that_size")[:2].tolist()
    return most, count


def own(device: Any, values: Any, original: Any) -> int:
    """Count the integers that are equal to the vertex's original id."""
    return int(_found(device, values, original, "own")[0])


def total(device: Any, values: Any) -> float:
    """Return the sum of floats."""
    return float(_found(device, values, values, "total", blocks=PARTS).view(np.float64).sum())


def _found(device: Any, values: Any, beside: Any, *kernels: str, blocks: int | None = None) -> np.ndarray:
    """Launch kernels one after the other and return their result words; ``blocks``: those of the grid."""
    return _begun(device, values, beside, *kernels, blocks=blocks)()


def _begun(device: Any, values: Any, beside: Any, *kernels: str, blocks: int | None = None) -> Callable[[], np.ndarray]:
    """Launch kernels as :func:`_found` does; return the function that waits for their words."""
    words = _words.get(device)
    if words is None:
        words = device.xp.empty(PARTS, np.int64)
        if device.allocator == "pool":  # memory of the process' own allocator goes back when a graph is closed
            _words[device] = words
    device.clear(words)
    launch(device, values, beside, words, *kernels, blocks=blocks)
    return device.reading(words)


def launch(
    device: Any, values: Any, beside: Any, words: Any, *kernels: str, blocks: int | None = None, gate: int = 0
) -> None:
    """Launch kernels that add their figures to ``words``, which start from zero.

    ``gate``: address of a word; ``reached`` and ``own`` do nothing if it is 0 when they start. 0: they always run.
    """
    module = device.module(*named(values.dtype, beside.dtype))
    module.set_environment(words_of(device, [values, beside, len(values), words]))
    for kernel in kernels:
        module.launch(kernel, blocks or device.blocks * module.resident(kernel), gate)
