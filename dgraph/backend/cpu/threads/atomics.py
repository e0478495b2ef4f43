"""LLVM intrinsics that Numba lacks on the CPU: atomics and a barrier, beside the loads and stores of ``unchecked.py``.

Indices are int64 and non-negative; they are not checked. Read-modify-write operations have acquire-release order.
Importing this file does not import Numba: ``plain_kernels.py`` runs kernels without it.
"""

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.unchecked import (  # noqa: F401 - for generated code
    address_of,
    load,
    offset,
    pointers,
    store,
    trailing_zeros,
)
from dgraph.graph.generators.counter import mix
from partitioning.arrays.lazy_numba import LazyModule, external, intrinsic

modules = "llvmlite.ir", "numba.types", "numba.core.cgutils", "llvmlite.binding"
ir, types, cgutils, binding = map(LazyModule, modules)

OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
"""Options of functions that Python calls. Without ``_nrt`` Numba would count references of every array atomically."""
INNER = OPTIONS | {"no_cpython_wrapper": True, "cache": False}
"""Options of functions that only compiled code calls; they have no machine code of their own (``linked_code.py``)."""
INLINE = INNER | {"forceinline": True}
"""Options of functions that are always inlined."""
SPLICED = INLINE | {"forceinline": False, "inline": "always"}
"""Options of functions whose text is inlined before compilation, so that what they call is compiled once."""


def prefetched(builder, pointer, write=0):
    """Emit an LLVM prefetch of a pointer's cache line, for reading (``write`` 0) or for writing (1)."""
    word, address = ir.IntType(32), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [address, word, word, word])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(function, [builder.bitcast(pointer, address), word(write), word(3), word(1)])


def _prefetch(write, doc):
    """Return the intrinsic of an LLVM prefetch for reading (``write`` 0) or for writing (1)."""

    def function(typing, array, index):
        def generate(context, builder, signature, args):
            pointer = address_of(context, builder, signature.args[0], args[0], args[1], signature.args[1])
            prefetched(builder, pointer, write)
            return context.get_dummy_value()

        return types.void(array, index), generate

    function.__doc__ = doc
    function.__name__ = "prefetch_to_write" if write else "prefetch"
    return intrinsic(function)


prefetch = _prefetch(0, "Prefetch the cache line of ``array[index]`` without waiting for it.")
prefetch_to_write = _prefetch(1, "Prefetch the cache line of ``array[index]`` and take it from other cores.")


