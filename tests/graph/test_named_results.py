"""Results of graphs whose vertices have names: columns, files, tables, the command line and errors."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from flat_run import flat_run
from pyarrow import parquet

import dgraph
from dgraph.cli import main
from dgraph.comm import world
from dgraph.errors import DataError, UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.report import show

PATH = [("-1", "anna"), ("anna", "Zoë"), ("Zoë", "x" * 255), ("other", "-1")]


"""Paths from and to a vertex whose name reads like a missing number."""


def on_disk(folder, edges=PATH, name="a.txt"):
    """Write these edges to a file that every rank sees."""
    comm = world()
    path = Path(comm.bcast_json(str(folder / name)))
    with comm.together():
        if comm.rank == 0:
            path.write_bytes("".join(f"{u} {v}\n" for u, v in edges).encode(errors="surrogateescape"))
    return path


@pytest.mark.mpi
@pytest.mark.parametrize("order", ["original", "degree"])
def test_names_are_str(order, tmp_path):
    comm = world()
    graph = Graph.load(on_disk(tmp_path), comm=comm, ids="string", order=order)
    result = dgraph.run("bfs", graph, source="-1")
    named = sorted({word for edge in PATH for word in edge}, key=str.encode)
    assert result.summary["source"] == "-1"
    assert result.report["outcome"]["summary"]["source"] == "-1"
    assert result.report["algorithm"]["parameters"]["source"] == "-1"
    top, whole = result.top(2), result.gather()
    assert top["vertex"].tolist() == ["x" * 255, "Zoë"]
    if comm.rank == 0:
        here = whole["vertex"] == "anna"
        assert here.tolist() == [name == "anna" for name in named]
        assert whole["distance"][here].tolist() == [1]
        parents = dict(zip(whole["vertex"].tolist(), whole["predecessor"].tolist(), strict=True))
        assert parents == {"-1": None, "anna": "-1", "Zoë": "anna", "x" * 255: "Zoë", "other": None}
        assert whole["vertex"].nbytes == 8 * len(named)  # one pointer a row, regardless of the longest name
    if comm.rank == comm.size - 1:  # on one rank: reading columns is not collective
        mine = result.columns
        assert list(mine) == ["vertex", "distance", "predecessor"]
        rank_of = {name: row for row, name in enumerate(named)}
        assert mine["vertex"].tolist() == sorted(mine["vertex"].tolist(), key=rank_of.__getitem__)
        for name, parent in zip(mine["vertex"].tolist(), mine["predecessor"].tolist(), strict=True):
            assert parent == {"anna": "-1", "Zoë": "anna", "x" * 255: "Zoë"}.get(name)
    comm.barrier()
    rows = np.concatenate([[0], np.cumsum(comm.allgather(np.array([len(result.columns["vertex"])]))[:, 0])])
    assert rows[-1] == len(named)


@pytest.mark.mpi
def test_no_predecessor_is_no_name_in_files(tmp_path):
    path = on_disk(tmp_path)
    result = flat_run("bfs", path, ids="string", source="-1")
    for suffix in ("txt", "npz"):
        result.save(path.with_name(f"out.{suffix}"), "predecessor")
    if world().rank == 0:
        lines = path.with_name("out.txt").read_text().splitlines()
        assert {"-1 ", "anna -1", "Zoë anna", "other "} < set(lines)
        with np.load(path.with_name("out.npz"), allow_pickle=False) as saved:
            assert saved["vertex"].dtype == "U255"
            parents = dict(zip(saved["vertex"].tolist(), saved["predecessor"].tolist(), strict=True))
        assert parents == {"-1": "", "anna": "-1", "Zoë": "anna", "x" * 255: "Zoë", "other": ""}


@pytest.mark.mpi
def test_a_name_that_is_no_utf_8_comes_back_as_it_was(tmp_path):
    strange = "caf\udce9"  # é in Latin-1
    path = on_disk(tmp_path, [(strange, "b"), ("b", "c")])
    result = flat_run("sssp", path, ids="string", source=strange)
    assert result.top(1)["vertex"].tolist() == ["c"]
    result.save(path.with_name("out.txt"))
    whole = result.gather()
    if world().rank == 0:
        assert whole["vertex"].tolist() == ["b", "c", strange]
        assert path.with_name("out.txt").read_bytes() == b"b 1\nc 2\ncaf\xe9 0\n"
        show(result.report, file := io.StringIO())
        assert "source caf\\udce9" in file.getvalue()


@pytest.mark.mpi_skip
def test_the_command_line_calls_sources_by_name(tmp_path, capsys, monkeypatch):
    """Sources are printed by name, also a default source, and in names of files."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a/b c\na/b d\nd a/b\n")
    assert main(["bfs", "a.txt", "--ids", "string", "--report", "run.json"]) == 0
    said = capsys.readouterr()
    assert "reached 3, depth 1" in said.out
    assert "a/b: it has the most out-edges" in said.out
    assert json.loads(Path("run.json").read_text())["outcome"]["summary"]["source"] == "a/b"
    assert main(["bfs", "a.txt", "--ids", "string", "--source", "a/b", "--source", "d", "-o", "out.txt", "-q"]) == 0
    assert Path("out.a%2Fb.txt").read_text() == "a/b 0\nc 1\nd 1\n"
    assert Path("out.d.txt").read_text() == "a/b 1\nc 2\nd 0\n"
    assert main(["info", "a.txt", "--ids", "string"]) == 0
    assert "diameter at least 2" in capsys.readouterr().out


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("algorithm", "weight", "more", "text"),
    [
        ("sssp", -2, {"source": "x"}, "the edge y → z weighs -2"),
        ("pagerank", -2, {}, "the edge y → z weighs -2"),
        ("pagerank", 1e-320, {}, "leave vertex y sum to"),
        ("sssp", 2**63 - 1, {"source": "x"}, "through vertex y passes"),
    ],
)
def test_errors_about_weights_name_vertices(algorithm, weight, more, text):
    comm = world()
    columns = (["x", "y"], ["y", "z"], [1, weight]) if comm.rank == 0 else (None,) * 3
    graph = Graph.from_edges(*columns, comm=comm, device="cpu")
    with pytest.raises(DataError, match=text):
        dgraph.run(algorithm, graph, **more)


@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ["a b", "a\tb", "a\nb", 'a"b'])
def test_names_that_break_a_line_of_text_are_refused_before_the_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = {"source": ["x", "y", name], "target": ["y", name, "z"]}
    parquet.write_table(pyarrow.table(table), "g.parquet")
    assert main(["bfs", "g.parquet", "--source", "x", "--output", "levels.txt"]) == 2
    printed = capsys.readouterr()
    assert f"levels.txt: vertex {name!r} has a blank, a line break or a quotation mark" in printed.err
    assert "solve" not in printed.err
    graph = Graph.from_edges(table["source"], table["target"])
    for result in (dgraph.run("bfs", graph, source="x"), dgraph.run("random_walks", graph, length=3)):
        with pytest.raises(UsageError, match=r"write \.csv, \.npz or \.parquet"):
            result.save("levels.txt")
        result.save("levels.csv")
    assert not Path("levels.txt").exists()
