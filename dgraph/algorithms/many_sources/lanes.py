"""Operations on the lanes of vertices, as vectors: Numba itself computes lane by lane.

A lane is an element of a vertex's row, which is one cache line. The functions read rows of C-contiguous arrays
(…, lanes) without checks, and add in the order of the row.
"""

from __future__ import annotations

import math

import numpy as np

from dgraph.backend.cpu.threads.atomics import prefetched
from partitioning.arrays.lazy_numba import LazyModule, intrinsic

ir, types, cgutils = map(LazyModule, ("llvmlite.ir", "numba.types", "numba.core.cgutils"))

LINE = 64
"""Bytes of a row."""

LANES = 8
"""Lanes of 64 bits."""

LARGE, DOWN, LEAST = 2.0**500, 2.0**-512, 2.0**-900
"""Number of paths from which those of a round or a vertex are scaled, the factor, and the smallest one of a lane that
was scaled: numbers of paths to vertices of one round may differ by it."""

RANK_LINES = 2
"""Cache lines of a row of ranks: an arc is read once for 16 sources."""

AHEAD = 64
"""Arcs between the one whose row of shares is added and the one whose row is prefetched, past ends of vertices, too."""


def cache_lines(*shape: int, dtype: type | np.dtype) -> np.ndarray:
    """Return zeros of ``shape`` and a further axis of lanes, in which every row is one cache line."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * LINE
    memory = np.zeros(size + LINE, np.uint8)
    first = -memory.ctypes.data % LINE
    return memory[first : first + size].view(kind).reshape(*shape, LINE // kind.itemsize)


def _data(context, builder, kind, array):
    return context.make_array(kind)(context, builder, array).data


def _row(builder, base, row, vector):
    """Return a pointer to row ``row`` as a vector."""
    first = builder.gep(base, [builder.mul(row, ir.Constant(ir.IntType(64), vector.count))])
    return builder.bitcast(first, vector.as_pointer())


@intrinsic
def fold_chosen(typing, neighbours, first, last, now, wanted, values, folded):
    """Write the sum of rows of ``values`` over ``neighbours[first:last]`` to row 0 of ``folded``.

    Of a neighbour u, lanes are added whose bit is set in ``now[u] & wanted``. Returns the bits that occurred, uint8.
    """

    def generate(context, builder, signature, args):
        kinds = signature.args
        near, states, rows, sums = (_data(context, builder, kinds[i], args[i]) for i in (0, 3, 5, 6))
        vector = ir.VectorType(ir.DoubleType(), LANES)
        zero, top = ir.Constant(vector, [0.0] * LANES), ir.Constant(ir.IntType(64), 0)
        none = ir.Constant(ir.IntType(8), 0)
        total, seen = (cgutils.alloca_once_value(builder, value) for value in (zero, none))
        with cgutils.for_range_slice(builder, args[1], args[2], ir.Constant(ir.IntType(64), 1)) as (e, _):
            u = builder.zext(builder.load(builder.gep(near, [e])), ir.IntType(64))
            bits = builder.and_(builder.load(builder.gep(states, [u])), args[4])
            mask = builder.bitcast(bits, ir.VectorType(ir.IntType(1), LANES))
            row = builder.load(_row(builder, rows, u, vector), align=8)
            builder.store(builder.fadd(builder.load(total), builder.select(mask, row, zero)), total)
            builder.store(builder.or_(builder.load(seen), bits), seen)
        builder.store(builder.load(total), _row(builder, sums, top, vector), align=8)
        return builder.load(seen)

    arguments = (neighbours, types.int64, types.int64, now, types.uint8, values, folded)
    return types.uint8(*arguments), generate


@intrinsic
def rank_row(
    typing, neighbours, weights, first, last, shares, own, v, following, jumps, jump, going, totals, first_total,
    alpha, portion, leaving, sink,
):  # fmt: skip
    """Write row v of ``following``: ``portion`` of ``alpha`` times a sum of shares plus row ``jump`` of ``jumps``.

    The sum is of rows ``neighbours[first:last]`` of ``shares``, times ``weights`` (float64); None: 1. A lane in which
    ``going``, of one row, is 0 stays that of row v of ``own``. Row ``first_total`` of ``totals`` grows by the change
    from ``own``, times ``leaving``, and the next row by the share times ``sink``. All arrays of rows are float64, of
    ``RANK_LINES`` lines a row.
    """

    def generate(context, builder, signature, args):
        kinds = signature.args
        near = _data(context, builder, kinds[0], args[0])
        shared, mine, sent, jumped, on, summed_up = (
            _Lanes(context, builder, kinds[i], args[i], RANK_LINES) for i in (4, 5, 7, 8, 10, 11)
        )
        count = context.make_array(kinds[0])(context, builder, args[0]).nitems
        scales = None if isinstance(kinds[1], types.NoneType) else _data(context, builder, kinds[1], args[1])
        zero, one = ir.Constant(shared.vector, [0.0] * RANK_LINES * LANES), ir.Constant(ir.IntType(64), 1)
        summed = cgutils.alloca_once(builder, shared.vector)
        builder.store(zero, summed)
        with cgutils.for_range_slice(builder, args[2], args[3], one) as (e, _):
            row = shared.load(builder.zext(builder.load(builder.gep(near, [e])), ir.IntType(64)))
            ahead = builder.add(e, ir.Constant(ir.IntType(64), AHEAD))
            ahead = builder.select(builder.icmp_signed("<", ahead, count), ahead, e)
            shared.prefetch(builder.zext(builder.load(builder.gep(near, [ahead])), ir.IntType(64)))
            if scales is not None:
                row = builder.fmul(row, shared.spread(builder.load(builder.gep(scales, [e]))))
            builder.store(builder.fadd(builder.load(summed), row), summed)
        old = mine.load(args[6])
        rank = builder.fmul(shared.spread(args[13]), builder.load(summed))
        share = builder.fmul(builder.fadd(rank, jumped.load(args[9])), shared.spread(args[14]))
        share = builder.select(builder.fcmp_ordered("!=", on.load(ir.Constant(ir.IntType(64), 0)), zero), share, old)
        fell = builder.fsub(share, old)
        change = builder.select(shared.less(fell, zero), builder.fsub(old, share), fell)
        builder.store(share, sent.place(args[6]), align=LINE)
        for place, amount, scale in ((args[12], change, args[15]), (builder.add(args[12], one), share, args[16])):
            total = builder.fadd(summed_up.load(place), builder.fmul(amount, shared.spread(scale)))
            builder.store(total, summed_up.place(place), align=LINE)
        return context.get_dummy_value()

    whole, real = types.int64, types.float64
    return types.void(
        neighbours, weights, whole, whole, shares, own, whole, following, jumps, whole, going, totals, whole, real,
        real, real, real,
    ), generate  # fmt: skip


@intrinsic
def or_rows(typing, neighbours, first, last, words, folded, target):
    """Or the rows of ``words`` over ``neighbours[first:last]`` into row ``target`` of ``folded``."""

    def generate(context, builder, signature, args):
        kinds = signature.args
        near, rows, sums = (_data(context, builder, kinds[i], args[i]) for i in (0, 3, 4))
        vector = ir.VectorType(ir.IntType(64), LANES)
        place = _row(builder, sums, args[5], vector)
        total = cgutils.alloca_once_value(builder, builder.load(place, align=8))
        with cgutils.for_range_slice(builder, args[1], args[2], ir.Constant(ir.IntType(64), 1)) as (e, _):
            u = builder.zext(builder.load(builder.gep(near, [e])), ir.IntType(64))
            row = builder.load(_row(builder, rows, u, vector), align=8)
            builder.store(builder.or_(builder.load(total), row), total)
        builder.store(builder.load(total), place, align=8)
        return context.get_dummy_value()

    return types.void(neighbours, types.int64, types.int64, words, folded, types.int64), generate


class _Lanes:
    """Rows of an array of int32, float32 or float64 as vectors, and the operations on them; ``lines`` a row."""

    def __init__(self, context, builder, kind, array, lines=1):
        self.builder, self.address, self.lines = builder, _data(context, builder, kind, array), lines
        self.lane = context.get_value_type(kind.dtype)
        self.whole = isinstance(kind.dtype, types.Integer)
        self.vector = ir.VectorType(self.lane, lines * LINE * 8 // kind.dtype.bitwidth)

    def place(self, row):
        return _row(self.builder, self.address, row, self.vector)

    def load(self, row):
        return self.builder.load(self.place(row), align=LINE)

    def prefetch(self, row):
        first = self.builder.ptrtoint(self.place(row), ir.IntType(64))
        for line in range(self.lines):
            place = self.builder.add(first, ir.Constant(ir.IntType(64), line * LINE))
            prefetched(self.builder, self.builder.inttoptr(place, ir.IntType(8).as_pointer()))

    def less(self, a, b):
        return self.builder.icmp_signed("<", a, b) if self.whole else self.builder.fcmp_ordered("<", a, b)

    def least(self, a, b):
        return self.builder.select(self.less(a, b), a, b)

    def plus(self, row, scalar):
        return (self.builder.add if self.whole else self.builder.fadd)(row, self.spread(scalar))

    def equal(self, a, b):
        return self.builder.icmp_signed("==", a, b) if self.whole else self.builder.fcmp_ordered("==", a, b)

    def spread(self, scalar):
        undefined, first = ir.Constant(self.vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        one = self.builder.insert_element(undefined, scalar, first)
        return self.builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(first.type, self.vector.count), None))

    def lower(self, place, lanes, old, none):
        """Store ``lanes`` to row ``place`` if one is below ``old``; return the least such lane, or ``none``."""
        builder = self.builder
        fell, least = self.less(lanes, old), cgutils.alloca_once_value(builder, none)
        bits = builder.bitcast(fell, ir.IntType(self.vector.count))
        with builder.if_then(builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))):
            builder.store(builder.select(fell, lanes, old), self.place(place), align=LINE)
            row = builder.select(fell, lanes, self.spread(none))
            while row.type.count > 1:
                halves = ir.VectorType(ir.IntType(32), row.type.count // 2)
                low, high = (
                    builder.shuffle_vector(row, row, ir.Constant(halves, list(range(first, first + halves.count))))
                    for first in (0, halves.count)
                )
                row = self.least(low, high)
            builder.store(builder.extract_element(row, ir.Constant(ir.IntType(32), 0)), least)
        return builder.load(least)


@intrinsic
def lower_row(typing, values, u, v, step, none):
    """Lower the lanes of row v of ``values`` to those of row u plus ``step``; return the least that fell, or ``none``.

    ``values`` are int32, float32 or float64; sums must not overflow.
    """

    def generate(context, builder, signature, args):
        rows = _Lanes(context, builder, signature.args[0], args[0])
        return rows.lower(args[2], rows.plus(rows.load(args[1]), args[3]), rows.load(args[2]), args[4])

    return values.dtype(values, types.int64, types.int64, values.dtype, values.dtype), generate


@intrinsic
def lower_by_rows(typing, values, v, neighbours, steps, first, last, none):
    """Lower row v by rows ``neighbours[first:last]`` plus ``steps``; otherwise as :func:`lower_row`."""

    def generate(context, builder, signature, args):
        rows = _Lanes(context, builder, signature.args[0], args[0])
        near, steps = (_data(context, builder, signature.args[i], args[i]) for i in (2, 3))
        old = rows.load(args[1])
        lowest = cgutils.alloca_once_value(builder, old)
        with cgutils.for_range_slice(builder, args[4], args[5], ir.Constant(ir.IntType(64), 1)) as (e, _):
            u = builder.zext(builder.load(builder.gep(near, [e])), ir.IntType(64))
            row = rows.plus(rows.load(u), builder.load(builder.gep(steps, [e])))
            builder.store(rows.least(row, builder.load(lowest)), lowest)
        return rows.lower(args[1], builder.load(lowest), old, args[6])

    kind = values.dtype
    return kind(values, types.int64, neighbours, steps, types.int64, types.int64, kind), generate


@intrinsic
def equal_lanes(typing, values, u, v, step, none):
    """Return, as bits (uint16), the lanes in which row v is row u plus ``step``, and not ``none``."""

    def generate(context, builder, signature, args):
        rows = _Lanes(context, builder, signature.args[0], args[0])
        there = rows.load(args[2])
        same = rows.equal(rows.plus(rows.load(args[1]), args[3]), there)
        bits = builder.and_(same, rows.less(there, rows.spread(args[4])))
        count = rows.vector.count
        bits = builder.bitcast(bits, ir.IntType(count))
        return bits if count == 16 else builder.zext(bits, ir.IntType(16))

    return types.uint16(values, types.int64, types.int64, values.dtype, values.dtype), generate
