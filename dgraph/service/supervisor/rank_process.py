"""The processes of the MPI job: how they are started, how their end is noticed, and how they are ended.

The launcher, or the only rank, is killed with the front (``PR_SET_PDEATHSIG``), even if it is stopped; each rank dies
with its launcher, and watches the front itself (``ranks/front_watch.py``), because launchers give ranks sessions and
parents of their own.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from dgraph.service.messages import without_launcher
from dgraph.service.parent_death import killed_with_parent

ROOT = Path(__file__).parents[3]
"""Folder from which this process imports dgraph, and the ranks shall."""

KILLED_S = 2.0
"""Seconds that the system has to end killed processes; one that it cannot end is left to it."""

TAIL = 2000
"""Characters of the log that an error shows at most."""

WHICH = re.compile(r"(?:PID|pid) (\d+)")
BY_SIGNAL = re.compile(r"\(signal (\d+)\)|on\s+signal (\d+)|KILLED BY SIGNAL: (\d+)")
"""Words with which MPICH's and Open MPI's launchers report the process that ended first, and its signal."""


PRINTED = re.compile(r"[\w.]*(Error|Exception|PeerLost): |dgraph: ")
"""Beginning of a line of the log that says why a process ended."""


def command(ranks: int, socket: Path, device: str) -> list[str]:
    """Return the command that starts the ranks: one plain process, or the launcher beside this Python's MPI."""
    rank = [
        sys.executable, "-P", "-m", "dgraph.service.ranks",
        "--socket", str(socket), "--front", str(os.getpid()), "--device", device,
    ]  # fmt: skip
    return rank if ranks == 1 else [*launcher(), "-n", str(ranks), *rank]


@cache
def launcher() -> tuple[str, ...]:
    """Return this Python's MPI launcher, with options that allow more ranks than cores.

    Raises:
        FileNotFoundError: there is none.
    """
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        raise FileNotFoundError(
            "several ranks need mpiexec, and there is none beside this Python nor on PATH; install "
            "'dgraph-analytics[service]', or load the site's MPI"
        )
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    open_mpi = "Open MPI" in version or "OpenRTE" in version
    return (mpiexec, *(["--oversubscribe", *["--allow-run-as-root"] * (os.geteuid() == 0)] if open_mpi else []))


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this environment without launchers' variables, in which the ranks import this dgraph."""
    kept = without_launcher()
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return kept | dict(extra or {})


class RankProcess:
    """The started job: the launcher, or the only rank; its output goes to a log file.

    Args:
        arguments: the command.
        log: file that receives the output of all ranks, at its end.
        extra: more environment variables.

    Attributes:
        ranks: pids of the local ranks by rank, once known.
    """

    def __init__(self, arguments: Sequence[str], log: Path, extra: Mapping[str, str] | None = None):
        self.log, self.ranks, self._closed = log, dict[int, int](), False
        with open(log, "ab") as file:
            self._log_begin = file.tell()
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment(extra),
                start_new_session=True, preexec_fn=killed_with_parent(),
            )  # fmt: skip
        self.pidfd = os.pidfd_open(self.process.pid)
        self._ranks: dict[int, int] = {}
        self._helpers: list[int] = []

    def watch(self, pids: Sequence[int]) -> dict[int, int]:
        """Open the processes of the ranks that run on this host; return rank → pidfd, readable when the rank ends."""
        for rank, pid in enumerate(pids):
            if pid == self.process.pid:
                self.ranks[rank] = pid
            elif pid:
                with contextlib.suppress(OSError):
                    self._ranks[rank] = os.pidfd_open(pid)
                    self.ranks[rank] = pid
        if pids:
            ours = self.pids()
            for pid in descendants(self.process.pid):
                if pid not in ours:
                    with contextlib.suppress(OSError):
                        self._helpers.append(os.pidfd_open(pid))
        return self._ranks

    def stopped(self) -> dict[int, int]:
        """Return rank → pid of the local ranks that are stopped; not of those that a debugger holds."""
        return {rank: pid for rank, pid in self.ranks.items() if _state(pid) == "T"}

    def pids(self) -> list[int]:
        """Return the pids of the launcher and the local ranks."""
        return list(dict.fromkeys([self.process.pid, *self.ranks.values()]))

    def signal(self, number: int) -> None:
        """Send a signal to the launcher and the local ranks that still run."""
        for file in (self.pidfd, *self._ranks.values()):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(file, number)

    def kill(self) -> None:
        """Kill the launcher, its helpers and the local ranks, stopped or not."""
        more = descendants(self.process.pid)
        self.signal(signal.SIGKILL)
        for file in self._helpers:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(file, signal.SIGKILL)
        for pid in more:  # of a launch that has not connected yet
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def ended(self, seconds: float = 0.0) -> bool:
        """Return True if the launcher has ended, or does within some seconds; :meth:`reap` gives its pid free."""
        waiting = select.poll()
        waiting.register(self.pidfd, select.POLLIN)
        return bool(waiting.poll(1000 * seconds))

    def close(self, reap: bool = True) -> None:
        """Kill what still runs, and close the files; blocks until the launcher has ended; once only.

        Args:
            reap: False leaves that to :meth:`reap`.
        """
        if self._closed:
            return
        self._closed = True
        self.kill()
        if self.ended(KILLED_S) and reap:
            self.reap()
        for file in (self.pidfd, *self._ranks.values(), *self._helpers):
            os.close(file)
        self._ranks.clear()
        self._helpers.clear()

    def reap(self) -> None:
        """Give the launcher's pid free."""
        self.process.poll()

    def tail(self) -> str:
        """Return the last lines of the log since the start."""
        with open(self.log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._log_begin, size - TAIL))
            return file.read().decode(errors="replace").strip()

    def story(self, first: int | None) -> str:
        """Return which rank ended, and how, from the launcher's report, the exit code and the log; after the end.

        Args:
            first: the rank whose end was seen first; None: unknown.
        """
        text, code = self.tail(), self.process.poll()
        if self.ranks.get(0) != self.process.pid:
            by_pid = {pid: rank for rank, pid in self.ranks.items()}
            named = [by_pid[int(pid)] for pid in WHICH.findall(text) if int(pid) in by_pid]
            first = named[0] if named else first
            if ended := BY_SIGNAL.search(text):
                code = -int(next(filter(None, ended.groups())))
        else:
            first = 0
        who = "the launcher" if first is None else f"rank {first} (process {self.ranks.get(first)})"
        said = next((line for line in reversed(text.splitlines()) if PRINTED.match(line)), "")
        return f"{who} {_how(code)}{'; it printed: ' + said[:300] if said else ''}"


def descendants(pid: int) -> list[int]:
    """Return the pids of the processes that a process started, and of those that these did."""
    pids = [pid]
    for parent in pids:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                pids += map(int, (thread / "children").read_text().split())
    return pids[1:]


def _state(pid: int) -> str:
    """Return the letter by which the system names the state of a process; "" if there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def _how(code: int | None) -> str:
    if code is None:
        return "ended"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"ended with exit code {code}"
