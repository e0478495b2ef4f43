"""The report: what it holds fits its schema, times add up, and the table says what the JSON says."""

import json
import math
import os
import time

import numpy as np
import pytest
from report_schema import SCHEMA, violations

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds import round_series
from dgraph.errors import OutputError
from dgraph.graph.stored_graph import Graph
from dgraph.program import INF, MIN, Field, Program
from dgraph.report import Trace, headline, rounds, show, table, write
from dgraph.report.text_lines import size


def sample(comm):
    """A trace of a run that did a little of everything."""
    trace = Trace(comm, ["dgraph", "sssp", "rmat:16"])
    with trace("load"):
        time.sleep(0.01)
    with trace("solve"):
        for _ in range(2):
            with trace("compute"):
                time.sleep(0.002)
        trace.add("agree", 0.5)
    trace.message((comm.rank + 1) % comm.size, 3000, 2)
    trace.count("masters", 100 * (comm.rank + 1))
    trace.describe("algorithm", name="sssp", parameters={"source": np.int64(3), "cutoff": math.inf})
    trace.describe("graph", name="rmat:16", n=1 << 16, m=1 << 20, directed=True, fingerprint="0123456789abcdef")
    trace.describe("outcome", converged=False, limit="max_iter 2", rounds=2, summary={"reached": 45001, "sum": 1.5})
    trace.choose("policy", "oec")
    trace.choose("policy", "cvc", "a hub is larger than a share")
    trace.rounds.extend(np.array([[1, 10, 0]]), 0.001)
    trace.rounds.extend(np.array([[500, 9000, 1]]), 0.002)
    trace.warn("threads were clamped")
    return trace


@pytest.mark.mpi
def test_the_report_fits_its_schema_and_is_equal_on_all_ranks():
    comm = world()
    report = sample(comm).collect()
    assert list(violations(report, SCHEMA)) == []
    assert report["version"] == SCHEMA["properties"]["version"]["const"]
    assert [rank["rank"] for rank in report["ranks"]] == list(range(comm.size))
    assert [rank["counts"]["masters"] for rank in report["ranks"]] == [100 * (r + 1) for r in range(comm.size)]
    assert report["ranks"][0]["sent"] == [{"peer": 1 % comm.size, "bytes": 3000, "messages": 2}]
    assert report["warnings"] == ["threads were clamped"]
    assert sorted(rank for host in report["hosts"] for rank in host["ranks"]) == list(range(comm.size))
    most = 100 * comm.size
    assert report["imbalance"]["masters"] == {"max": most, "mean": (100 + most) / 2, "ratio": most / ((100 + most) / 2)}
    assert report["imbalance"]["bytes_sent"]["ratio"] == 1
    assert report["imbalance"]["unpack"] == {"max": 0, "mean": 0, "ratio": None}
    assert len(set(comm.allgather_json(json.dumps(report["ranks"])))) == 1


def test_the_schema_check_finds_faults():
    report = sample(SerialComm()).collect()
    report["ranks"][0]["seconds"]["load"] = "long"
    del report["ranks"][0]["host"], report["wall_seconds"], report["hosts"][0]["cores"]
    report["rounds"]["kept"][0]["round"] = 0
    report["imbalance"]["load"]["ratio"] = "even"
    assert len(list(violations(report, SCHEMA))) == 6


def test_timers_accumulate_what_was_spent_inside():
    (rank,) = sample(SerialComm()).collect()["ranks"]
    seconds = rank["seconds"]
    assert 0.004 <= seconds["compute"] <= seconds["solve"] < seconds["wall"]
    assert seconds["agree"] == 0.5
    assert seconds["unpack"] == 0
    assert rank["peak_memory_bytes"] > 1 << 20


def test_a_phase_that_fails_is_still_counted():
    trace = Trace(SerialComm(), [])
    with pytest.raises(ZeroDivisionError), trace("load"):
        1 / 0  # noqa: B018
    assert "load" in trace.seconds


