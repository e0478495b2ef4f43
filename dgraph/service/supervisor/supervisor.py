"""``Ranks``: the MPI job as the front sees it.

It starts the job, sends it requests, and starts it again when it dies, or hangs and is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dgraph.service.messages import SOCKET
from dgraph.service.supervisor.hang_watch import HEARTBEAT, TICK_S, HangWatch
from dgraph.service.supervisor.rank_process import RankProcess, command
from dgraph.service.supervisor.rank_socket import RankError, RanksDied, RankSocket

__all__ = ["RankError", "Ranks", "RanksDied", "Ticket"]

START_S = 120.0
"""Seconds that the ranks have to start and connect."""

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
"""Seconds before a restart: doubled after each failure."""

STEADY_S = 5.0
"""Seconds after which the ranks count as steady, and the pause begins anew."""

END_S = 3.0
"""Seconds that the launcher has to end the job after a rank died; then all are killed."""

GRACE_S = 15.0
"""Seconds that the ranks have to end a request that was cancelled; then they are killed and started again."""

RESERVED_S = 60.0
"""Seconds for which no other process has the pid of ranks that hung: their user may still send it a SIGCONT."""

LOG, LARGEST_LOG = "ranks.log", 16 << 20
"""File of the ranks' output in the state folder, and the bytes beyond which a start moves it to ``ranks.log.1``."""


class Ticket:
    """Handle of one call, by which it can be cancelled at any time; after its end that has no effect.

    For the thread of the event loop only.

    Attributes:
        id: the request's number; None before it is sent.
        cancelled: True once :meth:`cancel` was called.
    """

    def __init__(self) -> None:
        self.id: int | None = None
        self.cancelled = False
        self._send: Callable[[], None] | None = None

    def cancel(self) -> None:
        """End the request within one round, or before it starts."""
        self.cancelled = True
        if self._send is not None:
            self._send()


