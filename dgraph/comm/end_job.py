"""Kills the processes of a job that its launcher leaves behind on this host; runs as a script of its own.

A rank that gives up starts it. Launchers end a job when a rank aborts, but may leave a stopped process, a process in
its own session, or a process that waits for an unreachable host. The script first gives the launcher time, then kills
the other ranks of this host, then the launcher with all that it started. It uses only the standard library.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LAUNCHERS = {
    "mpiexec", "mpiexec.hydra", "mpirun", "hydra_pmi_proxy", "hydra_bstrap_pr", "orterun", "orted", "prterun",
}  # fmt: skip
"""Launcher processes that serve one job, by their names in ``/proc/PID/comm``."""

ABORTING, LAUNCHER = 2.0, 3.0
"""Seconds granted to the rank that gave up to exit, and after that to the launcher."""


def start(peers: Iterable[int], above: list[tuple[int, int]]) -> None:
    """Start the script in the background; the calling process is about to exit.

    Args:
        peers: pidfds of the other ranks on this host.
        above: result of :func:`launchers`.
    """
    if not hasattr(os, "pidfd_open"):
        return
    files = [os.pidfd_open(os.getpid()), *peers]
    subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, json.dumps([files, above])],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        cwd="/", start_new_session=True, pass_fds=files,
    )  # fmt: skip


def launchers() -> list[tuple[int, int]]:
    """Return (pid, start time) of the launcher's processes above this one, the nearest first."""
    names = LAUNCHERS | {"prted"} if os.environ.get("PMIX_NAMESPACE", "").startswith("prterun") else LAUNCHERS
    above: list[tuple[int, int]] = []
    pid = os.getppid()
    with suppress(OSError):
        while pid > 1:
            _, parent, started = process(pid)
            if Path(f"/proc/{pid}/comm").read_text().strip() in names:
                above.append((pid, started))
            elif above:
                break
            pid = parent
    return above


def process(pid: int) -> tuple[str, int, int]:
    """Return a process's state letter, parent pid and start time, from ``/proc/PID/stat``.

    Raises:
        OSError: there is no such process.
    """
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return words[0], int(words[1]), int(words[19])


def end(rank: int, peers: list[int], above: list[tuple[int, int]]) -> None:
    """Wait for ``rank`` to exit, kill ``peers``, then kill the launcher's processes that are still running.

    Args:
        rank: pidfd of the rank that gave up.
        peers: pidfds of the other ranks on this host.
        above: result of :func:`launchers`.
    """
    if not select.select([rank], [], [], ABORTING)[0]:
        _kill(rank)
    for peer in peers:
        _kill(peer)
    late = time.monotonic() + LAUNCHER
    while any(map(_runs, above)) and time.monotonic() < late:
        time.sleep(0.05)
    for pid in _below([pid for pid, started in above if _runs((pid, started))]):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _kill(file: int) -> None:
    with suppress(OSError):
        signal.pidfd_send_signal(file, signal.SIGKILL)


def _runs(process_id: tuple[int, int]) -> bool:
    with suppress(OSError):
        state, _, started = process(process_id[0])
        return state not in "ZX" and started == process_id[1]
    return False


def _below(roots: list[int]) -> set[int]:
    """Return ``roots`` and all their descendants, without this process."""
    parents = {}
    for entry in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            parents[int(entry)] = process(int(entry))[1]
    tree, more = set(roots), set(roots)
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - tree
        tree |= more
    return tree - {os.getpid()}


if __name__ == "__main__":
    (first, *others), launched = json.loads(sys.argv[1])
    end(first, others, [(pid, started) for pid, started in launched])
