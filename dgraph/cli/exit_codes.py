"""End of a job: all ranks together, with one exit code and one message; at once if a rank is lost.

An error that every rank raises ends in a plain exit on each, which every launcher reports. A fault of one rank aborts
the job, because its peers wait for messages that will not come. :func:`end_together` is the entry.
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

from dgraph.cli.terminal.standard_streams import failure, guard
from dgraph.comm import Comm, world
from dgraph.errors import Checkpointed, DgraphError, InternalError, OutputError, PeerLost

GRACE = 10.0
"""Seconds within which the other ranks must end, too, after one rank failed."""

INTERRUPTED = 130
BROKEN_PIPE = 141
PROCESS_NUMBER = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")
"""Variables in which launchers give a process its rank, for when MPI cannot."""


def end_together(work: Callable[[Comm], int], traceback: bool = False) -> int:
    """Run ``work(comm)`` on every rank, and return the exit code of all.

    A :class:`~dgraph.errors.DgraphError` is printed once and gives its exit code. Any other exception is a fault of
    this rank: its traceback is printed and the job aborted with code 70.

    Args:
        work: function that returns the exit code of this rank.
        traceback: True also prints where a ``DgraphError`` was raised.
    """
    guard()
    with contextlib.suppress(AttributeError, ValueError):  # no such signal here, or not the main thread
        faulthandler.register(signal.SIGUSR2, all_threads=True)
    try:
        comm = world()
    except DgraphError as error:
        if not any(os.environ.get(name, "0") != "0" for name in PROCESS_NUMBER):
            _print(_message(error, traceback))
        return error.exit_code
    try:
        ending = comm.duplicate()  # its barrier cannot match one of a rank that still works
    except PeerLost as lost:
        _abort_without(comm, lost)
    code, message = 0, None
    try:
        code, message = with_output(work(comm))
    except DgraphError as error:
        code, message = error.exit_code, _message(error, traceback)
    except SystemExit as left:
        code, message = _exit_code(left)
    except BaseException as fault:
        code = INTERRUPTED
        if not isinstance(fault, KeyboardInterrupt):
            code = InternalError.exit_code
            time.sleep(min(0.05 * comm.rank, 1.0))  # of a fault on all ranks, rank 0 prints and aborts first
            _print(f"{_place(comm)} {''.join(tracebacks.format_exception(fault))}".rstrip())
        if comm.size > 1:
            comm.abort(code)
    return _agree_on_code(ending, code, message)


def with_output(code: int) -> tuple[int, str | None]:
    """Return the exit code of a work, and the message, after its output: other ones if standard output failed."""
    failed = failure()
    if failed is None:
        return code, None
    if isinstance(failed, BrokenPipeError):
        return BROKEN_PIPE, ""  # as of other programs behind which `head` has ended
    error = OutputError(f"standard output cannot be written: {failed.strerror}; give it a file or pipe that takes it")
    return error.exit_code, _message(error, False)


def end_alone(code: int) -> int:
    """Return the exit code of a command without ranks, once its output is written."""
    code, message = with_output(code)
    if message:
        _print(message)
    return code


def _agree_on_code(comm: Comm, code: int, message: str | None) -> int:
    """Return the largest code of all ranks; the lowest rank with a message prints it.

    Aborts the job if the other ranks do not arrive within ``GRACE`` of a failed one.
    """
    # Of several waiting ranks the lowest aborts first.
    alone = threading.Timer(GRACE + 0.1 * comm.rank, _abort, (comm, code, message))
    alone.daemon = True
    if message is not None:
        alone.start()
    try:
        comm.barrier()
    except PeerLost as lost:
        _abort_without(comm, lost, code, message)
    alone.cancel()
    printer = -comm.largest(-comm.rank if message is not None else -comm.size)
    if comm.rank == printer and message:
        _print(message)
    return comm.largest(code)


def _abort(comm: Comm, code: int, message: str | None) -> None:
    what = message or f"exit code {code}"
    _print(f"{_place(comm)} {what}\n{_place(comm)} the other ranks did not stop within {GRACE:.0f} s: aborting them")
    comm.abort(code or InternalError.exit_code)


def _abort_without(comm: Comm, lost: PeerLost, code: int = 0, message: str | None = None) -> None:
    time.sleep(min(0.2 * comm.rank, 2.0))  # all remaining ranks see the loss: the lowest aborts the job
    _print(f"{_place(comm)} {message or _message(lost, False)}")
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
    if sys.stdout is not None:
        sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)