@intrinsic
def load_acquire(typing, array, index):
    """Return ``array[index]`` of an integer array by an acquire load: its writer's earlier stores are visible."""

    def generate(context, builder, signature, args):
        pointer = address_of(context, builder, signature.args[0], args[0], args[1], signature.args[1])
        return builder.load_atomic(pointer, "acquire", array.dtype.bitwidth // 8)

    return array.dtype(array, index), generate


@intrinsic
def compare_and_swap(typing, array, index, expected, desired):
    """Replace ``array[index]`` by ``desired`` if it is bitwise ``expected``; return True if replaced.

    For integers and floats.
    """

    def generate(context, builder, signature, args):
        pointer = address_of(context, builder, signature.args[0], args[0], args[1], signature.args[1])
        old, new = args[2], args[3]
        if isinstance(array.dtype, types.Float):
            word = ir.IntType(array.dtype.bitwidth)
            pointer = builder.bitcast(pointer, word.as_pointer())
            old, new = builder.bitcast(old, word), builder.bitcast(new, word)
        return builder.extract_value(builder.cmpxchg(pointer, old, new, "acq_rel", "acquire"), 1)

    return types.boolean(array, index, array.dtype, array.dtype), generate


@intrinsic
def has_wide_gathers(typing):
    """Return True if LLVM loads scattered values by vectors on this processor; a constant of the machine code."""
    wide = bool(binding.get_host_cpu_features().get("avx512f"))
    return types.boolean(), lambda context, builder, signature, args: ir.Constant(ir.IntType(1), wide)


@intrinsic
def fence(typing):
    """Make this thread's earlier stores visible before its later loads."""

    def generate(context, builder, signature, args):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


def _read_modify_write(operation, doc):
    """Return the intrinsic of an LLVM ``atomicrmw`` operation."""

    def function(typing, array, index, value):
        def generate(context, builder, signature, args):
            pointer = address_of(context, builder, signature.args[0], args[0], args[1], signature.args[1])
            of_float = operation == "add" and isinstance(array.dtype, types.Float)
            return builder.atomic_rmw("fadd" if of_float else operation, pointer, args[2], "acq_rel")

        return array.dtype(array, index, array.dtype), generate

    function.__doc__ = doc
    function.__name__ = f"fetch_{operation}"
    return intrinsic(function)


fetch_add = _read_modify_write("add", "Add to an integer or a float; return the old value.")
fetch_or = _read_modify_write("or", "Or bits into an integer; return the old value.")
fetch_min = _read_modify_write("min", "Take the minimum of a signed integer; return the old value.")
fetch_umax = _read_modify_write("umax", "Take the maximum of an integer as unsigned; return the old value.")
swap = _read_modify_write("xchg", "Replace an integer; return the old value.")


# Variants that are atomic unless the caller is the only thread (``alone``): a locked instruction stops memory accesses
# from overlapping, so a single thread uses plain ones.


@njit(**INLINE)
def replace_if_equal(array, index, old, new, alone):
    """Replace ``array[index]`` by ``new`` if it is ``old``; return True if replaced.

    If ``alone``, the caller has just read ``old`` there, and it is not compared again.
    """
    if alone:
        store(array, index, new)
        return True
    return compare_and_swap(array, index, old, new)


@njit(**INLINE)
def or_into(array, index, bits, alone):
    """Or ``bits`` into an integer; return the old value."""
    if alone:
        before = load(array, index)
        store(array, index, before | bits)
        return before
    return fetch_or(array, index, bits)


@njit(**INLINE)
def add_into(array, index, value, alone):
    """Add to an integer or a float; return the old value."""
    if alone:
        before = load(array, index)
        store(array, index, before + value)
        return before
    return fetch_add(array, index, value)


@njit(**INLINE)
def set_mark(flags, index, alone):
    """Set a flag (uint8); return True if it was clear."""
    if load(flags, index) != 0:
        return False
    if alone:
        store(flags, index, np.uint8(1))
        return True
    return swap(flags, index, np.uint8(1)) == 0


@external
def sched_yield(types):
    """Give up the core to another thread."""
    return types.int32()


@external
def usleep(types):
    """Sleep for this many microseconds."""
    return types.int32(types.uint32)


SPINS, YIELDS = 2000, 1000
"""Polls of a waiting thread before it yields its core, and yields before it sleeps: some 100 µs, as sleeps take.

Sleeping leaves the core idle, which the scheduler needs to move a late thread whose core another process occupies.
A thread that sleeps through the short rounds of the others leaves all of their work to them.
"""


@njit(**INNER)
def barrier(gate, threads):
    """Wait for all threads; their stores before the barrier are then visible.

    ``gate`` is an int64 array: [0] counts arrivals, [8] is the generation, on separate cache lines.
    """
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
    """Return a + b, saturated at the ends of int64, so that INF plus a weight stays INF."""
    # Compare before adding: LLVM assumes that signed sums do not overflow, and would drop a check of the result.
    if b > 0 and a > 0x7FFFFFFFFFFFFFFF - b:
        return 0x7FFFFFFFFFFFFFFF
    if b < 0 and a < -0x7FFFFFFFFFFFFFFF - 1 - b:
        return -0x7FFFFFFFFFFFFFFF - 1
    return a + b


@njit(**INLINE)
def mixed(a, seed):
    """Return the SplitMix64 hash of ``a`` under ``seed``, a bijection of int64; see :func:`dgraph.program.mixed`."""
    return np.int64(mix(np.uint64(a) + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(seed) + np.uint64(1))))


@njit(**INLINE)
def bit_count(a):
    """Return the number of set bits of an int64."""
    x = np.uint64(a)
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(**INLINE)
def saturating_subtract(a, b):
    """Return a - b, saturated at the ends of int64."""
    if b < 0 and a > 0x7FFFFFFFFFFFFFFF + b:
        return 0x7FFFFFFFFFFFFFFF
    if b > 0 and a < -0x7FFFFFFFFFFFFFFF - 1 + b:
        return -0x7FFFFFFFFFFFFFFF - 1
    return a - b
