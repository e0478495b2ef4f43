"""Convert arrays of users and files to the dtypes that a graph holds; they are copied only if they must change."""

from __future__ import annotations

import numpy as np

from dgraph._support.threads import extremes
from dgraph.errors import DataError, DgraphError, UsageError, shown

WEIGHTS = tuple(np.dtype(kind) for kind in (np.int32, np.int64, np.float32, np.float64))
EXACT = 1 << 53
"""Largest integer up to which a double holds all."""
STEP = 1 << 20
"""Values checked at a time."""
ROUNDED = (
    "some weights are integers beyond 63 bits, or beside fractions: all are read as float64, which rounds those beyond "
    "53 bits"
)

DECIMALS = "the weights are decimals or fractions: read as float64, which holds 15 digits"


def as_ids(values, name: str, before: int = 0) -> np.ndarray:
    """Return vertex ids as a 1-D array of uint32 (from integers of at most 32 bits) or int64.

    Args:
        values: anything that NumPy takes as an array.
        name: the array's name in messages.
        before: index of the first value in messages.

    Raises:
        UsageError: not a 1-D array of integers.
        DataError: a negative id or one above 2^63 - 1, with its index.
    """
    array = _vector(values, name)
    if array.size == 0:
        return array.astype(np.uint32)
    if array.dtype.kind not in "iu":
        raise UsageError(f"{name}: got an array of {array.dtype}; ids are integers; convert it, for example to int64")
    check_range(array, 0, np.iinfo(np.int64).max, name, before)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.itemsize == 4:
        return array.view(np.uint32)
    return array.astype(np.int64 if array.dtype.itemsize == 8 else np.uint32, copy=False)


def as_weights(values, name: str, before: int = 0) -> np.ndarray:
    """Return weights as a 1-D array of int32, int64, float32 or float64; smaller types are widened.

    Integers above 2^63 - 1 make the array float64: see :func:`rounds_weights`.

    Args:
        values: anything that NumPy takes as an array.
        name: the array's name in messages.
        before: index of the first value in messages.

    Raises:
        UsageError: not a 1-D array of real numbers.
        DataError: a weight that is NaN, with its index.
    """
    array = _vector(values, name)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise UsageError(
            f"{name}: got an array of {array.dtype}; weights are real numbers of 64 bits at most; convert it"
        )
    check_weights(array, name, before)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        beyond = array.size and int(array.max()) > np.iinfo(np.int64).max
        return array.astype(np.float64 if beyond else np.int64)
    for kind in WEIGHTS:
        if np.can_cast(array.dtype, kind, "safe"):
            return array.astype(kind, copy=False)
    raise UsageError(f"{name}: got an array of {array.dtype}; convert it to float64")


def rounds_weights(values, weights: np.ndarray | None) -> bool:
    """Return True if :func:`as_weights` converted integers to floats because one exceeds 2^63 - 1."""
    return weights is not None and weights.dtype == np.float64 and np.asarray(values).dtype.kind == "u"


def arrow_numbers(values) -> np.ndarray:
    """Return an Arrow array without nulls as NumPy's: pyarrow's own way imports pandas, which takes .3 s."""
    from pyarrow.types import is_floating, is_integer

    if not (is_integer(values.type) or is_floating(values.type)):
        return values.to_numpy(zero_copy_only=False)
    kind = arrow_dtype(values.type)
    return np.frombuffer(values.buffers()[1] or b"", kind, len(values), values.offset * kind.itemsize)


def arrow_dtype(kind) -> np.dtype:
    """Return the dtype of an Arrow type's values in NumPy."""
    try:
        return np.dtype((kind.value_type if hasattr(kind, "index_type") else kind).to_pandas_dtype())
    except (NotImplementedError, TypeError):
        from pyarrow import array

        return array([], kind).to_numpy(zero_copy_only=False).dtype


def check_weights(weights: np.ndarray, name: str, before: int = 0) -> None:
    """Refuse NaN, with its index counted from ``before``. Algorithms that use weights check for infinity."""
    if weights.dtype.kind != "f":
        return
    for start in range(0, weights.size, STEP):
        undefined = np.isnan(weights[start : start + STEP])
        if undefined.any():
            index = start + int(np.argmax(undefined))
            raise DataError(f"{name}[{before + index}] is {weights[index]}; a weight is a number; correct it")


def check_range(values: np.ndarray, low: int, high: int, name: str, before: int = 0, threads: int = 1) -> None:
    """Refuse integers outside ``low .. high``, with the index counted from ``before``."""
    if values.dtype.kind == "u" and low <= 0 and np.iinfo(values.dtype).max <= high:
        return
    smallest, largest = extremes(values, threads) if values.size else (low, high)
    if not (low <= smallest and largest <= high):
        index = int(np.argmax((values < low) | (values > high)))
        raise DataError(f"{name}[{before + index}] is {values[index]}; it must be within {low} .. {high}; correct it")


def missing_values(values) -> np.ndarray:
    """Return True where a value is None, NaN, NaT or pandas' NA: bool, of the shape of ``values``."""
    values = np.asarray(values)
    if values.dtype == object:
        unlike = (None if value is None else value != value for value in values.ravel().tolist())  # NA != NA is NA
        return np.array([x is not False and str(x) != "False" for x in unlike], bool).reshape(values.shape)
    return np.not_equal(values, values)


def host_array(values, name: str) -> np.ndarray:
    """Return values as a NumPy array in host memory, through DLPack where there is no other way.

    Arrays on the host are not copied; those of a GPU (CuPy, PyTorch) are.

    Args:
        values: anything that NumPy takes as an array.
        name: the array's name in messages.

    Raises:
        UsageError: a value that no library reads as an array.
        DataError: a value that a mask of ``numpy.ma`` hides, with its index.
    """
    if isinstance(values, np.ma.MaskedArray):
        return unmasked(values, name)
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "toarray"):
        raise UsageError(f"{name}: got {type(values).__name__}, which is sparse; pass a 1-D array (toarray, ravel)")
    try:
        return _on_host(values)
    except (DgraphError, MemoryError):
        raise
    except Exception as wrong:
        text = " ".join(str(wrong).split())[:120]
        raise UsageError(
            f"{name} = {shown(values)} is not an array ({type(wrong).__name__}: {text}); pass a 1-D array or a list"
        ) from wrong


def unmasked(values: np.ma.MaskedArray, name: str) -> np.ndarray:
    """Return the values of a masked array of which no value is masked.

    Raises:
        DataError: a masked value, with its index.
    """
    masked = np.ma.getmaskarray(values)
    if masked.any():
        row = int(np.argwhere(np.atleast_1d(masked))[0, 0])
        raise DataError(f"{name}[{row}] is masked, so it has no value; fill it in (filled), or leave its edge out")
    return values.data


def _on_host(values) -> np.ndarray:
    if hasattr(values, "detach"):  # a tensor of PyTorch that may carry a gradient
        values = values.detach().cpu()
    if hasattr(values, "__cuda_array_interface__") and hasattr(values, "get"):
        return values.get()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        host = values.__dlpack_device__()[0] == 1
        return np.from_dlpack(values) if host else np.from_dlpack(values, device="cpu")
    return np.asarray(values)


def _vector(values, name: str) -> np.ndarray:
    array = host_array(values, name)
    if array.ndim != 1:
        raise UsageError(f"{name}: got shape {array.shape}; it is one value an edge; pass a 1-D array")
    return np.ascontiguousarray(array)
