"""Reports read back, upgraded, compared, as a page and as a trace."""

import gzip
import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from report_schema import SCHEMA, violations
from sample_report import recorded, run_report

import dgraph
from dgraph.cli import main
from dgraph.comm import SerialComm
from dgraph.engine.rounds.record import Record
from dgraph.engine.rounds.round_series import KEPT_ROUNDS, PARTS
from dgraph.errors import DataError, OutputError
from dgraph.report import (
    facts,
    headline,
    page,
    read,
    verdict,
    write,
    write_page,
    write_trace,
)  # fmt: skip
from dgraph.report.page.page import profile

MEGABYTE = 1 << 20


def test_what_is_put_together_fits_the_schema():
    assert list(violations(run_report(), SCHEMA)) == []
    assert list(violations(recorded(run_report()), SCHEMA)) == []


# rounds on each rank


def test_a_round_gets_of_each_part_what_was_spent_in_it():
    record = Record(SerialComm(), [])
    for pack in (0.25, 0.5):
        record.add("compute", 1.0)
        record.add("pack", pack)
        record.rounds.extend(np.array([[1, 1, 0]]), 2.0)
    (rank,) = record.collect()["ranks"]
    assert rank["rounds"]["compute"] == [1.0, 1.0]
    assert rank["rounds"]["pack"] == [0.25, 0.5]
    assert rank["rounds"]["unpack"] == [0.0, 0.0]


def test_rounds_of_one_call_share_its_time_and_follow_each_other():
    record = Record(SerialComm(), [])
    record.began -= 10
    record.rounds._began -= 10
    record.add("compute", 3.0)
    record.rounds.extend(np.array([[5, 9, 0], [6, 9, 1], [7, 9, 0]]), 1.0)
    (rank,) = record.collect()["ranks"]
    assert rank["rounds"]["compute"] == [1.0, 1.0, 1.0]
    assert np.diff(rank["rounds"]["start"]) == pytest.approx([1, 1], abs=1e-3)
    assert rank["rounds"]["start"][2] == pytest.approx(9, abs=0.5)
    record.rounds._most = 2
    record.rounds.extend(np.array([[8, 9, 0], [9, 9, 1]]), 0.5)
    report = record.collect()
    assert [row["round"] for row in report["rounds"]["kept"]] == [1, 5]
    assert report["ranks"][0]["rounds"]["start"] == pytest.approx([7, 9.5], abs=0.5)


def test_of_many_ranks_fewer_rounds_are_kept():
    class Many(SerialComm):
        size = 512

    assert Record(SerialComm(), []).rounds._most == KEPT_ROUNDS
    assert Record(Many(), []).rounds._most == 256


# reading


def test_a_report_is_read_as_it_was_written(tmp_path, capsys):
    reports = [run_report(seed=seed) for seed in (1, 2)]
    write(reports[0], tmp_path / "run.json")
    assert read(tmp_path / "run.json") == reports[:1]
    (tmp_path / "lines.json").write_text("\n".join(map(json.dumps, reports)))
    assert read(tmp_path / "lines.json") == reports