def test_rounds_may_come_many_at_a_time(monkeypatch):
    monkeypatch.setattr(round_series, "KEPT_ROUNDS", 100)
    figures = np.random.default_rng(2).integers(0, [[50, 900, 2]], (1234, 3))
    one, many = round_series.RoundSeries(), round_series.RoundSeries()
    for row in figures:
        one.extend(row[None], 0.5)
    for part in np.split(figures, [1, 40, 41, 41, 700]):
        many.extend(part, 0.5)
    assert many.summary() == one.summary()


def test_long_runs_are_thinned_but_counted(monkeypatch):
    monkeypatch.setattr(round_series, "KEPT_ROUNDS", 100)
    rounds = round_series.RoundSeries()
    for i in range(12345):
        rounds.extend(np.array([[i, 2 * i, 0]]), 0.0)
        assert len(rounds.kept) <= 100
    summary = rounds.summary()
    assert summary["count"] == 12345
    assert summary["frontier_edges"] == 12345 * 12344
    assert 50 <= len(summary["kept"]) <= 100
    assert [row["round"] for row in summary["kept"]] == list(range(1, 12346, summary["every"]))
    assert all(row["frontier_vertices"] == row["round"] - 1 for row in summary["kept"])


def test_values_that_json_cannot_hold_become_text(tmp_path):
    report = sample(SerialComm()).collect()
    assert report["algorithm"]["parameters"] == {"source": 3, "cutoff": "Infinity"}
    write(report, tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail) == report
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_report_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "report.json").mkdir()
    with pytest.raises(OutputError, match=r"report\.json cannot be written"):
        write({}, tmp_path / "report.json")
    assert os.listdir(tmp_path) == ["report.json"]


def four_ranks():
    report = sample(SerialComm()).collect()
    (one,) = report["ranks"]
    report["ranks"] = [
        one | {"rank": r, "counts": {"masters": 10 * r}, "seconds": one["seconds"] | {"compute": 1.0 + r}}
        for r in range(4)
    ]
    return report


def test_the_table_has_a_line_a_rank_and_the_imbalance():
    lines = table(four_ranks(), width=1000).splitlines()
    head = lines[0].split()
    assert head[0] == "rank"
    rows = {cells[0]: dict(zip(head, cells, strict=False)) for cells in map(str.split, lines[2:]) if len(cells) > 1}
    assert [rows[str(r)]["compute"] for r in range(4)] == ["1.000", "2.000", "3.000", "4.000"]
    assert (rows["max"]["compute"], rows["mean"]["compute"], rows["max/mean"]["compute"]) == ("4.000", "2.500", "1.60")
    assert rows["max/mean"]["pack"] == "-"
    assert len({len(line) for line in lines}) == 1


def test_the_times_of_a_rank_add_up_to_its_wall_time():
    report = sample(SerialComm()).collect()
    report["ranks"][0]["seconds"]["agree"] = 0.0
    line = table(report).splitlines()[2].split()
    assert sum(map(float, line[1:])) == pytest.approx(report["wall_seconds"], abs=0.006)


def test_a_narrow_table_comes_in_two_parts():
    assert max(map(len, table(four_ranks(), width=100).splitlines())) <= 100


def test_many_ranks_show_the_slowest():
    report = four_ranks()
    report["ranks"] = [report["ranks"][r % 4] | {"rank": r} for r in range(100)]
    assert [line.split()[0] for line in table(report, 1000).splitlines()[2:5]] == ["3", "7", "11"]


def test_the_headline_says_how_it_ended_and_what_was_chosen(capsys):
    report = sample(SerialComm()).collect()
    text = headline(report)
    for part in (
        "sssp on rmat:16 (65,536 vertices, 1,048,576 edges)",
        "reached 45,001",
        "NOT CONVERGED (max_iter 2) after 2 rounds (1 push, 1 pull)",
        "graph fingerprint 0123456789abcdef",
        f"host {report['hosts'][0]['host']} ({os.cpu_count()} cores): rank 0; ",
        "policy cvc: a hub is larger than a share",
        "warning: threads were clamped",
    ):
        assert part in text
    show(report)
    assert capsys.readouterr().out == f"{text}\n\n{table(report)}\n\n{rounds(report)}\n"


