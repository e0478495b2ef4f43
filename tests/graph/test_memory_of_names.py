"""Names in tables are numbered batch by batch: no column of them is held whole."""

import tracemalloc

import numpy as np
import pytest

from dgraph.comm import SerialComm
from dgraph.graph.formats import parquet as table_reader
from dgraph.graph.formats import word_table
from dgraph.graph.stored_graph import Graph

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def test_names_of_a_table_are_not_held_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(table_reader, "NAMED_ROWS", 4000)
    rows, words = 100_000, np.array([f"{number:0200d}" for number in range(100)])
    codes = np.random.default_rng(1).integers(0, 100, (2, rows))
    parquet.write_table(pa.table(dict(zip(("source", "target"), words[codes], strict=True))), tmp_path / "a.parquet")
    monkeypatch.setattr(word_table, "compiles", lambda size: True)
    word_table.WordTable().codes(np.array([97], np.uint8), np.array([[0, 1]]))  # memory of compiling is not counted
    tracemalloc.start()
    try:
        graph = Graph.load(tmp_path / "a.parquet", comm=SerialComm())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    edges = {(u, v) for u, v in codes.T.tolist() if u != v}
    assert (graph.n, graph.m) == (100, len(edges))
    assert peak < 1.5 * rows * 200  # names of both columns have twice rows * 200 bytes


@pytest.mark.parametrize("backends", [["jemalloc", "system"], ["system"]])
def test_names_of_a_table_leave_the_memory_pool_of_others_alone(tmp_path, monkeypatch, backends):
    """Texts are decoded into a pool of the reader; other threads of the process may work with pyarrow meanwhile."""
    rows = 60_000
    words = np.array([f"{number:0100d}" for number in range(rows)])
    parquet.write_table(
        pa.table({"source": words, "target": words[::-1]}), tmp_path / "a.parquet", use_dictionary=False
    )
    available = set(pa.supported_memory_backends())
    monkeypatch.setattr(pa, "supported_memory_backends", lambda: [name for name in backends if name in available])
    monkeypatch.setattr(pa, "set_memory_pool", lambda pool: pytest.fail("the pool of the process changed"))
    pool, before = table_reader.names_pool(), pa.default_memory_pool().backend_name
    assert pool.backend_name in backends
    used, allocate = [], word_table.WordTable.codes
    monkeypatch.setattr(
        word_table.WordTable, "codes", lambda *args: used.append(pool.bytes_allocated()) or allocate(*args)
    )
    graph = Graph.load(tmp_path / "a.parquet", comm=SerialComm())
    assert (graph.n, graph.m) == (rows, rows)
    assert max(used) >= 16_000 * 100, "a batch of names lies in the reader's pool"
    assert pa.default_memory_pool().backend_name == before
