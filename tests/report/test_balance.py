"""Comparison of schedules: candidates, table, page, and the command on an emulated GPU."""

import json
import sys
import xml.etree.ElementTree as ET
from collections import Counter

import numpy as np
import pytest
from emulated import THREADS, backend, needs_compiler
from test_browser import browser  # noqa: F401

from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.cli import main
from dgraph.engine.rounds.load_record import spread
from dgraph.errors import UsageError
from dgraph.tools import balance
from dgraph.tools.balance.balance_page import page
from dgraph.tools.balance.balance_table import ranks
from dgraph.tools.balance.candidates import Candidate, candidates
from dgraph.tools.balance.measure import Cell, Cut, RoundLimit, _compare, _spent

pytestmark = pytest.mark.mpi_skip

ABOUT = {"title": "bfs on a graph", "command": "balance", "created": "now", "facts": ["a fact"]}


def labels(*args):
    return [candidate.label for candidate in candidates(*args)]


def test_ways_are_schedules_times_values_of_their_options():
    assert labels("all", 9)[2:] == [*SCHEDULES]
    several = "alb,threshold=4,alb,threshold=auto,twc,twc"
    assert labels(several, 9) == ["alb threshold=4", "alb threshold=auto", "twc"]
    assert len(labels("alb,threshold=sweep,distribution=blocked", 1)) == 3
    assert labels("lb,distribution=blocked", 9) == ["lb distribution=blocked"]


@pytest.mark.parametrize(("largest", "last"), [(1, 2), (5, 8), (8, 16)])
def test_a_sweep_ends_beyond_the_largest_degree(largest, last):
    values = [candidate.options["alb_threshold"] for candidate in candidates("alb,threshold=sweep", largest)]
    assert values[:2] == [0, 1]
    assert values == [0, *(1 << k for k in range(len(values) - 1))]
    assert values[-1] == last
    assert [candidate.options["warp_size"] for candidate in candidates("virtual_warp,warp_size=sweep", 9)] == [
        2,
        4,
        8,
        16,
        32,
    ]


@pytest.mark.parametrize(
    ("schedules", "why"),
    [
        ("abl", "unknown schedule 'abl': did you mean 'alb'"),
        ("alb,twc,threshold=4", "unknown option of the schedule twc 'threshold'"),
        ("threshold=4,alb", "threshold=4 has no schedule before it; write NAME,threshold=4"),
        ("alb,threshold=4,threshold=5", "alb has threshold twice"),
        ("alb,threshold=many", "threshold=many' is none of"),
        ("alb,distribution=sweep", "not a number; name the values"),
    ],
)
def test_what_cannot_be_compared(schedules, why):
    with pytest.raises(UsageError, match=why):
        candidates(schedules, 9)


def test_lines_are_those_of_the_template_without_comments():
    vertex, alb = Candidate("vertex").lines, Candidate("alb").lines
    assert 8 < vertex < 40
    assert alb > Candidate("twc").lines + Candidate("lb").lines
    assert Candidate("auto").lines is None
    assert Candidate("persistent").lines > 100


def make_cell(name, seconds, memory=100, blocks=(10, 10), **facts):
    edges = np.array(blocks, np.int64).repeat(32).reshape(len(blocks), 32)
    whole = {**spread(edges), "by_block": {"edges": edges.sum(axis=1).tolist()}}
    load = {**whole, "blocks": len(blocks), "threads": 32, "rounds": [{"round": 1, "schedule": name, **whole}]}
    series = [(1, name, int(edges.sum()), int(edges.sum(axis=1).max()), float(edges.sum() / len(blocks)))]
    return Cell(
        Candidate(name),
        seconds,
        (seconds, seconds),
        seconds / 2,
        seconds / 4,
        7,
        memory,
        load=load,
        series=series,
        **facts,
    )


def test_places_by_time_memory_and_lines():
    cells = [
        make_cell("twc", 0.5, 90),
        make_cell("vertex", 0.1, 90),
        make_cell("auto", 0.3, 200),
        Cell(Candidate("lb"), note="cut"),
    ]
    assert ranks(cells) == [(3, 1, 2), (1, 1, 1), (2, 2, None), (None, None, None)]


