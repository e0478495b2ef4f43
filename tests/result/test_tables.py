"""Results as tables, NetworkX graphs and table files, against pandas, Polars, Arrow and NetworkX's own searches."""

import csv
import errno
import os
import sys
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.result import arrow_tables
from dgraph.result.files import table_file
from dgraph.result.result import UNREACHED, Result

pl = pytest.importorskip("polars")

NAMES = ["a", 'say "x"', "b,c", "é", "line;x", "<b>&", "z" * 40, "lost"]


@pytest.fixture
def folder(tmp_path):
    return Path(world().bcast_json(str(tmp_path)))


def edges():
    """Two parts, so that some vertices are not reached from vertex 0."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 40, (2, 150))
    return src, np.where(src < 30, dst % 30, 30 + dst % 10), rng.integers(1, 9, 150)


def searched(weights=np.int64, comm=None):
    """A result of sssp on the ranks, and NetworkX's distances."""
    src, dst, weight = edges()
    comm = comm or world()
    mine = slice(comm.rank, None, comm.size)
    columns = [part[mine] for part in (src, dst, weight.astype(weights))]
    result = dgraph.sssp(dgraph.Graph.from_edges(*columns, n=40, comm=comm), source=0)
    G = nx.DiGraph()
    G.add_nodes_from(range(40))
    for u, v, w in sorted(zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True), reverse=True):
        G.add_edge(u, v, weight=w)  # the lightest of parallel edges comes last
    return result, nx.single_source_dijkstra_path_length(G, 0), G


def named(folder):
    """A result of bfs whose vertices have names that CSV must quote; the last one is not reached."""
    if world().rank == 0:
        ends = ["\t".join(pair) for pair in pairwise(NAMES[:-1])]
        (folder / "named.txt").write_text("\n".join([*ends, f"lost\t{NAMES[0]}"]) + "\n")
    world().barrier()
    graph = dgraph.Graph.load(folder / "named.txt", ids="string", separator="\t", header=False)
    return dgraph.bfs(graph, source=NAMES[0])


def expected_named():
    rows = {name: (i, NAMES[i - 1] if i else None) for i, name in enumerate(NAMES[:-1])} | {"lost": (None, None)}
    return [(name, *rows[name]) for name in sorted(NAMES, key=str.encode)]


@pytest.mark.mpi
@pytest.mark.parametrize("weights", [np.int64, np.float64])
def test_unreached_vertices_are_null_in_every_table(weights):
    result, distances, _ = searched(weights)
    root = world().size - 1
    frame, table, polars = result.to_pandas(root), result.to_arrow(root), result.to_polars(root)
    assert world().total(int((result.columns["distance"] >= UNREACHED).sum())) == 40 - len(distances), "a number there"
    if world().rank != root:
        assert frame is table is polars is None
        return
    expected = [distances.get(v) for v in range(40)]
    assert None in expected
    assert frame["vertex"].tolist() == list(range(40))
    assert frame["vertex"].dtype == np.int64
    assert frame["distance"].dtype == (pd.Int64Dtype() if weights is np.int64 else np.float64)
    assert [None if pd.isna(d) else d for d in frame["distance"]] == expected
    assert frame["predecessor"].dtype == pd.Int64Dtype()
    assert frame["predecessor"].isna().tolist() == [not d for d in expected]
    assert table["distance"].to_pylist() == polars["distance"].to_list() == expected
    assert table["predecessor"].type == pa.int64()
    assert table.column_names == polars.columns == list(frame) == ["vertex", "distance", "predecessor"]


@pytest.mark.mpi
def test_each_rank_may_take_its_own_rows():
    result, *_ = searched()
    parts = [result.to_arrow(root=None), pa.table(result)]
    assert pl.DataFrame(result)["vertex"].to_list() == parts[0]["vertex"].to_pylist()
    assert result.to_pandas(root=None)["vertex"].tolist() == result.columns["vertex"].tolist()
    whole = result.to_arrow()
    for part in parts:
        rows = [row for table in world().allgather_json(part.to_pylist()) for row in table]
        if world().rank == 0:
            assert sorted(rows, key=lambda row: row["vertex"]) == whole.to_pylist()


@pytest.mark.mpi
def test_names_are_strings(folder, monkeypatch):
    monkeypatch.setattr(arrow_tables, "CHUNK_BYTES", 100)
    result = named(folder)
    table, frame, polars = result.to_arrow(), result.to_pandas(), result.to_polars()
    mine = result.to_arrow(root=None)
    assert mine["vertex"].to_pylist() == result.columns["vertex"].tolist()
    if world().rank == 0:
        assert table.schema.field("vertex").type == table.schema.field("predecessor").type == pa.string()
        assert table["vertex"].num_chunks > 1
        rows = [tuple(row.values()) for row in table.to_pylist()]
        assert rows == polars.rows() == expected_named()
        assert frame["vertex"].dtype == pd.Series(["a"]).dtype
        assert [None if pd.isna(p) else p for p in frame["predecessor"]] == [row[2] for row in rows]


