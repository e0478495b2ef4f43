"""``dgraph serve`` under mpirun or srun: rank 0 starts the front as its child, and all ranks work for it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from dgraph.comm import Comm
from dgraph.errors import OutputError
from dgraph.service.messages import EXTERNAL, SOCKET, without_launcher
from dgraph.service.ranks.front_link import FrontLink
from dgraph.service.ranks.worker import work

CONNECT_S = 60.0
"""Seconds that the front has to listen."""

END_S = 25.0
"""Seconds that the front has to end after the ranks did."""


SERVE = (sys.executable, "-m", "dgraph", "serve")
"""Command of the front."""


def serve_under_mpi(argv: Sequence[str], comm: Comm, device: str = "auto", command: Sequence[str] = SERVE) -> int:
    """Serve with the ranks of this launch; return the front's exit code on every rank; collective.

    SIGTERM and SIGINT become a SIGTERM to the front, which drains; the ranks end after it.

    Args:
        argv: the words behind ``python -m dgraph serve``.
        comm: all ranks.
        device: where rounds run: "auto", "cpu" or "cuda".
        command: starts the front; ``argv`` follows.
    """
    fronts: list[subprocess.Popen] = []

    def drain(*_: object) -> None:
        for front in fronts:
            front.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):  # not SIG_IGN, which the front would inherit
        signal.signal(number, drain)
    folder = Path(tempfile.mkdtemp(prefix="dgraph-ranks-")) if comm.rank == 0 else None
    front, link, code = None, None, 0
    try:
        if folder is not None:
            front = _started([*command, *argv], folder / "ranks.sock", comm.size)
            fronts.append(front)
            link = _linked(front, folder / "ranks.sock")
            code = 0 if link else _code(front)
        if comm.largest(int(link is not None)):
            work(link, device, comm)
            code = _code(front) if front else 0
    finally:
        if front is not None and front.poll() is None:
            front.kill()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    return comm.largest(code)


def _started(command: Sequence[str], socket: Path, ranks: int) -> subprocess.Popen:
    return subprocess.Popen(
        command,
        env=without_launcher() | {EXTERNAL: str(ranks), SOCKET: str(socket)},
        stdin=subprocess.DEVNULL,
    )


def _linked(front: subprocess.Popen, socket: Path) -> FrontLink | None:
    """Connect to the front; None if it ended before it listened."""
    until = time.monotonic() + CONNECT_S
    while front.poll() is None:
        try:
            return FrontLink(socket)
        except OutputError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
    return None


def _code(front: subprocess.Popen) -> int:
    """Wait for the front's end, and return its exit code as a shell would."""
    late = threading.Timer(END_S, front.kill)
    late.daemon = True
    late.start()
    code = front.wait()
    late.cancel()
    return code if code >= 0 else 128 - code
