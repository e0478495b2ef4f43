"""Checkpoints: a run that is stopped and resumed, on any number of ranks, gives the result of an uninterrupted run."""

import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from battery import by_turns
from children import Children, run
from flat_run import flat_run

import dgraph
from dgraph.cli import main
from dgraph.comm import SerialComm, communicator, world
from dgraph.engine.checkpoint import checkpoint_file, interval, listening, manager
from dgraph.engine.checkpoint.redistribute import redistribute
from dgraph.errors import Checkpointed, DataError, OutputError, UsageError
from dgraph.graph.stored_graph import Graph

CASES = {
    "bfs": ("bfs", "rmat:9", {"source": 3}),
    "bfs far": ("bfs", "path:60", {"source": 0}),
    "sssp": ("sssp", "rmat:9", {"source": 3}),
    "sssp far": ("sssp", "grid:20x20", {"source": 0}),
    "cc": ("cc", "uniform:9,edge_factor=1", {"variant": "label-propagation"}),
    "pagerank": ("pagerank", "rmat:9", {"tol": 0, "max_iter": 12}),
    "kcore": ("kcore", "rmat:9", {}),
    "kcore by shells": ("kcore", "rmat:9", {"variant": "shells"}),
    "one core": ("kcore", "grid:12x12", {"k": 3}),
    "color": ("color", "rmat:7", {"variant": "hybrid"}),
}


@pytest.fixture
def shared(tmp_path):
    """Folder of rank 0, on all ranks."""
    return Path(world().bcast_json(str(tmp_path)))


def graph(spec, comm=None, **more):
    return Graph.load(spec, comm=comm, weights="1..20", **more)


class Stopping(manager.CheckpointManager):
    """Manager that requests a stop at its ``after``-th boundary."""

    after = 1

    def boundary(self, program, machine, requests):
        Stopping.after -= 1
        super().boundary(program, machine, requests + (manager.STOP if Stopping.after == 0 else 0))


def stopped(monkeypatch, folder, after, name, loaded, **more):
    """Return True if the run was stopped at that boundary, False if it ended before."""
    monkeypatch.setattr(import_module("dgraph.run"), "CheckpointManager", Stopping)
    Stopping.after = after
    try:
        flat_run(name, loaded, checkpoint=folder, checkpoint_every=1, resume="auto", **more)
        return False
    except Checkpointed:
        return True
    finally:
        monkeypatch.undo()


@pytest.mark.mpi
@by_turns("case, direction", CASES, ["auto", "flip"], of=2)
def test_stopped_at_every_second_round_it_ends_as_if_it_had_not_been(case, direction, shared, monkeypatch):
    name, spec, parameters = CASES[case]
    loaded = graph(spec)
    whole = flat_run(name, loaded, direction=direction, **parameters)
    folder, stops = shared / "ck", 0
    while stopped(monkeypatch, folder, 2, name, loaded, direction=direction, **parameters):
        stops += 1
        assert stops < 200
    assert stops >= 2 or case == "one core"  # one rank finishes it in one call
    again = flat_run(name, loaded, checkpoint=folder, resume="must", direction=direction, **parameters)
    if name not in ("sssp", "cc"):  # threads may see values of the same round, which saves rounds
        assert again.rounds == whole.rounds
    threads_add = name == "pagerank" and direction == "flip"  # the order of a push's additions depends on the threads
    assert again.summary == pytest.approx(whole.summary, rel=1e-6 if threads_add else 0)
    for column, values in whole.columns.items():
        np.testing.assert_allclose(again.columns[column], values, rtol=1e-12 if threads_add else 0)


@pytest.mark.mpi
def test_distances_that_are_found_twice_go_on_from_either_run(shared, monkeypatch):
    """The first run uses 32 bits, which overflow on this graph, the second 64."""
    loaded = Graph.load("path:24", weights="200000000..400000000")
    whole = dgraph.run("sssp", loaded, source=0)
    assert whole.comm.largest(int(whole.columns["distance"].max(initial=0))) > 2**32
    assert ("distances", "64 bits") in [(each["what"], each["taken"]) for each in whole.report["choices"]]
    stops = 0
    while stopped(monkeypatch, shared / "ck", 3, "sssp", loaded, source=0):
        stops += 1
        assert stops < 200
    assert stops > 8
    again = flat_run("sssp", loaded, checkpoint=shared / "ck", resume="must", source=0)
    for column, values in whole.columns.items():
        np.testing.assert_array_equal(again.columns[column], values)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("first", ["one rank", "all ranks"])
def test_it_goes_on_with_another_number_of_ranks_and_another_policy(case, first, shared, monkeypatch):
    name, spec, parameters = CASES[case]
    comm = world()
    whole = flat_run(name, graph(spec), policy="cvc", **parameters)
    folder = shared / "ck"

    def alone(go):
        if comm.rank == 0:
            go(graph(spec, SerialComm()))
        comm.barrier()

    if first == "one rank":
        alone(lambda loaded: stopped(monkeypatch, folder, 3, name, loaded, **parameters))
        again = flat_run(name, graph(spec), policy="cvc", checkpoint=folder, resume="must", **parameters)
        for column, values in whole.columns.items():
            compare(name, again.columns[column], values)
    else:
        stopped(monkeypatch, folder, 3, name, graph(spec), policy="hash", **parameters)
        everything = whole.gather(0)

        def check(loaded):
            again = flat_run(name, loaded, checkpoint=folder, resume="must", **parameters)
            for column, values in everything.items():
                compare(name, again.columns[column], values)

        alone(check)
    comm.barrier()


