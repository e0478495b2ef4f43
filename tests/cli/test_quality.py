"""``python -m dgraph quality``: figures of files of labels, and refusals of files that hold none."""

import json

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph.cli import main

pytestmark = [pytest.mark.mpi_skip, pytest.mark.quick]

EDGES = "0 1\n1 2\n2 0\n2 3\n3 4\n4 5\n5 3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.txt").write_text(EDGES)
    (tmp_path / "truth.csv").write_text("vertex,side\n" + "".join(f"{v},{'ab'[v // 3]}\n" for v in range(6)))
    return tmp_path


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "arrow"])
def test_labels_of_a_run_are_measured(folder, capsys, suffix):
    assert main(["leiden", "edges.txt", "--undirected", "--quiet", "--output", f"labels.{suffix}"]) == 0
    capsys.readouterr()
    words = ["quality", "edges.txt", f"labels.{suffix}", "--undirected", "--json", "--truth", "truth.csv"]
    assert main(words) == 0
    printed, _ = capsys.readouterr()
    facts = json.loads(printed)
    assert facts["communities"] == 2
    assert facts["modularity"] == pytest.approx(6 / 7 - 0.5)
    assert facts["coverage"] == pytest.approx(6 / 7)
    assert facts["largest conductance"] == pytest.approx(1 / 7)
    assert facts["ARI"] == facts["NMI"] == 1.0
    assert main(words[:4]) == 0
    printed, _ = capsys.readouterr()
    assert "communities           2" in printed


def test_a_column_is_the_weight_and_conditions_choose_edges(folder, capsys):
    rows = [(0, 1, 5, "a"), (1, 2, 1, "a"), (2, 0, 2, "a"), (2, 3, 7, "b"), (3, 4, 1, "a"), (4, 5, 3, "a")]
    lines = "".join(f"{u},{v},{amount},{kind}\n" for u, v, amount, kind in rows)
    (folder / "pay.csv").write_text(f"source,target,amount,kind\n{lines}")
    groups, figures = [{0, 1, 2}, {3, 4, 5}], []
    for options in ([], ["--weight", "amount"], ["--weight", "amount", "--where", "kind=a"]):
        assert main(["quality", "pay.csv", "truth.csv", "--undirected", "--json", *options]) == 0
        figures.append(json.loads(capsys.readouterr().out))
    other, chosen = nx.Graph(), nx.Graph()
    other.add_weighted_edges_from([row[:3] for row in rows])
    chosen.add_weighted_edges_from([row[:3] for row in rows if row[3] == "a"])
    for facts, graph, weight in zip(figures, (other, other, chosen), (None, "weight", "weight"), strict=True):
        assert facts["modularity"] == pytest.approx(nx.community.modularity(graph, groups, weight=weight))
        largest = max(nx.conductance(graph, group, weight=weight) for group in groups)
        assert facts["largest conductance"] == pytest.approx(largest)
    assert main(["quality", "pay.csv", "truth.csv", "--weight", "kind"]) == 2
    assert "this column is text" in capsys.readouterr().err


def test_files_without_labels_are_refused(folder, capsys):
    np.savez("bare.npz", vertex=np.arange(6))
    np.savez("few.npz", vertex=np.arange(5), side=np.arange(5))
    for file, words in (
        ("bare.npz", "one more"), ("edges.txt", ".csv, .npz"), ("nothing.parquet", "no such file"),
        ("few.npz", "no label for vertex 5"),
    ):  # fmt: skip
        assert main(["quality", "edges.txt", file]) != 0
        assert words in capsys.readouterr().err
    assert main(["quality", "edges.txt", "truth.csv", "--column", "x"]) == 2
    assert "known are side" in capsys.readouterr().err


def test_a_search_starts_from_a_file_of_labels(folder, capsys):
    (folder / "initial.txt").write_text("".join(f"{v}={v // 3}\n" for v in range(6)))
    assert main(["leiden", "edges.txt", "--undirected", "--initial", "@initial.txt", "--output", "labels.npz"]) == 0
    assert np.load("labels.npz")["community"].tolist() == [0, 0, 0, 3, 3, 3]
    assert main(["leiden", "edges.txt", "--undirected", "--initial", "1,2"]) == 2
    assert "id=label" in capsys.readouterr().err
    assert isinstance(dgraph.leiden("edges.txt", levels=1), dgraph.Result)


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet", "arrow", "feather"])
@pytest.mark.parametrize("ids", ["integer", "string"])
def test_a_search_starts_from_the_file_of_an_earlier_one(folder, capsys, suffix, ids):
    """Labels of ids and of names are read as they were written, also text; one that lacks a vertex is refused."""
    words = ["leiden", "edges.txt", "--undirected", "--quiet", "--ids", ids]
    assert main([*words, "--output", f"labels.{suffix}"]) == 0
    assert main([*words, "--initial", f"@labels.{suffix}", "--output", "again.csv"]) == 0
    rows = (folder / "again.csv").read_text().split()
    assert rows == ["vertex,community", *(f"{v},{v // 3 * 3}" for v in range(6))]
    few = {"vertex": np.arange(5), "community": np.zeros(5, np.int64)}
    if ids == "string":
        few = {name: values.astype(str) for name, values in few.items()}
    np.savez("few.npz", **few)
    assert main([*words, "--initial", "@few.npz"]) == 2
    assert "no label for vertex 5" in capsys.readouterr().err


def test_numbers_of_vertices_are_the_rows_of_a_result(folder, capsys):
    """Personalization has the values of a file that was written; sources are its vertices; missing values are named."""
    assert main(["pagerank", "edges.txt", "--quiet", "--output", "ranks.parquet"]) == 0
    assert main(["pagerank", "edges.txt", "--quiet", "--personalization", "@ranks.parquet", "--output", "a.npz"]) == 0
    first = np.load("a.npz")["pagerank"]
    graph = dgraph.Graph.load("edges.txt")
    values = dict(enumerate(dgraph.pagerank(graph).columns["pagerank"].tolist()))
    np.testing.assert_allclose(first, dgraph.pagerank(graph, personalization=values).columns["pagerank"])
    (folder / "two.csv").write_text("vertex\n0\n3\n")
    assert main(["bfs", "edges.txt", "--quiet", "--source", "@two.csv", "--output", "far.csv"]) == 0
    assert sorted(path.name for path in folder.glob("far*")) == ["far.0.csv", "far.3.csv"]
    assert main(["pagerank", "edges.txt", "--quiet", "--personalization", "@far.3.csv"]) == 65
    assert "far.3.csv, row 1: vertex 0 has no value" in capsys.readouterr().err