def test_few_rounds_are_all_shown():
    assert [line.split() for line in rounds(sample(SerialComm()).collect()).splitlines()[2:]] == [
        ["1", "push", "1", "10", "0.0010"],
        ["2", "pull", "500", "9,000", "0.0020"],
    ]


def test_of_many_rounds_the_first_and_the_largest_are_shown():
    kept = round_series.RoundSeries()
    for i in range(1, 101):
        kept.extend(np.array([[i, 1000 if i in (50, 51, 90, 91, 99) else 10, 0]]), 0.0)
    shown = [line.split()[0] for line in rounds({"rounds": kept.summary()}).splitlines()[2:]]
    assert shown == ["1", "2", "3", "...", "50", "51", "...", "90", "91", "...", "99", "..."]
    assert rounds({"rounds": round_series.RoundSeries().summary()}) == ""


def test_every_host_is_told_with_its_ranks():
    report = four_ranks()
    host = report["hosts"][0] | {"peak_memory_bytes": 1 << 30}
    report["hosts"] = [host | {"host": f"node{i}", "cores": 8, "ranks": r} for i, r in enumerate(([0, 1, 2], [3]))]
    text = headline(report)
    assert "host node0 (8 cores): ranks 0 to 2; 1.0 GiB in use at most" in text
    assert "host node1 (8 cores): rank 3; " in text
    assert "on 4 ranks of 2 hosts" in text
    report["hosts"] = [host] * 7
    assert "and 3 hosts more" in headline(report)


def test_the_verdict_of_validation_is_told():
    report = sample(SerialComm()).collect()
    assert "valid" not in headline(report).lower()
    assert "validate" not in table(report)
    report["ranks"][0]["seconds"]["validate"] = 2.5
    report["outcome"]["validation"] = {"passed": True, "checked": ["a tree", "tight arcs"], "failure": None}
    assert "validated: a tree; tight arcs" in headline(report)
    assert "2.500" in table(report)
    report["outcome"]["validation"] = {"passed": False, "checked": [], "failure": "vertex 3"}
    assert "VALIDATION FAILED: vertex 3" in headline(report)


def shares(comm, *arrays):
    """This rank's share of arrays of one length, every P-th."""
    return [array[comm.rank :: comm.size] for array in arrays]


@pytest.mark.mpi
def test_a_fingerprint_is_that_of_the_graph_not_of_its_ranks():
    """The literals make runs on other numbers of ranks, and other machines, compare with this one."""
    comm = world()
    assert Graph.load("rmat:6").fingerprint() == "1864eea66aaf58c4"
    assert Graph.load("rmat:6", weights="1..255").fingerprint() == "2a3c1fa5377fed6e"
    assert Graph.load("grid:5x5", weights="0.5..2.0").fingerprint() == "2f7dd048dd5ee42c"
    src, dst = np.array([0, 1, 2, 3, 0, 4]), np.array([1, 2, 3, 4, 4, 2])
    weights = np.array([1, 2, 3, 4, 5, 6])
    order = np.array([3, 5, 1, 0, 4, 2])
    here = Graph.from_edges(*shares(comm, src, dst, weights)).fingerprint()
    shuffled = Graph.from_edges(*shares(comm, src[order], dst[order], weights[order].astype(np.int32)))
    assert shuffled.fingerprint() == here


@pytest.mark.mpi
@pytest.mark.parametrize("change", ["an arc", "its direction", "a weight", "a vertex more", "both ways", "floats"])
def test_another_graph_has_another_fingerprint(change):
    comm = world()
    src, dst, weights = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 0]), np.array([1, 2, 3, 0])
    options = {"n": 4, "keep_loops": True}
    before = Graph.from_edges(*shares(comm, src, dst, weights), **options).fingerprint()
    if change == "an arc":
        dst = np.array([1, 2, 0, 0])
    elif change == "its direction":
        src, dst = np.array([0, 1, 3, 0]), np.array([1, 2, 2, 0])
    elif change == "a weight":
        weights = np.array([1, 2, 3, 1])
    elif change == "a vertex more":
        options["n"] = 5
    elif change == "both ways":
        options["directed"] = False
    else:
        weights = weights.astype(np.float64)
    assert Graph.from_edges(*shares(comm, src, dst, weights), **options).fingerprint() != before


