"""Calls from the front to the ranks, and their turn.

Jobs, loads and changes take turns by ``turn``, so that what the ranks do is what the front says they do. Short
requests on results do not: rank 0 answers them after the request under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from typing import Any

from dgraph.service.front.problem_documents import Problem, of_error
from dgraph.service.front.settings import Settings
from dgraph.service.supervisor.supervisor import RankError, RanksDied

OWN_FILE = r"/(?:graphs/[^/\s]+/\d+/table|uploads/[0-9a-f]+(?:\.edges)?)\.\w+"
FLAG = re.compile(r"--([a-z][a-z-]*)((?: [\w,\[\]]+)?) \((\w+)=(\w*)\)")
HOST_PATH = re.compile(r"(?<![\w.~-])/(?!v1/|dev/|proc/)(?:[^\s/'\":,;()]+/)+([^\s/'\":,;()]*)")
BARE_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
"""In messages of the ranks: files of the state folder and the host, and options as Python has them."""

SOON_S = 0.5
"""Seconds that metrics wait for figures of the ranks' memory."""

TURN_S = 10.0
"""Seconds for which a path or an estimate waits while the ranks are busy."""


def _option(match: re.Match) -> str:
    """Return an option as JSON or a query names it, with its value if the message has one."""
    value = match[4].lower() or match[2].strip()
    return f"{match[3]}={value}" if value else match[3]


class RankCalls:
    """The ranks, as the front uses them.

    Args:
        ranks: ``supervisor.Ranks``.
        settings: the folders.

    Attributes:
        turn: held by a job, load or change that the ranks work on.
        draining: True once the service ends.
        memory: the latest figures of memory, and their time; None: none yet.
    """

    def __init__(self, ranks: Any, settings: Settings):
        self.ranks = ranks
        state, root = settings.state, settings.data_root
        self.own_file = re.compile(re.escape(str(state)) + OWN_FILE)
        folders = {f"{folder}/" for one in (state, root) for folder in (one, one.resolve()) if folder != folder.parent}
        longest_first = sorted(folders, key=len, reverse=True)
        self.folders = re.compile(rf"(?<![\w.~-])(?:{'|'.join(map(re.escape, longest_first))})")
        self.turn = asyncio.Lock()
        self.memory: tuple[float, list[dict[str, Any]]] | None = None
        self.draining = False

    @property
    def up(self) -> bool:
        """True if rank 0 takes requests."""
        return self.ranks.condition == "up"

    @property
    def on_gpus(self) -> bool:
        """True if runs go to GPUs, as rank 0 reported."""
        return self.ranks.hello.get("backend") == "cuda"

    @property
    def shares(self) -> bool:
        """True if runs may share a pass: on one rank, by its CPU."""
        return self.ranks.hello.get("ranks", 1) == 1 and not self.on_gpus

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
        try:
            return await self.ranks.call(op, **fields)
        except RankError as error:
            raise RankError(error.kind, self.plain(error.message)) from None
        except RanksDied as died:
            raise RanksDied(self.plain(str(died))) from None

    def plain(self, text: str) -> str:
        """Return a text of the ranks in words of HTTP: options of JSON, and paths below the data root alone."""
        text = self.own_file.sub("the data sent", text)
        text = HOST_PATH.sub(r"\1", self.folders.sub("", text))
        text = BARE_FLAG.sub(r"\1", FLAG.sub(_option, text))
        return text.replace("with weights=", "as the third number of its row")

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """Send a short request for a route.

        Raises:
            Problem: the ranks are not up, died, or reported an error.
        """
        self.need()
        try:
            return await self.call(op, **fields)
        except RanksDied as died:
            raise of_error({"kind": "RanksDied", "message": f"{died}; ask again in a second"}) from None
        except RankError as error:
            raise of_error({"kind": error.kind, "message": error.message}) from None

    async def ask_in_turn(self, op: str, *, version: Callable[[], int] | None = None, **fields: Any) -> dict[str, Any]:
        """Send a request for a route when jobs, loads and changes let it, within ``TURN_S``.

        Args:
            op: the operation.
            version: function that returns the version of its graph, or raises a problem; called before the request
                waits, and again before it is sent.
            fields: the operation's further keys.

        Raises:
            Problem: as of :meth:`ask` and ``version``; 503 if the ranks are busy for longer.
        """
        self.need()
        if version is not None:
            version()
        try:
            async with asyncio.timeout(TURN_S):
                await self.turn.acquire()
        except TimeoutError:
            detail = f"a job, load or change has kept the ranks busy for {TURN_S:g} s; ask again later, or cancel it"
            raise Problem(503, detail, "Busy", headers={"Retry-After": "10"}) from None
        try:
            if version is not None:
                fields["version"] = version()
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
            figures = await self.ask_in_turn("memory")
            self.memory = time.time(), figures["by_rank"]
        return self.memory

    async def look_at_memory(self) -> None:
        """Take new figures of memory, if the ranks give them soon; for a request that does not wait for the ranks."""
        with contextlib.suppress(Problem, TimeoutError):
            async with asyncio.timeout(SOON_S):
                if self.memory is None or not self.turn.locked():
                    await self.memory_by_rank()

    def send(self, op: str, **fields: Any) -> None:
        """Send a request and ignore its answer."""

        async def quietly() -> None:
            with contextlib.suppress(RanksDied, RankError):  # dead ranks hold nothing
                await self.ranks.call(op, **fields)

        task = asyncio.ensure_future(quietly())
        _background.add(task)
        task.add_done_callback(_background.discard)


_background: set[asyncio.Task] = set()
