"""Text of a report: headline, facts, tables of ranks and rounds, and how numbers are written."""

import io
import re

import numpy as np
import pytest
from sample_report import sample

from dgraph.comm import SerialComm
from dgraph.engine.rounds import round_series
from dgraph.report import facts, rounds, show, table
from dgraph.report.tables import short_name
from dgraph.report.text_lines import durations, labelled, printable, size, sparkline
from dgraph.report.time_split import NAMES, split


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


def test_the_schedules_of_rounds_are_counted_and_say_why():
    report = sample(SerialComm()).collect()
    report["ranks"][0]["schedules"] = {"persistent": 12_345, "pull": 4}
    assert dict(facts(report))["schedule"].startswith("12,345 persistent, 4 pull: auto, by each round's direction")
    report["choices"].append({"what": "schedule", "taken": "alb", "reason": ""})
    rows = [text for label, text in facts(report) if label == "schedule"]
    assert rows == ["12,345 persistent, 4 pull: alb was asked for"]


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
    rows = dict(facts(report))
    assert rows["summary"] == "reached 3", "the source has a line of its own"
    assert rows["source"] == "7: it has the most out-edges"
    assert rows["backend"] == "cpu: asked for"
    assert ", 2 threads each; peak memory " in rows["ranks"]
    assert rows["policy"] == "cvc: a hub is larger than a share"
    assert rows["transport"] == "mpi-host"
    assert rows["graph"].endswith("; the default graph")
    assert not {"threads", "gpus"} & rows.keys()
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
        series.extend(np.array([[500 if i == 51 else 5 + i % 3, 1000 if i in (50, 90) else 10, i % 2]]), 0.001)
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
        assert [column for column, block in enumerate(spark) if block == "█"] == [50 * 60 // 100]


def test_rows_that_say_nothing_are_left_out():
    series = round_series.RoundSeries()
    for _ in range(20):
        series.extend(np.array([[7, 0, 1]]), 0.001)
    text = rounds({"rounds": series.summary()})
    assert "edges" not in text
    assert "log scale" not in text


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
    rows = facts(report)
    assert ("ranks", "4 on 2 hosts") in rows
    assert ("host", "node0 (8 cores): ranks 0 to 2; peak memory 1.0 GiB") in rows
    assert ("host", "node1 (8 cores): rank 3; peak memory 1.0 GiB") in rows
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


def test_sizes_have_three_figures():
    assert [size(x) for x in (0, 1023, 1024, 102348, 1 << 20, 5 << 30, 1 << 52)] == [
        "0 B", "1023 B", "1.0 KiB", "99.9 KiB", "1.0 MiB", "5.0 GiB", "4096 TiB",
    ]  # fmt: skip