def test_no_weights_are_ones_and_nothing_is_not_nothing():
    src, dst = np.array([0, 1]), np.array([1, 2])
    none, ones = Graph.from_edges(src, dst), Graph.from_edges(src, dst, np.ones(2, np.int32))
    assert none.fingerprint() == ones.fingerprint()
    zero = Graph.from_edges([0], [0], [0], n=1, keep_loops=True)
    assert zero.fingerprint() != Graph.from_edges([0], [0], [0], n=1).fingerprint()
    signed = [Graph.from_edges(src, dst, np.array([0.0, z], np.float32)).fingerprint() for z in (0.0, -0.0)]
    assert signed[0] == signed[1]


class Narrowest(Program):
    """Reads weights: the lightest edge that enters each vertex."""

    light = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"light": INF, "active": v.id >= 0}

    def edge(self, u, e, v):
        return {"light": e.weight}

    def step(self, g):
        return {"done": True}


class Entered(Narrowest):
    """Reads none: the smallest neighbour's id."""

    def edge(self, u, e, v):
        return {"light": u.id}


@pytest.mark.mpi
def test_it_says_whether_weights_were_used():
    """They are where NetworkX's function of that name uses them, and where a program's text reads them."""
    used = {"sssp", "pagerank"}
    assert used == {name for name, algorithm in ALGORITHMS.items() if algorithm.weighted}
    graphs = {rule: Graph.load("path:9", comm=world(), weights=rule) for rule in ("1..9", "unit")}
    works = {name: (name, name in used) for name in ALGORITHMS}
    works |= {"narrowest": (Narrowest(), True), "entered": (Entered(), False)}
    for name, (work, reads) in works.items():
        given = {"source": 0} if name in ("bfs", "sssp") else {}
        for rule, graph in graphs.items():
            report = dgraph.run(work, graph, **given).report
            weighted = rule != "unit"
            assert report["algorithm"]["weights"] == ("none" if not weighted else "used" if reads else "not used")
            assert report["graph"]["weight_type"] == ("int32" if weighted else None)
            assert list(violations(report, SCHEMA)) == []
            said = f"  weights: {'used (int32)' if reads else f'not used by {name}'}\n"
            assert (said in headline(report)) == weighted
            assert ("weights: " in headline(report)) == weighted


@pytest.mark.mpi_skip
def test_the_command_line_says_it_too(capsys, tmp_path):
    (tmp_path / "graph.wel").write_text("0 1 5\n1 2 7\n0 2 1\n2 0 4\n")
    told = {}
    for words in (["pagerank"], ["bfs", "--source", "0"], ["pagerank", "--weights", "unit"]):
        assert main([words[0], str(tmp_path / "graph.wel"), *words[1:]]) == 0
        told[" ".join(words)] = [line for line in capsys.readouterr().out.splitlines() if "weights" in line]
    assert told == {
        "pagerank": ["  weights: used (int32)"],
        "bfs --source 0": ["  weights: not used by bfs"],
        "pagerank --weights unit": [],
    }
    assert main(["pagerank"]) == 0  # the graph that is taken where none is named has no weights
    assert "weight" not in capsys.readouterr().out
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.endswith("Uses edge weights.")] == ["pagerank", "sssp"]


def test_sizes_have_three_figures():
    assert [size(x) for x in (0, 1023, 1024, 102348, 1 << 20, 5 << 30, 1 << 52)] == [
        "0 B", "1023 B", "1.0 KiB", "99.9 KiB", "1.0 MiB", "5.0 GiB", "4096 TiB",
    ]  # fmt: skip
