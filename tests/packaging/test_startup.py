"""Start-up: cost of an import, folder of compiled code, compilation ahead."""

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
from importlib import metadata
from pathlib import Path

import pytest
from children import ROOT, environment, run

import dgraph
from dgraph._support import cache
from dgraph._support.cache import publish
from dgraph.cli import warmup
from dgraph.cli.parser import parse
from dgraph.cli.warmup import WEIGHTS, jobs
from dgraph.comm import SerialComm
from dgraph.errors import OutputError, UsageError

HEAVY = {"numpy", "numba", "llvmlite", "scipy", "mpi4py", "pymetis", "rich"}
BUDGET = 0.3
"""CPU seconds that ``import dgraph`` may take beyond a bare interpreter."""


def child(code, **extra):
    """Return the output of a fresh interpreter."""
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, env=environment(extra), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys, time; began = time.process_time(); import dgraph; "
        "print(time.process_time() - began, *{name.partition('.')[0] for name in sys.modules})"
    )
    seconds, *modules = child(code).split()
    assert float(seconds) < BUDGET
    assert not HEAVY & set(modules)


def test_algorithms_load_no_compiler():
    assert child("import sys, dgraph.algorithms; print('numba' in sys.modules)").split() == ["False"]


def test_cached_kernels_are_found_without_nvrtc():
    names = [package.name.replace("_", "-") for package in metadata.distributions()]
    if not any(name.startswith("nvidia-cuda-nvrtc") for name in names):
        pytest.skip("NVRTC does not come from a package of its own")
    code = "import sys; from dgraph.backend.cuda.device import nvrtc; print(nvrtc.identity(), *sys.modules)"
    loaded = child(code).split()
    assert loaded[0].startswith("nvidia_cuda_nvrtc")
    assert "cuda.bindings.nvrtc" not in loaded


def test_certificates_are_imported_where_a_run_is_validated():
    assert child("import sys, dgraph.run, dgraph.cli.solve; print('dgraph.validate' in sys.modules)").split() == [
        "False"
    ]


@pytest.mark.parametrize("words", ["--help", "bfs --help", "--version"])
def test_help_does_not_wait_for_the_compiler(words):
    code = f"import sys; from dgraph.cli import main; main({words.split()!r}); print('numba' in sys.modules)"
    assert child(code).splitlines()[-1] == "False"


def test_tables_of_numbers_are_converted_without_pandas_and_algorithms(tmp_path):
    for name in ("pyarrow", "pandas"):
        pytest.importorskip(name)
    table = str(tmp_path / "a.parquet")
    for words in (["convert", "grid:4", table, "-q"], ["convert", table, str(tmp_path / "a.el"), "-q"]):
        unwanted = "{'pandas', 'dgraph.algorithms', 'numba'} & set(sys.modules)"
        code = f"import sys; from dgraph.cli import main; main({words!r}); print({unwanted})"
        assert child(code).splitlines()[-1] == "set()"


@pytest.mark.compiled
@pytest.mark.starts_children
def test_the_command_line_leaves_scipy_where_it_is(tmp_path):
    """Numba imports no scipy.linalg to compile, and nothing that only compilation needs to load cached code."""
    argv = [sys.executable, "-X", "importtime", "-m", "dgraph", "color", "rmat:6", "-q"]
    extra = dict.fromkeys(("DGRAPH_CACHE_DIR", "NUMBA_CACHE_DIR"), str(tmp_path)) | {"DGRAPH_COMPILE": "always"}
    first, second = (run(argv, tmp_path / folder, timeout=110, extra=extra) for folder in ("first", "second"))
    assert (first.code, second.code) == (0, 0), first.story() + second.story()
    assert not re.search(r"\| +scipy\.linalg$", first.text, re.MULTILINE)
    assert "numba.core.dispatcher" in second.text
    assert "numba.np.arraymath" not in second.text


@pytest.mark.parametrize("name", ["bfs", "cc"])
def test_a_command_on_a_small_graph_imports_no_numba(name, tmp_path):
    """The import takes as long as the rest of the command."""
    argv = [sys.executable, "-X", "importtime", "-m", "dgraph", name, "rmat:6,symmetric", "-q"]
    ran = run(argv, tmp_path / "here", timeout=60, extra={"DGRAPH_CACHE_DIR": str(tmp_path), "DGRAPH_COMPILE": ""})
    assert ran.code == 0, ran.story()
    assert re.search(r"\| +numpy$", ran.text, re.MULTILINE)
    assert not re.search(r"\| +numba$", ran.text, re.MULTILINE)


