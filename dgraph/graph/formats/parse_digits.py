"""Parse decimal digits eight at a time: three multiplications turn a 64-bit word of text into a number.

Lemire: Quickly parsing eight digits, 2018. Loads are unaligned and assume the little-endian order of x86 and ARM.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from partitioning.arrays.lazy_numba import intrinsic

WINDOW = 32
"""Bytes of a line of integers that are compared at once."""
TENS = np.array([10**k for k in range(19)], np.int64)
_ZEROS, _SIX, _HIGH = np.uint64(0x3030303030303030), np.uint64(0x0606060606060606), np.uint64(0xF0F0F0F0F0F0F0F0)
_PAIRS, _QUADS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_BY_10, _BY_100, _BY_10000 = np.uint64(2561), np.uint64(6553601), np.uint64(42949672960001)


def _loaded(context, builder, signature, arguments, kind):
    """Load a value of an LLVM type from ``text[position]`` on, the two arguments."""
    from numba.core import cgutils

    array = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
    place = builder.gep(array.data, [arguments[1]])
    return builder.load(builder.bitcast(place, kind.as_pointer()), align=1)


@intrinsic
def word_at(typingctx, text, position):
    """Load the eight bytes from ``text[at]`` on, as a uint64."""
    from llvmlite import ir
    from numba import types

    return types.uint64(text, types.int64), lambda *call: _loaded(*call, ir.IntType(64))


@intrinsic
def ends_at(typingctx, text, position):
    """Return a bit for each of the :data:`WINDOW` bytes from ``text[position]`` on, set if it is not a digit."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, *call):
        many = ir.VectorType(ir.IntType(8), WINDOW)
        digits = builder.sub(_loaded(context, builder, *call, many), ir.Constant(many, [48] * WINDOW))
        others = builder.icmp_unsigned(">", digits, ir.Constant(many, [9] * WINDOW))
        return builder.zext(builder.bitcast(others, ir.IntType(WINDOW)), ir.IntType(64))

    return types.uint64(text, types.int64), generate


@intrinsic
def bits_below(typingctx, word):
    """Count trailing zero bits; 64 for zero."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@njit(no_cpython_wrapper=True, forceinline=True)
def _value(word, count):
    """Return the value of the first ``count`` bytes of a word, digits without their zero bits: 1 to 8."""
    word <<= (np.uint64(8) - np.uint64(count)) << np.uint64(3)
    word = ((word * _BY_10) >> np.uint64(8)) & _PAIRS
    word = ((word * _BY_100) >> np.uint64(16)) & _QUADS
    return np.int64((word * _BY_10000) >> np.uint64(32))


@njit(no_cpython_wrapper=True, forceinline=True)
def _parse_word(text, position):
    """Return (value, count) of the digits from ``position`` on, eight at most."""
    word = word_at(text, position) ^ _ZEROS
    count = bits_below((word | (word + _SIX)) & _HIGH) >> np.uint64(3)
    if count == 0:
        return np.int64(0), np.int64(0)
    return _value(word, count), np.int64(count)


@njit(no_cpython_wrapper=True, forceinline=True)
def number_at(text, position, count):
    """Return the value of the 1 to 16 digits from ``position`` on."""
    word = word_at(text, position) ^ _ZEROS
    if count <= 8:
        return _value(word, count)
    return _value(word, 8) * TENS[count - 8] + _value(word_at(text, position + 8) ^ _ZEROS, count - 8)


@njit(no_cpython_wrapper=True, forceinline=True)
def digits_at(text, position):
    """Return (value, count) of the digits from ``position`` on; count 19 stands for more than 18.

    The text must have 24 bytes from ``position`` on.
    """
    value, count = _parse_word(text, position)
    if count < 8:
        return value, count
    more, more_count = _parse_word(text, position + 8)
    value, count = value * TENS[more_count] + more, count + more_count
    if more_count < 8:
        return value, count
    more, more_count = _parse_word(text, position + 16)
    if more_count > 2:
        return value, np.int64(19)
    return value * TENS[more_count] + more, count + more_count
