"""``repr`` and HTML of a result, and the warning about a run that did not converge."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

import dgraph
from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.result import notebook
from dgraph.result.result import UNREACHED, Result


class Cells(HTMLParser):
    """Text of each cell, and the tags."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.tags = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def test_a_run_in_a_line_and_first_rows():
    result = dgraph.bfs(dgraph.Graph.load("path:9", comm=SerialComm()), source=7)
    head, names, first, *_, end = repr(result).splitlines()
    rounds = result.rounds
    figures = rf"source 7; reached 9; depth 7; 1 rank; {rounds} rounds"
    assert re.fullmatch(rf"<bfs of path:9\S*; 9 vertices, 8 edges; {figures}; [\d.e-]+ m?s; converged>", head)
    assert names.split() == ["vertex", "distance", "predecessor"]
    assert first.split() == ["0", str(result.columns["distance"][0]), str(result.columns["predecessor"][0])]
    assert end == "[5 of 9 rows]"
    assert Cells(result._repr_html_()).cells[:3] == ["vertex", "distance", "predecessor"]


def test_names_in_html_are_escaped(tmp_path):
    (tmp_path / "g.txt").write_text("<script>alert(1)</script> a&b\n")
    graph = dgraph.Graph.load(tmp_path / "g.txt", ids="string", header=False, comm=SerialComm())
    html = Cells(dgraph.bfs(graph, source="a&b")._repr_html_())
    assert html.tags == {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert html.cells[3:6] == ["<script>alert(1)</script>", "", ""]


@pytest.mark.mpi
def test_one_rank_alone_may_show_its_rows():
    rank = world().rank
    columns = {"vertex": np.arange(3) + rank, "distance": np.array([1, UNREACHED, 2])}
    result = Result("bfs", columns, world())
    if rank == 0:
        lines = repr(result).splitlines()
        assert lines[3].split() == ["1"], "no value, no number"
        assert len(lines) == 6
        assert notebook.html(result)
    world().barrier()


@pytest.mark.mpi
def test_a_run_that_a_limit_ended_warns_once():
    graph = dgraph.Graph.load("path:9")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = dgraph.pagerank(graph, max_iter=2)
        dgraph.bfs(graph, source=0)
    assert not result.converged
    assert "not converged" in repr(result)
    assert len(caught) == (world().rank == 0)
    for warning in caught:
        assert warning.category is dgraph.ConvergenceWarning
        assert warning.filename == __file__
        assert "pagerank did not converge: it was stopped after 2 rounds" in str(warning.message)


@pytest.mark.mpi_skip
def test_the_command_line_has_an_exit_code_instead(capsys):
    assert main(["pagerank", "path:9", "--max-iter", "2", "-q"]) == 3
    assert "Warning" not in capsys.readouterr().err
