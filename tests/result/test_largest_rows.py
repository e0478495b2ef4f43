"""Rows of the largest values, in pieces and on an emulated GPU, against a full sort by pandas."""

import numpy as np
import pandas as pd
import pytest
from emulated import Device, needs_compiler
from flat_run import flat_run
from hypothesis import given
from hypothesis import strategies as st

import dgraph
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm
from dgraph.result import largest_rows as module
from dgraph.result.columns import UNREACHED, Columns

pytestmark = pytest.mark.mpi_skip

NUMBERS = st.one_of(
    st.lists(st.sampled_from([-3, 0, 1, 2, UNREACHED - 1, UNREACHED])).map(lambda some: np.array(some, np.int64)),
    st.lists(st.sampled_from([0, 7, 2**32 - 1])).map(lambda some: np.array(some, np.uint32)),
    st.lists(st.sampled_from([0.5, 0.25, -1e300, np.inf, np.nan])).map(lambda some: np.array(some, np.float64)),
)


def wanted(values, k):
    column = pd.Series(values)
    present = column.notna() & ~column.isin([np.inf, -np.inf]) if column.dtype.kind == "f" else column != UNREACHED
    column = column[present].sort_values(ascending=False, kind="stable")
    return column.index.to_numpy()[:k]


@given(NUMBERS, st.integers(0, 6), st.integers(1, 4))
def test_pieces_give_what_a_sort_gives(values, k, first):
    before, module.FIRST = module.FIRST, first
    try:
        rows = module.largest_rows(Columns({"vertex": np.arange(len(values)), "x": values}), "x", k)
    finally:
        module.FIRST = before
    np.testing.assert_array_equal(rows, wanted(values, k))


@pytest.mark.parametrize("values", [np.arange(200_000), np.arange(200_000)[::-1], np.arange(200_000) % 7])
def test_columns_longer_than_a_piece(values):
    np.testing.assert_array_equal(module.largest_rows({"x": values}, "x", 5), wanted(values, 5))


@needs_compiler
@pytest.mark.parametrize(("renumbered", "order", "algorithm"), [
    (False, "original", "bfs"), (True, "original", "bfs"), (True, "degree", "pagerank"),
])  # fmt: skip
def test_the_top_rows_of_a_gpu_need_no_copy_of_the_column(renumbered, order, algorithm, monkeypatch):
    """Check that neither the column nor the order of its rows is copied, where ids do not ascend by row."""
    monkeypatch.setattr(module, "FIRST", 16)
    graph = dgraph.Graph.load("rmat:9", order=order, comm=SerialComm())
    device, asked = Device(), []
    engine, source = CudaBackend(0, 1, True, GpuPlan(renumber=renumbered), device), {"source": 1}
    result = flat_run(algorithm, graph, backend=engine, **source if algorithm == "bfs" else {})
    for name in ("get", "put"):
        copy = getattr(device, name)
        monkeypatch.setattr(device, name, lambda array, copy=copy: (asked.append(array.size), copy(array))[1])
    top, value = result.top(3), result.value(7)
    assert max(asked) < graph.n // 4, "a column was copied"
    name = next(column for column in result.columns if column != "vertex")
    values = result.columns[name]
    assert value == values[7]
    np.testing.assert_array_equal(top["vertex"], wanted(values, 3))
    np.testing.assert_array_equal(top[name], values[top["vertex"]])


@needs_compiler
def test_rows_of_equal_values_are_taken_by_id_where_ids_do_not_ascend_by_row():
    graph = dgraph.Graph.load("rmat:9", order="degree", comm=SerialComm())
    result = flat_run("bfs", graph, source=1, backend=CudaBackend(0, 1, True, GpuPlan(), Device()))
    top = result.top(40)
    np.testing.assert_array_equal(top["vertex"], wanted(result.columns["distance"], 40))


@pytest.mark.gpu
@pytest.mark.parametrize("algorithm", ["bfs", "sssp", "cc", "pagerank", "kcore"])
def test_top_rows_on_a_gpu(algorithm):
    pytest.importorskip("cupy")
    graph = dgraph.Graph.load("rmat:18", weights="1..255", device="cuda", comm=SerialComm())
    result = dgraph.run(algorithm, graph, **({"source": 1} if algorithm in ("bfs", "sssp") else {}))
    top = result.top(20)
    name = next(column for column in result.columns if column != "vertex")
    np.testing.assert_array_equal(top["vertex"], wanted(result.columns[name], 20))
    np.testing.assert_array_equal(top[name], result.columns[name][top["vertex"]])
