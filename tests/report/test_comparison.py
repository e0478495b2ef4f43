"""Reports beside each other: speed-ups, groups of one problem, and what differs."""

import pytest
from sample_report import run_report, timed

from dgraph.engine.rounds.round_series import PARTS
from dgraph.report import compare, comparison, facts


def test_speedup_is_against_the_fewest_ranks_on_the_same_problem():
    runs = [timed(4, 2.0, 1.0), timed(1, 6.0, 6.0), timed(2, 3.0, 2.0), timed(2, 9.0, 1.0, fingerprint="another")]
    rows = compare(runs)
    assert [row.speedup for row in rows] == [3, 1, 2, 1]
    assert [row.efficiency for row in rows] == [0.75, 1, 1, 1]
    assert [row.group for row in rows] == [0, 0, 0, 1]
    assert [row.imbalance for row in rows] == pytest.approx([4 / 3, 1, 4 / 3, 4 / 3])
    text = comparison(runs)
    assert "compare within a letter" in text
    cells = [line.split() for line in text.splitlines()]
    (first,) = (row for row in cells if row[:4] == ["1a", "4", "2.0000", "1.0000"])
    communication = dict(facts(runs[0]))["in rounds"].split(", communication ")[1].split()
    assert communication[1] == "s"
    assert 0 < float(first[4]) == pytest.approx(float(communication[0]), abs=5e-3), "not what starts programs: 1.0"
    assert first[5] == "1.33"
    assert next(row for row in cells if row[:1] == ["1a"])[-2:] == ["3.00", "75%"]
    assert "letter" not in comparison(runs[:3])


def test_the_compilation_of_a_load_takes_no_time_off_the_answer():
    run = timed(1, 2.0, 1.5)
    spent = run["ranks"][0]["seconds"]
    spent["compile"] = 5.0
    (row,) = compare([run])
    assert row.seconds == pytest.approx(sum(spent[name] for name in ("init", *PARTS)))
    assert row.seconds >= row.compute > 0


def test_a_comparison_names_what_differs():
    runs = [timed(2, 3.0, 2.0), timed(2, 4.0, 2.0)]
    for run, policy in zip(runs, ("oec", "cvc"), strict=True):
        run["choices"] = [{"what": "policy", "taken": policy, "reason": ""}]
    text = comparison(runs)
    assert "speed-up" not in text, "both have one number of ranks"
    lines = [line.split() for line in text.splitlines()]
    assert ["differs", "run", "1", "run", "2"] in lines
    assert lines[-1] == ["policy", "oec", "cvc"]


def test_time_in_rounds_has_two_terms():
    spent = dict(facts(timed(2, 3.0, 2.0)))["in rounds"]
    assert spent.startswith("computation 2")
    assert "communication" in spent


def test_other_parameters_are_another_problem():
    runs = [run_report(), run_report()]
    runs[1]["algorithm"] = runs[1]["algorithm"] | {"parameters": {"source": 4}}
    assert [row.group for row in compare(runs)] == [0, 1]
