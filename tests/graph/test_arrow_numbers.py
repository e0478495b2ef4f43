"""Arrow's numbers as NumPy's are those of pyarrow's own way, and NumPy's versions of kernels take little memory."""

import tracemalloc

import numpy as np
import pytest

from dgraph.graph.build import clean_kernels
from dgraph.graph.build.array_input import arrow_dtype, arrow_numbers
from dgraph.result.arrow_tables import arrow_arrays

pa = pytest.importorskip("pyarrow")
VALUES = [3, 0, 7, 3, 1]
NUMBERS = [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()]
OTHERS = [pa.bool_(), pa.dictionary(pa.int8(), pa.int64()), pa.run_end_encoded(pa.int32(), pa.int64()), pa.date32()]
NO_NUMBERS = [pa.list_(pa.int8()), pa.string(), pa.decimal128(5, 2), pa.timestamp("us", tz="UTC"), pa.binary(4)]


@pytest.mark.parametrize("kind", [*NUMBERS, *OTHERS], ids=str)
@pytest.mark.parametrize("part", [slice(None), slice(2, 4), slice(5, 5)])
def test_numbers_of_arrow_are_those_of_pyarrow(kind, part):
    array = pa.array(np.array(VALUES, np.float16) if kind == pa.float16() else VALUES)
    array = (array if "run_end" in str(kind) else array.cast(pa.int32()) if kind == pa.date32() else array)[part]
    if "run_end" in str(kind):
        array = pa.compute.run_end_encode(array)
    elif "dictionary" in str(kind):
        array = array.dictionary_encode()
    else:
        array = array.cast(kind)
    wanted = array.to_numpy(zero_copy_only=False)
    assert arrow_numbers(array).dtype == wanted.dtype
    assert np.array_equal(arrow_numbers(array), wanted)


@pytest.mark.parametrize("kind", [*NUMBERS, *OTHERS, *NO_NUMBERS], ids=str)
def test_dtypes_of_arrow_are_those_of_pyarrow(kind):
    assert arrow_dtype(kind).kind == pa.array([], kind).to_numpy(zero_copy_only=False).dtype.kind


@pytest.mark.parametrize("kind", ["int32", "int64", "uint64", "float32", "float64"])
def test_columns_of_numbers_become_arrow_arrays(kind):
    values = np.array([5, -1 if kind[0] == "i" else 6, 0], kind)
    nullable = {"x": 5}
    assert next(arrow_arrays("x", values, ())).equals(pa.array(values))
    assert next(arrow_arrays("x", values, nullable)).equals(pa.array(values, mask=values == 5))
    assert next(arrow_arrays("x", np.repeat(values, 2)[::2], nullable)).null_count == 1


def test_targets_are_looked_up_in_pieces():
    targets, empty = np.arange(1 << 20, dtype=np.uint32), np.ones(1 << 20, bool)
    tracemalloc.start()
    try:
        clean_kernels._clear_few(targets, 0, empty)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not empty.any()
    assert peak < targets.nbytes // 2
