"""Report of a run: it fits its schema, its times add up, and its text matches its JSON."""

import io
import json
import math
import os
import re
import time

import numpy as np
import pytest
from flat_run import flat_run
from report_schema import SCHEMA, violations

from dgraph.algorithms import ALGORITHMS
from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds import round_series
from dgraph.errors import OutputError
from dgraph.graph.stored_graph import Graph
from dgraph.program import INF, MIN, Field, Program
from dgraph.report import Trace, facts, headline, rounds, show, table, write
from dgraph.report.tables import short_name
from dgraph.report.text_lines import durations, labelled, printable, size, sparkline, wrapped
from dgraph.report.time_split import NAMES, split


def sample(comm):
    """Return the trace of a made-up run that uses every part of the report."""
    trace = Trace(comm, ["dgraph", "sssp", "rmat:16"])
    with trace("load"):
        time.sleep(0.01)
    with trace("solve"):
        for _ in range(2):
            with trace("compute"):
                time.sleep(0.002)
        trace.add("idle", 0.5)
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
    assert seconds["idle"] == 0.5
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


def rows_of(text):
    """Return the table's cells by first word of the line and heading; cells with a unit are joined."""
    head, _, *body = text.replace("messages sent", "messages_sent").replace("bytes sent", "bytes_sent").splitlines()
    head = head.replace("peak memory", "peak_memory").split()
    lines = [re.sub(r"(\d) (s|ms|µs|[KMG]?i?B)\b", r"\1\2", line).split() for line in body]
    return {cells[0]: dict(zip(head, cells, strict=False)) for cells in lines if len(cells) > 1}


def test_the_table_has_a_line_a_rank_and_the_imbalance():
    text = table(four_ranks(), width=1000)
    rows = rows_of(text)
    assert [rows[str(r)]["compute"] for r in range(4)] == ["1.00s", "2.00s", "3.00s", "4.00s"]
    assert (rows["max"]["compute"], rows["mean"]["compute"], rows["max/mean"]["compute"]) == ("4.00s", "2.50s", "1.60")
    assert [rows[str(r)]["masters"] for r in range(4)] == ["0", "10", "20", "30"]
    assert len({len(line) for line in text.splitlines()}) == 1


def test_one_rank_has_no_table_of_ranks():
    report = sample(SerialComm()).collect()
    assert table(report) == ""
    show(report, file := io.StringIO())
    assert "max/mean" not in file.getvalue()
    assert "rank " not in [line[:5] for line in file.getvalue().splitlines()]


def test_a_phase_has_a_column_where_ranks_differ_in_it():
    report = four_ranks()
    assert "load" not in rows_of(table(report, 1000))["0"], "equal on all ranks"
    report["ranks"][2]["seconds"] = report["ranks"][2]["seconds"] | {"load": 1.0}
    row = rows_of(table(report, 1000))["2"]
    assert row["load"] == "1.000s"[:4] + "s"
    report["wall_seconds"] = 1000.0
    assert "load" not in rows_of(table(report, 1000))["0"], "too short to matter"


def test_the_parts_of_a_rank_add_up_to_its_wall_time():
    report = sample(SerialComm()).collect()
    (rank,) = report["ranks"]
    rank["seconds"] = dict.fromkeys(NAMES[:-1], 1.0) | {"solve": 9.0, "wall": 18.0}
    assert sum(split(rank).values()) == 18
    assert split(rank)["other"] == 18 - (len(NAMES) - 1)
    report["wall_seconds"] = 18.0
    line = dict(facts(report))["time"]
    assert line.startswith("18.0 s: load 1.00 s")
    assert "rounds 5.00 s (28%)" in line
    named = [float(seconds) for seconds in re.findall(r"([\d.]+) s\b", line)]
    assert sum(named[1:]) == pytest.approx(named[0], abs=0.06)


def test_the_time_line_leaves_out_what_took_no_time():
    report = sample(SerialComm()).collect()
    report["ranks"][0]["seconds"] |= dict.fromkeys(("load", "output"), 0.0) | {"idle": 0.0, "validate": 1e-6}
    line = dict(facts(report))["time"]
    assert "rounds" in line
    for name in ("load", "output", "validate"):
        assert name not in line


def test_text_keeps_within_its_width():
    report = four_ranks()
    report["choices"].append({"what": "transport", "taken": "p2p", "reason": "many words " * 40})
    report["graph"]["name"] = "uniform:20"
    for width in (80, 100):
        assert max(map(len, table(report, width).splitlines())) <= width
    show(report, file := io.StringIO())
    assert max(map(len, file.getvalue().splitlines())) <= 100
    assert file.getvalue().count("many words") + file.getvalue().count("many\n") == 40


def test_a_number_and_its_unit_stay_on_one_line():
    text = " ".join(["12.5 ms,"] * 30)
    for width in range(24, 60):
        lines = labelled([("time", text)], width)
        assert max(map(len, lines)) <= max(width, 28)
        assert all(line.count("12.5") == line.count("ms") for line in lines)


