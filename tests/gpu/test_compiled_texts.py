"""Texts of kernels are compiled once a host: quickly for who waits, then optimised beside; NVRTC is a stub here."""

import os
import signal
import subprocess
import sys
import time

import pytest
from children import environment
from emulated import Device, backend, needs_compiler
from flat_run import flat_run

from dgraph._support import affinity
from dgraph._support.cache import folder
from dgraph._support.host_lock import locked
from dgraph.backend.cuda.codegen import kernel_parts
from dgraph.backend.cuda.device import machine_code, nvrtc, optimiser
from dgraph.backend.cuda.device.machine_code import MachineCode
from dgraph.errors import InternalError, OutputError

STUB = """
import sys, time
from pathlib import Path
from dgraph.backend.cuda.codegen import kernel_parts
from dgraph.backend.cuda.device import machine_code, nvrtc, optimiser

def compiled(text, architecture, name, quick=False):
    time.sleep(0.2)
    sys.stdout.write(name + chr(10))
    sys.stdout.flush()
    return f"{architecture} {'quick' if quick else 'optimised'} {text}".encode()

nvrtc.compiled, machine_code._compiler = compiled, lambda: "stub"
"""
RANK = f"""{STUB}
mine, other = map(Path, sys.argv[1:])
code = machine_code.MachineCode("sm_90")
texts = [(f"text {{k}}", f"kernel{{k}}") for k in range(4)]
mine.touch()
while not other.exists():
    time.sleep(0.001)
code.prepare(texts)
assert all(code.exists(*text) for text in texts)
"""
OPTIMISER = f"{STUB}optimiser.optimise(Path(sys.argv[1]))"


def stub(text, architecture, name, quick=False):
    return f"{architecture} {'quick' if quick else 'optimised'} {text}".encode()


@pytest.fixture
def code(monkeypatch, tmp_path):
    tmp_path.chmod(0o700)
    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(machine_code, "folder", lambda: tmp_path)
    monkeypatch.setattr(nvrtc, "compiled", stub)
    monkeypatch.setattr(machine_code, "_compiler", lambda: "stub")
    monkeypatch.setattr(machine_code, "AGAIN", 0.0)
    return MachineCode("sm_90")


def started(script, *arguments, cache):
    extra = environment({"DGRAPH_CACHE_DIR": str(cache)})
    words = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(words, cwd=cache, env=extra, stdout=subprocess.PIPE, text=True)


def names(cache, suffix):
    return sorted(path.stem.split("_")[0] for path in cache.glob(f"*{suffix}"))


@pytest.mark.starts_children
def test_ranks_that_start_together_compile_each_text_once(tmp_path):
    tmp_path.chmod(0o700)
    ranks = [started(RANK, *places, cache=tmp_path) for places in (("a", "b"), ("b", "a"))]
    lines = "".join([rank.communicate(timeout=100)[0] for rank in ranks])
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert sorted(lines.split()) == [f"kernel{k}" for k in range(4)]


@pytest.mark.parametrize(("place", "order"), [((0, 1), "abcdef"), ((0, 2), "adebcf"), ((1, 3), "becdaf")])
def test_a_rank_begins_with_its_share_of_the_parts(code, monkeypatch, place, order):
    monkeypatch.setattr(machine_code, "cores", lambda: 1)
    monkeypatch.setattr(kernel_parts, "parts", lambda text, most: text.split())
    monkeypatch.setattr(nvrtc, "compiled", lambda text, *_, quick: (taken.append(text), text.encode())[1])
    taken, code.place = [], place
    texts = [("a d f", "kernel"), ("b e", "other"), ("c", "third")]  # first the largest part of each text
    code.prepare(texts)
    assert "".join(taken) == order
    assert [code.load(*text)[0] for text in texts] == [[b"a", b"d", b"f"], [b"b", b"e"], [b"c"]]


def test_a_text_that_another_process_does_not_finish_is_compiled_here(code, monkeypatch):
    monkeypatch.setattr("dgraph._support.host_lock.lock", lambda *_: False)
    code.prepare([("text", "kernel")])
    assert code.exists("text", "kernel")


