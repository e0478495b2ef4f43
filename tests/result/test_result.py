"""Results and their files: every row once, in order, equal bytes at every rank count; no file after an error."""

import errno
import os
import tracemalloc
import zipfile
import zlib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from emulated import backend, needs_compiler
from hypothesis import given
from hypothesis import strategies as st

import dgraph
from dgraph._support import threads as support_threads
from dgraph.backend.cuda.device import downloads
from dgraph.backend.cuda.device_graph import lazy_result
from dgraph.comm import SerialComm, world
from dgraph.errors import OutputError, UsageError
from dgraph.result.files import csv_text, file_rows, npz, parquet_groups, table_file, vertex_text
from dgraph.result.result import UNREACHED, Result
from partitioning.arrays.crc32 import crc32_combine

save = import_module("dgraph.result.files.save")  # the package has a function of that name
ROWS = 3000


@pytest.fixture(scope="module")
def comm():
    return world()


@pytest.fixture
def folder(comm, tmp_path):
    return Path(comm.bcast_json(str(tmp_path)))


def whole(rows=ROWS):
    """Return sparse ids with every kind of value that a file can hold."""
    rng = np.random.default_rng(5)
    vertex = np.sort(rng.choice(1 << 50, rows, replace=False))
    distance = rng.integers(0, 1 << 40, rows) >> rng.integers(0, 40, rows)
    distance[::7] = UNREACHED
    length = rng.random(rows) * 10.0 ** rng.integers(-30, 30, rows)
    length[::5] = np.inf
    predecessor = np.where(distance == UNREACHED, -1, np.roll(vertex, 1))
    return {"vertex": vertex, "distance": distance, "length": length, "predecessor": predecessor}


def scattered(comm, columns, algorithm="bfs", owner=None):
    """Return a Result with rows on random ranks, or on those that ``owner`` gives."""
    rows = columns["vertex"].size
    owner = np.random.default_rng(6).integers(0, comm.size, rows) if owner is None else owner(rows)
    return Result(algorithm, {name: values[owner == comm.rank] for name, values in columns.items()}, comm)


OWNERS = {
    "scattered": None,
    "all on rank 0": lambda rows: np.zeros(rows, int),
    "blocks": lambda rows: np.arange(rows) * world().size // rows,
    "blocks from the last rank": lambda rows: world().size - 1 - np.arange(rows) * world().size // rows,
}


@pytest.mark.mpi
@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS)
def test_text_holds_every_row_in_order(comm, folder, owner):
    columns = whole()
    scattered(comm, columns, owner=owner).save(folder / "out.txt")
    if comm.rank == 0:
        expected = "".join(f"{v} {d}\n" for v, d in zip(columns["vertex"], columns["distance"], strict=True))
        assert (folder / "out.txt").read_text() == expected
        assert os.listdir(folder) == ["out.txt"]


@pytest.mark.mpi
def test_text_of_sssp_says_infinity(comm, folder):
    columns = whole()
    scattered(comm, columns, "sssp").save(folder / "integer.txt")
    scattered(comm, columns, "sssp").save(folder / "float.txt", "length")
    scattered(comm, columns, "sssp").save(folder / "parent.txt", "predecessor")
    if comm.rank == 0:
        for file, name, dtype in (
            ("integer", "distance", int),
            ("float", "length", float),
            ("parent", "predecessor", int),
        ):
            rows = [line.split(" ") for line in (folder / f"{file}.txt").read_text().splitlines()]
            unreached = columns[name] == (UNREACHED if dtype is int else np.inf)
            assert [word == "Infinity" for _, word in rows] == unreached.tolist()
            numbers = [dtype(word) for _, word in rows if word != "Infinity"]
            assert numbers == columns[name][~unreached].tolist()