def compare(name, got, wanted):
    """Compare exactly, except float sums, whose last bits depend on the number of ranks."""
    np.testing.assert_allclose(got, wanted, rtol=1e-12 if name == "pagerank" else 0)


@pytest.mark.mpi
@by_turns(
    "boundary, way, case",
    [1, 4, 7],
    ["auto to push", "push to auto", "auto to auto"],
    ["kcore", "one core", "components", "components far"],
    of=3,
)
def test_hand_written_rounds_go_on_where_the_programs_own_stopped(boundary, way, case, shared, monkeypatch):
    """Check both directions, and stops of the program's own rounds inside a level."""
    first, then = way.split(" to ")
    name, spec, parameters = CASES.get(case) or ("cc", {"far": "grid:2x90"}.get(case[11:], "rmat:9"), {})
    loaded = graph(spec).undirected()
    whole = flat_run(name, loaded, **parameters)
    halted = stopped(monkeypatch, shared / "ck", boundary, name, loaded, direction=first, **parameters)
    more = {"checkpoint": shared / "ck", "resume": "must" if halted else "auto", "direction": then}
    again = flat_run(name, loaded, validate=True, **more, **parameters)
    for column, values in whole.columns.items():
        assert again.columns[column].tolist() == values.tolist()
    if halted:
        assert again.rounds > boundary


@pytest.mark.mpi(min_size=2)
def test_labels_that_were_known_travel_no_second_time(shared, monkeypatch):
    """Check the rounds on a path of consecutive blocks, where the smallest id crosses one rank per round."""
    loaded = graph("path:400")
    whole = flat_run("cc", loaded, policy="oec")
    assert stopped(monkeypatch, shared / "ck", world().size - 1, "cc", loaded, policy="oec")
    again = flat_run("cc", loaded, policy="oec", checkpoint=shared / "ck", resume="must")
    assert set(again.columns["labels"]) == {0}
    assert again.rounds <= whole.rounds + 1


@pytest.mark.mpi
def test_values_find_their_vertices_wherever_they_lie():
    comm, n = world(), 41
    draw = np.random.default_rng(5)
    before, after = draw.integers(0, comm.size, (2, n))
    gids, wanted = np.flatnonzero(before == comm.rank), draw.permutation(np.flatnonzero(after == comm.rank))
    columns = {"square": gids * gids, "odd": (gids % 2).astype(np.uint8)}
    found = redistribute(gids, columns, wanted, n, comm)
    assert found["square"].tolist() == (wanted * wanted).tolist()
    assert found["odd"].dtype == np.uint8
    with pytest.raises(DataError, match="every vertex once"):
        redistribute(gids[:-1] if comm.rank == int(before[-1]) else gids, {}, wanted, n, comm)


@pytest.mark.mpi
def test_two_sets_are_kept_and_a_broken_one_gives_way(shared, monkeypatch):
    comm, loaded, folder = world(), graph("path:60"), shared / "ck"
    assert stopped(monkeypatch, folder, 9, "bfs", loaded, source=0)
    comm.barrier()
    names = sorted(os.listdir(folder))
    assert len(names) == 2
    newest = folder / names[-1] / f"part-{comm.size - 1}"
    content = bytearray(newest.read_bytes())
    comm.barrier()
    if comm.rank == 0:
        content[len(content) // 2] ^= 4
        newest.write_bytes(content)
    comm.barrier()
    result = flat_run("bfs", loaded, source=0, checkpoint=folder, resume="must")
    assert any(str(newest) in warning for warning in result.report["warnings"])
    assert result.columns["distance"].tolist() == result.columns["vertex"].tolist()
    (taken,) = [choice for choice in result.report["choices"] if choice["what"] == "resumed"]
    assert taken["taken"].startswith("after round 8 of Levels")


@pytest.mark.mpi
def test_when_no_set_is_whole_the_run_is_refused_by_name(shared, monkeypatch):
    comm, loaded, folder = world(), graph("path:60"), shared / "ck"
    stopped(monkeypatch, folder, 9, "bfs", loaded, source=0)
    if comm.rank == 0:
        for part in folder.glob("set-*/part-0"):
            os.truncate(part, 100)
    comm.barrier()
    with pytest.raises(DataError, match=r"part-0: size or checksum differs.*start anew"):
        flat_run("bfs", loaded, source=0, checkpoint=folder, resume="auto")


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("what", "said"),
    [("source", "its parameters is"), ("graph", "its graph is"), ("algorithm", "its algorithm is bfs")],
)
def test_another_run_is_refused(what, said, shared, monkeypatch):
    folder = shared / "ck"
    stopped(monkeypatch, folder, 3, "bfs", graph("path:60"), source=0)
    name, spec, source = "bfs", "path:60", 0
    if what == "source":
        source = 1
    elif what == "graph":
        spec = "path:61"
    else:
        name = "sssp"
    with pytest.raises(UsageError, match=said):
        flat_run(name, graph(spec), source=source, checkpoint=folder, resume="auto")


