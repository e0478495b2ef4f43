"""All rank tests, once per number of ranks; all tests that start processes; and tests of the harness.

The harness reports failures and kills hung ranks.
"""

import sys
import textwrap
import time

import pytest
from children import BEHIND, RANK_SESSION, ROOT, Abreast, Children, files_with, parameters_of, run

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children]

RANKS = [1, 2, 3, 4]

HANGS = 3600
"""Seconds after which a session hangs for certain; before that, tests have timeouts of their own."""


def test_no_file_of_rank_tests_is_missed(files_of_rank_tests):
    assert files_of_rank_tests <= set(files_with(r"mark\.mpi\b"))


def begun(folder, body, *, ranks=2, options=(), extra=()):
    """Start a file of rank tests with this ``body``, under the suite's launcher, configuration and conftest."""
    file = folder / "test_made_up.py"
    head = "import os, sys, time, pytest\nfrom dgraph.comm import world\npytestmark = pytest.mark.mpi\n"
    file.write_text(head + textwrap.dedent(body))
    temporary = folder / "temporary"  # killed ranks do not remove their folders
    temporary.mkdir()
    where = ["-c", ROOT / "pyproject.toml", "--rootdir", folder, "--basetemp", temporary, "-m", "mpi"]
    argv = [*RANK_SESSION, *where, "-p", "conftest", *options, file]
    path = f"{ROOT}:{ROOT / 'tests'}:{ROOT / 'tests' / 'support'}"
    extra = {"PYTHONPATH": path, "DGRAPH_TEST_GRACE": "2", **dict(extra)}
    return Children(argv, folder / "out", ranks, extra=extra)


def suite(folder, body, *, timeout=60, **more):
    """Run a file of rank tests with this ``body`` to its end."""
    return begun(folder, body, **more).wait(timeout)


@pytest.mark.exhaustive
def test_a_good_suite_passes_on_every_rank(tmp_path):
    """Check also that ranks run behind other processes, where Linux weighs sessions, too."""
    body = """
        from pathlib import Path
        def test_sum():
            assert world().total(1) == 3
            assert os.nice(0) == 5
            group = Path("/proc/self/autogroup")
            assert not group.exists() or group.read_text().endswith(" nice 5\\n")
    """
    ran = suite(tmp_path, body, ranks=3, extra=BEHIND)
    assert (ran.code, ran.codes()) == (0, [0, 0, 0]), ran.story()


def test_one_failing_rank_fails_the_suite_and_the_rest_still_runs(tmp_path):
    body = """
        def test_first():
            assert world().total(1) == 2
            assert world().rank != 1, "rank one is unhappy"
        def test_second():
            assert world().total(1) == 2
    """
    ran = suite(tmp_path, body)
    assert ran.code != 0
    assert ran.codes() == [1, 1]
    assert "1 failed, 1 passed" in ran.logs()[1]
    assert "rank one is unhappy" in ran.story()


@pytest.mark.exhaustive
def test_first_failure_stops_all_ranks_alike(tmp_path):
    body = "def test_first():\n    assert world().rank\ndef test_second():\n    world().barrier()\n"
    ran = suite(tmp_path, body, options=["-x"])
    assert ran.codes() == [1, 1], ran.story()
    assert not any("test_second" in log for log in ran.logs())


ENDS_EARLY = {
    "assert False, 'too early'": "too early",
    "sys.exit(3)": "SystemExit: 3",
    "pytest.exit('enough', 3)": "enough",
    "os._exit(3)": "rank 1, exit code 3",
    "os.kill(os.getpid(), 9)": "rank 1, exit code 137",
}


@pytest.fixture(scope="module")
def early(request, tmp_path_factory):
    def begin(what):
        body = f"def test_it():\n    if world().rank == 1: {what}\n    world().barrier()\n"
        return begun(tmp_path_factory.mktemp("early"), body)

    jobs = Abreast(begin, parameters_of(request, "what"))
    yield jobs
    jobs.end()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("what", "said"), ENDS_EARLY.items())
def test_a_rank_that_ends_before_a_collective_hangs_nobody(what, said, early):
    ran = early.ended(what)
    assert ran.code, ran.story()
    assert ran.seconds < 30
    assert said in ran.story()
    assert ran.alive() == []


@pytest.mark.exhaustive
def test_a_rank_that_hangs_is_shown_and_ended(tmp_path):
    body = """
        @pytest.mark.timeout(4 + 8 * world().rank)
        def test_it():
            if world().rank == 0: time.sleep(99)
            world().barrier()
    """
    ran = suite(tmp_path, body)
    assert ran.code, ran.story()
    assert ran.seconds < 30
    assert "time.sleep(99)" in ran.logs()[0]
    assert ran.alive() == []


@pytest.mark.exhaustive
def test_the_watchdog_shows_where_ranks_hang_and_ends_them(tmp_path):
    body = """
        def test_it():
            open(f"reached-{world().rank}", "w")
            if world().rank == 0: time.sleep(99)
            world().barrier()
    """
    ran = begun(tmp_path, body, options=["--timeout=0"])
    while len(list(ran.folder.glob("reached-*"))) < ran.ranks and ran.runs():
        time.sleep(0.02)
    ran.wait(0.5)
    assert ran.code is None
    assert "ended by the watchdog" in ran.story()
    assert all("Fatal Python error: Aborted" in log and "in test_it" in log for log in ran.logs())
    assert ran.alive() == []


@pytest.mark.exhaustive
def test_many_more_ranks_than_cores(tmp_path):
    """Check that sixteen ranks finish and write the same file as one process."""
    written = []
    for ranks in (None, 16):
        answer = tmp_path / f"{ranks}.txt"
        argv = [sys.executable, "-m", "dgraph", "sssp", "rmat:12", "--weights", "1..255", "--source", "0", "-o", answer]
        ran = run(argv, tmp_path / str(ranks), timeout=250, ranks=ranks)
        assert ran.code == 0, ran.story()
        written.append(answer.read_bytes())
    assert written[0] == written[1]


@pytest.mark.timeout(0)
def test_the_tests_that_start_processes(request, ahead):
    started = ahead.on(request.node.name).wait(HANGS)
    assert started.code == 0, started.story()
    assert started.alive() == []


@pytest.mark.timeout(0)
@pytest.mark.parametrize("ranks", RANKS)
def test_the_rank_tests(ranks, ahead):
    started = ahead.on(ranks).wait(HANGS)
    assert started.code == 0, started.story()
    assert started.alive() == []
