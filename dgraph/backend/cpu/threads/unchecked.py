"""Unchecked loads and stores, pointers, and the lowest set bit, for Numba; importing this file does not import Numba.

Indices are int64 and non-negative. An array may be a pointer: a function compiles faster with pointers, since an array
is seven values in every call.
"""

from partitioning.arrays.lazy_numba import intrinsic


def address_of(context, builder, array_type, array, index, index_type):
    """Return the LLVM pointer to ``array[index]``."""
    from numba import types

    pointer = isinstance(array_type, types.CPointer)
    first = array if pointer else context.make_array(array_type)(context, builder, array).data
    return builder.gep(first, [context.cast(builder, index, index_type, types.intp)])


@intrinsic
def offset(typing, array, index):
    """Return the pointer to ``array[index]``; ``array`` is C-contiguous, and ``index`` counts entries of all axes."""
    from numba import types

    def generate(context, builder, signature, args):
        return address_of(context, builder, signature.args[0], args[0], args[1], signature.args[1])

    return types.CPointer(array.dtype)(array, index), generate


@intrinsic
def pointers(typing, arrays):
    """Return the pointers to the first entries of a tuple of arrays."""
    from numba import types

    def generate(context, builder, signature, args):
        values = (
            context.make_array(kind)(context, builder, builder.extract_value(args[0], i)).data
            for i, kind in enumerate(arrays.types)
        )
        return context.make_tuple(builder, signature.return_type, tuple(values))

    return types.BaseTuple.from_types([types.CPointer(kind.dtype) for kind in arrays.types])(arrays), generate


@intrinsic
def load(typing, array, index):
    """Return ``array[index]``; a plain load."""

    def generate(context, builder, signature, args):
        return builder.load(address_of(context, builder, signature.args[0], args[0], args[1], signature.args[1]))

    return array.dtype(array, index), generate


@intrinsic
def store(typing, array, index, value):
    """Set ``array[index] = value``; a plain store."""
    from numba import types

    def generate(context, builder, signature, args):
        pointer = address_of(context, builder, signature.args[0], args[0], args[1], signature.args[1])
        builder.store(args[2], pointer)
        return context.get_dummy_value()

    return types.void(array, index, array.dtype), generate


@intrinsic
def trailing_zeros(typing, word):
    """Return the index of the lowest set bit of a non-zero uint64."""
    from numba import types
    from numba.core import cgutils

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], cgutils.true_bit)

    return types.int64(types.uint64), generate
