"""Watchdog: a wait beyond the limit ends the job and names the ranks that did not respond; a shorter wait does not."""

import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

import children
import pytest
from children import Children

from dgraph.comm import watchdog, world
from dgraph.comm.liveness import process_key
from dgraph.comm.watchdog import Watchdog, allowed
from dgraph.errors import UsageError

pytestmark = pytest.mark.skipif(not process_key()[0], reason="this system does not say which process is which")


class Clock:
    """Watchdog with a simulated clock, which advances before every check."""

    def __init__(self, monkeypatch, notes=None, rank=0, size=3):
        self.now, self.bitten = 0.0, []
        self.dog = Watchdog(rank, size, notes or Notes())
        monkeypatch.setattr(watchdog.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(Watchdog, "expire", lambda dog, peers: self.bitten.append((dog.rank, peers, self.now)))

    def looks(self, seconds, interval=0.1):
        for _ in range(round(seconds / interval)):
            self.now += interval
            self.dog.check()
            if self.bitten:
                return


class Notes:
    def __init__(self, received=()):
        self.sent, self.coming = [], list(received)

    def send(self, number):
        self.sent.append(number)

    def received(self):
        coming, self.coming = self.coming, []
        return coming


@pytest.mark.parametrize("rank", [0, 2])
def test_a_wait_ends_at_the_limit_of_its_rank(rank, monkeypatch):
    clock = Clock(monkeypatch, rank=rank)
    with clock.dog.watching(10.0):
        clock.dog.waits += 1
        clock.looks(60)
    ((who, peers, when),) = clock.bitten
    assert (who, peers) == (rank, [peer for peer in range(3) if peer != rank])
    assert 10.0 + 0.2 * rank - 0.2 < when < 10.0 + 0.2 * rank + 0.3


def test_only_one_wait_counts_and_only_while_rounds_run(monkeypatch):
    clock = Clock(monkeypatch)
    clock.looks(60)
    with clock.dog.watching(10.0):
        for _ in range(5):
            clock.dog.waits += 1
            clock.looks(8)
        with clock.dog.paused():
            clock.looks(60)
    clock.looks(60)
    assert clock.bitten == []


def test_a_job_that_was_suspended_has_not_waited(monkeypatch):
    """Several suspensions of a day each do not count either."""
    clock = Clock(monkeypatch)
    with clock.dog.watching(10.0):
        clock.dog.waits += 1
        for _ in range(3):
            clock.looks(1)
            clock.now += 86_400
    assert clock.bitten == []


def test_who_waits_as_well_is_not_waited_for(monkeypatch):
    """A note of this round or of the previous one counts; an older note does not."""
    notes = Notes()
    clock = Clock(monkeypatch, notes, size=5)
    with clock.dog.watching(10.0):
        for round in range(1, 9):
            clock.dog.begin(round)
        turn = clock.dog._turn
        clock.dog.waits += 1
        clock.looks(2)
        assert notes.sent == []
        clock.looks(2)
        assert notes.sent == [turn]
        notes.coming = [(1, turn), (3, turn - 1), (4, turn - 2)]
        clock.looks(60)
    assert [peers for _, peers, _ in clock.bitten] == [[2, 4]]


def test_where_all_wait_all_are_named(monkeypatch):
    clock = Clock(monkeypatch)
    with clock.dog.watching(10.0):
        clock.dog._notes.coming = [(1, 1), (2, 1)]
        clock.dog.waits += 1
        clock.looks(60)
    assert [peers for _, peers, _ in clock.bitten] == [[1, 2]]


@pytest.mark.parametrize(("limit", "seconds"), [
    (300, 300.0), ("2.5", 2.5), ("off", math.inf), (0, math.inf), ("0", math.inf), (None, math.inf),
])  # fmt: skip
def test_limits(limit, seconds):
    assert allowed(limit) == seconds


@pytest.mark.parametrize("limit", [-1, "nan", "inf", "5m", "on", ""])
def test_what_is_no_limit_is_refused(limit):
    with pytest.raises(UsageError, match=re.escape(f"watchdog {limit!r}: give seconds")):
        allowed(limit)


@pytest.mark.mpi
def test_ranks_that_wait_name_the_one_that_does_not(monkeypatch):
    """Check over MPI that only rank 0, which works while the others wait, is named."""
    comm, bitten = world(), []

    def expire(dog, peers):
        bitten.append(peers)
        dog.seconds = math.inf

    monkeypatch.setattr(Watchdog, "expire", expire)
    comm.barrier()
    with comm.watchdog.watching(1.0):
        time.sleep(2.5 * (comm.rank == 0 < comm.size - 1))
        comm.barrier()
    assert bitten == [[0]] * (comm.rank > 0)


BEGINS = """
import sys
from dgraph.engine.rounds.drivers import HostDriven
from dgraph.comm import world
rounds = HostDriven.run
def begun(self, limit):
    self.comm.barrier()
    open(f"{self.comm.rank}", "w")
    rounds(self, limit)
HostDriven.run = begun
"""
COMMAND = """
from dgraph.cli import main
sys.exit(main("pagerank grid:64x64 --tol 0 --max-iter 1000000000 --watchdog {seconds} -o out.txt {more}".split()))
"""
SCRIPT = """
import dgraph
dgraph.pagerank("grid:64x64", tol=0, max_iter=10**9, options=dgraph.Options(watchdog={seconds}))
"""
NOTES_CODE = '"$@"; code=$?; echo $code >code-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; exit $code'
OWN_SESSION = ["setsid", "sh", "-c", NOTES_CODE, "sh"]
"""Prefix that hides a rank from the launcher in a session of its own, and records its exit code in a file."""
LINE = (
    r"dgraph: watchdog: rank (\d+) has waited for {seconds} s in round \d+ "
    r"\((?:agreement|(?:reduce|broadcast|exchange between GPUs) of [\w, ]+)\) "
    r"for (.*); the job ends\n"
)


def job_of(work, folder, ranks, seconds, argv=(), more=""):
    """Start a job."""
    script = BEGINS + work.format(seconds=seconds, more=more)
    return Children([*argv, sys.executable, "-c", script], folder, ranks)


def rounds_run(job):
    """Wait until rounds run on all ranks."""
    while not {str(rank) for rank in range(job.ranks)} <= set(os.listdir(job.folder)):
        time.sleep(0.05)
        assert job.runs(), job.story()
        assert time.monotonic() - job._began < 60, job.story()


def stop(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)


def go_on(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def seconds_until(reached, within):
    began = time.monotonic()
    while not reached() and time.monotonic() - began < within:
        time.sleep(0.02)
    return time.monotonic() - began


@dataclass
class Ended:
    """A job whose process ``pid`` was stopped.

    Attributes:
        waited: seconds until the watchdog's line.
        left: processes still alive 10 s later.
    """

    job: Children
    pid: int
    waited: float = 0.0
    left: list[int] = field(default_factory=list)

    def watch(self) -> None:
        job = self.job
        self.waited = seconds_until(lambda: "dgraph: watchdog:" in job.text or not job.alive(), 20)
        seconds_until(lambda: not job.alive(), 10)
        self.left = job.alive()
        job.wait(1)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Run three jobs concurrently.

    In "command" and "script" one rank is stopped. In "suspended" one rank is stopped for less than the limit, then all
    ranks for longer, as when a scheduler suspends a job.
    """
    started = {
        "command": job_of(COMMAND, tmp_path_factory.mktemp("command"), 2, 2),
        "script": job_of(SCRIPT, tmp_path_factory.mktemp("script"), 3, 2, OWN_SESSION),
        "suspended": job_of(SCRIPT, tmp_path_factory.mktemp("suspended"), 2, 3),
    }
    try:
        for job in started.values():
            rounds_run(job)
        ended = {name: Ended(started[name], started[name].python_of(rank)) for name, rank in STOPPED.items()}
        suspended = [started["suspended"].python_of(rank) for rank in (0, 1)]
        stop(*(job_end.pid for job_end in ended.values()), suspended[1])
        time.sleep(1.0)
        go_on(suspended[1])
        time.sleep(0.3)
        stop(*suspended)
        began = time.monotonic()
        for job_end in ended.values():
            job_end.watch()
        time.sleep(max(4.0 - (time.monotonic() - began), 0.0))
        go_on(*suspended)
        time.sleep(1.0)
        yield ended | {"suspended": started["suspended"]}
    finally:
        for job in started.values():
            job.end()


STOPPED = {"command": 1, "script": 0}


@pytest.mark.mpi_skip
@pytest.mark.starts_children
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", STOPPED)
def test_a_rank_that_is_stopped_is_named_and_the_job_ends(name, jobs):
    """Check that no process survives, not even the stopped one; a rank prints one line and exits with 124.

    On a busy machine two ranks may find it in the same moment, or the second while the job's end wakes the stopped one.
    """
    ended = jobs[name]
    job = ended.job
    assert ended.waited < 10, job.story()
    assert ended.left == [], job.story()
    lines = re.findall(LINE.format(seconds=2), job.text)
    waited_for = f"rank {STOPPED[name]} (process {ended.pid}"
    assert lines[0][1] == f"{waited_for} is stopped)", job.text
    assert {told for _, told in lines} <= {f"{waited_for} {state})" for state in ("is stopped", "runs")}, job.text
    assert job.text.count("dgraph: watchdog:") == len(lines) == len({speaker for speaker, _ in lines}), job.text
    if name == "script":
        assert "124\n" in {(job.folder / f"code-{speaker}").read_text() for speaker, _ in lines}
    assert job.code != 0
    assert not list(job.folder.glob("*out.txt*"))


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
@pytest.mark.starts_children
def test_a_job_that_goes_on_in_time_or_was_suspended_as_a_whole_does_not_end(jobs):
    job = jobs["suspended"]
    assert job.runs(), job.story()
    assert "watchdog" not in job.text


@pytest.mark.gpu
@pytest.mark.mpi_skip
@pytest.mark.starts_children
@pytest.mark.parametrize(("gpus", "more"), [
    (1, "--allow-gpu-sharing --gpus 0,0"), (2, "--transport p2p"), (2, "--transport p2p --rounds host"),
    (2, "--transport nccl"),
])  # fmt: skip
def test_a_gpu_rank_that_is_stopped_is_named_and_the_job_ends(gpus, more, tmp_path):
    pytest.importorskip("cupy")
    from dgraph.backend.cuda.device.device import count

    if count() < gpus:
        pytest.skip(f"needs {gpus} GPUs")
    job = job_of(COMMAND, tmp_path, 2, 5, more=f"--backend cuda {more}")
    try:
        rounds_run(job)
        ended = Ended(job, job.python_of(1))
        time.sleep(1.0)
        stop(ended.pid)
        ended.watch()
    finally:
        job.end()
    assert 4 < ended.waited < 15, job.story()
    assert ended.left == [], job.story()
    ((_, told),) = re.findall(LINE.format(seconds=5), job.text)
    assert told == f"rank 1 (process {ended.pid} is stopped)"
    assert job.code != 0


@pytest.fixture
def hosts(tmp_path, monkeypatch):
    """Simulate two hosts by network and pid namespaces joined by a bridge; yield a function that cuts the link."""
    library = pytest.importorskip("dgraph.comm.mpi").library
    if os.geteuid() or not all(map(shutil.which, ("ip", "unshare"))) or "mpich" not in library().lower():
        pytest.skip("needs root, iproute2 and MPICH")
    tag = f"dg{os.getpid() % 100_000}"
    names = f"{tag}a", f"{tag}b"
    setup = [f"link add {tag} type bridge", f"link set {tag} up"]
    for i, name in enumerate(names, 1):
        setup += [
            f"netns add {name}", f"link add v{name} type veth peer name eth0 netns {name}",
            f"link set v{name} master {tag} up", f"-n {name} link set lo up", f"-n {name} link set eth0 up",
            f"-n {name} addr add 10.77.0.{i}/24 dev eth0",
        ]  # fmt: skip

    def ip(line):
        return subprocess.run(["ip", *line.split()], capture_output=True, text=True, check=False)

    try:
        for line in setup:
            if ip(line).returncode:
                pytest.skip(f"ip {line}: {ip(line).stderr}")
        remote = tmp_path / "remote"
        remote.write_text(REMOTE.format(tag=tag))
        remote.chmod(0o755)
        more = f"-hosts 10.77.0.1,10.77.0.2 -iface eth0 -launcher ssh -launcher-exec {remote}".split()
        by_tcp = "UCX_TLS=tcp,self", "UCX_NET_DEVICES=eth0", "FI_TCP_IFACE=eth0"
        launch = ["ip", "netns", "exec", names[0], "env", *by_tcp]
        start = children.mpiexec()
        monkeypatch.setattr(children, "mpiexec", lambda: (*launch, *start, *more))
        yield lambda: ip(f"link set v{names[1]} down")
    finally:
        for name in names:
            ip(f"netns del {name}")
        ip(f"link del {tag}")


REMOTE = """#!/bin/sh
# replaces ssh: runs -x HOST COMMAND in the namespaces of the simulated host
[ "$1" = -x ] && shift
case $1 in 10.77.0.1) name={tag}a ;; *) name={tag}b ;; esac
shift
exec ip netns exec $name unshare --pid --fork --mount-proc --kill-child sh -c "$*; exit \\$?"
"""


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
@pytest.mark.starts_children
def test_a_link_that_is_lost_ends_the_job_on_both_hosts(hosts, tmp_path):
    """The ranks of each host name those of the other, and the launcher ends on both hosts."""
    job = job_of(SCRIPT, tmp_path / "job", 4, 2)
    try:
        rounds_run(job)
        hosts()
        ended = Ended(job, 0)
        ended.watch()
    finally:
        job.end()
    assert ended.waited < 10, job.story()
    assert ended.left == [], job.story()
    lines = {int(speaker): told for speaker, told in re.findall(LINE.format(seconds=2), job.text)}
    assert len({rank % 2 for rank in lines}) == 2, job.story()
    for speaker, told in lines.items():
        far = [rank for rank in range(4) if (rank - speaker) % 2]
        assert told == ", ".join(f"rank {rank} (not on this host)" for rank in far)
    assert [job.codes()[speaker] for speaker in lines] == [124] * len(lines)
