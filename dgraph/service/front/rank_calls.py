"""Calls from the front to the ranks, and their turn.

Jobs, loads and changes take turns by ``turn``, so that what the ranks do is what the front says they do. Short
requests, such as lookups, do not: rank 0 answers them after the request under way.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from dgraph.service.front.problem_documents import Problem, of_error
from dgraph.service.supervisor.supervisor import RankError, RanksDied


class RankCalls:
    """The ranks, as the front uses them.

    Args:
        ranks: ``supervisor.Ranks``.
    """

    def __init__(self, ranks: Any):
        self.ranks = ranks
        self.turn = asyncio.Lock()
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

    def send(self, op: str, **fields: Any) -> None:
        """Send a request whose answer nobody needs."""

        async def quietly() -> None:
            with contextlib.suppress(RanksDied, RankError):  # dead ranks hold nothing
                await self.ranks.call(op, **fields)

        task = asyncio.ensure_future(quietly())
        _background.add(task)
        task.add_done_callback(_background.discard)


_background: set[asyncio.Task] = set()
