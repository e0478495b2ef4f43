"""Tables of vertices keep what their columns write: codes, names like numbers, integers that float64 rounds."""

import numpy as np
import pytest

import dgraph
from dgraph.cli import main
from dgraph.cli.columns.vertex_file import read_vertex_file
from dgraph.errors import DataError, UsageError

pytest.importorskip("pyarrow")


def column(folder, values, named=False, place=1):
    """Return a column of a table whose other column has numbers, as pyarrow's type and values."""
    rows = [f"{value},{row}" if place == 0 else f"{row},{value}" for row, value in enumerate(values)]
    path = folder / "a.csv"
    path.write_text("\n".join(["id,x" if place else "id,y", *rows, ""]))
    values = read_vertex_file(path, named)[place]
    return str(values.type), values.to_pylist()


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        (["007", "7"], "string", ["007", "7"]),
        (["0x10", "3"], "string", ["0x10", "3"]),
        (["-01.5", "2"], "string", ["-01.5", "2"]),
        (["18446744073709551615", "1"], "string", ["18446744073709551615", "1"]),
        (["9007199254740993", "0.5"], "string", ["9007199254740993", "0.5"]),
        (["0", "10"], "int64", [0, 10]),
        (["0.5", "-0"], "double", [0.5, -0.0]),
        (["NA", "5"], "int64", [None, 5]),
        (["NA", "a"], "string", ["NA", "a"]),
        (["NA", "NA"], "string", ["NA", "NA"]),
        (["", ""], "null", [None, None]),
        (["  a ", '"  b "', " c"], "string", ["  a ", "  b ", " c"]),
        ([" 5", "6 "], "int64", [5, 6]),
        ([" 007", "7 "], "string", [" 007", "7 "]),
        ([" 18446744073709551615", "1"], "string", [" 18446744073709551615", "1"]),
    ],
)
def test_columns_whose_numbers_are_codes_are_text(tmp_path, values, kind, wanted):
    assert column(tmp_path, values) == (kind, wanted)


def test_vertices_are_names_or_integers_as_the_graph_says(tmp_path):
    assert column(tmp_path, ["007", "7"], place=0) == ("int64", [7, 7])
    assert column(tmp_path, ["007", "NA"], named=True, place=0) == ("string", ["007", "NA"])
    assert column(tmp_path, ["0x7", "7"], place=0) == ("string", ["0x7", "7"])


def test_text_with_line_breaks_is_read_back_from_results(tmp_path):
    """A table of more than a block of pyarrow's, a mebibyte, written as a result: no row ends inside quotes."""
    rows = 40_000
    words = np.array(["one\ntwo\r\nthree, " + "x" * 20] * rows, object)
    result = dgraph.bfs(dgraph.Graph.load(f"path:{rows}").with_columns(word=words), 0)
    result.save(tmp_path / "a.csv", attributes=True)
    assert (tmp_path / "a.csv").stat().st_size > 1 << 20
    table = read_vertex_file(tmp_path / "a.csv", False)
    assert table["vertex"].to_numpy().tolist() == list(range(rows))
    assert table["word"].to_pylist() == words.tolist()


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_results_with_durations_are_refused_in_text(tmp_path, suffix):
    graph = dgraph.Graph.load("path:3").with_columns(took=np.array([1, 2, 3], "m8[s]"))
    with pytest.raises(UsageError, match="column took holds durations" if suffix == ".csv" else "room for one column"):
        dgraph.cc(graph).save(tmp_path / f"a{suffix}", attributes=True)
    dgraph.cc(graph).save(tmp_path / "a.parquet", attributes=True)
    assert read_vertex_file(tmp_path / "a.parquet", False)["took"].cast("int64").to_pylist() == [1, 2, 3]


def test_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,x\n1,2,3\n")
    with pytest.raises(DataError, match="two columns have one name"):
        read_vertex_file(tmp_path / "a.csv", False)


@pytest.mark.parametrize("table", ["007,5\n7,6\n", "age,vertex\n7,007\n"])
def test_a_table_whose_first_column_is_not_that_of_the_vertices_is_refused(tmp_path, table, capsys):
    (tmp_path / "g.csv").write_text("source,target\n007,7\n7,NA\n")
    (tmp_path / "a.csv").write_text(table)
    words = f"cc {tmp_path}/g.csv --ids string --attributes {tmp_path}/a.csv --output {tmp_path}/out.csv -q".split()
    assert main(words) == 65
    assert "the first line names them" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text("name,zip\n007,01234\n7,1234\nNA,5\n")
    assert main(words) == 0
    assert [row.split(",")[::2] for row in (tmp_path / "out.csv").read_text().split()[1:]] == [
        ["007", "01234"], ["7", "1234"], ["NA", "5"],
    ]  # fmt: skip


@pytest.mark.parametrize("ids", ["vertex", "id"])
def test_a_row_without_a_vertex_is_named(tmp_path, capsys, ids):
    (tmp_path / "g.txt").write_text("0 1\n1 2\n")
    (tmp_path / "a.csv").write_text(f"{ids},color\n0,red\n1,\n,blue\n")
    words = f"cc {tmp_path}/g.txt --attributes {tmp_path}/a.csv --output {tmp_path}/out.csv -q".split()
    assert main(words) == 65
    assert f"a.csv: {ids}[2] is missing" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text(f"{ids},color\n0,red\n1,\n2,blue\n")
    assert main(words) == 0


def test_labels_that_differ_by_a_zero_are_two(tmp_path, capsys):
    (tmp_path / "g.el").write_text("0 1\n1 2\n2 3\n")
    (tmp_path / "l.csv").write_text("vertex,label\n0,01\n1,1\n2,2\n3,2\n")
    assert main(["quality", f"{tmp_path}/g.el", f"{tmp_path}/l.csv", "--undirected"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines() if "communities" in line] == ["3"]