def test_many_ranks_show_the_slowest():
    report = four_ranks()
    report["ranks"] = [report["ranks"][r % 4] | {"rank": r} for r in range(100)]
    assert [line.split()[0] for line in table(report, 1000).splitlines()[2:5]] == ["3", "7", "11"]


def test_the_headline_is_one_line_and_facts_follow_in_order(capsys):
    report = sample(SerialComm()).collect()
    report["algorithm"]["weights"], report["graph"]["weight_type"] = "used", "int32"
    assert headline(report) == (
        "sssp on rmat:16 (65,536 vertices, 1,048,576 edges): NOT CONVERGED (max_iter 2) after 2 rounds in "
        f"{durations([sum(report['ranks'][0]['seconds'][part] for part in round_series.PARTS)])[0]} on 1 rank"
    )
    known = facts(report)
    labels = [label for label, _ in known]
    assert labels == ["summary", "ranks", "time", "graph", "direction", "warning"], "policy: no choice on one rank"
    found = dict(known)
    assert found["summary"] == "reached 45,001, sum 1.5"
    assert found["ranks"].startswith(f"1 on {report['hosts'][0]['host']} ({os.cpu_count()} core")
    assert found["graph"] == "directed; weights int32 (used); fingerprint 0123456789abcdef"
    assert found["direction"] == "1 push, 1 pull"
    assert found["warning"] == "threads were clamped"
    show(report)
    text = "\n".join([*wrapped(headline(report), 100, other="  "), *labelled(known, 100)])
    assert capsys.readouterr().out == f"{text}\n\n{rounds(report)}\n"


def test_choices_have_their_reasons_where_there_are_several_ranks():
    report = four_ranks()
    report["outcome"] |= {"converged": True, "summary": {"source": 7, "reached": 3}}
    report["choices"] += [
        {"what": "source", "taken": "7", "reason": "it has the most out-edges"},
        {"what": "backend", "taken": "cpu", "reason": "asked for"},
        {"what": "threads", "taken": "2", "reason": "8 cores for 4 ranks"},
        {"what": "transport", "taken": "mpi-host", "reason": ""},
        {"what": "graph", "taken": "rmat:16", "reason": "the default graph"},
    ]
    found = dict(facts(report))
    assert found["summary"] == "reached 3", "the source has a line of its own"
    assert found["source"] == "7: it has the most out-edges"
    assert found["backend"] == "cpu: asked for"
    assert ", 2 threads each; peak memory " in found["ranks"]
    assert found["policy"] == "cvc: a hub is larger than a share"
    assert found["transport"] == "mpi-host"
    assert found["graph"].endswith("; the default graph")
    assert not {"threads", "gpus"} & found.keys()
    report["choices"][2:3] = [{"what": "backend", "taken": "cuda", "reason": "a GPU is there"}]
    assert dict(facts(report))["backend"] == "cuda (8 cores for 4 ranks): a GPU is there"


def test_a_graph_has_a_short_name():
    assert short_name("rmat:12,edge_factor=16,seed=1,a=0.57,b=0.19,c=0.19,permute=1") == "rmat:12"
    assert (
        short_name("rmat:12,edge_factor=16,seed=7,a=0.57,b=0.19,c=0.19,permute=1,symmetric")
        == "rmat:12,seed=7,symmetric"
    )
    assert short_name("/data/graphs/road,usa.gr") == "road,usa.gr"
    assert short_name("rmat:12,nonsense=1") == "rmat:12"


def test_few_rounds_are_all_shown():
    assert [line.split() for line in rounds(sample(SerialComm()).collect()).splitlines()[2:]] == [
        ["1", "push", "1", "10", "1.00", "ms"],
        ["2", "pull", "500", "9,000", "2.00", "ms"],
    ]
    assert rounds({"rounds": round_series.RoundSeries().summary()}) == ""


def long_run(rounds, most=None):
    """Return a series whose heaviest round is 50 and whose frontier peaks in round 51."""
    series = round_series.RoundSeries(most=most)
    for i in range(1, rounds + 1):
        series.extend(np.array([[500 if i == 51 else 5, 1000 if i in (50, 90) else 10, i % 2]]), 0.001)
    return series.summary()


