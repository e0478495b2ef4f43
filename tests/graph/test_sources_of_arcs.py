"""Sources of arcs equal NumPy's repeat on any number of threads; reversed rows in .wsg files keep equal arcs."""

import numpy as np
import pytest

from dgraph.comm import SerialComm
from dgraph.graph import rows
from dgraph.graph.rows import sources_of
from dgraph.graph.stored_graph import Graph
from dgraph.result.files.graph_writers import save_graph


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("begin", [0, 7])
def test_sources_equal_repeat(monkeypatch, kind, threads, begin):
    monkeypatch.setattr(rows, "SHARE", 10)
    lengths = np.random.default_rng(threads).integers(0, 9, 300) * (np.arange(300) % 3 == 0)
    offsets = begin + np.concatenate([[0], np.cumsum(lengths)])
    sources = sources_of(offsets, 11, np.dtype(kind), threads)
    assert sources.dtype == kind
    np.testing.assert_array_equal(sources, np.repeat(np.arange(11, 311), lengths))
    assert sources_of(np.zeros(1, np.int64), 0, np.dtype(kind), threads).size == 0


def test_equal_arcs_that_the_facts_deny_are_written_both_ways(tmp_path):
    src, dst, weights = np.array([0, 0, 2, 0]), np.array([1, 1, 1, 1]), np.array([5, 3, 4, 3], np.int32)
    block = Graph.from_edges(src, dst, weights=weights, comm=SerialComm(), keep_parallel=True).block
    files = []
    for kept in (True, False):
        block.facts.duplicates_kept = kept
        save_graph(tmp_path / "a.wsg", block, SerialComm())
        files.append((tmp_path / "a.wsg").read_bytes())
    assert files[0] == files[1]
    arcs = np.frombuffer(files[0], "<i4", 8, len(files[0]) - 32).reshape(-1, 2)
    assert arcs.tolist() == [[0, 3], [0, 3], [0, 5], [2, 4]]
