"""Result files of benchmarks keep the newest row of each measurement, with its circumstances."""

import json

import pytest

from benchmarks import record

pytestmark = pytest.mark.mpi_skip


def run(command, *rows, **more):
    where = {
        "command": command, "commit": "abc", "when": "2026-01-01T00:00:00+00:00", "processor": "P", "cores": 2,
        "load_before": 0.0, "versions": {"numpy": "2"},
    }  # fmt: skip
    rows = [dict(zip(("graph", "work", "ms"), row, strict=True)) for row in rows]
    return {"circumstances": where, "rows": rows} | more


def table(rows):
    return "\n".join(f"| {row['graph']} | {row['work']} | {row['ms']} |" for row in rows) + "\n"


@pytest.fixture
def kept(tmp_path):
    """Function that writes lists of runs, one after the other, and returns the contents of both files."""

    def hold(*files):
        for runs in files:
            record.add(tmp_path, "figures", runs, ("graph", "work"), "Milliseconds.", table)
        return json.loads((tmp_path / "figures.json").read_text())["runs"], (tmp_path / "figures.md").read_text()

    return hold


def test_a_newer_row_takes_the_place_of_an_older_one(kept):
    old = run("old", ("road", "bfs", 9), ("road", "sssp", 8))
    runs, text = kept([old], [run("new", ("road", "bfs", 5))])
    assert [(run["circumstances"]["command"], table(run["rows"])) for run in runs] == [
        ("new", "| road | bfs | 5 |\n"),
        ("old", "| road | sssp | 8 |\n"),
    ]
    assert "| road | bfs | 9 |" not in text
    assert text.startswith("Milliseconds.\n\n`new` at abc, 2026-01-01: P, 2 cores, load 0.0 before; numpy 2\n\n| road")


def test_a_run_whose_rows_are_all_measured_again_goes(kept):
    runs, text = kept([run("old", ("road", "bfs", 9))], [run("new", ("road", "bfs", 5), ("road", "cc", 1))])
    assert [run["circumstances"]["command"] for run in runs] == ["new"]
    assert "old" not in text


def test_a_run_that_is_written_as_it_goes_is_there_once(kept):
    runs, _ = kept([run("one", ("road", "bfs", 9))], [run("one", ("road", "bfs", 9), ("road", "cc", 1))])
    assert [len(run["rows"]) for run in runs] == [2]


def test_of_two_runs_the_first_is_the_newest_and_a_note_stays_with_its_run(kept):
    older = run("older", ("road", "bfs", 9), ("road", "cc", 1), note="A slow machine.")
    runs, text = kept([run("newer", ("road", "bfs", 5)), older])
    assert [table(run["rows"]) for run in runs] == ["| road | bfs | 5 |\n", "| road | cc | 1 |\n"]
    assert "A slow machine.\n\n`older`" in text
