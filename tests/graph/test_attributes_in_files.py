"""Attributes of edges that are read from files, and kept in stores."""

import gzip
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from edge_tables import RULES, calls, grouped, same, share

import dgraph
from dgraph.comm import world
from dgraph.errors import DataError, UsageError
from partitioning.store.manifest import written

pytestmark = [pytest.mark.mpi, pytest.mark.interpreted]


@pytest.fixture
def folder(tmp_path):
    """A folder that all ranks see."""
    return Path(world().bcast_json(str(tmp_path)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz", ".arrow", ".txt"])
def test_files_keep_the_columns_of_the_table(folder, suffix):
    """Text with a header, packed text, Parquet and Arrow give the attributes of the table; ids and names."""
    pytest.importorskip("pyarrow")
    table, path = calls(), folder / f"calls{suffix}"
    if suffix == ".txt":  # blanks separate columns, with a comment between lines
        table = table.drop(columns=["time", "type"])
    if world().rank == 0:
        if suffix == ".parquet":
            table.to_parquet(path, row_group_size=70)
        elif suffix == ".arrow":
            table.to_feather(path, compression="uncompressed")
        else:
            table.to_csv(path, index=False, sep="\t" if suffix == ".txt" else ",")
            if suffix == ".txt":
                lines = path.read_text().replace("\t", "  ").splitlines()
                path.write_text("\n".join([*lines[:9], "# a remark", "", *lines[9:]]))
    world().total(1)
    rules = {name: rule for name, rule in RULES.items() if name in table.columns}
    same(dgraph.Graph.load(path, keep=rules), grouped(table, True, rules))
    if suffix == ".csv":
        rows = dgraph.Graph.load(path, keep="time,amount:sum", ids="string").to_pandas()
        if rows is not None:
            rows = rows.astype({"source": int, "target": int}).sort_values(["source", "target"]).reset_index(drop=True)
            expected = grouped(table, True)[rows.columns]
            pd.testing.assert_frame_equal(rows, expected, check_dtype=False)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_columns_without_a_value_in_some_or_all_rows(folder, suffix):
    """Text of one row is text on any ranks; without a value, text of a table stays text, a CSV's column is float64."""
    pytest.importorskip("pyarrow")
    rows, path = 40, folder / f"empty{suffix}"
    table = pd.DataFrame({"source": np.arange(rows), "target": np.arange(1, rows + 1)})
    table["none"] = pd.Series([None] * rows, dtype="string")
    table["one"] = pd.Series([None] * (rows - 1) + ["a"], dtype="string")
    if world().rank == 0:
        if suffix == ".csv":
            table.to_csv(path, index=False)
        else:
            (table.to_parquet if suffix == ".parquet" else table.to_feather)(path)
    world().total(1)
    graph = dgraph.Graph.load(path, keep=["none", "one"])
    kinds = {name: column.kind for name, column in graph.block.attributes.items()}
    assert kinds == {"none": np.dtype(float if suffix == ".csv" else object), "one": np.dtype(object)}
    assert graph.filter_edges(lambda e: e.one == "a").m == 1
    assert graph.filter_edges(lambda e: e.none.isna()).m == rows


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".csv.gz", ","), (".tsv", "\t"), (".txt", ";")])
def test_blanks_at_the_ends_of_kept_text_are_part_of_it(folder, suffix, separator):
    """Fields of text are those of pandas, quoted or not; numbers, booleans and times may have blanks around them."""
    pytest.importorskip("pyarrow")
    path = folder / f"a{suffix}"
    rows = [
        "source,target,word,count,share,late,when,code", "0,1,  a , 5, 1.5 , true,2024-03-01 , 007",
        '1,2,"  b ",6 ,2, false, 2024-03-02,7', "2,3,c ,7,  3e2,true,2024-03-03,8", '3,4,"d",8,4,true,2024-03-04, 9 ',
    ]  # fmt: skip
    if world().rank == 0:
        with (gzip.open if suffix.endswith(".gz") else open)(path, "wt") as file:
            file.write("\n".join(rows).replace(",", separator) + "\n")
    world().total(1)
    graph = dgraph.Graph.load(path, keep="word,count,share,late,when,code")
    kinds = {name: column.kind.str for name, column in graph.block.attributes.items()}
    assert kinds == {"word": "|O", "count": "<i8", "share": "<f8", "late": "|b1", "when": "<M8[us]", "code": "|O"}
    table, expected = graph.to_pandas(), pd.read_csv(path, sep=separator, dtype={"code": str})
    if table is not None:
        table = table.sort_values("source")
        for name in ("word", "code"):
            assert table[name].tolist() == expected[name].tolist()
        assert table["count"].tolist() == [5, 6, 7, 8]
        assert table.share.tolist() == [1.5, 2, 300, 4]
        assert table.late.tolist() == [True, False, True, True]
        assert table.when.dt.day.tolist() == [1, 2, 3, 4]


