"""Ends what a launcher leaves of a job on this host: a script by itself, which the rank that gives up starts.

Launchers end a job when a rank aborts, but not always all of it: a stopped process, one in a session of its own, and
what waits for a host that cannot be reached any more may stay. The script first leaves the launcher its time, and then
kills the other ranks of this host, and the launcher with all that it started. It needs the standard library alone.
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
"""Processes that serve one job, as ``/proc/PID/comm`` names them."""

ABORTING, LAUNCHER = 2.0, 3.0
"""Seconds in which the rank that gave up must have gone, and then the launcher."""


def start(peers: Iterable[int], above: list[tuple[int, int]]) -> None:
    """Begin the script beside this process, which is about to exit.

    Args:
        peers: files of ``pidfd_open`` of the other ranks on this host.
        above: :func:`launchers`.
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
    """The launcher's processes above this one, the nearest first: their numbers, and when they started."""
    names = LAUNCHERS | {"prted"} if os.environ.get("PMIX_NAMESPACE", "").startswith("prterun") else LAUNCHERS
    found: list[tuple[int, int]] = []
    pid = os.getppid()
    with suppress(OSError):
        while pid > 1:
            _, parent, started = process(pid)
            if Path(f"/proc/{pid}/comm").read_text().strip() in names:
                found.append((pid, started))
            elif found:
                break
            pid = parent
    return found


def process(pid: int) -> tuple[str, int, int]:
    """A process's state (a letter), its parent, and when it started.

    Raises:
        OSError: there is none of this number.
    """
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return words[0], int(words[1]), int(words[19])


def end(rank: int, peers: list[int], above: list[tuple[int, int]]) -> None:
    """Wait for the end of ``rank``, kill ``peers``, and what is left of the launcher's processes after a while.

    Args:
        rank, peers: files of ``pidfd_open``.
        above: as :func:`launchers` gives them.
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


def _runs(known: tuple[int, int]) -> bool:
    with suppress(OSError):
        state, _, started = process(known[0])
        return state not in "ZX" and started == known[1]
    return False


def _below(roots: list[int]) -> set[int]:
    """These processes and all that they started, but this one."""
    parents = {}
    for entry in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            parents[int(entry)] = process(int(entry))[1]
    found, more = set(roots), set(roots)
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - found
        found |= more
    return found - {os.getpid()}


if __name__ == "__main__":
    (first, *others), launched = json.loads(sys.argv[1])
    end(first, others, [(pid, started) for pid, started in launched])