@pytest.fixture
def anew(monkeypatch):
    """Clear the cached folder, before and after the test."""
    cache.folder.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    cache.folder.cache_clear()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_refused_by_name(anew, tmp_path, mode):
    (tmp_path / "code").mkdir()
    (tmp_path / "code").chmod(mode)
    anew.setenv("DGRAPH_CACHE_DIR", str(tmp_path / "code"))
    with pytest.raises(OutputError, match=f"{tmp_path}/code can be written by others.*chmod 700"):
        cache.folder()
    (tmp_path / "code").chmod(0o755)
    assert cache.folder() == tmp_path / "code"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_refused(anew, tmp_path):
    os.chown(tmp_path, 12345, 12345)
    anew.setenv("DGRAPH_CACHE_DIR", str(tmp_path))
    with pytest.raises(OutputError, match="can be written by others"):
        cache.folder()


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_a_folder_that_is_made_is_the_owners_alone(anew, tmp_path, umask):
    anew.setenv("DGRAPH_CACHE_DIR", str(tmp_path / "a" / "b"))
    before = os.umask(umask)
    try:
        folder = cache.folder()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def unwritable(monkeypatch, *folders):
    """Make the system report these folders as not writable; root could write to them."""
    may = os.access

    def access(path, mode, **more):
        return not (mode & os.W_OK and Path(path) in folders) and may(path, mode, **more)

    monkeypatch.setattr(os, "access", access)


@pytest.mark.parametrize("why", ["a read-only folder", "no folder can be made"])
def test_a_home_that_cannot_be_written_gives_way_to_a_local_folder(anew, tmp_path, why):
    anew.delenv("DGRAPH_CACHE_DIR", raising=False)
    anew.delenv("XDG_CACHE_HOME", raising=False)
    anew.setattr("tempfile.tempdir", str(tmp_path / "local"))
    anew.setenv("HOME", str(tmp_path / "home"))
    if why == "a read-only folder":
        unwritable(anew, tmp_path / "home" / ".cache" / "dgraph")
    else:
        (tmp_path / "home").write_text("a file where the home should be")
    folder = cache.folder()
    assert folder == tmp_path / "local" / f"dgraph-{os.getuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_where_nothing_can_be_written_that_is_said(anew, tmp_path):
    (tmp_path / "file").touch()
    anew.setenv("DGRAPH_CACHE_DIR", str(tmp_path / "file" / "code"))
    with pytest.raises(OutputError, match=r"no folder for compiled code.*set DGRAPH_CACHE_DIR"):
        cache.folder()


def test_kernels_of_a_read_only_package_are_kept_with_the_rest(anew, tmp_path):
    anew.setenv("DGRAPH_CACHE_DIR", str(tmp_path))
    anew.setenv("NUMBA_CACHE_DIR", "")
    package = Path(dgraph.__file__).parent
    cache.keep_kernels(package)
    assert os.environ["NUMBA_CACHE_DIR"] == ""
    unwritable(anew, package)
    anew.setattr("numba.config.CACHE_DIR", "")
    cache.keep_kernels(package)
    import numba

    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR == str(tmp_path / "kernels")
    anew.setenv("NUMBA_CACHE_DIR", "mine")
    cache.keep_kernels(package)
    assert os.environ["NUMBA_CACHE_DIR"] == "mine"


def test_kernels_of_both_packages_go_where_that_says(tmp_path):
    """Check in a child process, since Numba fixes the folder when a function is defined."""
    code = """
        import os, sys
        from pathlib import Path
        may = os.access
        package = Path(sys.argv[1], "dgraph")
        os.access = lambda path, mode: not (mode & os.W_OK and Path(path) == package) and may(path, mode)
        import dgraph
        from partitioning.arrays.gidset import _count
        from dgraph.graph.build.fingerprint import arc_sums
        print(_count.numba().stats.cache_path, arc_sums.numba().stats.cache_path)
    """
    code = f"import sys; sys.argv.append({str(ROOT)!r})\n" + "\n".join(line.strip() for line in code.splitlines())
    paths = child(code, DGRAPH_CACHE_DIR=str(tmp_path), NUMBA_CACHE_DIR="").split()
    assert [Path(path).parent for path in paths] == [tmp_path / "kernels"] * 2