def test_a_rank_that_open_mpi_binds_compiles_on_all_cores_of_the_launcher(code, monkeypatch):
    def compiled(*arguments, quick):
        used.append(os.sched_getaffinity(0))
        return stub(*arguments, quick)

    used, every = [], os.sched_getaffinity(0)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setattr(affinity, "_launcher_mask", affinity.mask().__int__)
    monkeypatch.setattr(nvrtc, "compiled", compiled)
    os.sched_setaffinity(0, [min(every)])
    try:
        code.prepare([("text", "kernel")])
        code.load("other", "kernel")
        assert os.sched_getaffinity(0) == {min(every)}
    finally:
        os.sched_setaffinity(0, every)
    assert used == [every, every]


def test_a_text_of_two_names_is_compiled_once(code, tmp_path):
    code.prepare([("text", "levels"), ("text", "back")])
    assert code.load("text", "back") == code.load("text", "levels")
    assert names(tmp_path, ".1of1") == ["levels"]


def test_a_text_that_does_not_compile_frees_its_lock(code, monkeypatch):
    def refuse(*_, quick):
        raise InternalError("kernel does not compile")

    freed = []
    monkeypatch.setattr(nvrtc, "compiled", refuse)
    monkeypatch.setattr("dgraph._support.host_lock.unlock", freed.append)
    with pytest.raises(InternalError, match="does not compile"):
        code.prepare([("text", "kernel")])
    assert freed == [code.path("text", "kernel").with_suffix(".1of1").name]


def test_quick_code_is_loaded_until_the_optimised_one_is_there(code, tmp_path):
    assert code.load("text", "some_kernel") == ([b"sm_90 quick text"], False)
    assert not code.optimised("text", "some_kernel")
    assert code.lacks()
    assert not code.lacks()
    assert MachineCode("sm_90").load("text", "some_kernel") == ([b"sm_90 quick text"], False)
    optimiser.optimise(tmp_path)
    assert code.optimised("text", "some_kernel")
    assert code.load("text", "some_kernel") == ([b"sm_90 optimised text"], True)
    assert [path.suffix for path in tmp_path.iterdir()] == [".cubin"]
    code.load("other", "kernel")
    assert code.lacks()
    later = MachineCode("sm_90")
    assert later.load("text", "some_kernel")[1]
    assert not later.lacks()


@pytest.mark.parametrize("when", ["always", "never"])
def test_where_compilation_is_set_all_code_is_optimised_at_once(code, monkeypatch, tmp_path, when):
    code.load("text", "kernel")
    monkeypatch.setenv("DGRAPH_COMPILE", when)
    assert not code.exists("text", "kernel")
    assert code.load("text", "kernel") == ([b"sm_90 optimised text"], True)
    assert not code.lacks()
    optimiser.optimise(tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".cubin"]


def test_repeated_calls_write_no_text_again_and_seldom_look_for_code(code, tmp_path, monkeypatch):
    written, publish = [], machine_code.publish
    monkeypatch.setattr(machine_code, "publish", lambda path, content: (written.append(path), publish(path, content)))
    monkeypatch.setattr(machine_code, "AGAIN", 60.0)
    for _ in range(3):
        code.postpone([("text", "large"), ("other", "larger")])
        assert not code.optimised("text", "large")
    assert [path.suffix for path in written] == [".cu", ".cu"]
    code.path("text", "large").touch()
    assert not code.optimised("text", "large")
    monkeypatch.setattr(machine_code, "AGAIN", 0.0)
    assert code.optimised("text", "large")


def test_a_postponed_text_is_compiled_by_the_optimiser_alone(code, tmp_path):
    code.postpone([("text", "large")])
    assert not code.exists("text", "large")
    assert code.lacks()
    optimiser.optimise(tmp_path)
    assert code.load("text", "large") == ([b"sm_90 optimised text"], True)


def test_texts_of_another_compiler_stay(code, monkeypatch, tmp_path):
    code.load("text", "kernel")
    monkeypatch.setattr(machine_code, "_compiler", lambda: "another")
    optimiser.optimise(tmp_path)
    assert names(tmp_path, ".cu") == names(tmp_path, ".1of1") == ["kernel"]
    assert not names(tmp_path, ".cubin")


def test_an_optimiser_leaves_the_folder_to_another_one(code, tmp_path):
    code.load("text", "kernel")
    with locked(optimiser.LOCK):
        busy = "from dgraph.backend.cuda.device import optimiser; import sys, pathlib\n"
        busy += "optimiser.start(pathlib.Path(sys.argv[1])); assert not optimiser._started\n"
        busy += "optimiser.optimise(pathlib.Path(sys.argv[1]))"
        process = subprocess.run(
            [sys.executable, "-c", busy, tmp_path], env=environment({"DGRAPH_CACHE_DIR": str(folder())}), check=False
        )
    assert process.returncode == 0
    assert not code.optimised("text", "kernel")


