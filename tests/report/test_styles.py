"""Output formats of ``--format``: lines and statistics of the Graph500 and GAP programs, and JSON."""

import json
import math
import re

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph.algorithms.distances import widened
from dgraph.backend.cpu.threads.field_figures import reached
from dgraph.cli import main
from dgraph.comm import world
from dgraph.errors import UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.report import STYLES
from dgraph.report.graph500_format import NOT_VALIDATED, statistics
from dgraph.result.result import UNREACHED


def report(seconds, edges=1000, name="kron:10,edge_factor=16,seed=1", kernel="bfs", **more):
    """Return the keys of a report of two ranks that formats read; ``more`` has further timers."""
    times = {"load": 0.0, "partition": 0.0, "build": 0.0, "prepare": 0.0, "compile": 0.0, "solve": seconds} | more
    return {
        "algorithm": {"name": kernel},
        "graph": {"name": name, "n": 1024, "m": 10568, "directed": False},
        "outcome": {"edges_traversed": edges},
        "ranks": [{"seconds": times}, {"seconds": times | {"solve": times["solve"] / 2}}],
    }


def printed(style, reports, capsys):
    printer = STYLES[style]()
    for one in reports:
        printer.run(one)
    printer.end()
    return capsys.readouterr().out


def values(text):
    """``key: value`` lines as a dict; the mark ``!`` is not part of the value."""
    pairs = [line.split(":", 1) for line in text.splitlines()]
    return {" ".join(key.split()): value.replace("!", "").strip() for key, value in pairs}


FIRST = {"load": 0.5, "partition": 0.1, "build": 0.2, "prepare": 0.25, "compile": 9.0}


def test_graph500_has_the_lines_of_the_reference_code(capsys):
    runs = [report(9.5, **FIRST), report(0.125), report(0.5, edges=2000)]
    text = printed("graph500", runs, capsys)
    lines = text.splitlines()
    assert lines[:6] == [
        "SCALE:                          10",
        "edgefactor:                     16",
        "NBFS:                           3",
        "graph_generation:               0.5",
        "num_mpi_processes:              2",
        "construction_time:              0.55",
    ]
    assert "bfs  min_time:                  0.125" in lines
    assert "min_nedge:                      1000" in lines
    assert "bfs  harmonic_mean_TEPS:     !  4800" in lines
    figures = values(text)
    seconds = np.array([0.25, 0.125, 0.25]) / 1000
    assert float(figures["bfs max_TEPS"]) == 8000
    assert float(figures["bfs min_TEPS"]) == 4000
    assert float(figures["bfs harmonic_mean_TEPS"]) == pytest.approx(1 / seconds.mean(), rel=1e-5)
    spread = seconds.std(ddof=1) / seconds.mean() ** 2 / math.sqrt(2)
    assert float(figures["bfs harmonic_stddev_TEPS"]) == pytest.approx(spread, rel=1e-5)
    assert float(figures["bfs stddev_validate"]) == 0
    assert float(figures["bfs mean_validate"]) == NOT_VALIDATED


def test_graph500_has_times_of_validation_where_there_was_one(capsys):
    figures = values(printed("graph500", [report(1, validate=2.0), report(1, validate=4.0)], capsys))
    assert (figures["bfs min_validate"], figures["bfs max_validate"]) == ("2", "4")


@pytest.mark.parametrize(
    ("name", "scale", "factor"),
    [("rmat:7,edge_factor=8.5", "7", "8.5"), ("grid:32x32", None, None), ("web.el", None, None)],
)
def test_graph500_names_the_scale_of_a_graph_that_has_one(name, scale, factor, capsys):
    figures = values(printed("graph500", [report(1, name=name, kernel="sssp")], capsys))
    assert (figures.get("SCALE"), figures.get("edgefactor")) == (scale, factor)
    assert figures["sssp mean_time"] == "1"
    assert figures["sssp stddev_time"] == "nan"


def test_a_source_without_edges_has_no_pace(capsys):
    figures = values(printed("graph500", [report(1, edges=0), report(1)], capsys))
    assert (figures["bfs min_TEPS"], figures["bfs harmonic_mean_TEPS"], figures["bfs max_TEPS"]) == ("0", "0", "1000")


