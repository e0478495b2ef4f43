"""Calls from the front to the ranks, and their turn.

Jobs, loads and changes take turns by ``turn``, so that what the ranks do is what the front says they do. Short
requests on results do not: rank 0 answers them after the request under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from dgraph.service.front.problem_documents import Problem, of_error
from dgraph.service.supervisor.supervisor import RankError, RanksDied

TURN_S = 10.0
"""Seconds for which a path or an estimate waits while the ranks are busy."""


class RankCalls:
    """The ranks, as the front uses them.

    Args:
        ranks: ``supervisor.Ranks``.

    Attributes:
        turn: held by a job, load or change that the ranks work on.
        draining: True once the service ends.
        memory: the latest figures of memory, and their time; None: none yet.
    """

    def __init__(self, ranks: Any):
        self.ranks = ranks
        self.turn = asyncio.Lock()
        self.memory: tuple[float, list[dict[str, Any]]] | None = None
        self.draining = False

    @property
    def up(self) -> bool:
        """True if rank 0 takes requests."""
        return self.ranks.condition == "up"

    def need(self) -> None:
        """Refuse a request that the ranks cannot take now.

        Raises:
            Problem: 503.
        """
        if self.draining:
            raise Problem(503, "the service ends; ask again when it is up", headers={"Retry-After": "10"})
        if not self.up:
            condition = self.ranks.condition
            raise Problem(
                503, f"the ranks are {condition}; ask again in a second", "RanksDied", headers={"Retry-After": "1"}
            )

    async def call(self, op: str, **fields: Any) -> dict[str, Any]:
        """Send a request to the ranks; return its answer.

        Raises:
            RanksDied, RankError: as of the supervisor.
        """
        return await self.ranks.call(op, **fields)

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """Send a short request for a route.

        Raises:
            Problem: the ranks are not up, died, or reported an error.
        """
        self.need()
        try:
            return await self.ranks.call(op, **fields)
        except RanksDied as died:
            raise of_error({"kind": "RanksDied", "message": f"{died}; ask again in a second"}) from None
        except RankError as error:
            raise of_error({"kind": error.kind, "message": error.message}) from None

    async def ask_in_turn(self, op: str, **fields: Any) -> dict[str, Any]:
        """Send a request for a route when jobs, loads and changes let it, within ``TURN_S``.

        Raises:
            Problem: as of :meth:`ask`; 503 if the ranks are busy for longer.
        """
        self.need()
        try:
            async with asyncio.timeout(TURN_S):
                await self.turn.acquire()
        except TimeoutError:
            detail = f"a job, load or change has kept the ranks busy for {TURN_S:g} s; ask again later, or cancel it"
            raise Problem(503, detail, "Busy", headers={"Retry-After": "10"}) from None
        try:
            return await self.ask(op, **fields)
        finally:
            self.turn.release()

    async def memory_by_rank(self) -> tuple[float, list[dict[str, Any]]]:
        """Return the time of the latest figures of memory, and these; while the ranks are busy, the last ones known.

        Raises:
            Problem: as of :meth:`ask_in_turn`.
        """
        self.need()
        if self.memory is None or not self.turn.locked():
            found = await self.ask_in_turn("memory")
            self.memory = time.time(), found["by_rank"]
        return self.memory

    def send(self, op: str, **fields: Any) -> None:
        """Send a request whose answer nobody needs."""

        async def quietly() -> None:
            with contextlib.suppress(RanksDied, RankError):  # dead ranks hold nothing
                await self.ranks.call(op, **fields)

        task = asyncio.ensure_future(quietly())
        _background.add(task)
        task.add_done_callback(_background.discard)


_background: set[asyncio.Task] = set()
