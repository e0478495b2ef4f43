"""What generated texts call, in Python: on a graph of a few vertices a program has ended long before it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dgraph.backend.cpu.codegen.generated_module import text_of
from dgraph.backend.cpu.round.machine import Machine
from dgraph.graph.generators.counter import mix_int
from dgraph.program import Traced

INLINE: dict[str, Any] = {}
INNER: dict[str, Any] = {}
OPTIONS: dict[str, Any] = {}
LEAST, MOST = -(1 << 63), (1 << 63) - 1


class PlainMachine(Machine):
    """One program on one thread, whose text is not compiled."""

    compiled = True

    def _module(self, traced: Traced) -> ModuleType:
        module = ModuleType("dgraph_plain")
        with np.errstate(all="ignore"):
            exec(text_of(traced, __name__), module.__dict__)
        return module

    def _call(self, *args, **more) -> int:
        with np.errstate(all="ignore"):  # as compiled code has it
            return super()._call(*args, **more)


def njit(**_: Any) -> Callable:
    return lambda function: function


def load(array, index):
    return array[index]


load_acquire = load


def store(array, index, value):
    array[index] = value


def prefetch(array, index):
    pass


def barrier(gate, threads):
    pass


def fetch_add(array, index, value):
    before = array[index]
    array[index] = before + value
    return before


def fetch_min(array, index, value):
    before = array[index]
    array[index] = min(before, value)
    return before


def fetch_umax(array, index, value):
    before = array[index]
    array[index] = max(int(before) % 2**64, int(value) % 2**64)
    return before


def added(array, index, value, alone):
    return fetch_add(array, index, value)


raised = added


def joined(array, index, bits, alone):
    before = array[index]
    array[index] = before | bits
    return before


def replaced(array, index, old, new, alone):
    if array[index] != old:
        return False
    array[index] = new
    return True


def marked(flags, index, alone):
    return replaced(flags, index, 0, 1, alone)


def saturating_add(a, b):
    return np.int64(max(LEAST, min(MOST, int(a) + int(b))))


def mixed(a, seed):
    return np.uint64(mix_int(int(a) + 0x9E3779B97F4A7C15 * int(seed))).astype(np.int64)


def saturating_subtract(a, b):
    return np.int64(max(LEAST, min(MOST, int(a) - int(b))))


def trailing_zeros(word):
    return (int(word) & -int(word)).bit_length() - 1
