"""Report of a run: it fits its schema, its times add up, and it knows the graph and whether weights were used."""

import json
import os
import re

import numpy as np
import pytest
from flat_run import flat_run
from report_schema import SCHEMA, violations
from sample_report import sample

from dgraph.algorithms import ALGORITHMS
from dgraph.backend.round_stats import RoundStats
from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds import record, round_series
from dgraph.errors import UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.program import INF, MIN, Field, Program
from dgraph.report import Record, facts, headline, rounds, show, write
from dgraph.report.fields import RUN, read, shown_in
from dgraph.report.text_lines import durations, labelled, wrapped


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


def test_records_of_other_messages_have_the_same_text(monkeypatch):
    monkeypatch.setattr(record, "peak_memory", lambda: 1 << 20)
    for size in (10, 20):
        run, text = Record(SerialComm()), Record._last[1]
        run.message(0, size)
        assert run.collect()["ranks"][0]["sent"] == [{"peer": 0, "bytes": size, "messages": 1}]
    assert Record._last[1] is text


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
    assert seconds["idle"] == 0.5
    assert seconds["unpack"] == 0
    assert rank["peak_memory_bytes"] > 1 << 20


def test_a_phase_that_fails_is_still_counted():
    record = Record(SerialComm(), [])
    with pytest.raises(ZeroDivisionError), record("load"):
        1 / 0  # noqa: B018
    assert "load" in record.seconds


def test_rounds_may_come_many_at_a_time(monkeypatch):
    monkeypatch.setattr(round_series, "KEPT_ROUNDS", 100)
    figures = np.random.default_rng(2).integers(0, [[50, 900, 2]], (1234, 3))
    one, many = round_series.RoundSeries(), round_series.RoundSeries()
    for row in figures:
        one.extend(row[None], 0.5)
    for part in np.split(figures, [1, 40, 41, 41, 700]):
        many.extend(part, 0.5)
    assert many.summary() == one.summary()


def test_rounds_of_a_rank_can_be_worked_out_by_another():
    """Check that times of batches make the table that the rank itself makes, also where rounds are thinned out."""
    rng = np.random.default_rng(4)
    ranks = [(round_series.RoundSeries(timers, 0.0, 20), timers) for timers in ({}, {})]
    for count in (1, 7, 30, 2):
        figures = rng.integers(0, 9, (count, 3)) // [1, 1, 8]
        for series, timers in ranks:
            for name in round_series.PARTS[1:]:
                timers[name] = timers.get(name, 0.0) + rng.random() * 1e-3
            series.extend(figures, rng.random() * 1e-3, [RoundStats("twc", rounds=count)])
    (mine, _), (other, _) = ranks
    assert mine.times()[1] == {"twc": 40}
    times, _ = other.times()
    assert mine.parts_of(times) == other.parts() != mine.parts()
    assert mine.count == other.count == 40
    assert other.times() is None  # they are sent as a table once a report has read them


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
    with pytest.raises(UsageError, match=r"report\.json is a folder"):
        write({}, tmp_path / "report.json")
    assert os.listdir(tmp_path) == ["report.json"]


def test_the_headline_is_one_line_and_facts_follow_in_order(capsys):
    report = sample(SerialComm()).collect()
    report["algorithm"]["weights"], report["graph"]["weight_type"] = "used", "int32"
    assert headline(report) == (
        "sssp on rmat:16 (65,536 vertices, 1,048,576 edges): NOT CONVERGED (max_iter 2) after 2 rounds in "
        f"{durations([sum(report['ranks'][0]['seconds'][part] for part in round_series.PARTS)])[0]} on 1 rank"
    )
    rows = facts(report)
    labels = [label for label, _ in rows]
    fields = [field.name for field in shown_in("text", RUN) if read(field, report) is not None]
    assert labels == ["summary", "ranks", "time", "graph", "direction", *fields, "warning"], "policy: of several ranks"
    by_label = dict(rows)
    assert by_label["summary"] == "reached 45,001, sum 1.5"
    assert by_label["ranks"].startswith(f"1 on {report['hosts'][0]['host']} ({os.cpu_count()} core")
    assert by_label["graph"] == "directed; weights int32 (used); fingerprint 0123456789abcdef"
    assert by_label["direction"] == "1 push, 1 pull"
    assert by_label["warning"] == "threads were clamped"
    show(report)
    text = "\n".join([*wrapped(headline(report), 100, other="  "), *labelled(rows, 100)])
    assert capsys.readouterr().out == f"{text}\n\n{rounds(report)}\n"


