"""End of a job: one exit code and one message for all ranks, or an abort of all ranks when one is lost."""

import os
import re
import signal
import sys
import textwrap
import time

import pytest
from children import Abreast, Children, parameters_of, run

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children]

ENDING = """
import os, signal, sys, threading, time
from dgraph.cli import exit_codes
from dgraph.errors import UsageError, OutputError
exit_codes.GRACE = 2.0
def work(comm):
    alone = comm.rank == comm.size - 1
    {body}
    comm.barrier()
    return 3
sys.exit(exit_codes.end_together(work, traceback={traceback}))
"""


def ending(body, traceback=False):
    script = ENDING.format(body=textwrap.indent(textwrap.dedent(body), "    ").strip(), traceback=traceback)
    return [sys.executable, "-c", script]


def end(folder, body, ranks=3, traceback=False):
    return run(ending(body, traceback), folder, timeout=40, ranks=ranks)


def test_an_agreed_code_is_every_ranks_code(tmp_path):
    ran = end(tmp_path, "pass")
    assert (ran.code, ran.codes()) == (3, [3, 3, 3]), ran.story()


@pytest.mark.parametrize("ranks", [None, 1, 3])
def test_an_error_of_all_is_told_once(tmp_path, ranks):
    ran = end(tmp_path, "raise UsageError('no such thing')", ranks)
    assert (ran.code, set(ran.codes())) == (2, {2}), ran.story()
    assert ran.text == "dgraph: error: no such thing\n"


def test_an_error_of_one_that_was_agreed_is_told_once(tmp_path):
    ran = end(tmp_path, "with comm.together():\n    if alone: raise OutputError('disk full')")
    assert (ran.code, ran.codes()) == (74, [74, 74, 74]), ran.story()
    assert ran.text == "dgraph: error: disk full\n"


def test_the_traceback_comes_on_demand(tmp_path):
    ran = end(tmp_path, "raise UsageError('no such thing')", traceback=True)
    assert ran.text.count("Traceback") == 1


FAILS_ALONE = {
    "if alone: raise UsageError('only here')": r"\[rank 2 \S+\] dgraph: error: only here",
    "if alone: raise ValueError('a bug')": r"\[rank 2 \S+\] Traceback(.|\n)*ValueError: a bug",
    "if alone: sys.exit(5)": r"\[rank 2 \S+\] the other ranks did not stop within 2 s",
    "if alone: sys.exit()": r"\[rank 2 \S+\] the other ranks did not stop",
    "if alone: sys.exit('enough')": r"\[rank 2 \S+\] enough",
    "if alone: os.kill(os.getpid(), 9)": "",
    "if alone: raise KeyboardInterrupt": "",
    "if not alone: comm.total(1)\nelse: raise ValueError('a bug')": "ValueError: a bug",
}
"""Code in which ``alone`` is true on one rank of three → pattern of the output."""


@pytest.fixture(scope="module")
def alone(request, tmp_path_factory):
    folders = {body: tmp_path_factory.mktemp("alone") for body in FAILS_ALONE}
    jobs = Abreast(lambda body: Children(ending(body), folders[body], ranks=3), parameters_of(request, "body"))
    yield jobs
    jobs.end()


@pytest.mark.parametrize(("body", "said"), FAILS_ALONE.items())
def test_a_rank_that_fails_alone_ends_all(alone, body, said):
    """The exit code depends on the launcher: MPICH's returns the abort's code, or 9 if it had to kill."""
    ran = alone.ended(body, 40)
    assert ran.code, ran.story()
    assert ran.seconds < 20
    assert re.search(said, ran.text), ran.text
    assert ran.alive() == []


