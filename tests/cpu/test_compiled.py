"""Compilation: once for processes that start together, and programs of one algorithm in parallel."""

import errno
import fcntl
import json
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from children import environment
from numba.core.registry import cpu_target

from dgraph._support import compile_clock, compiled, host_lock, threads
from dgraph.algorithms.bfs_programs import Levels, Parents
from dgraph.backend.compile_ahead import compile_alongside
from dgraph.engine.rounds.context import Context
from dgraph.program import trace
from dgraph.report import Progress, Record, verdict

KERNEL = """
from dgraph._support.compiled import njit

@njit(cache=True)
def total(x):
    all = 0
    for i in range(len(x)):
        all += x[i] * i
    return all
"""
CALL = """
import sys, time, numpy
from pathlib import Path
import kernel
place, other = map(Path, sys.argv[1:])
place.touch()
while not other.exists():
    time.sleep(0.001)
assert kernel.total(numpy.arange(4)) == 14
print(sum(kernel.total.stats.cache_misses.values()))
"""


@pytest.fixture
def kernel(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "call.py").write_text(CALL)
    code = tmp_path / "code"
    code.mkdir(mode=0o700)
    extra = {"DGRAPH_CACHE_DIR": str(code), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def begin(mine, other, **more):
        argv = [sys.executable, "call.py", mine, other]
        return subprocess.Popen(argv, cwd=tmp_path, env=environment(extra | more), stdout=subprocess.PIPE, text=True)

    return SimpleNamespace(begin=begin, place=tmp_path)


@pytest.mark.starts_children
def test_of_processes_that_start_together_one_compiles(kernel):
    two = [kernel.begin("a", "b"), kernel.begin("b", "a")]
    said = [one.communicate(timeout=100)[0] for one in two]
    assert sorted(said) == ["0\n", "1\n"]


@pytest.fixture
def lock_holder(tmp_path, monkeypatch):
    """Process that holds the lock "slow"."""
    code = "import time; from dgraph._support.host_lock import lock; print(lock('slow'), flush=True); time.sleep(99)"
    extra = environment({"DGRAPH_CACHE_DIR": str(tmp_path)})
    tmp_path.chmod(0o700)
    holder = subprocess.Popen([sys.executable, "-c", code], env=extra, stdout=subprocess.PIPE, text=True)
    holder.stdout.readline()
    monkeypatch.setattr(host_lock, "folder", lambda: tmp_path)
    host_lock._file.cache_clear()
    yield holder
    holder.kill()
    holder.wait()
    holder.stdout.close()
    host_lock._file.cache_clear()


@pytest.mark.starts_children
def test_who_dies_while_compiling_keeps_nobody_waiting(lock_holder):
    began = time.monotonic()
    assert host_lock.lock("another")
    lock_holder.kill()
    lock_holder.wait()
    assert host_lock.lock("slow")
    assert time.monotonic() - began < 20


@pytest.mark.starts_children
def test_who_hangs_while_compiling_is_not_waited_for_forever(lock_holder):
    assert not host_lock.lock("slow", patience=0.2)


@pytest.mark.starts_children
def test_one_wait_in_vain_is_enough(lock_holder, monkeypatch):
    monkeypatch.setattr(host_lock, "PATIENCE", 3.0)
    monkeypatch.setattr(host_lock, "IMPATIENCE", 0.2)
    monkeypatch.setattr(host_lock, "_in_vain", [])
    began = time.monotonic()
    assert not any(host_lock.lock("slow") for _ in range(6))
    assert 3 <= time.monotonic() - began < 12
    assert host_lock.lock("another")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_no_obstacle(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    kept = SimpleNamespace(
        _load_overload=lambda *_: None, save_overload=lambda *_: None, _guard_against_spurious_io_errors=nullcontext
    )
    once = compiled._OneCompiles(kept, compiled.njit)
    assert once.load_overload("(int64,)", cpu_target.target_context) is None
    once.save_overload("(int64,)", "code")


def test_a_full_disk_is_no_obstacle_to_compiled_code():
    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    once = compiled._OneCompiles(SimpleNamespace(save_overload=full), compiled.njit)
    once.save_overload("(int64,)", "code")


ONE_BY_ONE = [(0, [["Levels"], []]), (1, [["Parents"], ["Levels"]]), (2, [[], ["Levels"]])]
SIDE_BY_SIDE = [(place, [["Levels", "Parents"], []]) for place in range(3)]


@pytest.mark.parametrize(
    ("parallel", "place", "turns"),
    [*((False, *row) for row in ONE_BY_ONE), *((True, *row) for row in SIDE_BY_SIDE)],
)
def test_programs_are_compiled_beside_the_one_before(parallel, place, turns):
    """Check the order of compilation: one rank of a node compiles the next program, another rank the one after.

    With ``compiles_in_parallel`` all ranks share both out.
    """
    events = []

    def machine(traced, local, direction):
        name = type(traced.program).__name__
        return SimpleNamespace(
            traced=traced, compiled=False, compile=lambda: events.append(name), exchanges_on_host=True,
            large_compiled=True, use_large=lambda everywhere: True, remark="",
        )  # fmt: skip

    def ahead(*program):
        return machine(*program).compile

    def agree(error, *flags):
        return flags

    comm = SimpleNamespace(size=3, rank=place, barrier=lambda: events.append("turn"), agree=agree)
    local = SimpleNamespace(out=SimpleNamespace(weight_type=None))

    def prepare(*_):
        events.append("")

    backend = SimpleNamespace(prepare=prepare, machine=machine, ahead=ahead, compiles_in_parallel=parallel)
    context = Context(local, comm, backend, Record(comm, ["test"]), Progress(), place=place)
    context.ahead(Parents())
    program = Levels(source=0, limit=9)
    context._machine(program, trace(program, None))
    assert [sorted(turn.split()) for turn in " ".join(events).split("turn")[:2]] == turns


def test_a_program_ahead_that_does_not_compile_ends_the_run():
    def broken():
        raise ValueError("no such intrinsic")

    done = []
    with (
        pytest.raises(ValueError, match="no such intrinsic"),
        compile_alongside([broken, lambda: done.append("other")]),
    ):
        done.append("own")
    assert sorted(done) == ["other", "own"]


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_a_first_run_says_what_compiles_and_a_second_has_nothing_to_say(tmp_path):
    (tmp_path / "code").mkdir(mode=0o700)
    (tmp_path / "graph.wel").write_text("0 1 2\n1 2 3\n")
    extra = {"DGRAPH_CACHE_DIR": str(tmp_path / "code"), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    argv = [sys.executable, "-m", "dgraph", "sssp", "graph.wel", "--source", "0", "--report", "report.json"]
    errors, reports = [], []
    for _ in range(2):
        run = subprocess.run(argv, cwd=tmp_path, env=environment(extra), capture_output=True, text=True, check=True)
        errors.append(run.stderr.count("once on this machine"))
        reports.append(json.loads((tmp_path / "report.json").read_text()))
    assert errors == [1, 0]
    first, second = (report["ranks"][0]["seconds"] for report in reports)
    assert first["compile"] > first["load"] > 0.0
    assert second["compile"] < first["compile"] / 2
    assert "compile took" in verdict(reports[0])[0]


@pytest.mark.parametrize("name", ["kernel", ""])
def test_a_wait_for_another_thread_counts_if_that_thread_compiled(name):
    turn, taken = threading.RLock(), threading.Event()

    def hold():
        with compile_clock.in_turn(turn), compile_clock.compiling(name):
            taken.set()
            time.sleep(0.05)

    thread, before = threading.Thread(target=hold), compile_clock.spent()
    thread.start()
    taken.wait()
    with compile_clock.in_turn(turn), compile_clock.in_turn(turn):
        waited = compile_clock.spent() - before
    thread.join()
    assert (waited > 0.02) == bool(name)


@pytest.mark.parametrize("name", ["kernel", ""])
def test_a_wait_for_threads_that_compile_is_compile_time(name):
    def work(number):
        with compile_clock.compiling(name):
            time.sleep(0.03)
        return number

    before = compile_clock.spent()
    assert list(threads.in_order(work, range(3), 2)) == [0, 1, 2]
    assert (compile_clock.spent() - before > 0.02) == bool(name)
