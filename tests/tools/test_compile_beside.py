"""A process beside a large load compiles what the run then needs, and costs a command nothing where it cannot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dgraph._support import compiled_later
from dgraph.algorithms import ALGORITHMS
from dgraph.cli import solve
from dgraph.cli.parser import parse
from dgraph.tools import compile_beside

pytestmark = pytest.mark.starts_children

COMPILED = """
import sys
import dgraph.backend.cpu.round.array_rounds as array_rounds, dgraph.tools.compile_beside as beside
from dgraph._support.compile_clock import listening
from dgraph.cli import main
array_rounds.FEW = array_rounds.FEW_OF_FRONTIERS = 0
beside.LARGE = 1 << 62
names = []
with listening(names.append):
    code = main(sys.argv[1:])
print([name for name in names if "dgraph_generated" in name])
sys.exit(code)
"""
"""Runs a command whose graph counts as large without a process, and prints the program's functions it compiles."""


def task_of(*words: str) -> str | None:
    tasks = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "compiling_beside", lambda work, spec, device, words, **more: tasks.append(
            compile_beside._task(work, spec, device, words, more)
        ))  # fmt: skip
        solve._compiling(parse(words, ALGORITHMS))
    return tasks[0]


@pytest.fixture(autouse=True)
def compiles(monkeypatch):
    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(compile_beside, "share", lambda masks, mine: 2)


@pytest.mark.parametrize(
    "words",
    [
        ("bfs", "rmat:18"),
        ("bfs", "rmat:20", "--backend", "cuda"),
        ("bfs", "no-such-file.el"),
        ("bfs", "rmat:20,no=1"),
    ],
)
def test_no_process_starts(words, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    with solve._compiling(parse(words, ALGORITHMS)):
        pass


def test_a_task_differs_by_what_selects_programs_and_not_by_size_or_vertices(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_beside, "folder", lambda: tmp_path)
    words = "sssp", "rmat:20,symmetric", "--backend", "cpu", "--weights", "1..255"
    marks = [
        compile_beside._mark(task_of(*words, *more))
        for more in ((), ("--source", "70000"), ("--cutoff", "9"), ("--direction", "push"))
    ]
    marks.append(compile_beside._mark(task_of("sssp", "rmat:21,symmetric", *words[2:])))
    marks.append(compile_beside._mark(task_of("sssp", "rmat:20", *words[2:])))
    assert marks[0] == marks[1] == marks[4]
    assert len(set(marks)) == 4


def test_the_command_finds_the_rounds_that_the_process_compiled(tmp_path, monkeypatch):
    path = tmp_path / "graph.el"
    path.write_text("".join(f"{u} {(7 * u + 1) % 4000}\n" for u in range(4000)))
    monkeypatch.setattr(compile_beside, "LARGE", 1 << 10)
    words = ["pagerank", str(path), "--backend", "cpu", "-q"]
    environment = os.environ | {"DGRAPH_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    folder = str(Path(compile_beside.__file__).parents[2])
    argv = [sys.executable, "-P", "-c", compiled_later.CODE, folder, task_of(*words)]
    subprocess.run(argv, env=environment, check=True)
    assert list((tmp_path / "cache").glob("beside-*.compiled"))
    command = [sys.executable, "-c", COMPILED, *words]
    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert shown == "[]\n"


def test_the_process_ends_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_beside, "folder", lambda: tmp_path)
    monkeypatch.setattr(compiled_later, "CODE", "import time; time.sleep(600)")
    request = parse(("bfs", "rmat:20", "--backend", "cpu"), ALGORITHMS)
    started = []
    popen = subprocess.Popen

    def noted(*args, **options):
        started.append(popen(*args, **options))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", noted)

    def interrupted():
        with solve._compiling(request):
            assert started[0].poll() is None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started[0].returncode == -9


def test_a_process_that_cannot_start_is_done_without(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_beside, "folder", lambda: tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with solve._compiling(parse(("bfs", "rmat:20", "--backend", "cpu"), ALGORITHMS)):
        pass