ENDLESS = """
import sys
from dgraph.cli import main
from dgraph.comm import world
import dgraph
open(f"{world().rank}", "w")
"""
KILLED = {
    "main('pagerank grid:64x64 --weights 1..9 --tol 0.0 --max-iter 1000000000 -o out.txt'.split())": (
        "dgraph: error: rank 1 has ended"
    ),
    "dgraph.run('pagerank', 'grid:64x64', tol=0, max_iter=10**9)": "dgraph.errors.PeerLost: rank 1 has ended",
}


@pytest.mark.parametrize(("work", "told"), KILLED.items(), ids=["command", "script"])
def test_a_rank_that_is_killed_ends_ranks_that_no_launcher_ends(work, told, tmp_path):
    """The ranks run in sessions of their own, where the launcher does not find them."""
    job = Children(["setsid", sys.executable, "-c", ENDLESS + work], tmp_path, ranks=3)
    while not {"0", "1", "2"} <= set(os.listdir(tmp_path)):
        time.sleep(0.05)
        assert time.monotonic() - job._began < 30
    os.kill(job.python_of(1), signal.SIGKILL)
    began = time.monotonic()
    while job.alive() and time.monotonic() - began < 15:
        time.sleep(0.1)
    left = job.alive()
    job.wait(1)
    assert left == [], job.story()
    assert told in job.text, job.story()
    assert not list(tmp_path.glob("*out.txt*"))


def test_a_fault_of_one_process_alone(tmp_path):
    ran = end(tmp_path, "raise ValueError('a bug')", ranks=None)
    assert ran.code == 70
    assert ran.text.count("ValueError: a bug") == 1


def test_a_launcher_of_another_mpi_is_told_once(tmp_path):
    command = [sys.executable, "-m", "dgraph", "sssp"]
    slurm = [{"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": str(task)} for task in (0, 3)]
    first, last = (run(command, tmp_path / task["SLURM_PROCID"], extra=task) for task in slurm)
    assert (first.code, last.code) == (2, 2)
    assert "started 4" in first.text
    assert "srun --mpi=pmi2" in first.text
    assert last.text == ""


def test_usr2_shows_where_a_rank_stands(tmp_path):
    script = ENDING.format(body="open(f'{comm.rank}', 'w'); time.sleep(20)", traceback=False)
    ran = Children([sys.executable, "-c", script], tmp_path, ranks=2)
    while not {"0", "1"} <= set(os.listdir(tmp_path)):
        time.sleep(0.05)
        assert time.monotonic() - ran._began < 30
    os.kill(ran.python_of(1), signal.SIGUSR2)
    time.sleep(0.5)
    assert "in work" in ran.logs()[1]
    os.kill(ran.python_of(1), signal.SIGKILL)
    ran.wait(20)
    assert ran.alive() == []


def test_a_reader_that_leaves_early_is_no_fault(tmp_path):
    command = f"{sys.executable} -m dgraph list | head -n 1; echo ${{PIPESTATUS[0]}}"
    ran = run(["bash", "-c", command], tmp_path)
    assert ran.text.splitlines()[0] == "algorithms:"
    assert ran.text.splitlines()[1:] in (["0"], ["141"])


SCRIPT = """
import dgraph
from dgraph.comm import world
result = dgraph.run("bfs", "path:9", source=0)
if world().rank == 1:
    raise ValueError("a mistake in the script")
world().barrier()
"""


def test_a_fault_in_a_users_script_ends_all_ranks(tmp_path):
    ran = run([sys.executable, "-c", SCRIPT], tmp_path, timeout=40, ranks=3)
    assert ran.code not in (0, None), ran.story()
    assert "ValueError: a mistake in the script" in ran.text
    assert ran.alive() == []


def test_an_error_of_dgraph_in_a_users_script_is_every_ranks_own(tmp_path):
    script = "import dgraph\ndgraph.run('bfs', 'path:9', source=99)"
    ran = run([sys.executable, "-c", script], tmp_path, timeout=40, ranks=2)
    assert ran.codes() == [1, 1], ran.story()
    assert ran.text.count("UsageError: source 99 is not a vertex") == 2
