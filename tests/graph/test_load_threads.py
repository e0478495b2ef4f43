"""A load uses the threads that the rounds of its device would, and shares of arrays cover them."""

import zlib

import numpy as np
import pytest
from loading import written

import dgraph
from dgraph._support import affinity, compiled, threads
from dgraph.comm import SerialComm
from dgraph.comm.rank_threads import at_most, rank_threads
from dgraph.graph import rows
from dgraph.graph.build import clean, clean_kernels, fingerprint
from dgraph.graph.formats import column, edge_list, text
from dgraph.graph.local import Csr
from partitioning.arrays import crc32, lazy_numba


@pytest.mark.parametrize(("device", "expected"), [("cpu", 3), (dgraph.Cpu(threads=2), 2), (dgraph.Cpu(threads=9), 3)])
def test_a_load_uses_the_threads_of_its_device(device, expected, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(affinity, "share", lambda *_: 3)
    monkeypatch.setattr(text, "rank_threads", lambda comm: asked.append(rank_threads(comm)) or asked[-1])
    graph = dgraph.Graph.load(written(tmp_path, "a.el", "0 1\n1 2\n"), device=device)
    assert asked == [expected]
    assert rank_threads(graph.comm) == 3
    with at_most(1):
        assert rank_threads(graph.comm) == 1


@pytest.mark.parametrize("size", [1, 2, 9, 100])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_shares_cover_an_array_once(size, count, monkeypatch):
    monkeypatch.setattr(threads, "SHARE", 2)
    values, times = np.random.default_rng(size).permutation(size) - 5, np.zeros(size, np.int64)

    def add(part):
        times[part] += 1

    threads.shares(add, size, count)
    assert np.all(times == 1)
    assert threads.extremes(values, count) == (-5, size - 6)


def test_ids_on_a_gpu_are_compared_without_threads(monkeypatch):
    class Column:
        size, slices = 100, 0

        def __getitem__(self, part):
            self.slices += 1
            return np.arange(3, 9)[part]

    monkeypatch.setattr(threads, "SHARE", 2)
    monkeypatch.setattr(edge_list, "rank_threads", lambda _: 4)
    columns = Column(), Column()
    assert edge_list._id_range(*columns, SerialComm()) == (3, 8)
    assert [column.slices for column in columns] == [2, 2]  # for the smallest and the largest


@pytest.mark.parametrize("lengths", [[0], [5], [0, 0, 0, 9, 0], [1000, 0, 1, 1, 0, 0], [0] * 50, [3] * 40])
@pytest.mark.parametrize("count", [1, 3, 16])
def test_shares_of_rows_cover_them_once(lengths, count, monkeypatch):
    monkeypatch.setattr(rows, "SHARE", 2)
    offsets, times = 7 + np.concatenate([[0], np.cumsum(lengths)]), np.zeros(len(lengths), np.int64)

    def add(part):
        times[part] += 1

    rows.row_shares(add, offsets, count)
    assert np.all(times == 1)


def test_a_fingerprint_is_that_of_any_number_of_threads(monkeypatch):
    graph = dgraph.Graph.load("rmat:7", weights="1..9", device="cpu")
    alone = fingerprint.block_sum(graph.block, graph.comm)
    local = graph.partition().local
    monkeypatch.setattr(rows, "SHARE", 2)
    monkeypatch.setattr(affinity, "share", lambda *_: 5)
    assert fingerprint.block_sum(graph.block, graph.comm) == alone
    assert fingerprint.local_sum(local, local.gids, graph.comm) == alone


def test_figures_of_weights_are_those_of_any_number_of_threads():
    rng, none = np.random.default_rng(3), np.zeros(1, np.int64)
    for weights in (rng.random(3_000_000), rng.integers(-9, 9, 2_500_000, np.int32), np.array([1.0, np.nan])):
        figures = [Csr(none, none, weights).measured(count) for count in (1, 2, 5)] + [
            Csr(none, none, weights).weight_range
        ]
        np.testing.assert_array_equal(figures, figures[:1] * 4)
        np.testing.assert_array_equal(figures[0][:2], [weights.min(), weights.max()])
        np.testing.assert_allclose(figures[0][2], weights.sum(dtype=np.float64), rtol=1e-12)
    assert Csr(none, none, None).measured(2) == (0, 0, 0.0)


@pytest.mark.parametrize("sizes", [[0], [1, 0, 7], [100, 3, 64, 65], [5000, 127, 128, 193]])
@pytest.mark.parametrize("count", [1, 4])
def test_checksums_by_threads(sizes, count, monkeypatch):
    monkeypatch.setattr(crc32, "PIECE", 16 if sum(sizes) < 1000 else 700)
    buffers = [np.random.default_rng(size).integers(0, 256, size, np.uint8) for size in sizes]
    assert crc32.crc32_of([buffer.data for buffer in buffers], count) == [zlib.crc32(buffer) for buffer in buffers]


def test_an_intrinsic_of_partitioning_stays_as_it_is():
    intrinsic = object()
    assert compiled._decorate_shared(lambda _: intrinsic, crc32.combined) is intrinsic


def test_columns_in_an_arena_do_not_overlap(monkeypatch):
    monkeypatch.setattr(column, "ARENA", 256)
    arena, arrays = column.Arena(), []
    for number, size in enumerate([1, 9, 0, 30, 200, 64, 2]):
        arrays.append(arena.empty(size, np.dtype(np.int64)))
        arrays[-1][:] = number
    assert column.Arena().empty(0, np.dtype(np.int32)).flags.writeable
    assert [array.tolist() for array in arrays] == [[k] * n for k, n in enumerate([1, 9, 0, 30, 200, 64, 2])]


def test_threads_that_are_kept_work_inside_each_other_and_after_an_error():
    def outer(number):
        return sum(threads.in_order(lambda value: value + number, range(20), 3))

    assert list(threads.in_order(outer, range(9), 3)) == [190 + 20 * number for number in range(9)]
    with pytest.raises(ZeroDivisionError):
        list(threads.in_order(lambda value: 1 // value, [1, 1, 0, 1, 1], 3))
    ended, some = [], threads.in_order(lambda value: ended.append(value) or value, range(50), 2)
    next(some)
    some.close()
    before = len(ended)
    assert list(threads.in_order(int, range(5), 2)) == [0, 1, 2, 3, 4]
    assert len(ended) == before < 50


@pytest.mark.parametrize(("many", "pieces_compile"), [(100, True), (1 << 24, False)])
def test_pieces_of_a_large_graph_are_work_for_machine_code(many, pieces_compile, monkeypatch):
    """A thread's piece may be small; whether NumPy takes it depends on the whole graph."""
    monkeypatch.setattr(affinity, "share", lambda *_: 3)
    monkeypatch.setattr(threads, "SHARE", 100)
    monkeypatch.setattr(rows, "SHARE", 100)
    monkeypatch.setattr(clean, "SHARE", 100)
    monkeypatch.setattr(clean, "MANY", many)
    pieces = []
    for name in ("clear", "count_loops"):
        kernel = getattr(clean_kernels, name)
        monkeypatch.setattr(
            clean,
            name,
            lambda *args, kernel=kernel, name=name: pieces.append((name, lazy_numba._own.compiles)) or kernel(*args),
        )
    ends = np.arange(2000)
    directed = dgraph.Graph.from_edges(ends[1:], ends[:-1], n=2000, directed=True, device="cpu")
    undirected = dgraph.Graph.from_edges(ends, (ends + 1) % 2000, directed=False, device="cpu")
    assert (directed.m, undirected.m) == (1999, 2000)
    assert {name for name, _ in pieces} == {"clear", "count_loops"}
    assert len(pieces) > 4
    assert {compiles for _, compiles in pieces} == {pieces_compile}
