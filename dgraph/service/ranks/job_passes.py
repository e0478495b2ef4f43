"""Jobs of one kind on one graph that came together: one pass of all their searches, or one run after the other.

Every job keeps its own time limit, cancellation and answer. Entries: :func:`grouped`, :func:`carry_out`.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from dgraph.engine.rounds.progress import Progress
from dgraph.service.messages import SHARING
from dgraph.service.ranks.front_link import FrontLink
from dgraph.service.ranks.rank_state import RankState, Request
from dgraph.service.ranks.run_observer import RunObserver
from dgraph.service.ranks.run_operations import Unreported, algorithm_of, answered
from dgraph.service.ranks.run_together import run_together

SHARED = "shared"
"""Operation that holds several requests; rank 0 makes it, the front does not."""

ALONE = ("weight", "where", "options", "validate", "report", "previous")
"""Keys of a run that it does not share with others."""

ENDED = "the job was cancelled while it shared a pass with others; its answer is incomplete"


def grouped(requests: Sequence[Request]) -> list[Request]:
    """Return requests in their order, with neighbours that differ only in their sources as one request."""
    if len(requests) == 1:
        return list(requests)
    merged: list[Request] = []
    for kind, some in itertools.groupby(requests, _name_pass):
        group = list(some)
        merged += [{"op": SHARED, "requests": group}] if kind is not None and len(group) > 1 else group
    return merged


def _name_pass(request: Request) -> str | None:
    """Return a text that is equal for runs that may share a pass; None for a request that does not share one."""
    shares = request.get("op") == "run" and request.get("algorithm") in SHARING
    if not shares or request.get("mode") not in ("stream", "stats") or any(request.get(key) for key in ALONE):
        return None
    rest = {name: value for name, value in (request.get("parameters") or {}).items() if name != "source"}
    return json.dumps([request.get(key) for key in ("graph", "version", "algorithm")] + [rest], sort_keys=True)


class SharedObserver(Progress):
    """Progress of a pass: its rounds are those of every job; a job that is cancelled is refused after the round.

    Args:
        observers: of the jobs.
        refuse: function that refuses the job of an index.
    """

    def __init__(self, observers: Sequence[RunObserver], refuse: Callable[[int], None]):
        self.observers, self._refuse = observers, refuse
        self.ended: set[int] = set()

    def round(self, number, vertices, edges=None, direction=""):
        """Send the round to every job."""
        for observer in self.observers:
            observer.round(number, vertices, edges, direction)

    def cancelled(self):
        """Refuse jobs that were cancelled or are late; return True once none is left."""
        for index, observer in enumerate(self.observers):
            if index not in self.ended and observer.cancelled():
                self.ended.add(index)
                self._refuse(index)
        return len(self.ended) == len(self.observers)


def carry_out(
    state: RankState, requests: Sequence[Request], link: FrontLink | None, alone: Callable[..., tuple[str | None, Any]]
) -> None:
    """Carry out runs that came together, and answer each; collective.

    Args:
        state: state of this rank.
        requests: the runs.
        link: the front, on rank 0; None elsewhere.
        alone: function that carries out one request; returns None and the answer, or the kind and text of an error.
    """

    def refuse(index: int) -> None:
        if link is not None:
            observer = observers[index]
            link.refuse(requests[index]["id"], observer.reason(), observer.explained(ENDED))

    observers = [RunObserver(link, request["id"], request.get("timeout_s")) for request in requests]
    shared = SharedObserver(observers, refuse)
    answers = _passed(state, requests, shared) if state.comm.size == 1 else None
    for index, request in enumerate(requests):
        if index in shared.ended:
            continue
        kind, answer = alone(state, request, observers[index]) if answers is None else (None, answers[index])
        if link is not None:
            link.reply(request["id"], kind, answer)


def _passed(state: RankState, requests: Sequence[Request], shared: SharedObserver) -> list[dict[str, Any]] | None:
    """Return the answers of runs in one pass; None if they must run alone, such as those of which one has an error."""
    began, answers = time.perf_counter(), []
    try:
        graph = state.graph(requests[0])
        works = [algorithm_of(asked["algorithm"], asked.get("parameters") or {}, graph) for asked in requests]
        results = run_together(works, graph, Unreported(state.comm, []), shared)
        if results is None:
            return None
        for index, (request, result) in enumerate(zip(requests, results, strict=True)):
            answers.append({} if index in shared.ended else answered(state, request, graph, result, shared))
            answers[-1]["seconds"] = time.perf_counter() - began
    except Exception:  # each run alone reports its own error
        return None
    return answers