def shares(comm, *arrays):
    """Return this rank's share of arrays of one length: every P-th element."""
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
    """Program that reads weights: the lightest edge that enters each vertex."""

    light = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"light": INF, "active": v.id >= 0}

    def edge(self, u, e, v):
        return {"light": e.weight}

    def step(self, g):
        return {"done": True}


class Entered(Narrowest):
    """Program that reads no weights: the smallest neighbour's id."""

    def edge(self, u, e, v):
        return {"light": u.id}


@pytest.mark.mpi
@pytest.mark.exhaustive
def test_it_says_whether_weights_were_used():
    """Check the algorithms whose NetworkX functions use weights, and programs that do or do not read them."""
    used = {
        "sssp",
        "pagerank",
        "hits",
        "mst",
        "apsp",
        "multi_source_sssp",
        "multi_source_pagerank",
        "louvain",
        "leiden",
        "degrees",
        "neighbor_degree",
        "eigenvector",
        "katz",
    }  # fmt: skip - bc, closeness, cdlp, clustering on request
    assert used == {name for name, algorithm in ALGORITHMS.items() if algorithm.weighted}
    graphs = {rule: Graph.load("path:9", comm=world(), weights=rule) for rule in ("1..9", "unit")}
    works = {name: (name, name in used) for name in ALGORITHMS}
    works |= {"narrowest": (Narrowest(), True), "entered": (Entered(), False)}
    for name, (work, reads) in works.items():
        parameters = {"source": 0} if name in ("bfs", "sssp") else {"alpha": 0.01} if name == "katz" else {}
        for rule, graph in graphs.items():
            report = flat_run(work, graph, **parameters).report
            weighted = rule != "unit"
            assert report["algorithm"]["weights"] == ("none" if not weighted else "used" if reads else "not used")
            assert report["graph"]["weight_type"] == ("int32" if weighted else None)
            assert list(violations(report, SCHEMA)) == []
            text = dict(facts(report))["graph"]
            assert (f"weights int32 ({'used' if reads else f'not used by {name}'})" in text) == weighted
            assert ("weights" in text) == weighted


@pytest.mark.mpi_skip
def test_the_command_line_says_it_too(capsys, tmp_path):
    (tmp_path / "graph.wel").write_text("0 1 5\n1 2 7\n0 2 1\n2 0 4\n")
    weights = {}
    for words in (["pagerank"], ["bfs", "--source", "0"], ["pagerank", "--weights", "unit"]):
        assert main([words[0], str(tmp_path / "graph.wel"), *words[1:]]) == 0
        weights[" ".join(words)] = re.findall(r"weights [^;\n]*", capsys.readouterr().out)
    assert weights == {
        "pagerank": ["weights int32 (used)"],
        "bfs --source 0": ["weights int32 (not used by bfs)"],
        "pagerank --weights unit": [],
    }
    assert main(["pagerank", "rmat:5"]) == 0
    assert "weight" not in capsys.readouterr().out
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    weighted = [name for name, algorithm in ALGORITHMS.items() if algorithm.weighted]
    assert [line.split()[0] for line in lines if line.endswith("Uses edge weights.")] == weighted
    assert {"hits", "pagerank", "sssp"} <= set(weighted)