def test_the_table_says_what_is_missing_or_wrong():
    cells = [
        make_cell("twc", 0.5, blocks=(30, 10)),
        Cell(Candidate("lb"), note="cut after 5.1 s"),
        make_cell("alb", 0.25, right=False),
    ]
    lines = balance.table(cells).splitlines()
    twc = dict(zip(lines[0].split(), lines[2].replace(" B ", "B ").split(), strict=False))
    assert (twc["ms"], twc["kernel"], twc["others"], twc["host"]) == ("500.000", "250.000", "125.000", "125.000")
    assert twc["block"] == "1.50"
    assert "lb: cut after 5.1 s" in lines
    assert "alb: WRONG, not the answer of twc" in lines


def test_answers_are_compared():
    """Sums may differ in their last digits, everything else not at all."""
    cells = [Cell(Candidate(name)) for name in ("twc", "alb", "lb", "vertex", "edge")]
    for cell, rank, label in zip(cells, (1.0, 1.0 + 1e-9, 1.1, None, 1.0), (3, 3, 3, 3, 4), strict=True):
        cell.answer = None if rank is None else {"pagerank": np.array([rank]), "labels": np.array([label])}
    _compare(cells)
    assert [cell.right for cell in cells] == [True, True, False, True, False]


def test_a_run_that_takes_too_long_is_cut():
    watch = RoundLimit(0.0)
    watch.round(1, 1)  # the first round may include compilation
    with pytest.raises(Cut):
        watch.round(2, 1)
    watch.phase("solve")
    watch.round(1, 1)


def test_detail_has_a_histogram_that_counts_every_block():
    text = balance.detail(make_cell("twc", 0.5, blocks=(30, 10, 0)))
    rows = [line.split() for line in text[text.index("edges of a block") :].splitlines()[2:]]
    counted = [int(row[-2]) for row in rows[: rows.index([])] if row[-1].startswith("#")]
    assert sum(counted) == 3
    assert "fullest/mean" in text


