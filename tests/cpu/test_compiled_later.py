"""Compilation after a first answer: a later call runs machine code, and a process that fails changes nothing."""

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from children import environment

import dgraph
from dgraph._support import compiled_later, first_runs
from dgraph._support.compiled_later import Call, Later
from dgraph.algorithms import ALGORITHMS
from dgraph.comm import SerialComm

CODE = """
import json, dgraph
from dgraph._support import compiled_later
from dgraph._support.compiled_later import LATER
compiled_later.PAYS, compiled_later.share = 0.0, lambda masks, mine: 2
graph = dgraph.Graph.load("rmat:6,symmetric", weights="1..9")
calls = []
for _ in range(2):
    result = dgraph.run("mst", graph)
    calls.append([result.report["outcome"], any(choice["what"] == "kernels" for choice in result.report["choices"])])
    code = LATER._process and LATER._process.wait()
print(json.dumps([calls, code]))
"""


@pytest.mark.compiled
@pytest.mark.starts_children
def test_a_later_call_runs_machine_code(tmp_path):
    extra = {"DGRAPH_CACHE_DIR": str(tmp_path), "DGRAPH_COMPILE": ""}
    ran = subprocess.run([sys.executable, "-c", CODE], env=environment(extra), stdout=subprocess.PIPE, text=True)
    assert ran.returncode == 0
    (first, second), code = json.loads(ran.stdout)
    assert (first[1], second[1], code) == (True, False, None)
    assert first[0] == second[0]


@pytest.fixture
def later(monkeypatch, tmp_path):
    """Return a starter of processes that end as a test says, and the code that they compile."""
    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(first_runs, "_spent", {"mine": 0.2, "other": 0.2})
    monkeypatch.setattr(first_runs, "folder", lambda: tmp_path)
    monkeypatch.setattr(compiled_later, "share", lambda masks, mine: 2)
    process = SimpleNamespace(returncode=None, poll=lambda: process.returncode, kill=int, wait=int)
    monkeypatch.setattr(compiled_later, "begun", lambda task: tasks.append(task) or process)
    tasks = []
    return Later(), process, tasks


def calls(later, name, seconds, spent):
    """Let an algorithm of that name have run for these seconds."""
    work = SimpleNamespace(name=name, parameters={}, settings=dict)
    later.begin(Call([True, None], time.thread_time() - seconds, spent), work, "auto")


@pytest.mark.parametrize(("code", "compiles"), [(0, True), (1, False)])
def test_code_is_taken_from_a_process_that_ended_well(later, code, compiles):
    later, process, tasks = later
    calls(later, "bc", 0.4, {"other": 0.2})
    later.collect()
    assert first_runs.uncompiled("mine")
    process.returncode = code
    later.collect()
    assert first_runs.uncompiled("mine") is not compiles
    assert first_runs.uncompiled("other")
    for name in ("bc", "mst", "leiden"):  # one task is done, and one process runs at a time
        calls(later, name, 0.4, {})
    assert [json.loads(task)[0] for task in tasks] == ["bc", "mst"]


def test_quick_calls_and_commands_start_none(later):
    later, _, tasks = later
    calls(later, "bc", 0.2, {})
    calls(later, "bc", 0.4, first_runs.spent())
    later.off = True
    calls(later, "bc", 0.4, {})
    assert not tasks


@pytest.mark.parametrize("code", [0, 1])
def test_many_quick_calls_start_one_and_none_of_them_compiles(later, code):
    later, process, tasks = later
    first_runs.spend("mine", 0.05)
    calls(later, "bc", 0.01, {"other": 0.2})
    assert not tasks
    first_runs.spend("mine", 0.1)
    calls(later, "bc", 0.01, {"other": 0.2})
    assert len(tasks) == 1
    first_runs.spend("mine", 2.0)
    first_runs.spend("other", 2.0)
    assert first_runs.uncompiled("mine")
    assert not first_runs.uncompiled("other")
    process.returncode = code
    later.collect()
    assert not first_runs.uncompiled("mine")


def test_a_task_has_the_types_of_the_graph_and_no_vertices():
    graph = dgraph.Graph.from_edges([0, 1], [1, 2], [0.5, 1.5], comm=SerialComm(), device=dgraph.Cpu())
    works = ALGORITHMS["bc"](sources=[0, 2], weighted=True), ALGORITHMS["bc"](k=2, random_state=7)
    tasks = [
        json.loads(compiled_later._task(Later().call(form), work, "auto"))
        for form, work in zip((graph, graph.undirected()), works, strict=True)
    ]
    (_, types, settings, _), (_, undirected, more, _) = tasks
    assert (types, undirected) == ([True, "<f8"], [False, "<f8"])
    assert (settings["weighted"], settings["k"], "sources" in settings) == (True, None, False)
    assert (more["k"], more["random_state"]) == (2, 3)