def test_a_file_of_code_appears_once_and_whole(tmp_path):
    """Check that of ranks that write the same file one wins, so that machine code cached for it stays valid."""
    path, text = tmp_path / "program.py", "x = 1\n" * 10_000
    seen = []

    def look():
        while not path.exists():
            time.sleep(0)
        seen.append((path.stat().st_ino, path.read_text() == text))

    threads = [threading.Thread(target=look)]
    threads += [threading.Thread(target=publish, args=(path, text.encode())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(path.stat().st_ino, True)]
    assert os.listdir(tmp_path) == ["program.py"]


def test_a_file_of_code_appears_where_files_cannot_be_linked(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    publish(tmp_path / "program.py", b"x = 1\n")
    assert (tmp_path / "program.py").read_text() == "x = 1\n"
    assert os.listdir(tmp_path) == ["program.py"]


def test_warmup_is_of_all_algorithms_or_of_those_named(monkeypatch):
    from dgraph.algorithms import ALGORITHMS

    monkeypatch.setattr("dgraph.cli.warmup.warmup", lambda *asked: asked)
    assert parse(["warmup"], ALGORITHMS).do(None) == (list(ALGORITHMS), ("auto",), False, None)
    assert parse(["warmup", "cc", "-q"], ALGORITHMS).do(None) == (["cc"], ("auto",), True, None)
    assert parse(["warmup", "--backend", "all"], ALGORITHMS).do(None)[1] == ("cpu", "cuda")
    with pytest.raises(UsageError, match="unknown algorithm 'ccc': did you mean 'cc'"):
        parse(["warmup", "ccc"], ALGORITHMS)
    planned = list(jobs(tuple(ALGORITHMS)))
    assert {name for name, *_ in planned} == set(ALGORITHMS)
    assert {kind for name, kind, _ in planned if name == "sssp"} == set(WEIGHTS)
    short = {kind for kind in WEIGHTS if "long paths" not in kind}
    assert {kind for name, kind, _ in planned if name == "pagerank"} == short
    assert {kind for name, kind, _ in planned if name == "bfs"} == {"no weights"}


def test_warmup_knows_what_an_earlier_one_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(warmup, "folder", lambda: tmp_path)
    every = [("cpu", name, "no weights", {}) for name in ("bfs", "cc")]
    lines = []
    for job in (None, *every):
        if job:
            warmup.publish(warmup._mark(job), b"")
        lines.append(warmup._forecast(every, 1))
    assert lines == [
        f"tiny runs: 2; about {warmup.SHARED + 2 * warmup.SECONDS} s",
        f"tiny runs: 2, 1 of them compiled by an earlier warmup; about {warmup.SHARED + warmup.SECONDS} s",
        "tiny runs: 2, 2 of them compiled by an earlier warmup; about 1 s",
    ]


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_warmup_compiles_in_children_where_there_are_cores(monkeypatch):
    shared = []

    class Pool(warmup.ProcessPoolExecutor):
        def submit(self, work, job):
            shared.append(job[1])
            return super().submit(work, job)

    monkeypatch.setattr(warmup, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(warmup, "cores", lambda: 4)
    monkeypatch.setattr(warmup, "EACH", 1)
    assert warmup.warmup(["bfs", "cc", "kcore"], ("cpu",), True, SerialComm()) == 0
    assert shared == ["bfs", "cc", "kcore"], "the first of all jobs compiles here"


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_after_warmup_a_job_compiles_nothing(tmp_path):
    """Check that a job after ``warmup`` loads all code: from copies of the caches, which no other session changes."""
    changing = shutil.ignore_patterns("*.tmp*", "*.pyc*", "*.long", "*.slow", "lock")
    copies = {name: ROOT / name for name in ("dgraph", "partitioning", "launch")}  # Numba caches beside the source
    for name, folder in {**copies, "code": cache.folder()}.items():
        shutil.copytree(folder, tmp_path / name, ignore=changing)
    own = {"PYTHONPATH": str(tmp_path), "DGRAPH_CACHE_DIR": str(tmp_path / "code")}
    argv = [sys.executable, "-m", "dgraph"]
    warm = run([*argv, "warmup", "bfs"], tmp_path / "warm", timeout=110, ranks=2, extra=own)
    assert warm.code == 0, warm.story()
    assert "compile bfs on 2 ranks" in warm.text
    assert "warm after" in warm.text
    shown = own | {"NUMBA_DEBUG_CACHE": "1"}
    job = run([*argv, "bfs", "path:30", "-q"], tmp_path / "job", timeout=110, ranks=2, extra=shown)
    assert job.code == 0, job.story()
    assert "[cache] data loaded from" in job.text
    assert "[cache] data saved to" not in job.text


def test_dgraph_run_is_a_function_whatever_was_imported_first():
    """Check that importing the submodule ``dgraph.run`` does not replace the function of that name."""
    code = "import dgraph.run, dgraph; print(dgraph.run('bfs', 'path:3', source=0).summary['reached'])"
    assert child(code).split() == ["3"]