def test_quartiles_lie_between_values_as_in_the_reference_code():
    assert statistics([4, 1, 3, 2]) == {
        "min": 1, "firstquartile": 1.5, "median": 2.5, "thirdquartile": 3.5, "max": 4, "mean": 2.5,
        "stddev": pytest.approx(math.sqrt(5 / 3)),
    }  # fmt: skip
    assert [statistics(range(9))[name] for name in ("firstquartile", "median", "thirdquartile")] == [2, 4, 6]


def test_gap_has_the_lines_of_its_programs(capsys):
    assert printed("gap", [report(9.5, **FIRST), report(0.75)], capsys) == (
        "Generate Time:       0.50000\n"
        "Build Time:          0.55000\n"
        "Graph has 1024 nodes and 10568 undirected edges for degree: 10\n"
        "Trial Time:          0.25000\n"
        "Trial Time:          0.75000\n"
        "Average Time:        0.50000\n"
    )
    assert printed("gap", [report(1, name="web.el")], capsys).startswith("Read Time:           0.00000\n")


def test_a_style_that_saw_no_run_prints_nothing(capsys):
    assert [printed(name, [], capsys) for name in STYLES] == [""] * len(STYLES)


@pytest.mark.parametrize(
    ("algorithm", "options", "said"),
    [
        ("cc", {}, "Graph500 defines bfs and sssp, and no output for cc"),
        ("bfs", {"depth_limit": 3}, "depth-limit cuts them short"),
        ("sssp", {"cutoff": 3.0}, "cutoff cuts them short"),
        ("sssp", {"max_rounds": 3}, "max-rounds cuts them short"),
    ],
)
def test_graph500_refuses_what_it_does_not_define(algorithm, options, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        STYLES["graph500"].check(algorithm, options)
    STYLES["gap"].check(algorithm, options)


@pytest.mark.mpi
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "0.5..2.0"])
def test_edges_traversed_are_those_within_what_was_reached(directed, weights):
    """Compare with NetworkX: edges of the subgraph that the source's descendants induce, without islands."""
    comm = world()
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 60, (2, 70))
    ends = ends[:, ends[0] != ends[1]]
    mine = ends[:, comm.rank :: comm.size]
    values = None if weights is None else np.ones(mine.shape[1])
    graph = Graph.from_edges(*mine, values, n=60, directed=directed)
    result = dgraph.run("sssp" if weights else "bfs", graph, source=int(ends[0, 0]))
    whole = nx.DiGraph() if directed else nx.Graph()
    whole.add_edges_from(ends.T.tolist())
    reached = nx.descendants(whole, int(ends[0, 0])) | {int(ends[0, 0])}
    assert 2 < len(reached) < 60
    assert result.report["outcome"]["edges_traversed"] == whole.subgraph(reached).number_of_edges()


@pytest.mark.parametrize("values", [[0, UNREACHED, 1], [0.0, np.inf, 1.5]])
def test_unreached_vertices_traverse_nothing(values):
    assert reached(np.array(values), np.array([2, 7, 2])) == (2, values[2], 4)
    assert widened(np.array(values)).tolist() == values


@pytest.mark.mpi
def test_json_is_all_that_stdout_gets(capsys):
    assert main(["bfs", "path:5", "--source", "0,4", "--format", "json"]) == 0
    out, fingerprint = capsys.readouterr().out, Graph.load("path:5").fingerprint()
    if world().rank:
        assert out == ""
        return
    reports = [json.loads(line, parse_constant=pytest.fail) for line in out.splitlines()]
    assert [one["algorithm"]["parameters"]["source"] for one in reports] == [0, 4]
    assert all(one["version"] == 2 and one["outcome"]["edges_traversed"] == 4 for one in reports)
    assert {one["graph"]["fingerprint"] for one in reports} == {fingerprint}
    assert all(one["graph"]["name"] == "path:5" and one["graph"]["largest_degree"] == 2 for one in reports)


@pytest.mark.mpi
def test_a_format_is_printed_by_a_quiet_run_and_the_table_is_not(capsys):
    assert main(["bfs", "kron:4", "--source", "1", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["bfs", "kron:4", "--source", "1,2", "-q", "--format", "graph500"]) == 0
    out, errors = capsys.readouterr()
    assert errors == ""
    figures = values(out)
    assert (figures.get("SCALE"), figures.get("NBFS")) == (("4", "2") if world().rank == 0 else (None, None))


@pytest.mark.mpi
def test_a_refused_format_is_told_before_the_graph_is_looked_for(capsys):
    assert main(["cc", "nowhere.el", "--format", "graph500"]) == 2
    assert ("no output for cc" in capsys.readouterr().err) == (world().rank == 0)