class Ranks:
    """The ranks, started and kept alive; lives in one event loop, in the main thread.

    Args:
        state: state folder, which holds the socket and the log.
        ranks: number of ranks; 1 is a plain process without a launcher.
        device: where rounds run: "auto", "cpu" or "cuda".
        environment: more environment variables for the ranks.
        external: the ranks were started by mpirun or srun, and rank 0 started this process.
        grace_s: seconds that they have to end a cancelled request.

    Attributes:
        condition: "starting", "up", "down" or "stopped".
        hello: the first message of rank 0; empty before.
        restarts: times that the ranks were started again.
        reason: why the ranks were lost last; "" if they never were.
    """

    def __init__(
        self, state: Path, ranks: int, *, device: str = "auto", environment: Mapping[str, str] | None = None,
        external: bool = False, grace_s: float = GRACE_S,
    ):  # fmt: skip
        self.state, self.ranks, self.device = state, ranks, device
        self.environment, self.external = dict(environment or {}), external
        self.condition, self.hello, self.restarts, self.reason = "starting", dict[str, Any](), 0, ""
        self._listeners: list[Callable[[str], None]] = []
        self._numbers = itertools.count(1)
        self._job: RankProcess | None = None
        self._socket: RankSocket | None = None
        self._ended = asyncio.Event()
        self._first: int | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._hangs = HangWatch(grace_s)
        self._given_up = ""

    async def start(self) -> None:
        """Start the ranks; return when rank 0 has connected.

        Raises:
            RanksDied: they did not start; the text has the end of their log.
        """
        self._set("starting")
        try:
            await self._launch()
        except BaseException:
            self._set("stopped")
            raise
        self._keepers = [asyncio.create_task(self._keep()), asyncio.create_task(self._watch())]

    async def call(
        self, op: str, /, *, on_event: Callable[[dict], None] | None = None, ticket: Ticket | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Send a request; return the ``ok`` of its answer. A cancelled task cancels the request.

        Args:
            op: the operation, see ``dgraph.service.messages``.
            on_event: receives the request's events.
            ticket: cancels the request.
            fields: the operation's keys.

        Raises:
            RankError: the ranks refused or failed.
            RanksDied: the ranks ended meanwhile, or are not up.
        """
        if self.condition != "up" or self._socket is None:
            raise RanksDied("the ranks are restarting" if self.condition in ("down", "starting") else "the ranks ended")
        ticket = ticket or Ticket()
        if ticket.cancelled:
            raise RankError("Cancelled", "the request was cancelled before it was sent")
        number, ranks = next(self._numbers), self._socket
        answer = ranks.send(number, {"op": op, **fields}, on_event)
        self._hangs.sent(number, op)
        answer.add_done_callback(lambda _: self._hangs.answered(number))
        ticket.id, ticket._send = number, lambda: self.cancel(number)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self.cancel(number)
            raise
        finally:
            ticket._send = None
            del answer  # its error holds this frame: a cycle that only the collection of garbage ends

    def cancel(self, request: int) -> None:
        """Cancel request ``request`` (``Ticket.id``); without effect if it has ended."""
        if self._socket is not None:
            self._socket.cancel(request)
            self._hangs.cancelled(request)

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call ``listener(condition)`` at every change of the condition."""
        self._listeners.append(listener)

    async def stop(self, grace_s: float = 10.0) -> None:
        """End the ranks: after the request that runs, or after ``grace_s`` by force, within ``grace_s + END_S``."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        stopping = None
        if self.condition == "up" and self._socket is not None:
            stopping = self._socket.send(next(self._numbers), {"op": "stop"}, None)
        self._set("stopped")
        if stopping is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), grace_s)
        ending = stopping is not None and self._ended.is_set()
        await self._close(RanksDied("the ranks were stopped"), END_S if ending else 0.0)

    def kill(self) -> None:
        """Kill all processes of the ranks that the front started; from any thread."""
        if (job := self._job) is not None:
            job.kill()

    def processes(self) -> list[int]:
        """Return the pids of the launcher and the ranks on this host."""
        if self._job is not None:
            return self._job.pids()
        return list(self.hello.get("pids", [])) if self.external else []

    async def _keep(self) -> None:
        """Start the ranks again whenever they die."""
        pause, loop = FIRST_PAUSE, asyncio.get_running_loop()
        while True:
            began = loop.time()
            await self._ended.wait()
            self._set("down")
            await self._close(None, 0.0 if self._given_up else END_S)
            if self.external:
                self._set("stopped")
                return
            pause = FIRST_PAUSE if loop.time() - began > STEADY_S else pause
            while self.condition != "up":
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                self.restarts += 1
                try:
                    await self._launch()
                except (RanksDied, OSError) as error:  # a full disk may have no place for the socket
                    self.reason = str(error)
                    self._set("down")

    async def _watch(self) -> None:
        """Kill ranks that hang; :meth:`_keep` starts them again."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TICK_S)
            if self.condition != "up" or self._socket is None:
                continue
            stopped = {} if self._job is None else self._job.stopped()
            self._given_up = self._hangs.tick(loop.time(), stopped)
            if self._given_up:
                self._set("down")
                self._socket.fail(RanksDied(f"the ranks ended: {self._given_up}"))
                self.kill()
                if self.external:  # the launcher ends the others
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self.hello["pids"][0], signal.SIGKILL)
                self._ended.set()
            elif self._hangs.heartbeat_due():
                beat = asyncio.ensure_future(self.call(HEARTBEAT))
                beat.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _launch(self) -> None:
        """Start the job once, and wait for rank 0."""
        self._ended, self._first, self._given_up = asyncio.Event(), None, ""
        path = Path(os.environ[SOCKET]) if self.external and SOCKET in os.environ else self.state / "ranks.sock"
        self._socket = RankSocket(path, self._ended.set)
        try:
            await self._socket.listen()
            if not self.external:
                self._job = self._started(path)
            ended = asyncio.ensure_future(self._ended.wait())
            first: set[asyncio.Future] = {ended, self._socket.hello}
            await asyncio.wait(first, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            if not self._socket.hello.done():
                raise RanksDied(await self._start_failed())
        except BaseException:
            await self._close(RanksDied("the ranks did not start"), 0.0)
            raise
        self.hello = self._socket.hello.result()
        loop = asyncio.get_running_loop()
        if self._job is not None:
            for rank, file in self._job.watch(self._local_pids()).items():
                loop.add_reader(file, self._rank_ended, rank, file)
        self._hangs.begin(loop.time())
        self._set("up")

    def _started(self, path: Path) -> RankProcess:
        log = self.state / LOG
        if log.exists() and log.stat().st_size > LARGEST_LOG:
            log.replace(log.with_name(f"{LOG}.1"))
        try:
            job = RankProcess(command(self.ranks, path, self.device), log, self.environment)
        except OSError as error:
            raise RanksDied(f"the ranks cannot be started: {error}") from error
        asyncio.get_running_loop().add_reader(job.pidfd, self._job_ended, job.pidfd)
        return job

    async def _start_failed(self) -> str:
        if self._job is None:
            return f"rank 0 did not connect within {START_S:.0f} s; see the output of the launcher"
        tail = self._job.tail()
        late = "" if self._ended.is_set() else f" within {START_S:.0f} s"
        return f"the {self.ranks} ranks did not start{late}; the end of {self._job.log}:\n{tail or '(empty)'}"

    def _local_pids(self) -> list[int]:
        """Return the pids of the ranks on rank 0's host, 0 for the others; rank 0 is on this one."""
        hosts = self.hello["hosts"]
        return [pid if host == hosts[0] else 0 for pid, host in zip(self.hello["pids"], hosts, strict=True)]

    def _rank_ended(self, rank: int, file: int) -> None:
        asyncio.get_running_loop().remove_reader(file)
        if self._first is None:
            self._first = rank
        self._ended.set()

    def _job_ended(self, file: int) -> None:
        asyncio.get_running_loop().remove_reader(file)
        self._ended.set()

    async def _close(self, error: RanksDied | None, grace_s: float) -> None:
        """End the processes, and fail the calls under way with ``error``, or with the reason of the end."""
        loop, job, ranks = asyncio.get_running_loop(), self._job, self._socket
        if job is not None:
            until = loop.time() + grace_s
            while not job.ended() and loop.time() < until:
                await asyncio.sleep(0.01)
            if error is None:
                self.reason = self._given_up or job.story(self._first)
            for file in (job.pidfd, *job.watch([]).values()):
                loop.remove_reader(file)
            await asyncio.to_thread(job.close, not self._given_up)
            if self._given_up:
                loop.call_later(RESERVED_S, job.reap)
            self._job = None
        elif error is None:
            self.reason = "rank 0 closed its connection"
        if ranks is not None:
            ranks.fail(error or RanksDied(f"the ranks ended: {self.reason}"))
            ranks.close()
            self._socket = None

    def _set(self, condition: str) -> None:
        if condition != self.condition:
            self.condition = condition
            for listener in self._listeners:
                listener(condition)