@pytest.mark.mpi
def test_npz_is_an_archive_of_every_column(comm, folder):
    columns = whole()
    scattered(comm, columns).save(folder / "out.npz")
    if comm.rank == 0:
        assert zipfile.ZipFile(folder / "out.npz").testzip() is None
        with np.load(folder / "out.npz", allow_pickle=False) as loaded:
            assert list(loaded) == list(columns)
            for name, values in columns.items():
                assert loaded[name].dtype == values.dtype
                np.testing.assert_array_equal(loaded[name], values)


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", ["txt", "npz"])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_fewer_rows_than_ranks(comm, folder, suffix, rows):
    columns = whole(rows)
    scattered(comm, columns).save(folder / f"out.{suffix}")
    if comm.rank == 0 and suffix == "npz":
        np.testing.assert_array_equal(np.load(folder / "out.npz")["distance"], columns["distance"])
    elif comm.rank == 0:
        assert len((folder / "out.txt").read_text().splitlines()) == rows


@pytest.mark.mpi
@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize(("begin", "end"), [(0, None), (0, 0), (777, 778), (2_500, 15_000), (19_990, 30_000)])
def test_pieces_are_even_and_in_order(comm, monkeypatch, owner, begin, end):
    """Each row comes once, to one rank; a part is at most an eighth above the mean."""
    monkeypatch.setattr(file_rows, "PART", 100)
    columns = whole(20000)
    here = scattered(comm, columns, owner=owner).columns
    rows = file_rows.FileRows(here, comm, here["vertex"])
    for_rank = [(first, piece) for first, piece in rows.pieces(begin, end)]
    for first, piece in for_rank:
        first = max(first, begin)
        for name, values in piece.items():
            np.testing.assert_array_equal(values, columns[name][first : first + values.size])
    sizes = [piece["vertex"].size for _, piece in for_rank]
    assert rows.total == 20000
    assert comm.total(sum(sizes)) == len(range(20000)[begin:end])
    if comm.size > 1:
        assert comm.largest(max(sizes)) <= 1.125 * 100 + 1
    else:
        assert for_rank[0][1]["vertex"].base is not None, "one rank copied its rows"


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", ["txt", "npz"])
def test_a_full_disk_leaves_nothing(comm, folder, monkeypatch, suffix):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (folder / f"out.{suffix}").write_text("the old result")
    comm.barrier()
    if comm.rank == comm.size - 1:
        monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OutputError, match="No space left on device"):
        scattered(comm, whole()).save(folder / f"out.{suffix}")
    comm.barrier()
    assert os.listdir(folder) == [f"out.{suffix}"]
    assert (folder / f"out.{suffix}").read_text() == "the old result"


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", ["txt", "csv", "npz", "parquet", "arrow"])
def test_a_rank_holds_a_piece_of_other_ranks_rows(comm, folder, monkeypatch, suffix):
    """Beside its own rows a rank needs less than its share of one column, whatever the number of columns."""
    if suffix in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    for module, name, rows in ((file_rows, "PART", 4096), (save, "ROWS", 1024), (save, "PIECE", 1 << 15)):
        monkeypatch.setattr(module, name, rows)
    monkeypatch.setattr(table_file, "ROWS", 8192)
    monkeypatch.setattr(parquet_groups, "ROWS", 8192)
    result = scattered(comm, whole(300_000))
    scattered(comm, whole()).save(folder / f"first.{suffix}")  # imports
    tracemalloc.start()
    try:
        result.save(folder / f"out.{suffix}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300_000 * 8 / comm.size + 400_000


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_tables_are_equal_at_every_number_of_ranks(comm, folder, monkeypatch, suffix):
    """The bytes are those of one rank that has all rows; batches cross pieces."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(file_rows, "PART", 300)
    monkeypatch.setattr(table_file, "ROWS", 1000)
    monkeypatch.setattr(parquet_groups, "ROWS", 500)
    for rows in (0, 1, 999, 1000, 1001, 5000):
        columns = whole(rows)
        scattered(comm, columns).save(folder / f"out.{suffix}")
        if comm.rank == 0:
            scattered(SerialComm(), columns).save(folder / f"alone.{suffix}")
            assert (folder / f"out.{suffix}").read_bytes() == (folder / f"alone.{suffix}").read_bytes()


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", ["txt", "csv", "npz", "parquet", "arrow"])
def test_an_error_after_some_pieces_leaves_nothing(comm, folder, monkeypatch, suffix):
    """The third piece cannot be written, by the last rank or by the writer of tables."""
    table = suffix in ("parquet", "arrow")
    if table:
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(file_rows, "PART", 300)
    monkeypatch.setattr(save, "ROWS", 300)
    monkeypatch.setattr(table_file, "ROWS", 500)
    module, name = (table_file, "arrow_table") if table else (os, "pwrite")
    write, calls = getattr(module, name), []

    def full(*args):
        calls.append(args)
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(*args)

    (folder / f"out.{suffix}").write_text("the old result")
    comm.barrier()
    if comm.rank == (0 if table else comm.size - 1):
        monkeypatch.setattr(module, name, full)
    with pytest.raises(OutputError, match="No space left on device"):
        scattered(comm, whole()).save(folder / f"out.{suffix}")
    comm.barrier()
    assert os.listdir(folder) == [f"out.{suffix}"]
    assert (folder / f"out.{suffix}").read_text() == "the old result"


@pytest.mark.mpi
def test_bad_requests_name_what_is_known(comm, folder):
    result = scattered(comm, whole())
    with pytest.raises(UsageError, match=r"unknown output format '.cvs'.*\.csv, \.feather, \.npz, \.parquet, \.txt"):
        result.save(folder / "out.cvs")
    with pytest.raises(UsageError, match="did you mean 'distance'"):
        result.save(folder / "out.txt", "distances")
    with pytest.raises(OutputError, match="there is no folder"):
        result.save(folder / "nowhere" / "out.txt")


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", ["txt", "csv", "npz"])
def test_threads_write_the_same_bytes(comm, folder, monkeypatch, suffix):
    """Blocks and pieces that are smaller than the rows, in order whichever thread is done first."""
    monkeypatch.setattr(save, "ROWS", 100)
    monkeypatch.setattr(save, "PIECE", 1000)
    result = scattered(comm, whole())
    result.save(folder / f"one.{suffix}")
    replace(result, threads=4).save(folder / f"four.{suffix}")
    if comm.rank == 0:
        assert (folder / f"one.{suffix}").read_bytes() == (folder / f"four.{suffix}").read_bytes()
        if suffix == "npz":
            assert zipfile.ZipFile(folder / "four.npz").testzip() is None


@pytest.mark.mpi
def test_an_error_of_a_thread_is_raised_on_all_ranks(comm, folder, monkeypatch):
    monkeypatch.setattr(save, "ROWS", 100)
    if comm.rank == comm.size - 1:
        monkeypatch.setattr(vertex_text, "digits", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
    with pytest.raises(OutputError, match="broken"):
        replace(scattered(comm, whole()), threads=4).save(folder / "out.txt")
    comm.barrier()
    assert os.listdir(folder) == []


@pytest.mark.mpi_skip
@pytest.mark.parametrize("threads", [1, 3])
def test_what_gather_returns_is_not_tied_to_the_result(monkeypatch, threads):
    monkeypatch.setattr(support_threads, "PIECE", 1000)
    columns = whole()
    result = replace(scattered(SerialComm(), columns), threads=threads)
    gathered = result.gather()
    for name, values in columns.items():
        np.testing.assert_array_equal(gathered[name], values)
    gathered["distance"][:] = 7
    np.testing.assert_array_equal(result.columns["distance"], columns["distance"])
    with pytest.raises(ValueError, match="read-only"):
        gathered["vertex"][0] = 7
    result.columns["vertex"][0] += 0  # the result's own stays as it was


@needs_compiler
@pytest.mark.mpi
def test_columns_of_gpus_are_gathered_in_pieces_and_stay_there(comm, monkeypatch):
    """Check every root, with columns of several pieces; ids that are consecutive are not sent."""
    monkeypatch.setattr(lazy_result, "FEW", 0)
    monkeypatch.setattr(downloads, "PIECE", 1 << 12)
    graph = dgraph.Graph.load("rmat:11,symmetric", comm=comm, device=backend())
    result = dgraph.run("bfs", graph, source=0)
    for root in range(comm.size):
        wanted = dgraph.run("bfs", graph.on(device="cpu"), source=0).gather(root)
        for _ in range(2):
            rows = result.gather(root)
            if comm.rank == root:
                assert list(rows) == list(wanted)
                assert all(np.array_equal(rows[name], values) for name, values in wanted.items())
    assert {"distance", "predecessor"} <= set(result.columns._given)


@pytest.mark.mpi
@pytest.mark.parametrize(("first", "threads"), [(1 << 40, 3), (None, 1), (None, 3), (0, 1)])
def test_gather_gives_the_root_everything(comm, first, threads, monkeypatch):
    """Check ids far apart, and consecutive ones, which are not sent."""
    monkeypatch.setattr(support_threads, "SHARE", 200)
    columns = whole()
    if first is not None:
        columns["vertex"] = np.arange(first, first + ROWS)
    result = replace(scattered(comm, columns, owner=OWNERS["blocks"]), threads=threads)
    gathered = result.gather(root=comm.size - 1)
    if comm.rank != comm.size - 1:
        assert gathered is None
        return
    for name, values in columns.items():
        np.testing.assert_array_equal(gathered[name], values)


@pytest.mark.mpi
@pytest.mark.parametrize("k", [0, 1, 10, 5000])
def test_top_takes_the_largest_and_of_equals_the_smallest_id(comm, k):
    columns = whole()
    columns["distance"] = np.where(columns["distance"] == UNREACHED, UNREACHED, columns["distance"] % 50)
    reached = np.flatnonzero(columns["distance"] != UNREACHED)
    order = reached[np.lexsort((columns["vertex"][reached], -columns["distance"][reached]))][:k]
    top = scattered(comm, columns).top(k)
    np.testing.assert_array_equal(top["vertex"], columns["vertex"][order])
    np.testing.assert_array_equal(top["distance"], columns["distance"][order])


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=20))
def test_integers_of_any_size_as_text(values):
    array = np.array(values, np.int64)
    vertex = np.arange(array.size, dtype=np.int64)
    assert vertex_text.lines(vertex, array).decode() == "".join(f"{i} {v}\n" for i, v in enumerate(values))


def test_cells_of_csv_are_integers_beyond_63_bits_and_booleans():
    columns = {"big": np.array([2**64 - 1, 2**63, 7], np.uint64), "small": np.array([-1, 0, 127], np.int8)}
    columns["flag"] = np.array([True, False, True])
    wanted = "18446744073709551615,-1,True\n9223372036854775808,0,False\n7,127,True\n"
    assert csv_text.rows(columns, ()).decode() == wanted


@given(st.lists(st.floats(), min_size=1, max_size=20))
def test_floats_read_back_equal(values):
    array = np.array(values)
    words = vertex_text.lines(np.arange(array.size), array).decode().split()[1::2]
    np.testing.assert_array_equal(np.array([float(word) for word in words]), array)


@given(st.binary(), st.binary())
def test_checksums_of_pieces_join(first, second):
    assert crc32_combine(zlib.crc32(first), zlib.crc32(second), len(second)) == zlib.crc32(first + second)


def test_archives_beyond_four_gigabytes(tmp_path):
    """The file is sparse: only headers and the directory are written."""
    rows = 600_000_000
    archive = npz.members({"vertex": np.dtype(np.int64), "flag": np.dtype(np.uint8)}, rows)
    path = tmp_path / "big.npz"
    with open(path, "wb") as file:
        for member in archive:
            os.pwrite(file.fileno(), member.record(0), member.begin)
        os.pwrite(file.fileno(), npz.directory(archive, [0, 0]), archive[-1].end)
    assert path.stat().st_size > 5 << 30
    with zipfile.ZipFile(path) as opened:
        assert [info.file_size - rows * size for info, size in zip(opened.infolist(), (8, 1), strict=True)] == [
            128,
            128,
        ]
        with opened.open("flag.npy") as member:
            assert np.lib.format.read_magic(member) == (1, 0)
            assert np.lib.format.read_array_header_1_0(member) == ((rows,), False, np.dtype(np.uint8))