@pytest.mark.mpi
def test_a_run_with_weights_does_not_go_on_without(shared, monkeypatch):
    folder, given = shared / "ck", {"tol": 0, "max_iter": 12}
    assert stopped(monkeypatch, folder, 3, "pagerank", graph("rmat:9"), **given)
    with pytest.raises(UsageError, match="its graph is"):
        flat_run("pagerank", "rmat:9", checkpoint=folder, resume="auto", **given)


@pytest.mark.mpi
def test_a_folder_in_use_is_not_taken_by_accident(shared, monkeypatch):
    folder = shared / "ck"
    with pytest.raises(UsageError, match="no checkpoint in"):
        flat_run("bfs", graph("path:60"), source=0, checkpoint=folder, resume="must")
    stopped(monkeypatch, folder, 3, "bfs", graph("path:60"), source=0)
    with pytest.raises(UsageError, match="holds a checkpoint already"):
        dgraph.run("bfs", graph("path:60"), source=0, checkpoint=folder)


@pytest.mark.mpi
@pytest.mark.parametrize("resume", [None, "auto", "must"])
def test_a_checkpoint_of_another_format_version_is_refused(resume, shared, monkeypatch):
    """Check that every rank refuses, even if another set is readable."""
    comm, loaded, folder = world(), graph("path:60"), shared / "ck"
    assert stopped(monkeypatch, folder, 9, "bfs", loaded, source=0)
    comm.barrier()
    older, newer = sorted(folder.glob("set-*/manifest.json"))
    wanted = json.loads(newer.read_text())["version"]
    comm.barrier()
    if comm.rank == 0:
        older.write_text(json.dumps(json.loads(older.read_text()) | {"version": wanted - 1}))
    comm.barrier()
    with pytest.raises(DataError) as refused:
        flat_run("bfs", loaded, source=0, checkpoint=folder, resume=resume)
    assert str(refused.value) == (
        f"{older} is a checkpoint of format version {wanted - 1}, and this dgraph reads version {wanted} alone: go on "
        "with the dgraph that wrote it, or start anew with an empty --checkpoint folder"
    )


@pytest.mark.mpi
def test_a_full_disk_costs_the_checkpoint_not_the_run(shared, monkeypatch):
    """Check that a set is removed on all ranks if one rank's disk is full, and that the run continues."""
    comm, folder = world(), shared / "ck"
    whole = dgraph.run("bfs", graph("path:60"), source=0)

    class Full(checkpoint_file._ChecksummedFile):
        def write(self, data):
            if comm.rank == comm.size - 1 and self.size:
                raise OSError(28, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(checkpoint_file, "_ChecksummedFile", Full)
    result = flat_run("bfs", graph("path:60"), source=0, checkpoint=folder, checkpoint_every=20)
    assert result.columns["distance"].tolist() == whole.columns["distance"].tolist()
    assert sum("No space left on device" in warning for warning in result.report["warnings"]) == 3
    assert list(folder.iterdir()) == []


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
        assert [signal.getsignal(each) for each in numbers] == before
    with listening(False) as deaf:
        assert [signal.getsignal(each) for each in numbers] == before
        assert not deaf.stop


def test_a_limit_leaves_the_checkpoint_from_which_a_larger_one_goes_on(tmp_path, capsys):
    words = ["bfs", "path:60", "--source", "0", "-q", "--checkpoint", str(tmp_path / "ck"), "--resume", "auto"]
    assert main([*words, "--checkpoint-every", "10", "--max-rounds", "25"]) == 3
    assert main([*words, "-o", str(tmp_path / "out.txt"), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "after round 20" in next(c["taken"] for c in report["choices"] if c["what"] == "resumed")
    assert (tmp_path / "out.txt").read_text().splitlines()[-1] == "59 59"
    assert not (tmp_path / "ck").exists(), "a run that is through needs no checkpoint"


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
    assert "checkpoint interval 'often'" in capsys.readouterr().err
    with pytest.raises(UsageError, match="resume= is about checkpoints; give checkpoint="):
        dgraph.run("bfs", "path:9", source=0, resume="auto")


def test_a_manifest_that_cannot_be_understood_is_told(tmp_path):
    place = tmp_path / "set-000001"
    place.mkdir()
    (place / "manifest.json").write_text("{")
    with pytest.raises(DataError, match="is not a manifest"):
        checkpoint_file.manifests(tmp_path, SerialComm())
    with pytest.raises(OutputError, match="part-0 cannot be read"):
        checkpoint_file.read(place, {"parts": [{}], "arrays": []}, communicator(SerialComm()))


LONG = ["pagerank", "rmat:12", "--tol", "0", "--max-iter", "100000000"]


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
