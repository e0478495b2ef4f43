"""``Settings``: options of the front, and the state folder."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from dgraph.errors import UsageError

GIB = 1 << 30
FOLDERS = ("spool", "graphs", "uploads")
"""Folders inside the state folder."""

UNIX_PATH = 107
"""Longest path of a Unix socket in bytes."""


@dataclass(frozen=True)
class Settings:
    """Options of a service.

    Attributes:
        state: state folder: history, spool, stores, sockets. One service at a time uses it.
        data_root: folder of the files that ``source`` and ``write`` may name.
        ranks: number of ranks to start.
        port: TCP port; 0: one that the system chooses; None: no TCP.
        bind: address of the TCP port.
        socket: path of the Unix socket; None: ``service.sock`` in the state folder.
        token_file: file of tokens for TCP; None: TCP takes only the cookie of the one-time login.
        hosts: more names that the Host header may have.
        device: device of the ranks' graphs.
        queue: most queued jobs; above, 429.
        queue_each: most queued jobs of one token.
        spool_bytes: bytes of spooled results; beyond, the least recently used is evicted.
        spool_bytes_each: bytes of spooled results of one token.
        held_results: results that the ranks hold for jobs with ``top``; the ranks keep as many, the latest.
        upload_bytes: largest body of a graph, decompressed.
        upload_bytes_each: bytes that one token may be uploading at a time.
        json_bytes: largest JSON body; of edges, 256 times as much.
        columns: most columns of an uploaded table.
        cache: True if equal jobs share results.
        keep_jobs: records in the history; the oldest finished are deleted.
        drain_s: seconds that running jobs have to end after SIGTERM.
        grace_s: seconds that a cancelled or late job or load has to end; then the ranks are killed and started again.
    """

    state: Path
    data_root: Path
    ranks: int = 1
    port: int | None = 0
    bind: str = "127.0.0.1"
    socket: Path | None = None
    token_file: Path | None = None
    hosts: tuple[str, ...] = ()
    device: str = "auto"
    queue: int = 4096
    queue_each: int = 2048
    spool_bytes: int = 8 * GIB
    spool_bytes_each: int = 8 * GIB
    held_results: int = 256
    upload_bytes: int = 16 * GIB
    upload_bytes_each: int = 32 * GIB
    json_bytes: int = 1 << 20
    columns: int = 64
    cache: bool = True
    keep_jobs: int = 100_000
    drain_s: float = 12.0
    grace_s: float = 15.0
    external: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.ranks < 1:
            raise UsageError(f"got {self.ranks} ranks, but a service needs 1 or more")
        if not self.data_root.is_dir():
            raise UsageError(f"{self.data_root} is not a folder; --data-root names the folder of the graph files")
        if self.port is not None and not loopback(self.bind) and self.token_file is None:
            raise UsageError(
                f"got --bind {self.bind}, which other hosts can reach, without --token-file; give a file with one "
                "token a line, of mode 0600"
            )
        if len(os.fsencode(self.unix_socket)) > UNIX_PATH:
            raise UsageError(
                f"{self.unix_socket} has {len(os.fsencode(self.unix_socket))} bytes, but the path of a Unix socket has "
                f"at most {UNIX_PATH}; give a shorter --socket or --state-dir"
            )

    @property
    def unix_socket(self) -> Path:
        """Path of the Unix socket."""
        return self.socket or self.state / "service.sock"

    @property
    def spool(self) -> Path:
        """Folder of results."""
        return self.state / "spool"

    def store(self, name: str, version: int) -> Path:
        """Return the folder of a graph's version."""
        return self.state / "graphs" / name / str(version)


def loopback(address: str) -> bool:
    """Return True if only this host can reach the address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def take_state(state: Path) -> IO[str]:
    """Make the state folder, and lock it.

    Returns:
        The lock; closing it gives the folder free.

    Raises:
        UsageError: another service uses the folder, it belongs to another user, or it cannot be made or written.
    """
    try:
        return _taken(state)
    except OSError as error:
        where = error.filename or state
        why = "not a folder" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise UsageError(f"the state folder {state} cannot be used: {where}: {why}; give another --state-dir") from None


def _taken(state: Path) -> IO[str]:
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    if state.stat().st_uid != os.getuid():
        raise UsageError(f"the state folder {state} belongs to another user; give another --state-dir")
    state.chmod(0o700)
    lock = open(state / "lock", "a+")  # noqa: SIM115 - kept open as long as the service runs
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise UsageError(
            f"the state folder {state} is used by another service, process {holder}; end it, or give another "
            "--state-dir"
        ) from None
    try:
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        for name in FOLDERS:
            (state / name).mkdir(exist_ok=True, mode=0o700)
    except OSError:
        lock.close()
        raise
    return lock