def test_columns_of_numbers_stand_on_one_line_and_nothing_else_changes(tmp_path):
    report = run_report() | {"command": ["[1, 2]", "a\n[3,\n 4]"]}
    write(report, tmp_path / "run.json")
    text = (tmp_path / "run.json").read_text()
    assert json.loads(text) == report
    assert re.search(r'"compute": \[[\d.e,-]+\]', text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("not json", "bad.json:1: this is not JSON"),
        ('{"version": 2}\n{', "bad.json:2: this is not JSON"),
        ("[1]", "not a report"),
        ('{"version": 99, "dgraph": "8.1"}', r"version 99, and this dgraph reads versions 1 to 2: use .* \(8\.1\)"),
        ('{"version": "2"}', "version 2, and this dgraph reads"),
        ('{"version": 1, "ranks": []}', "the report has no 'algorithm'"),
        ('{"version": 2, "ranks": []}', "the report has no 'algorithm'"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path, text, why):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(DataError, match=why):
        read(tmp_path / "bad.json")


def first_version(report):
    """Return ``report`` as version 1 had it: the wait for the slowest rank was ``agree``."""
    old = json.loads(json.dumps(report)) | {"version": 1}
    for place in [old["imbalance"], *(rank[key] for rank in old["ranks"] for key in ("seconds", "rounds"))]:
        place["agree"] = place.pop("idle")
    for name in ("heaviest", "last"):
        del old["rounds"][name]
    return old


def test_a_report_of_version_1_is_upgraded_with_a_note(tmp_path, capsys):
    report = run_report()
    report["imbalance"] = {"idle": report["imbalance"]["idle"]}
    write(first_version(report), tmp_path / "old.json")
    notes = []
    (upgraded,) = read(tmp_path / "old.json", notes.append)
    for name in ("heaviest", "last"):
        del report["rounds"][name]
    assert upgraded == report
    assert list(violations(upgraded, SCHEMA)) == []
    (note,) = notes
    assert "old.json:1: a report of version 1 was read as version 2: its timer agree is idle" in note
    assert read(tmp_path / "old.json") == [report], "without a note"
    assert main(["report", str(tmp_path / "old.json")]) == 0
    assert "version 1 was read as version 2" in capsys.readouterr().err
    write(run_report(), tmp_path / "new.json")
    assert read(tmp_path / "new.json", notes.append)
    assert len(notes) == 1


def test_a_report_without_ranks_or_file_is_refused(tmp_path):
    write(run_report() | {"ranks": []}, tmp_path / "bad.json")
    with pytest.raises(DataError, match="no ranks"):
        read(tmp_path / "bad.json")
    with pytest.raises(OutputError, match=r"none\.json cannot be read: No such file"):
        read(tmp_path / "none.json")


# the page


@pytest.mark.parametrize(("ranks", "rounds"), [(64, 1000), (1, 1024), (300, 256)])
def test_the_page_stays_below_a_megabyte(ranks, rounds):
    assert len(page([run_report(ranks, rounds)]).encode()) < MEGABYTE
    assert len(page([recorded(run_report(ranks, rounds))]).encode()) < MEGABYTE


def test_of_many_thread_blocks_the_fullest_of_neighbours_is_drawn():
    edges = {"edges": [1, 2, 9, 4, 5], "edges_huge": [7]}
    load = {"edges": 28, "block": {"ratio": 1.5}, "by_block": edges}
    assert profile("x", load)["columns"] == {"edges": [1, 2, 9, 4, 5], "edges_huge": [7, 0, 0, 0, 0]}
    many = profile("x", load | {"by_block": {"edges": [*range(300), 1000]}})
    assert (many["group"], many["most"]) == (2, 1000)
    assert many["columns"]["edges"] == [*range(1, 300, 2), 1000]


def test_the_page_holds_the_verdict_and_the_headline():
    report = run_report()
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page([report])).group(1))
    (run,) = data["runs"]
    assert run["verdict"] == verdict(report)
    assert run["title"] == headline(report)
    assert run["facts"] == [f"{label}: {text}" for label, text in facts(report)]
    assert data["rows"][0]["imbalance"] == pytest.approx(run["imbalance"])
    phases = [sum(column[rank] for column in run["phases"].values()) for rank in range(4)]
    assert phases == pytest.approx(run["walls"], rel=1e-3)


@pytest.mark.parametrize("script", ["drawing.js", "page.js", "page.css"])
def test_parts_have_one_name_in_python_and_on_the_page(script):
    text = (files("dgraph.report.page") / script).read_text(encoding="utf-8")
    if script == "drawing.js":
        assert f"const PARTS = {json.dumps(list(PARTS))};" in text
    if script == "page.css":
        assert all(f"--{part}:" in text for part in PARTS)
    assert "agree" not in text


def test_what_draws_on_several_pages_stands_in_one_module():
    """Names that ``drawing.js`` exports are defined nowhere else, and every import names what a module exports."""
    package = Path(dgraph.__file__).parent
    report, service = package / "report/page", package / "service/page"
    texts = {
        path: path.read_text() for path in (*report.glob("*.js"), *service.glob("*.js"), *package.glob("tools/*/*.js"))
    }
    exports = {
        path: set(re.findall(r"^export (?:async )?(?:const|function) (\w+)", text, re.M))
        for path, text in texts.items()
    }
    drawing = report / "drawing.js"
    assert {"make", "bars", "PARTS", "seconds"} <= exports[drawing]
    for path, text in texts.items():
        defined = set(re.findall(r"^(?:export )?(?:async )?(?:const|let|function) (\w+)", text, re.M))
        assert path == drawing or not defined & exports[drawing]
        for names, target in re.findall(r'^import \{ (.+) \} from "(.+)";$', text, re.M):
            module = drawing if target.endswith("drawing.js") else (path.parent / target).resolve()
            assert set(names.split(", ")) <= exports[module], (path.name, target)
    assert not re.search(r"^(import|export)\b", page([run_report()]), re.M), "a page opened from a file imports nothing"


