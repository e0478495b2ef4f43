"""State of one rank of the service: graphs and results that stay, and the communicator."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dgraph.comm import Comm
from dgraph.engine.rounds.progress import Progress
from dgraph.errors import Cancelled, OutOfMemory
from dgraph.graph.stored_graph import Graph
from dgraph.service.ranks.held_graphs import HeldGraphs
from dgraph.service.ranks.held_results import HeldResults

T = TypeVar("T")

Request = dict[str, Any]
"""A request of the front, as ``dgraph.service.messages`` describes it."""


@dataclass
class RankState:
    """State of this rank that requests use.

    Attributes:
        comm: the ranks.
        device: where rounds run, a word of ``DEVICES``.
        graphs: graphs by name and version.
        results: results by job.
    """

    comm: Comm
    device: str
    graphs: HeldGraphs = field(default_factory=HeldGraphs)
    results: HeldResults = field(default_factory=HeldResults)

    def check(self, observer: Progress) -> None:
        """End a cancelled request between two steps that have no rounds; collective.

        Raises:
            Cancelled: on every rank.
        """
        if self.comm.total(int(observer.cancelled())):
            raise Cancelled("the request was cancelled between two steps; nothing of it is kept")

    def with_room(self, work: Callable[[], T], but: tuple[str, int] | None = None) -> T:
        """Return ``work()``, called again without held results, then without other graphs, where memory is short.

        Args:
            work: what to do; collective.
            but: name and version of a graph that it needs.
        """
        while True:
            try:
                return work()
            except OutOfMemory as error:
                short = error.with_traceback(None)  # its frames hold memory
            if not self.results.clear() and not self.graphs.evict(but):
                try:
                    raise short
                finally:
                    del short  # it holds this frame: a cycle that only the collection of garbage ends

    def rest(self) -> Iterator[None]:
        """Move held results from this rank's GPU to its host, a step each, and return unused memory; not collective.

        Results that come and go leave gaps between each other, and pools can only return what is wholly unused.
        """
        engines = (graph.kept_backend for graph in self.graphs)
        engine = next((candidate for candidate in engines if candidate is not None), None)
        if engine is None:
            return
        with contextlib.suppress(MemoryError, OutOfMemory):  # the host has no room: they stay
            for columns in [result.columns for result in self.results]:
                for name in columns:
                    columns[name]  # copies it
                yield
        engine.device.give_back()

    def graph(self, request: Request) -> Graph:
        """Return the graph that a request names; collective if it selects vertices (``where``)."""
        return self.graphs.chosen(request["graph"], request["version"], request.get("where"))
