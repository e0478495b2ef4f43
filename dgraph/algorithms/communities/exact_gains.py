"""Gains of moves in 128 bits, so that no rounding decides between two communities.

A vertex v that joins community c raises the quality by twice ``scale w(v, c) - price(v) mass(c)``; see ``units.py``.
All four factors are below 2^63.
"""

from __future__ import annotations

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import INLINE
from partitioning.arrays.lazy_numba import LazyModule, intrinsic

ir, types, cgutils = map(LazyModule, ("llvmlite.ir", "numba.types", "numba.core.cgutils"))


@intrinsic
def gain(typing, scale, weight, price, mass):
    """Return ``scale * weight - price * mass`` of int64 as (upper 64 bits, int64; lower 64 bits, uint64)."""
    pair = types.Tuple((types.int64, types.uint64))

    def generate(context, builder, signature, args):
        wide = [builder.sext(factor, ir.IntType(128)) for factor in args]
        whole = builder.sub(builder.mul(wide[0], wide[1]), builder.mul(wide[2], wide[3]))
        upper = builder.trunc(builder.ashr(whole, ir.Constant(whole.type, 64)), ir.IntType(64))
        return cgutils.pack_struct(builder, [upper, builder.trunc(whole, ir.IntType(64))])

    return pair(types.int64, types.int64, types.int64, types.int64), generate


@njit(**INLINE)
def exceeds(first, second):
    """Return True if the first gain is larger."""
    return first[0] > second[0] or (first[0] == second[0] and first[1] > second[1])


@njit(**INLINE)
def as_float(exact):
    """Return a gain in float64, the same bits on every machine."""
    return float(exact[0]) * 18446744073709551616.0 + float(exact[1])