def test_names_that_are_not_text(folder, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 bar\nbar x\n")
    graph = dgraph.Graph.load(tmp_path / "latin.txt", ids="string", header=False, comm=SerialComm())
    result = dgraph.cc(graph)
    for ask in (result.to_arrow, result.to_pandas, lambda: result.save(tmp_path / "x.parquet")):
        with pytest.raises(DataError, match=r"caf\\xe9.* not UTF-8.*iconv"):
            ask()
    assert not (tmp_path / "x.parquet").exists()
    result.save(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes() == b"vertex,labels\nbar,bar\ncaf\xe9,bar\nx,bar\n"
    assert r"caf\xe9" in repr(result)


def test_arrow_takes_no_copy_and_pandas_takes_one():
    result, *_ = searched(comm=SerialComm())
    table = result.to_arrow()
    for name, values in result.columns.items():
        assert table[name].chunk(0).buffers()[1].address == values.ctypes.data
    before = result.columns["distance"].copy()
    frame = result.to_pandas()
    frame.loc[:, "distance"] = 0
    np.testing.assert_array_equal(result.columns["distance"], before)


def test_only_columns_of_searches_have_missing_values():
    columns = {"vertex": np.arange(3), "x": np.array([-1, UNREACHED, 0]), "y": np.array([np.inf, np.nan, 1])}
    table = Result("mine", columns, SerialComm(), nullable=()).to_arrow()
    assert sum(column.null_count for column in table.columns) == 0
    empty = Result("bfs", {name: values[:0] for name, values in columns.items()}, SerialComm())
    assert empty.to_arrow().num_rows == len(empty.to_pandas()) == len(empty.to_polars()) == 0


@pytest.mark.parametrize(("ask", "extra"), [
    (lambda r: r.to_arrow(), r"pyarrow.*dgraph-analytics\[tables\]"),
    (lambda r: pa.table(r), r"pyarrow.*dgraph-analytics\[tables\]"),
    (lambda r: r.save("x.parquet"), r"pyarrow.*dgraph-analytics\[tables\]"),
    (lambda r: r.to_pandas(), r"pandas.*dgraph-analytics\[tables\]"),
    (lambda r: r.to_polars(), r"polars.*dgraph-analytics\[polars\]"),
    (lambda r: r.to_networkx(), r"networkx.*dgraph-analytics\[networkx\]"),
])  # fmt: skip
def test_a_missing_package_is_named(monkeypatch, ask, extra):
    result, *_ = searched(comm=SerialComm())
    for name in ("pandas", "polars", "pyarrow", "networkx"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=extra):
        ask(result)


@pytest.mark.mpi
@pytest.mark.parametrize("rows", [5, 1 << 20])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_files_hold_the_table(folder, monkeypatch, suffix, rows):
    monkeypatch.setattr(table_file, "ROWS", rows)
    result, distances, _ = searched(np.float64)
    result.save(folder / f"out.{suffix}")
    text = named(folder)
    text.save(folder / f"names.{suffix}")
    if world().rank:
        return
    read = {
        "csv": lambda path: pa.Table.from_pandas(pd.read_csv(path, dtype_backend="pyarrow"), preserve_index=False),
        "parquet": parquet.read_table,
        "arrow": lambda path: ipc.open_file(path).read_all(),
    }[suffix]
    assert read(folder / f"out.{suffix}")["distance"].to_pylist() == [distances.get(v) for v in range(40)]
    assert [tuple(row.values()) for row in read(folder / f"names.{suffix}").to_pylist()] == expected_named()
    assert sorted(os.listdir(folder)) == sorted([f"out.{suffix}", f"names.{suffix}", "named.txt"])


@pytest.mark.mpi
def test_csv_begins_with_names_and_quotes_where_needed(folder):
    named(folder).save(folder / "out.csv")
    if world().rank == 0:
        text = (folder / "out.csv").read_text()
        assert text.startswith("vertex,distance,predecessor\n")
        assert 'b,c",2,"say ""x"""\n' in text
        assert "\nlost,,\n" in text
        with open(folder / "out.csv", newline="") as file:
            rows = list(csv.reader(file))[1:]
        assert rows == [["" if cell is None else str(cell) for cell in row] for row in expected_named()]


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_full_disk_leaves_nothing(folder, monkeypatch, suffix):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    result, *_ = searched()
    monkeypatch.setattr(table_file.TableFile, "add", full)
    with pytest.raises(OutputError, match="No space left on device"):
        result.save(folder / f"out.{suffix}")
    world().barrier()
    assert os.listdir(folder) == []


@pytest.mark.mpi
def test_networkx_graphs_get_attributes():
    result, distances, G = searched()
    tree, filled = result.to_networkx(), result.to_networkx(G)
    if world().rank:
        assert tree is filled is None
        return
    assert filled is G
    assert nx.get_node_attributes(G, "distance") == distances
    assert nx.get_node_attributes(tree, "distance") == distances
    assert len(tree) == 40
    assert tree.number_of_edges() == len(distances) - 1
    for u, v in tree.edges:
        assert distances[u] + G[u][v]["weight"] == distances[v]
    ranks = dgraph.pagerank(dgraph.Graph.load("path:5", comm=SerialComm()))
    assert nx.get_node_attributes(ranks.to_networkx(), "pagerank")[2] == ranks.columns["pagerank"][2]
    with pytest.raises(UsageError, match="1 of 5 vertices of the result are not nodes of the graph G, such as 4"):
        ranks.to_networkx(nx.path_graph(4))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_pandas_reads_integers_with_nulls_exactly(suffix, tmp_path):
    low = 2**60
    graph = dgraph.Graph.from_edges([low + 1, low + 3], [low + 3, low + 7], sparse_ids=True, comm=SerialComm())
    result = dgraph.bfs(graph, low + 3)
    result.save(tmp_path / f"r{suffix}")
    read = (pd.read_parquet if suffix == ".parquet" else pd.read_feather)(tmp_path / f"r{suffix}")
    for frame in (read, result.to_arrow().to_pandas()):
        pd.testing.assert_frame_equal(frame, result.to_pandas())
    assert read.predecessor.tolist() == [pd.NA, pd.NA, low + 3]