@pytest.mark.starts_children
def test_a_killed_optimiser_is_followed_by_one_that_finishes(code, tmp_path):
    texts = [(f"text {k}", f"kernel{k}") for k in range(12)]
    code.prepare(texts)
    first = started(OPTIMISER, tmp_path, cache=tmp_path)
    first.stdout.readline()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    remaining = names(tmp_path, ".cu")
    assert remaining
    assert all(code.exists(*text) for text in texts)
    second = started(OPTIMISER, tmp_path, cache=tmp_path)
    lines = second.communicate(timeout=100)[0].split()
    assert second.returncode == 0
    assert set(lines) <= set(remaining)
    assert names(tmp_path, ".cubin") == sorted(name for _, name in texts)
    assert not names(tmp_path, ".cu") + names(tmp_path, ".1of1")


def test_a_full_folder_keeps_the_quick_code(code, monkeypatch, tmp_path):
    code.load("text", "kernel")

    def full(*_):
        raise OutputError("no space")

    monkeypatch.setattr(optimiser, "publish", full)
    optimiser.optimise(tmp_path)
    assert code.load("text", "kernel") == ([b"sm_90 quick text"], False)


def test_no_optimiser_starts_where_no_folder_or_process_can_be_had(monkeypatch, tmp_path):
    monkeypatch.setattr(optimiser, "_started", [])
    monkeypatch.setattr("dgraph._support.host_lock._file", lambda: None)
    optimiser.start(tmp_path)
    assert not optimiser._started
    monkeypatch.undo()

    def refuse(*_, **__):
        raise BlockingIOError("no process")

    monkeypatch.setattr(optimiser, "_started", [])
    monkeypatch.setattr(subprocess, "Popen", refuse)
    optimiser.start(tmp_path)
    assert not optimiser._started


@pytest.mark.starts_children
def test_the_started_process_outlives_its_parent_and_optimises_real_code(tmp_path):
    pytest.importorskip("cuda.bindings.nvrtc")
    cache = tmp_path / "cache"
    parent = (
        "import os, sys\n"
        "os.environ.pop('DGRAPH_COMPILE', None)\n"
        "from dgraph._support.cache import folder\n"
        "from dgraph.backend.cuda.device import optimiser\n"
        "from dgraph.backend.cuda.device.machine_code import MachineCode\n"
        "code = MachineCode('sm_90')\n"
        "text = 'extern \"C\" __global__ void twice(double* x) { x[0] = 2 * x[0] + 1; }'\n"
        "_, optimised = code.load(text, 'twice')\n"
        "assert not optimised and code.lacks()\n"
        "optimiser.start(folder())\n"
        "os._exit(0)\n"
    )
    began = time.monotonic()
    process = subprocess.run(
        [sys.executable, "-c", parent], cwd=tmp_path, env=environment({"DGRAPH_CACHE_DIR": str(cache)}), check=False
    )
    assert process.returncode == 0
    while not names(cache, ".cubin") or names(cache, ".cu") + names(cache, ".1of1"):
        assert time.monotonic() - began < 60, os.listdir(cache)
        time.sleep(0.05)
    (file,) = cache.glob("*.cubin")
    assert file.read_bytes()[:4] == b"\x7fELF"


@needs_compiler
@pytest.mark.parametrize("quick", [["levels_round_kernels"], []])
def test_a_report_names_quick_code_and_the_optimiser_starts_at_the_end_of_a_run(monkeypatch, quick):
    optimised = []
    monkeypatch.setattr(Device, "quick", quick)
    monkeypatch.setattr(Device, "optimise", lambda _: optimised.append("run"))
    result = flat_run("bfs", "grid:4x4", source=0, backend=backend())
    chosen = {choice["what"]: (choice["taken"], choice["reason"]) for choice in result.report["choices"]}
    assert optimised == ["run"]
    assert ("kernels" in chosen) == bool(quick)
    if quick:
        assert chosen["kernels"][0] == "compiled quickly"
        assert chosen["kernels"][1].startswith("levels_round_kernels: optimised in the background")
