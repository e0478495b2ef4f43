"""Exact gains of moves, so that no rounding decides between two communities.

A vertex v that joins community c raises the quality by twice ``scale w(v, c) - price(v) mass(c)``; see ``units.py``.
All four factors are below 2^63. Where weights are int32 the products are below 2^62 (:meth:`Units.kind`).
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

    narrow = weight == types.int32

    def generate(context, builder, signature, args):
        kind = ir.IntType(64 if narrow else 128)
        wide = [builder.sext(factor, kind) for factor in args]
        whole = builder.sub(builder.mul(wide[0], wide[1]), builder.mul(wide[2], wide[3]))
        upper = builder.ashr(whole, ir.Constant(kind, 63 if narrow else 64))
        return cgutils.pack_struct(builder, [builder.trunc(half, ir.IntType(64)) for half in (upper, whole)])

    return pair(types.int64, types.int32 if narrow else types.int64, types.int64, types.int64), generate


@njit(**INLINE)
def exceeds(first, second):
    """Return True if the first gain is larger."""
    return first[0] > second[0] or (first[0] == second[0] and first[1] > second[1])


@njit(**INLINE)
def as_float(exact):
    """Return a gain in float64, the same bits on every machine."""
    return float(exact[0]) * 18446744073709551616.0 + float(exact[1])
