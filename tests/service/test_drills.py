"""Drills on a service of real processes: ranks and front killed and stopped, endless loops, SIGTERM, a full disk.

``docs/internals/service-faults.md`` has the table of what is promised, and names these tests.
"""

import contextlib
import os
import resource
import signal
import subprocess
import time

import pytest
from battery import EVERYTHING
from drilled_service import DEVICE, Drilled
from ranks_served import alive, until

pytestmark = [pytest.mark.mpi_skip, pytest.mark.exhaustive, pytest.mark.starts_children]

GRAPH = "rmat:8"
GRACE_S = 2.0
LARGE = "rmat:21" if DEVICE == "cpu" else "rmat:25"
"""Graph whose load takes seconds on a CPU."""

HANG = {"stop": signal.SIGSTOP, "loop": signal.SIGUSR2}


def pairs(name, values):
    """Parametrise a drill by ranks and ``values``: 1 with the first and 2 with the last; all if everything is asked."""
    both = [(ranks, value) for ranks in (1, 2) for value in values]
    return pytest.mark.parametrize(("ranks", name), both if EVERYTHING else [both[0], both[-1]])


RANKS = pytest.mark.parametrize("ranks", [1, 2] if EVERYTHING else [2])
HANGS = pairs("how", HANG)


@contextlib.contextmanager
def service(folder, ranks, graph="web", **more):
    with Drilled(folder, ranks, "--grace", str(GRACE_S), **more) as one:
        if graph:
            one.load(graph, GRAPH)
        yield one


def hang(one, how, rank=-1):
    pid = one.rank_pids()[rank]
    os.kill(pid, HANG[how])
    return pid


def back(one, graph="web"):
    """Assert that the service restarts its ranks, and works."""
    one.until(lambda: one.ask("GET", "/readyz")[1]["restarts"], lambda restarts: restarts > 0, 30)
    one.ready()
    status, answer = one.job(graph, "?wait=60&top=1", parameters={"source": 1})
    assert (status, answer["state"]) == (200, "done"), answer


@HANGS
def test_a_job_on_ranks_that_hang_fails_at_its_time_limit(tmp_path, ranks, how):
    with service(tmp_path, ranks) as one:
        job = one.endless("web", timeout_s=8)
        pid = hang(one, how)
        queued = one.job("web", parameters={"source": 2})[1]["id"]
        error = one.state_of(job, "failed", seconds=20)["error"]
        assert error["kind"] in (("TimedOut",) if how == "loop" else ("RanksDied",)), error
        assert one.ask("GET", "/readyz")[0] == 503
        back(one)
        assert not alive(pid)
        one.state_of(queued, "done")
        one.terminate()


@HANGS
def test_delete_ends_a_job_on_ranks_that_hang(tmp_path, ranks, how):
    with service(tmp_path, ranks) as one:
        job = one.endless("web")
        hang(one, how, rank=0)
        status, answer = one.ask("DELETE", f"/v1/jobs/{job}")
        assert (status, answer["state"]) == (200, "cancelled")
        back(one)


@HANGS if DEVICE == "cpu" else pairs("how", ["stop"])  # a GPU's load ends before the loop begins
def test_a_load_on_ranks_that_hang_ends(tmp_path, ranks, how):
    with service(tmp_path, ranks) as one:
        assert one.ask("POST", "/v1/graphs", {"name": "large", "source": LARGE})[0] == 202
        time.sleep(1)
        hang(one, how)
        if how == "loop":
            assert one.ask("DELETE", "/v1/graphs/large")[0] == 204
        back(one)
        if how == "stop":
            assert one.ask("GET", "/v1/graphs/large")[0] == 200
            one.ask("DELETE", "/v1/graphs/large")


@RANKS
def test_a_rank_that_is_stopped_while_the_service_is_idle_is_noticed(tmp_path, ranks):
    with service(tmp_path, ranks) as one:
        hang(one, "stop")
        back(one)


@RANKS
def test_a_rank_that_is_stopped_for_a_moment_goes_on(tmp_path, ranks):
    with service(tmp_path, ranks) as one:
        pid = hang(one, "stop")
        job = one.job("web", parameters={"source": 3})[1]["id"]
        time.sleep(2)
        os.kill(pid, signal.SIGCONT)
        one.state_of(job, "done")
        assert one.ask("GET", "/readyz") == (200, {"status": "ready", "ranks": "up", "restarts": 0})


@HANGS
def test_sigterm_while_a_rank_hangs(tmp_path, ranks, how):
    with service(tmp_path, ranks) as one:
        one.endless("web")
        hang(one, how)
        one.terminate()


def test_sigterm_while_the_launcher_and_all_ranks_are_stopped(tmp_path):
    with service(tmp_path, 2) as one:
        for pid in one.processes() - {one.process.pid}:
            os.kill(pid, signal.SIGSTOP)
        one.terminate()


def test_sigterm_while_the_launcher_is_stopped(tmp_path):
    with service(tmp_path, 2) as one:
        os.kill(one.launcher(), signal.SIGSTOP)
        one.terminate()


@RANKS
def test_sigterm_under_load_and_what_was_accepted_is_there_afterwards(tmp_path, ranks):
    with service(tmp_path, ranks) as one:
        jobs = [one.endless("web"), *(one.job("web", parameters={"source": k}, cache=False)[1]["id"] for k in range(5))]
        assert one.ask("POST", "/v1/graphs", {"name": "late", "source": "rmat:18"})[0] == 202
        one.terminate()
        one.start()
        ends = [one.state_of(job, "done", "failed", "cancelled")["state"] for job in jobs]
        assert ends == ["cancelled", *["done"] * 5]
        assert one.settled("late")["state"] == "ready"
        one.ask("POST", "/v1/graphs", {"name": "large", "source": LARGE})
        time.sleep(1)
        one.terminate()