def test_blanks_in_quotes_are_kept_where_blanks_separate_columns(folder):
    """Runs of blanks between fields are one separator; inside a quoted field they are text."""
    pytest.importorskip("pyarrow")
    path = folder / "a.txt"
    if world().rank == 0:
        path.write_text('source target  word\n 0  1   "  a  b "  \n1 2 c"d\n2 3  "e""  f"\n3 4 ""\n')
    world().total(1)
    table = dgraph.Graph.load(path, keep="word").to_pandas()
    if table is not None:
        assert table.sort_values("source").word.fillna("none").tolist() == ["  a  b ", 'c"d', 'e"  f', "none"]


def test_text_that_cannot_be_kept_is_refused(folder):
    """A file without a header, an unknown column, lenient reading and lines of other lengths are refused by name."""
    bare, ragged, whole = folder / "bare.csv", folder / "ragged.csv", folder / "whole.csv"
    if world().rank == 0:
        whole.write_text("source,target,time\n0,1,5\n1,2,6\n")
        bare.write_text("0,1,5\n1,2,6\n")
        ragged.write_text("source,target,time\n0,1,5\n1,2,6,7\n2,3\n")
    world().total(1)
    with pytest.raises(UsageError, match="keep='time': the file has no header"):
        dgraph.Graph.load(bare, keep="time")
    with pytest.raises(DataError, match=r"ragged.csv:3"):
        dgraph.Graph.load(ragged, keep="time")
    with pytest.raises(UsageError, match="lenient drops some"):
        dgraph.Graph.load(whole, keep="time", lenient=True)
    with pytest.raises(UsageError, match=r"unknown column of .*whole.csv to keep 'times'"):
        dgraph.Graph.load(whole, keep="times")
    with pytest.raises(DataError, match="columns cannot be kept of a line"):
        dgraph.Graph.load(ragged, keep="time", columns="source,target")


@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_stores_hold_attributes(folder, policy):
    """A store of three parts gives every number of ranks the attributes, the weights and the windows."""
    table, path = calls(), folder / "calls.parts"
    graph = dgraph.Graph.from_pandas(share(table), directed=False, keep=RULES)
    graph.save_store(path, policy=policy, parts=3)
    stored, expected = dgraph.Graph.load(path), grouped(table, False)
    assert stored.edge_attributes == graph.edge_attributes
    same(stored, expected)
    same(stored.filter_edges(lambda e: e.type == "call"), expected[expected.type == "call"])
    source = int(expected.source[0])
    for one, other in ((stored, graph), (stored.with_weight("count"), graph.with_weight("count"))):
        assert one.fingerprint() == other.fingerprint()
    answers = [dgraph.sssp(one, source, weight="amount").to_pandas() for one in (stored, graph)]
    if answers[0] is not None:
        by_vertex = [answer.sort_values("vertex").distance.tolist() for answer in answers]
        assert by_vertex[0] == by_vertex[1]
    with pytest.raises(UsageError, match="with_edges: the edges keep"):
        stored.with_edges(np.array([[0, 1]]), weights=[1])
    with pytest.raises(UsageError, match="keep is for graphs that are read from text"):
        dgraph.Graph.load(path, keep="time")


def test_a_store_of_the_first_version_is_read(folder):
    """A store without attributes that says version 1 opens; a version to come is refused."""
    graph = dgraph.Graph.from_pandas(share(calls()))
    graph.save_store(folder / "old.parts")
    manifest = folder / "old.parts" / "manifest.json"
    for version in (1, 9):
        if world().rank == 0:
            stated = json.loads(manifest.read_text())
            del stated["checksum"], stated["format"], stated["version"]
            stated["graph"].pop("attributes", None)
            text = written(stated).decode().replace('"version": 2', f'"version": {version}')
            body = text[: text.index(',\n "checksum"')].encode()
            manifest.write_bytes(body + f',\n "checksum": "{zlib.crc32(body):08x}"\n}}\n'.encode())
        world().total(1)
        if version == 1:
            opened = dgraph.Graph.load(folder / "old.parts")
            assert opened.edge_attributes == {}
            assert opened.fingerprint() == graph.fingerprint()
        else:
            with pytest.raises(DataError, match="is of version 9"):
                dgraph.Graph.load(folder / "old.parts")
        world().total(1)


def test_degree_order_and_simple_forms(folder):
    """Numbering by degree moves attributes with their arcs; what runs without loops or parallel edges keeps them."""
    table, path = calls(), folder / "calls.parquet"
    if world().rank == 0:
        table.to_parquet(path)
    world().total(1)
    same(dgraph.Graph.load(path, keep=RULES, order="degree"), grouped(table, True))
    both = dgraph.Graph.load(path, keep="amount:sum,time:min", keep_loops=True, keep_parallel=True)
    expected = grouped(table, True, {"amount": "sum", "time": "min"})
    same(both.simplified(loops=True, parallel=True), expected)
    assert both.simplified(loops=True, parallel=True).filter_vertices(lambda v: v.vertex > 3).edge_attributes
