"""How a job ends: all ranks together with one exit code and one message, or at once if a rank is lost.

An error that every rank knows ends in a plain exit on each, which every launcher reports faithfully. A fault of one
rank aborts the job, because its peers wait for messages that will not come.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
import traceback as tracebacks
from collections.abc import Callable

from dgraph.comm import Comm, world
from dgraph.errors import Checkpointed, DgraphError, InternalError, PeerLost

GRACE = 10.0
"""Seconds in which the other ranks must come to the same end as a rank that failed."""

INTERRUPTED = 130
BROKEN_PIPE = 141
PROCESS_NUMBER = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")
"""Where launchers tell a process its number, for when MPI cannot."""


def end_together(work: Callable[[Comm], int], traceback: bool = False) -> int:
    """``work(comm)`` on every rank, and the exit code for all of them.

    A :class:`~dgraph.errors.DgraphError` is printed once and gives its exit code; ``traceback`` adds where it was
    raised. Anything else is a fault of this rank: its traceback is printed and the job aborted with code 70.
    """
    with contextlib.suppress(AttributeError, ValueError):  # no such signal here, or not the main thread
        faulthandler.register(signal.SIGUSR2, all_threads=True)
    try:
        comm = world()
    except DgraphError as error:
        if not any(os.environ.get(name, "0") != "0" for name in PROCESS_NUMBER):
            _print(_message(error, traceback))
        return error.exit_code
    ending = comm.duplicate()  # so that a rank at its end is not taken for one that is still at work
    code, message = 0, None
    try:
        code = work(comm)
        sys.stdout.flush()
    except DgraphError as error:
        code, message = error.exit_code, _message(error, traceback)
    except SystemExit as left:
        code, message = _exit_code(left)
    except BrokenPipeError:
        code, message = BROKEN_PIPE, ""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except BaseException as fault:
        code = INTERRUPTED
        if not isinstance(fault, KeyboardInterrupt):
            code = InternalError.exit_code
            time.sleep(min(0.05 * comm.rank, 1.0))  # a fault of all ranks is told by the first
            _print(f"{_place(comm)} {''.join(tracebacks.format_exception(fault))}".rstrip())
        if comm.size > 1:
            comm.abort(code)
    return _agree_on_code(ending, code, message)


def _agree_on_code(comm: Comm, code: int, message: str | None) -> int:
    """The largest code of all ranks; the first rank with a message prints it. Aborts if a failed rank stays alone."""
    lonely = threading.Timer(GRACE + 0.1 * comm.rank, _abort, (comm, code, message))  # one tells for all that wait
    lonely.daemon = True
    if message is not None:
        lonely.start()
    try:
        comm.barrier()
    except PeerLost as lost:
        time.sleep(min(0.2 * comm.rank, 2.0))  # all that are left found the same: the first ends the others
        _print(f"{_place(comm)} {message or _message(lost, False)}")
        comm.abort(code or InternalError.exit_code)
    lonely.cancel()
    speaker = -comm.largest(-comm.rank if message is not None else -comm.size)
    if comm.rank == speaker and message:
        _print(message)
    return comm.largest(code)


def _abort(comm: Comm, code: int, message: str | None) -> None:
    what = message or f"exit code {code}"
    _print(f"{_place(comm)} {what}\n{_place(comm)} the other ranks did not stop within {GRACE:.0f} s: aborting them")
    comm.abort(code or InternalError.exit_code)


def _message(error: DgraphError, traceback: bool) -> str:
    where = "".join(tracebacks.format_exception(error)) if traceback else ""
    return f"{where}dgraph: {'' if isinstance(error, Checkpointed) else 'error: '}{error}"


def _exit_code(left: SystemExit) -> tuple[int, str]:
    if left.code is None or isinstance(left.code, int):
        return left.code or 0, ""
    return 1, str(left.code)


def _place(comm: Comm) -> str:
    return f"[rank {comm.rank} {socket.gethostname()}]"


def _print(text: str) -> None:
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)