@needs_compiler
def test_the_command(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("dgraph.cli.balance.gpu", backend)
    words = ["balance", "star:150", "--schedule", "twc,alb,threshold=20", "--source", "0", "--repeat", "1"]
    assert main([*words, "-q", "--json", str(tmp_path / "told.json"), "--html", str(tmp_path / "told.html")]) == 0
    out = capsys.readouterr().out
    assert "bfs on star:150" in out
    told = json.loads((tmp_path / "told.json").read_text())
    twc, alb = told["rows"]
    assert alb["label"] == "alb threshold=20"
    assert twc["load"]["edges"] == alb["load"]["edges"] > 0
    # 150 edges of one vertex: twc gives them to one block of two, alb to both
    first, spread_out = (row["load"]["rounds"][0] for row in (twc, alb))
    assert (first["block"]["ratio"], first["thread"]["max"]) == (2.0, -(-150 // THREADS))
    assert spread_out["block"]["ratio"] < 1.2
    assert set(spread_out["by_block"]) == {"edges_huge"}
    assert twc["kernel"] > 0
    assert twc["right"]
    assert alb["right"]
    assert (tmp_path / "told.html").read_text().startswith("<!doctype html>")


@needs_compiler
def test_rates_are_those_of_all_sources(monkeypatch, capsys, tmp_path):
    """Count the arcs of a search from a short path, and of one from a longer path, in plain Python."""
    monkeypatch.setattr("dgraph.cli.balance.gpu", backend)
    monkeypatch.setattr(sys.modules[Cell.__module__], "_spent", timed(0.5))
    (tmp_path / "paths.txt").write_text("10 11\n2 3\n3 4\n4 5\n")
    words = ["balance", str(tmp_path / "paths.txt"), "--undirected", "--schedule", "lb", "--repeat", "2", "-q"]

    def measured(*more):
        assert main([*words, *more, "--json", str(tmp_path / "rates.json")]) == 0
        (row,) = json.loads((tmp_path / "rates.json").read_text())["rows"]
        return row["seconds"], row["rate"]

    assert measured("--sources", "6") == (0.5, pytest.approx((2 * 2 + 4 * 6) / 6 / 0.5))
    assert "; mean of 6 sources" in capsys.readouterr()[0]
    assert measured("--source", "10") == (0.5, 2 / 0.5)
    assert measured("--sources", "6", "--ids", "string") == (0.5, pytest.approx((2 * 2 + 4 * 6) / 6 / 0.5))


def timed(seconds):
    """Return ``_spent`` with one time for every run."""
    return lambda result: (seconds, _spent(result)[1])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--sources", "2", "--source", "0"], "--sources draws vertices"),
        (["--sources", "9"], "the graph has 4 vertices with edges; give 1 to that"),
        (["--sources", "2", "--algorithm", "cc"], "cc starts from no vertex"),
    ],
)
@needs_compiler
def test_sources_that_cannot_be(monkeypatch, capsys, words, why):
    monkeypatch.setattr("dgraph.cli.balance.gpu", backend)
    assert main(["balance", "path:4", "--schedule", "lb", "-q", *words]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.parametrize("name", ["pagerank", "cc"])
def test_other_algorithms(monkeypatch, capsys, name):
    monkeypatch.setattr("dgraph.cli.balance.gpu", backend)
    words = ["--algorithm", name, "--schedule", "vertex", "--repeat", "1", "-q", "--max-rounds", "3"]
    assert main(["balance", "grid:5x4", *words]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert Counter(row[0] for row in rows if row)["vertex"] >= 1


@needs_compiler
def test_a_variant_is_compared(monkeypatch, capsys):
    """Check that schedules of one variant are compared, and that one which no round uses is named."""
    monkeypatch.setattr("dgraph.cli.balance.gpu", backend)
    words = ["balance", "rmat:6,symmetric", "--algorithm", "color", "--repeat", "1", "-q"]
    steal = ["--schedule", "steal,queues=2,task=8,tasks=all,stealing=off"]
    assert main([*words, *steal, "--variant", "jones-plassmann,scan=each"]) == 0
    printed = capsys.readouterr().out
    assert "color jones-plassmann each on rmat:6" in printed
    assert "in the first round 8 tasks, 0 stolen; of a queue: most 4, least 4, mean 4.00, deviation 0.00" in printed
    assert "no round used" not in printed
    assert main([*words, *steal]) == 0
    assert "no round used the schedule steal: they used pull" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("algorithm", "variant", "told"),
    [
        ("mst", "greedy", "mst has no variants"),
        ("color", "gredy", "did you mean 'greedy'"),
        ("color", "hybrid,scam=each", "unknown parameter of color 'scam'"),
        ("color", "hybrid,switch_round=many", "switch_round = 'many' is not valid for color"),
    ],
)
def test_variants_that_cannot_be(capsys, algorithm, variant, told):
    assert main(["balance", "path:5", "--algorithm", algorithm, "--variant", variant]) == 2
    assert told in capsys.readouterr().err


def test_without_a_gpu_it_says_what_is_needed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert main(["balance", "path:5"]) == 2
    assert "the GPU backend needs CuPy" in capsys.readouterr().err
    assert main(["balance", "path:5", "--schedule", "abl"]) == 2
    assert "did you mean 'alb'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_pictures(kind, tmp_path):
    pytest.importorskip("matplotlib")
    from dgraph.tools.balance.plot import write_picture

    cells = [make_cell("twc", 0.5, blocks=(30, 10)), make_cell("alb", 0.25), Cell(Candidate("lb"), note="cut")]
    file = tmp_path / f"told.{kind}"
    write_picture(cells, ABOUT, file, kind)
    data = file.read_bytes()
    if kind == "png":
        assert data.startswith(b"\x89PNG")
    else:
        assert ET.fromstring(data).tag.endswith("svg")


def test_pictures_without_matplotlib(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["balance", "path:5", "--svg", str(tmp_path / "a.svg")]) == 2
    assert "pip install 'dgraph-analytics[plots]'" in capsys.readouterr().err


@pytest.mark.starts_children
def test_a_browser_draws_the_page(browser, tmp_path):  # noqa: F811
    cells = [
        make_cell("twc", 0.5, 90, blocks=(30, 10)),
        make_cell("vertex", 0.25),
        Cell(Candidate("lb"), note="cut after 5 s"),
    ]
    (tmp_path / "told.html").write_text(page(cells, ABOUT), encoding="utf-8")
    document, _ = browser(tmp_path / "told.html")
    assert 'data-drawn="yes"' in document
    assert "Load by thread block: twc" in document
    assert "lb: cut after 5 s" in document
