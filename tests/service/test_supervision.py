"""Ranks that die, a front that dies, and starts under another launcher: real processes, killed."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from children import environment, mpiexec
from live_service import started
from ranks_served import Served, alive, until

from dgraph.service.supervisor import rank_process
from dgraph.service.supervisor.rank_socket import RankSocket
from dgraph.service.supervisor.supervisor import RanksDied

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children]

GRAPH = "rmat:8,seed=3"
LONG = {"algorithm": "pagerank", "parameters": {"tol": 0.0, "max_iter": 10**9}}

FRONT = """
    import asyncio, os, sys
    from pathlib import Path
    from dgraph.service.supervisor.supervisor import Ranks

    async def front():
        state = Path(sys.argv[1])
        ranks = Ranks(state, int(sys.argv[2]), device="cpu", external=len(sys.argv) > 3)
        await ranks.start()
        await ranks.call("load", graph="g", version=1, source="rmat:8",
            options={"weights": "1..9"}, store=str(state / "g"))
        running = asyncio.Event()
        run = asyncio.create_task(ranks.call("run", graph="g", version=1, job="a", algorithm="pagerank",
            parameters={"tol": 0.0, "max_iter": 10**9}, on_event=lambda event: running.set()))
        await running.wait()
        if sys.argv[3:] == ["end"]:
            run.cancel()
            await ranks.stop()
            print("served by", ranks.hello["ranks"], "ranks", flush=True)
            sys.exit(5)
        print(os.getpid(), *ranks.processes(), flush=True)
        await run

    asyncio.run(front())
"""


def kill_and_reopen(served, rank):
    pid = served.ranks.hello["pids"][rank]
    started = list(served.ranks.processes())
    future, _ = served.begin("run", graph="web", version=1, job="long", **LONG)
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RanksDied) as caught:
        future.result(20)
    text = str(caught.value)
    assert all(word in text for word in (f"rank {rank} ", f"process {pid}", "signal 9")), text
    if served.ranks.condition != "up":
        with pytest.raises(RanksDied, match="restarting"):
            served.call("memory")
    assert until(lambda: served.ranks.condition == "up") < 10
    assert not any(alive(process) for process in started)
    served.reopen("web")
    assert served.run("web", "cc")["converged"]


def test_ranks_get_the_user_s_settings_of_open_mpi_but_no_rank_of_another_job(monkeypatch):
    monkeypatch.setenv("OMPI_MCA_plm", "isolated")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    passed = rank_process.environment()
    assert passed["OMPI_MCA_plm"] == "isolated"
    assert "OMPI_COMM_WORLD_RANK" not in passed


def test_a_cancelled_caller_leaves_no_error_when_the_ranks_end(tmp_path):
    async def body():
        errors = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
        ranks = RankSocket(tmp_path / "s", lambda: None)
        caller = asyncio.shield(ranks.send(1, {"op": "run"}, None))
        caller.cancel()
        await asyncio.sleep(0)
        ranks.fail(RanksDied("the ranks were stopped"))
        await asyncio.sleep(0)
        gc.collect()
        assert not errors

    asyncio.run(body())


@pytest.mark.parametrize("ranks", [1, 2])
def test_killed_ranks_are_named_and_started_again(tmp_path, ranks):
    served = Served(tmp_path, ranks)
    try:
        served.load("web", GRAPH, weights="1..9")
        kill_and_reopen(served, ranks - 1)
        assert served.changes[-2:] == ["down", "up"]
        assert (served.ranks.restarts, served.ranks.reason.partition(" (")[0]) == (1, f"rank {ranks - 1}")
        last = list(served.ranks.processes())
    finally:
        served.stop()
    assert not any(alive(process) for process in last)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".sock"] == []
    with pytest.raises(RanksDied):
        served_call_after_stop(served)


def served_call_after_stop(served):
    import asyncio

    asyncio.run(served.ranks.call("memory"))


def test_the_front_imports_neither_numba_nor_mpi():
    code = (
        "import sys, dgraph.service.supervisor.supervisor\n"
        "sys.exit(str({'numba', 'mpi4py', 'cupy', 'numpy', 'pyarrow'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False)
    assert ran.stderr.strip() == "set()"


def test_a_start_that_fails_shows_the_log(tmp_path):
    with pytest.raises(RanksDied, match="Fatal Python error"):
        Served(tmp_path, 1, environment={"PYTHONHOME": "/nonexistent"})


@pytest.mark.parametrize("ranks", [1, 2])
def test_all_ranks_end_when_the_front_is_killed(tmp_path, ranks):
    script = tmp_path / "front.py"
    script.write_text(textwrap.dedent(FRONT))
    front = subprocess.Popen(
        [sys.executable, script, tmp_path, str(ranks)], stdout=subprocess.PIPE, text=True, env=environment()
    )
    with front:
        pids = [int(word) for word in front.stdout.readline().split()]
        assert len(pids) == (2 if ranks == 1 else ranks + 2)
        assert all(map(alive, pids))
        front.kill()
    assert until(lambda: not any(map(alive, pids))) < 5


def under_mpi(folder, word):
    """Return the command of two ranks, of which rank 0 starts a front that ``word`` commands."""
    script, ranks = folder / "front.py", folder / "ranks.py"
    script.write_text(textwrap.dedent(FRONT))
    ranks.write_text(
        "import sys\n"
        "from dgraph.comm import world\n"
        "from dgraph.service.ranks.under_mpi import serve_under_mpi\n"
        f"command = {[sys.executable, str(script)]}\n"
        f"sys.exit(serve_under_mpi({[str(folder), '2', word]}, world(), 'cpu', command))\n"
    )
    return [*mpiexec(), "-n", "2", sys.executable, ranks]


@pytest.mark.exhaustive
def test_the_command_under_mpirun_serves_with_the_ranks_of_the_launch(tmp_path):
    with started(tmp_path, "--device", "cpu", launcher=[*mpiexec(), "-n", "2"]) as live:
        call = live.link.call
        assert len(call("GET", "/v1/memory")["by_rank"]) == 2
        call("POST", "/v1/graphs", {"name": "p", "source": "path:9"})
        until(lambda: call("GET", "/v1/graphs/p")["state"] == "ready")
        answer = call("POST", "/v1/graphs/p/path", {"source": 0, "target": 8})
        assert answer == {"vertices": list(range(9)), "length": 8}
    assert not (tmp_path / "state" / "service.sock").exists()


@pytest.mark.exhaustive
def test_ranks_of_another_launcher_serve_a_front_that_rank_0_starts(tmp_path):
    ran = subprocess.run(under_mpi(tmp_path, "end"), capture_output=True, text=True, env=environment(), timeout=60)
    assert "served by 2 ranks" in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == 5


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["kill the front", "terminate the launcher", "kill a rank"])
def test_ranks_of_another_launcher_end_with_the_front(tmp_path, how):
    started = subprocess.Popen(
        under_mpi(tmp_path, "stay"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
    )
    with started:
        front, *ranks = (int(word) for word in started.stdout.readline().split())
        assert len(ranks) == 2
        pid, number = {
            "kill the front": (front, signal.SIGKILL),
            "terminate the launcher": (started.pid, signal.SIGTERM),
            "kill a rank": (ranks[1], signal.SIGKILL),
        }[how]
        os.kill(pid, number)
        try:
            assert until(lambda: not any(map(alive, [front, *ranks]))) < 5
        finally:
            started.kill()
    assert started.returncode != 0