@pairs("stopped", [False, True])
def test_kill_9_of_the_front_leaves_no_rank_and_loses_nothing(tmp_path, ranks, stopped):
    with service(tmp_path, ranks) as one:
        done = one.job("web", "?wait=60", parameters={"source": 1})[1]["id"]
        running, queued = one.endless("web"), one.job("web", parameters={"source": 2})[1]["id"]
        if stopped:
            for pid in one.rank_pids() + ([one.launcher()] if ranks > 1 else []):
                os.kill(pid, signal.SIGSTOP)
        one.process.kill()
        one.process.wait()
        until(lambda: not any(map(alive, one.seen)), 10)
        one.start()
        ends = [one.state_of(job, "done", "failed")["state"] for job in (done, running, queued)]
        assert ends == ["done", "failed", "done"]


@RANKS
def test_a_front_that_is_stopped_and_goes_on_loses_nothing(tmp_path, ranks):
    with service(tmp_path, ranks) as one:
        jobs = [one.job("web", parameters={"source": k}, cache=False)[1]["id"] for k in range(20)]
        endless = one.endless("web", timeout_s=3600)
        os.kill(one.process.pid, signal.SIGSTOP)
        time.sleep(GRACE_S + 8)
        os.kill(one.process.pid, signal.SIGCONT)
        assert all(one.state_of(job, "done") for job in jobs)
        assert one.ask("GET", f"/v1/jobs/{endless}")[1]["state"] == "running"
        assert one.ask("GET", "/readyz")[1]["restarts"] == 0
        assert one.ask("DELETE", f"/v1/jobs/{endless}")[1]["state"] == "cancelled"


class Disk:
    """Folder on a disk of 12 MB; where that cannot be mounted, full means that no process may write to files."""

    def __init__(self, folder, mount=True):
        self.folder = folder
        folder.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", folder]
        self.mounted = mount and subprocess.run(words, capture_output=True, check=False).returncode == 0

    def fill(self, one, pids=None):
        if not self.mounted:
            return self._limit(pids or (one.process.pid, *one.rank_pids()), 1)
        with contextlib.suppress(OSError), (self.folder / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def make_room(self, one):
        if not self.mounted:
            return self._limit((one.process.pid, *one.rank_pids()), resource.RLIM_INFINITY)
        (self.folder / "filler").unlink()

    def _limit(self, pids, most):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # limits end with their process
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def end(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.folder], check=True)


DISKS = ("mounted", "limited")


@pytest.fixture
def disk(kind, tmp_path):
    one = Disk(tmp_path / "disk", kind == "mounted")
    yield one
    one.end()


@pairs("kind", DISKS)
def test_a_full_disk(tmp_path, disk, ranks):
    with service(tmp_path, ranks, state=disk.folder / "state") as one:
        kept = one.job("web", "?wait=60", parameters={"source": 1})[1]["id"]
        disk.fill(one)
        answers = [
            one.job("web", "?wait=30&top=2", parameters={"source": 2}),
            one.job("web", parameters={"source": 3}),
            one.ask("POST", "/v1/graphs", {"name": "late", "source": "rmat:6"}),
            one.ask("PUT", "/v1/graphs/up/data", b"1,2\n" * 50000, **{"Content-Type": "text/csv"}),
            one.ask("PATCH", "/v1/graphs/web", {"pinned": True}),
            one.ask("POST", "/v1/graphs/web/edges", {"add": [[1, 2]]}),
        ]
        assert [status for status, _ in answers] == [507] * 6, answers
        assert os.listdir(one.state / "uploads") == []
        assert one.ask("GET", "/v1/jobs")[0] == 200
        one.terminate()
        disk.make_room(one)
        one.start()
        assert one.settled("web")["versions"] == [1]
        disk.fill(one)
        one.job("web", parameters={"source": 4})
        disk.make_room(one)
        one.until(lambda: one.job("web", "?wait=30", parameters={"source": 5})[0], lambda status: status == 200, 20)
        records = {job["id"]: job["state"] for job in one.ask("GET", "/v1/jobs")[1]["jobs"]}
        assert records[kept] == "done"
        one.process.kill()
        one.process.wait()
        one.start()
        assert {job["id"]: job["state"] for job in one.ask("GET", "/v1/jobs")[1]["jobs"]} == records


@pairs("kind", DISKS)
def test_a_load_that_fills_the_disk_fails_and_leaves_nothing(tmp_path, disk, ranks):
    with service(tmp_path, ranks, state=disk.folder / "state") as one:
        path = one.folder / "data" / "large.el"
        path.write_text("".join(f"{k % 99991} {k * 7919 % 99989}\n" for k in range(2_000_000)))
        if disk.mounted:
            (disk.folder / "filler").write_bytes(bytes(8 << 20))  # the history has room, the graph has not
        else:
            disk.fill(one, one.rank_pids())
        one.ask("POST", "/v1/graphs", {"name": "large", "source": "large.el"})
        failed = one.settled("large")
        assert (failed["state"], failed["error"]["kind"]) == ("failed", "OutputError")
        assert "room" in failed["error"]["message"]
        assert not (one.state / "graphs/large").exists() or os.listdir(one.state / "graphs/large") == []
        assert one.job("web", "?wait=30&top=1", parameters={"source": 5})[0] == 200
        one.terminate()
