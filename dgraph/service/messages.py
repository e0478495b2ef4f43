"""Messages between the front process and rank 0, over one Unix socket.

A frame is four bytes of length, little-endian, then that many bytes of JSON: an object. Rank 0 connects, and sends
``{"hello": {"ranks": N, "pids": […], "hosts": […], "backend": …, "version": …}}``. After that:

Front to rank 0: ``{"id": 7, "op": "run", …}``, a request; its other keys are the operation's. Requests run one after
the other, in the order received, on all ranks. ``{"requests": […]}`` holds requests that were sent at the same time;
runs of bfs among them that differ only in their sources share one pass, on one CPU rank. ``{"cancel": 7}`` ends request
7 within one round; if it is still waiting, before it starts.

Rank 0 to the front: ``{"id": 7, "ok": {…}}`` or ``{"id": 7, "error": {"kind": …, "message": …}}``, once for each
request. ``{"id": 7, "event": {"phase": "load"}}`` and ``{"id": 7, "event": {"round": 3, "active": 812, "seconds":
0.012}}`` may come before it.

Operations, with their keys → the keys of ``ok``. ``graph`` and ``version`` name a graph in all of them.

==============  =======================================================================================================
``load``        source, options, store → facts, bytes_by_rank, columns (names of those kept). Loads a graph, and writes
                to the folder ``store`` what ``open`` makes it of again.
``table``       path, format, options, store → as ``load``; the source is a file of edges that the front received.
``open``        store → as ``load``. Opens a graph that ``load``, ``table`` or ``change`` wrote.
``drop``        → {}. Without a version: all of them.
``change``      new_version, path, store → as ``load``. ``path`` is an Arrow file: source, target, weight, remove.
``estimate``    algorithm, parameters → bytes_by_rank, available_by_rank, fits. With ``source``, a generator, and
                options in place of a graph: the same for its load.
``run``         the keys of ``Run`` → summary, rounds, converged, limit, seconds, columns (names), rows, bytes, top,
                report
``rows``        job, spool, columns, offset, limit → rows. Writes rows of a held result to an Arrow file.
``lookup``      job, vertices → columns. Rows of some vertices, in the order asked.
``top``         job, top, column → top. The rows of largest values of a held result.
``release``     job → {}. Frees a held result.
``path``        source, target, weighted → vertices, length
``memory``      → by_rank: list of {device_used, device_total, host_used}
``stop``        → {}. The ranks end.
==============  =======================================================================================================

``options`` of a load are the keywords of ``Graph.load`` that JSON can hold. ``path`` of ``table`` and ``change`` may be
removed afterwards, but not written to. ``run`` and ``path`` take ``where``, which selects vertices by a kept column:
``{"column": "core", "is": ">=", "value": 3}``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

MOST_BYTES = 1 << 30
"""Longest frame that is accepted."""

HEADER = 4
"""Bytes of a frame's length."""


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Run(TypedDict, total=False):
    """Keys of the operation ``run``.

    Attributes:
        job: the job's id; a held result is found by it.
        graph: name of the graph.
        version: its version.
        algorithm: name in the register.
        parameters: as of the Python function.
        mode: "stream", "stats", "mutate" or "write".
        top: number of first rows to return with the answer, by the result's own order; 0: none.
        keep: True if the ranks shall hold the result, for ``rows``, ``lookup`` and ``release``.
        spool: Arrow file to which all rows are written; None: none.
        column: name of the column that mode "mutate" keeps with the graph.
        write: file that mode "write" writes, by the suffixes of ``Result.save``.
        timeout_s: seconds after which the run ends with error kind "TimedOut"; None: no limit.
        weight: attribute of the edges (``keep`` of the load) that is their weight in this run; None: their own.
        where: selection of vertices, on whose subgraph the algorithm runs; None: all.
        options: fields of :class:`dgraph.Options`.
        validate: True checks the answer by its certificate.
        report: True returns the report.
        previous: job of a held result, of an older version, from which the run starts if it can.
    """

    job: str
    graph: str
    version: int
    algorithm: str
    parameters: dict[str, Any]
    mode: str
    top: int
    keep: bool
    spool: str | None
    column: str | None
    write: str | None
    timeout_s: float | None
    weight: str | None
    where: dict[str, Any] | None
    options: dict[str, Any]
    validate: bool
    report: bool
    previous: str | None


SHARING = ("bfs", "sssp")
"""Algorithms whose jobs may share a pass with others that differ only in their sources."""

KINDS = ("UsageError", "DataError", "OutputError", "OutOfMemory", "Cancelled", "TimedOut", "NotFound", "InternalError")
"""Kinds of errors that rank 0 reports. A request that was under way when a rank died has kind "RanksDied"."""


EXTERNAL, SOCKET = "DGRAPH_SERVICE_RANKS", "DGRAPH_SERVICE_SOCKET"
"""Environment variables of a front that rank 0 started: the number of ranks that run, and the socket to listen on."""


LAUNCHERS = ("PMI", "PMIX", "OMPI", "PRTE", "SLURM", "HYDRA", "MPI_LOCAL")
"""Prefixes of variables that launchers of MPI jobs set for ranks."""

SETTINGS = ("OMPI_MCA_plm", "OMPI_MCA_plm_rsh_agent")
"""Variables with such a prefix that users set: how Open MPI starts processes, on machines without ssh."""


def without_launcher() -> dict[str, str]:
    """Return this environment without launchers' variables, for a child that is no rank of this MPI job."""
    return {name: value for name, value in os.environ.items() if name in SETTINGS or not name.startswith(LAUNCHERS)}


@contextmanager
def address(path: Path) -> Iterator[str]:
    """Yield an address of a Unix socket to bind or connect, however long its path: the system takes 107 bytes."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def encode(message: dict[str, Any]) -> bytes:
    """Return the frame of a message."""
    text = _encode(message).encode()
    return len(text).to_bytes(HEADER, "little") + text


def joined(frames: Sequence[bytes]) -> bytes:
    """Return one frame that holds the requests of several."""
    text = b'{"requests":[' + b",".join(frame[HEADER:] for frame in frames) + b"]}"
    return len(text).to_bytes(HEADER, "little") + text


class Frames:
    """Messages in a stream of bytes."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def of(self, piece: bytes) -> list[dict[str, Any]]:
        """Take the next bytes; return the messages that are complete now.

        Raises:
            ValueError: a frame is longer than ``MOST_BYTES``, or not JSON: the other end is not a dgraph process.
        """
        rest, offset, messages = self._rest, 0, []
        rest += piece
        while len(rest) >= offset + HEADER:
            begin = offset + HEADER
            end = begin + length(rest[offset:begin])
            if len(rest) < end:
                break
            messages.append(decode(rest[begin:end]))
            offset = end
        if offset:
            self._rest = rest[offset:]
        return messages


def length(header: bytes | bytearray) -> int:
    """Return the bytes of the text that follows a header.

    Raises:
        ValueError: the frame is longer than ``MOST_BYTES``.
    """
    size = int.from_bytes(header, "little")
    if size > MOST_BYTES:
        raise ValueError(f"a frame of {size} bytes; the limit is {MOST_BYTES}: the other end is not a dgraph process")
    return size


def decode(text: bytes | bytearray) -> dict[str, Any]:
    """Return the message in the text of a frame."""
    return json.loads(text)
