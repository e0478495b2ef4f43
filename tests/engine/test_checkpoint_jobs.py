"""Checkpoints of whole jobs: intervals, signals, the command line, and ranks that are killed."""

import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from children import Children, run
from flat_run import flat_run
from stopped_runs import Stopping, graph

import dgraph
from dgraph.cli import main
from dgraph.engine.checkpoint import interval, listening
from dgraph.errors import UsageError

LONG = ["pagerank", "rmat:12", "--weights", "1..9", "--tol", "0.0", "--max-iter", "100000000"]


def test_intervals():
    assert [interval(text) for text in (None, "7", 7, "300s", "1.5m", "2h")] == [
        (None, None), (7, None), (7, None), (None, 300.0), (None, 90.0), (None, 7200.0),
    ]  # fmt: skip
    for text in ("0", "0s", "1.5", "s", "-3", "5d"):
        with pytest.raises(UsageError, match="checkpoint interval"):
            interval(text)


def test_an_interval_in_seconds_is_met(tmp_path):
    result = flat_run("bfs", graph("path:60"), source=0, checkpoint=tmp_path / "ck", checkpoint_every="0.000001s")
    assert result.report["ranks"][0]["counts"]["checkpoints"] >= 2


def test_a_signal_is_heard_and_the_handler_put_back():
    numbers = (signal.SIGUSR1, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    for number in numbers:
        with listening() as asked, listening() as inner:
            assert inner is asked
            signal.raise_signal(number)
            assert asked.stop
            assert (signal.getsignal(signal.SIGTERM) == signal.SIG_DFL) == (number == signal.SIGTERM), "one is enough"
        assert [signal.getsignal(number) for number in numbers] == before
    with listening(False) as deaf:
        assert [signal.getsignal(number) for number in numbers] == before
        assert not deaf.stop


def test_a_limit_leaves_the_checkpoint_from_which_a_larger_one_goes_on(tmp_path, capsys):
    words = ["bfs", "path:60", "--source", "0", "-q", "--checkpoint", str(tmp_path / "ck"), "--resume", "auto"]
    assert main([*words, "--checkpoint-every", "10", "--max-rounds", "25"]) == 3
    assert main([*words, "-o", str(tmp_path / "out.txt"), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "after round 20" in next(c["taken"] for c in report["choices"] if c["what"] == "resumed")
    assert (tmp_path / "out.txt").read_text().splitlines()[-1] == "59 59"
    assert not (tmp_path / "ck").exists(), "a run that is through needs no checkpoint"


@pytest.mark.filterwarnings("ignore::dgraph.ConvergenceWarning")
@pytest.mark.parametrize("every", [None, 2])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("pagerank", {"tol": 1e-12}),
        ("pagerank", {"tol": 0}),
        ("katz", {"alpha": 0.01}),
        ("eigenvector", {}),
        ("cdlp", {}),
    ],
)
def test_a_run_that_max_iter_ended_goes_on_with_a_larger_one(tmp_path, name, parameters, every):
    """The answer is that of a run without a stop; the same limit repeats it; one below the rounds done is refused."""
    ends = np.random.default_rng(3).integers(0, 200, (2, 900))
    drawn, folder = dgraph.Graph.from_edges(*ends, n=200), tmp_path / "ck"

    def column(limit, **checkpoint):
        saved = {"checkpoint": dgraph.Checkpoint(folder, **checkpoint)} if checkpoint else {}
        result = dgraph.run(name, drawn, max_iter=limit, **parameters, **saved)
        return next(values for key, values in result.columns.items() if key != "vertex"), result

    column(4, every=every, resume="auto")
    for limit in (5, 9, 9):
        values, result = column(limit, every=every, resume="must")
        assert "resumed" in [choice["what"] for choice in result.report["choices"]]
        np.testing.assert_array_equal(values, column(limit)[0])
    with pytest.raises(UsageError, match=r"is a checkpoint after \d+ rounds, and max_iter=2 allows no more"):
        column(2, resume="must")


def test_several_sources_have_a_folder_each(tmp_path, monkeypatch):
    words = ["bfs", "path:60", "--source", "0,5", "-q", "--checkpoint", str(tmp_path / "ck"), "--resume", "auto"]
    monkeypatch.setattr(import_module("dgraph.run"), "CheckpointManager", Stopping)
    Stopping.after = 65
    assert main([*words, "--checkpoint-every", "1"]) == 75
    assert sorted(os.listdir(tmp_path / "ck")) == ["source-0", "source-5"]
    monkeypatch.undo()
    assert main([*words, "-o", str(tmp_path / "out.txt")]) == 0
    assert (tmp_path / "out.0.txt").read_text().splitlines()[-1] == "59 59"
    assert (tmp_path / "out.5.txt").read_text().splitlines()[-1] == "59 54"
    assert not (tmp_path / "ck").exists()


def test_the_command_line_refuses_what_means_nothing(capsys):
    assert main(["bfs", "path:9", "--resume", "auto"]) == 2
    assert "need --checkpoint DIR" in capsys.readouterr().err
    assert main(["bfs", "path:9", "--checkpoint", "x", "--checkpoint-every", "often"]) == 2
    assert "checkpoint interval every = 'often'" in capsys.readouterr().err
    with pytest.raises(UsageError, match="resume= is about checkpoints; give checkpoint="):
        dgraph.run("bfs", "path:9", source=0, resume="auto")


@pytest.mark.starts_children
@pytest.mark.parametrize(("ranks", "number"), [(None, signal.SIGTERM), (3, signal.SIGUSR1), (3, signal.SIGTERM)])
def test_a_signal_ends_all_ranks_with_75_after_a_whole_checkpoint(ranks, number, tmp_path):
    folder = tmp_path / "ck"
    argv = [sys.executable, "-m", "dgraph", *LONG, "--checkpoint", folder, "--checkpoint-every", "5", "-q"]
    job = Children(argv, tmp_path / "job", ranks)
    deadline = time.monotonic() + 100
    while not list(folder.glob("set-*/manifest.json")):
        assert time.monotonic() < deadline, job.wait(1).story()
        time.sleep(0.05)
    os.kill(job.python_of(ranks - 1) if ranks else next(p for p in job.alive() if _python(p)), number)
    job.wait(60)
    assert job.code == 75, job.story()
    assert set(job.codes()) == {75}
    assert "stopped with a checkpoint after round" in job.text
    assert "error" not in job.text
    newest = sorted(folder.glob("set-*/manifest.json"))[-1]
    assert json.loads(newest.read_text())["ranks"] == (ranks or 1)


def _python(pid):
    return "python" in Path(f"/proc/{pid}/exe").resolve().name


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_a_rank_that_is_killed_while_it_writes_leaves_the_set_before(tmp_path):
    """The result after two kills, on two and then three ranks, equals that of an uninterrupted run."""
    words = ["sssp", "grid:60x60", "--weights", "1..9", "--source", "0", "-q"]
    argv = [sys.executable, "-m", "dgraph", *words]
    whole = run([*argv, "-o", tmp_path / "whole.txt"], tmp_path / "whole", timeout=110)
    assert whole.code == 0, whole.story()
    dying = tmp_path / "dying.py"
    dying.write_text(
        "import os, sys\nfrom dgraph.engine.checkpoint import checkpoint_file as store\nfrom dgraph.cli import main\n"
        "plain, calls = store._write_part, []\n"
        "def write(path, arrays):\n"
        "    calls.append(path)\n"
        "    if len(calls) == 4 and path.name == 'part-1':\n"
        "        path.with_suffix('.part').write_bytes(b'half')\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return plain(path, arrays)\n"
        "store._write_part = write\nsys.exit(main())\n"
    )
    more = [*words, "--checkpoint", tmp_path / "ck", "--checkpoint-every", "20", "--resume", "auto"]
    more += ["-o", tmp_path / "out.txt"]
    for ranks in (2, 3):
        killed = run([sys.executable, dying, *more], tmp_path / f"killed {ranks}", timeout=110, ranks=ranks)
        assert killed.code not in (0, None), killed.story()
        assert list((tmp_path / "ck").glob("set-*/manifest.json")), killed.story()
    done = run([sys.executable, "-m", "dgraph", *more], tmp_path / "done", timeout=110, ranks=3)
    assert done.code == 0, done.story()
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert not (tmp_path / "ck").exists()
