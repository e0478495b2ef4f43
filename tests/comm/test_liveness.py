"""Detection of ranks whose process has ended, without false alarms for others."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from children import environment

from dgraph.comm import liveness
from dgraph.comm.liveness import Watch, process_key
from dgraph.comm.watchdog import Watchdog
from dgraph.errors import PeerLost

pytestmark = pytest.mark.skipif(not process_key()[0], reason="this system does not say which process is which")

SLEEPER = """
import sys
from dgraph.comm.liveness import process_key
print(*process_key(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other():
    pipe, argv = subprocess.PIPE, [sys.executable, "-c", SLEEPER]
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, env=environment())
    yield process
    process.communicate()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(liveness, "EVERY", 0.0)
    monkeypatch.setattr(liveness, "GRACE", 0.0)


def looks(watch):
    for _ in range(3):
        watch.check()


def place(process):
    return np.array(process.stdout.readline().split(), np.int64)


def test_a_process_that_ends_is_noticed(other):
    watch = Watch([process_key(), place(other)], 0)
    looks(watch)
    other.kill()
    other.wait()
    with pytest.raises(PeerLost, match="rank 1 has ended"):
        looks(watch)


def test_a_rank_has_time_to_end_well(other, monkeypatch):
    monkeypatch.setattr(liveness, "GRACE", 60.0)
    watch = Watch([process_key(), place(other)], 0)
    other.kill()
    other.wait()
    looks(watch)


@pytest.mark.parametrize("elsewhere", [0, 1], ids=["unknown", "another host or container"])
def test_processes_of_other_places_are_not_looked_at(elsewhere, other):
    """Check that pids of other hosts and containers are ignored: on this host they belong to unrelated processes."""
    far = place(other)
    far[0] *= elsewhere
    far[0] += elsewhere
    watch = Watch([process_key(), far], 0)
    other.kill()
    other.wait()
    looks(watch)


def test_a_rank_that_cannot_say_where_it_is_looks_at_none(other):
    unknown, near = process_key(), place(other)
    unknown[0] = near[0] = 0
    watch = Watch([unknown, near], 0)
    other.kill()
    other.wait()
    looks(watch)


def test_a_system_without_such_files(other, monkeypatch):
    monkeypatch.delattr("os.pidfd_open")
    watch = Watch([process_key(), place(other)], 0)
    other.kill()
    other.wait()
    looks(watch)


def test_a_process_that_is_stopped_is_told_from_one_that_runs_and_from_none(other):
    near, gone = place(other), process_key()
    gone[1:] = 2**22 - 1, 1
    dog = Watchdog(0, 4, watch=Watch([process_key(), near, gone, near * 0], 0))
    pid = int(near[1])
    assert dog._state(1) in (f"process {pid} runs", f"process {pid} is held by the system")
    other.send_signal(signal.SIGSTOP)
    while not dog._state(1).endswith("is stopped"):
        time.sleep(0.01)
    other.send_signal(signal.SIGCONT)
    assert dog._state(3) == "not on this host"