@pytest.mark.parametrize(("most", "every"), [(None, 1), (16, 8)])
def test_of_many_rounds_the_first_the_heaviest_and_the_last_are_shown(most, every):
    series = long_run(100, most)
    assert (series["every"], series["heaviest"]["round"], series["last"]["round"]) == (every, 50, 100)
    text = rounds({"rounds": series})
    *body, blank, scale, spark = text.splitlines()
    first = [row["round"] for row in series["kept"][:3]]
    shown = [line.split() for line in body[2:]]
    assert [int(line[0]) for line in shown] == [*first, 50, 100]
    assert [line[-1] for line in shown[-2:]] == ["heaviest", "last"]
    assert blank == ""
    assert "rounds 1 to 100" in scale
    assert ("one round in 8" in scale) == (every == 8)
    assert "..." not in text
    assert 10 < len(spark) <= 60
    if every == 1:
        assert [at for at, block in enumerate(spark) if block == "█"] == [50 * 60 // 100]


def test_a_report_without_the_heaviest_round_shows_that_of_the_rounds_kept():
    """Reports of version 1 have neither ``heaviest`` nor ``last``."""
    series = long_run(100, 16)
    heaviest = max(series["kept"], key=lambda row: row["frontier_edges"])["round"]
    del series["heaviest"], series["last"]
    assert f"{heaviest}  " in rounds({"rounds": series})
    assert "last" not in rounds({"rounds": series})


def test_a_sparkline_shows_the_largest_of_neighbours():
    assert sparkline([0, 9, 99, 999]) == "▁▃▆█"
    assert sparkline([1] * 599 + [9], 60)[-1] == "█"
    assert len(set(sparkline([1] * 599 + [9], 60)[:-1])) == 1
    assert len(sparkline([7] * 10_000, 60)) == 60
    assert sparkline([]) == ""
    assert sparkline([0, 0]) == "▁▁"


def test_times_of_a_column_share_a_unit():
    assert durations([0.0004, 25.04, 0.0]) == ["0.0 s", "25.0 s", "0 s"]
    assert durations([0.00104, 0.0005]) == ["1.04 ms", "0.50 ms"]
    assert durations([492e-6]) == ["492 µs"]
    assert durations([0.9999]) == ["1.00 s"]
    assert durations([1234.5]) == ["1,234 s"]
    assert durations([]) == []


def test_an_output_that_is_not_unicode_gets_plain_characters():
    assert printable("▁█ 3 µs", "ascii") == "18 3 us"
    assert printable("▁█ 3 µs", "utf-8") == "▁█ 3 µs"
    assert printable("caf\udce9", None) == "caf\\udce9"


def test_hosts_are_listed_with_their_ranks():
    report = four_ranks()
    host = report["hosts"][0] | {"peak_memory_bytes": 1 << 30}
    report["hosts"] = [host | {"host": f"node{i}", "cores": 8, "ranks": r} for i, r in enumerate(([0, 1, 2], [3]))]
    found = facts(report)
    assert ("ranks", "4 on 2 hosts") in found
    assert ("host", "node0 (8 cores): ranks 0 to 2; peak memory 1.0 GiB") in found
    assert ("host", "node1 (8 cores): rank 3; peak memory 1.0 GiB") in found
    report["hosts"] = [host] * 7
    assert ("host", "and 3 more") in facts(report)


def test_validation_is_a_fact():
    report = sample(SerialComm()).collect()
    assert "validat" not in str(facts(report))
    report["ranks"][0]["seconds"]["validate"] = 2.5
    report["outcome"]["validation"] = {"passed": True, "checked": ["a tree", "tight arcs"], "failure": None}
    assert dict(facts(report))["validation"] == "passed: a tree; tight arcs"
    assert "validate 2.50 s" in dict(facts(report))["time"]
    report["outcome"]["validation"] = {"passed": False, "checked": [], "failure": "vertex 3"}
    assert dict(facts(report))["validation"] == "FAILED: vertex 3"
    report["outcome"]["validation"] = {"passed": None, "checked": [], "failure": "a limit ended the run"}
    assert dict(facts(report))["validation"] == "not done: a limit ended the run"


def test_a_gpu_has_its_memory_in_a_line():
    report = sample(SerialComm()).collect()
    report["ranks"][0]["gpu_memory"] = {"peak_bytes": 3 << 30, "planned_bytes": 4 << 30}
    assert dict(facts(report))["GPU memory"] == "peak 3.0 GiB, planned 4.0 GiB"


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
    used = {"sssp", "pagerank"}
    assert used == {name for name, algorithm in ALGORITHMS.items() if algorithm.weighted}
    graphs = {rule: Graph.load("path:9", comm=world(), weights=rule) for rule in ("1..9", "unit")}
    works = {name: (name, name in used) for name in ALGORITHMS}
    works |= {"narrowest": (Narrowest(), True), "entered": (Entered(), False)}
    for name, (work, reads) in works.items():
        given = {"source": 0} if name in ("bfs", "sssp") else {}
        for rule, graph in graphs.items():
            report = flat_run(work, graph, **given).report
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
    found = {}
    for words in (["pagerank"], ["bfs", "--source", "0"], ["pagerank", "--weights", "unit"]):
        assert main([words[0], str(tmp_path / "graph.wel"), *words[1:]]) == 0
        found[" ".join(words)] = re.findall(r"weights [^;\n]*", capsys.readouterr().out)
    assert found == {
        "pagerank": ["weights int32 (used)"],
        "bfs --source 0": ["weights int32 (not used by bfs)"],
        "pagerank --weights unit": [],
    }
    assert main(["pagerank"]) == 0  # the default graph has no weights here
    assert "weight" not in capsys.readouterr().out
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.endswith("Uses edge weights.")] == ["pagerank", "sssp"]


def test_sizes_have_three_figures():
    assert [size(x) for x in (0, 1023, 1024, 102348, 1 << 20, 5 << 30, 1 << 52)] == [
        "0 B", "1023 B", "1.0 KiB", "99.9 KiB", "1.0 MiB", "5.0 GiB", "4096 TiB",
    ]  # fmt: skip
