"""What Numba lacks on the CPU, as LLVM intrinsics: atomics, loads and stores without a negative-index branch, a
barrier between threads. Indices are int64 and are not checked."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dgraph._support.compiled import njit
from dgraph.graph.generators.counter import mix

OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
"""No counts of references: Numba takes locked additions for every array wherever a function is called."""
INNER = OPTIONS | {"no_cpython_wrapper": True}
"""Of what compiled code alone calls: nothing is compiled that would take Python's arguments, a quarter of the time."""
INLINE = INNER | {"cache": False, "forceinline": True}


def _pointer(context, builder, array_type, array, index, index_type):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [context.cast(builder, index, index_type, types.intp)])


@intrinsic
def load(typing, array, index):
    """``array[index]``."""

    def generate(context, builder, signature, args):
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], signature.args[1]))

    return array.dtype(array, index), generate


@intrinsic
def store(typing, array, index, value):
    """``array[index] = value``."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], signature.args[1])
        builder.store(args[2], pointer)
        return context.get_dummy_value()

    return types.void(array, index, array.dtype), generate


@intrinsic
def prefetch(typing, array, index):
    """Bring ``array[index]`` near; nobody waits for it."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], signature.args[1])
        word, bytes_ = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [bytes_, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [builder.bitcast(pointer, bytes_), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def load_acquire(typing, array, index):
    """``array[index]``, and everything that its writer wrote before. Integers only."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], signature.args[1])
        return builder.load_atomic(pointer, "acquire", array.dtype.bitwidth // 8)

    return array.dtype(array, index), generate


@intrinsic
def compare_and_swap(typing, array, index, expected, desired):
    """Whether ``array[index]`` was bitwise ``expected``, and is ``desired`` now. Integers and floats."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], signature.args[1])
        old, new = args[2], args[3]
        if isinstance(array.dtype, types.Float):
            word = ir.IntType(array.dtype.bitwidth)
            pointer = builder.bitcast(pointer, word.as_pointer())
            old, new = builder.bitcast(old, word), builder.bitcast(new, word)
        return builder.extract_value(builder.cmpxchg(pointer, old, new, "acq_rel", "acquire"), 1)

    return types.boolean(array, index, array.dtype, array.dtype), generate


def _read_modify_write(operation, doc):
    def function(typing, array, index, value):
        def generate(context, builder, signature, args):
            pointer = _pointer(context, builder, signature.args[0], args[0], args[1], signature.args[1])
            return builder.atomic_rmw(operation, pointer, args[2], "acq_rel")

        return array.dtype(array, index, array.dtype), generate

    function.__doc__ = doc
    function.__name__ = f"fetch_{operation}"
    return intrinsic(function)


fetch_add = _read_modify_write("add", "Add to an integer; the value before.")
fetch_or = _read_modify_write("or", "Or into an integer; the value before.")
fetch_min = _read_modify_write("min", "Lower a signed integer; the value before.")
fetch_umax = _read_modify_write("umax", "Raise an integer as if it had no sign; the value before.")
fetch_fadd = _read_modify_write("fadd", "Add to a float; the value before.")
swap = _read_modify_write("xchg", "Replace an integer; the value before.")


@intrinsic
def trailing_zeros(typing, word):
    """The index of the lowest set bit of a uint64 that is not 0."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], cgutils.true_bit)

    return types.int64(types.uint64), generate


# The same for a thread that may be alone: a locked instruction lets no memory access pass it, a plain one does.


@njit(**INLINE)
def replaced(array, index, old, new, alone):
    """Whether ``array[index]`` was ``old``, and is ``new`` now; alone, the caller has just read ``old`` there."""
    if alone:
        store(array, index, new)
        return True
    return compare_and_swap(array, index, old, new)


@njit(**INLINE)
def joined(array, index, bits, alone):
    """Or ``bits`` into an integer; the value before."""
    if alone:
        before = load(array, index)
        store(array, index, before | bits)
        return before
    return fetch_or(array, index, bits)


@njit(**INLINE)
def added(array, index, value, alone):
    """Add to an integer; the value before."""
    if alone:
        before = load(array, index)
        store(array, index, before + value)
        return before
    return fetch_add(array, index, value)


@njit(**INLINE)
def raised(array, index, value, alone):
    """Add to a float; the value before."""
    if alone:
        before = load(array, index)
        store(array, index, before + value)
        return before
    return fetch_fadd(array, index, value)


@njit(**INLINE)
def marked(flags, index, alone):
    """Set a flag (uint8); whether this call did."""
    if load(flags, index) != 0:
        return False
    if alone:
        store(flags, index, np.uint8(1))
        return True
    return swap(flags, index, np.uint8(1)) == 0


sched_yield = types.ExternalFunction("sched_yield", types.int32())

usleep = types.ExternalFunction("usleep", types.int32(types.uint32))

SPINS, YIELDS = 2000, 100
"""Looks at the flag before a waiting thread gives its core away, and how often it does so before it sleeps: if another
process holds the core that a late thread needs, the scheduler moves that thread only to a core that is idle."""


@njit(inline="never", nogil=True, cache=True)
def barrier(gate, threads):
    """Wait for all threads. ``gate`` is int64, [0] arrivals and [8] generation, a cache line apart."""
    if threads == 1:
        return
    generation = load_acquire(gate, 8)
    if fetch_add(gate, 0, 1) == threads - 1:
        fetch_add(gate, 0, -threads)
        fetch_add(gate, 8, 1)
    else:
        spins = 0
        while load_acquire(gate, 8) == generation:
            spins += 1
            if spins > SPINS + YIELDS:
                usleep(np.uint32(20))
            elif spins > SPINS:
                sched_yield()


@njit(**INLINE)
def saturating_add(a, b):
    """a + b, stopped at the ends of int64: an unreached vertex stays unreached."""
    # No sum may pass the ends, not even to be looked at: LLVM takes it that none does, and drops the look.
    if b > 0 and a > 0x7FFFFFFFFFFFFFFF - b:
        return 0x7FFFFFFFFFFFFFFF
    if b < 0 and a < -0x7FFFFFFFFFFFFFFF - 1 - b:
        return -0x7FFFFFFFFFFFFFFF - 1
    return a + b


@njit(**INLINE)
def mixed(a, seed):
    """By one seed another number for each ``a``."""
    return np.int64(mix(np.uint64(a) + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(seed) + np.uint64(1))))


@njit(**INLINE)
def saturating_subtract(a, b):
    """a - b, stopped at the ends of int64."""
    if b < 0 and a > 0x7FFFFFFFFFFFFFFF + b:
        return 0x7FFFFFFFFFFFFFFF
    if b > 0 and a < -0x7FFFFFFFFFFFFFFF - 1 + b:
        return -0x7FFFFFFFFFFFFFFF - 1
    return a - b