def test_the_page_asks_the_network_for_nothing():
    text = page([run_report()])
    assert "default-src 'none'" in text
    outside = [word for word in re.findall(r"\b(?:https?:)?//[\w.]+", text) if word != "http://www.w3.org"]
    assert outside == []
    assert not re.search(r"<(link|img|iframe)\b|\bsrc=|@import|url\(", text)


def test_names_cannot_leave_their_place():
    report = run_report(name="</script><script>document.title='broken'</script>{{SCRIPT}}")
    text = page([report])
    assert text.count("<script") == 2
    assert "script&gt;{{SCRIPT}}" in re.search(r"<title>(.*?)</title>", text).group(1)


def test_a_page_that_cannot_be_written_says_so(tmp_path):
    with pytest.raises(OutputError, match=r"cannot be written: there is no folder .*make it first"):
        write_page([run_report()], tmp_path / "none" / "page.html")


def test_a_trace_has_every_rank_and_its_spans_nest(tmp_path):
    report = run_report(3, 5)
    write_trace(report, tmp_path / "run.json.gz")
    events = json.loads(gzip.decompress((tmp_path / "run.json.gz").read_bytes()))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert {event["pid"] for event in spans} == {0, 1, 2}
    for rank in range(3):
        mine = sorted((e for e in spans if e["pid"] == rank), key=lambda e: (e["ts"], -e["dur"]))
        assert [e["name"] for e in mine if e["name"].startswith("round")] == [
            f"round {i + 1} {'push' if i % 3 else 'pull'}" for i in range(5)
        ]
        open_until = []
        for event in mine:
            end = event["ts"] + event["dur"]
            while open_until and open_until[-1] <= event["ts"] + 0.002:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 0.01, event
            open_until.append(end)
        compute = sum(e["dur"] for e in mine if e["name"] == "compute")
        assert compute == pytest.approx(report["ranks"][rank]["seconds"]["compute"] * 1e6, rel=1e-3)
    ends = [max(e["ts"] + e["dur"] for e in spans if e["pid"] == rank) for rank in range(3)]
    assert ends == pytest.approx([11e6] * 3), "ranks come to the end together"
    assert [e["args"]["vertices"] for e in events if e["ph"] == "C"] == [
        row["frontier_vertices"] for row in report["rounds"]["kept"]
    ]


def test_a_trace_says_the_schedule_and_how_even_blocks_were(tmp_path):
    report = recorded(run_report(2, 5))
    write_trace(report, tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert any(event["name"] == "round 3 push alb" for event in events)
    uneven = [event for event in events if event["ph"] == "C" and event["name"] == "thread blocks"]
    assert [event["pid"] for event in uneven] == [0] * 5 + [1] * 5
    columns = report["ranks"][0]["rounds"]
    assert uneven[0]["args"] == {"max/mean": round(columns["fullest_block"][0] / columns["mean_block"][0], 3)}


def test_a_trace_shows_messages_beside_the_edges_that_hide_them(tmp_path):
    report = run_report(2, 3)
    columns = report["ranks"][1]["rounds"]
    hidden = [seconds / 2 for seconds in columns["compute"]]
    columns["hidden"] = [hidden[0], 0.0, hidden[2]]
    write_trace(report, tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    beside = [event for event in events if event.get("tid") == 1 and event["ph"] == "X"]
    assert [(event["pid"], event["name"]) for event in beside] == [(1, "hidden")] * 2
    computing = [e for e in events if (e["name"], e["pid"]) == ("compute", 1)]
    for event, during in zip(beside, (computing[0], computing[2]), strict=True):
        assert event["dur"] == pytest.approx(during["dur"] / 2, abs=0.01)
        assert event["ts"] + event["dur"] == pytest.approx(during["ts"] + during["dur"], abs=0.01)


# the command


def test_the_command_writes_all_faces(tmp_path, capsys):
    for seed in (1, 2):
        write(run_report(seed, seed=seed), tmp_path / f"{seed}.json")
    one, two = (str(tmp_path / f"{seed}.json") for seed in (1, 2))
    html, trace = tmp_path / "page.html", tmp_path / "trace.json"
    assert main(["report", one, "--html", str(html), "--trace", str(trace)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bound by ")
    assert out.index("try: ") < out.index("sssp on rmat:16")
    assert html.read_text().startswith("<!doctype html>")
    assert json.loads(trace.read_text())["displayTimeUnit"] == "ms"
    assert main(["report", one, two]) == 0
    out = capsys.readouterr().out
    assert "speed-up" in out
    assert "bound by" not in out
    assert main(["report", one, two, "-q", "--html", str(html)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["report", one, two, "--trace", str(trace)]) == 2
    assert "a trace shows one run" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.json")]) == 74
    assert main(["report"]) == 2
