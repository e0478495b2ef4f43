"""The rounds of a run on one rank: every one while they are few, then some of them; and the sums of all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from dgraph.backend.round_stats import RoundStats
from dgraph.engine.rounds.load_record import LoadRecord

PARTS = ("compute", "pack", "exchange", "unpack", "agree")
"""Of solve. ``exchange`` is time in which nothing else was done; ``agree`` is idle: the wait for the slowest rank."""

HIDDEN = "hidden"
"""Seconds of messages under way while edges were walked: of no part, since nobody waited for them."""

KEPT_ROUNDS = 1024
"""At most, of few ranks."""

NOTHING = "", 0, 0.0


class RoundSeries:
    """Every round's figures while they are few; of a long run every 2nd, 4th, … round, and the totals of all.

    Args:
        timers: seconds by part, which the run adds to; a round gets what came since the one before.
        began: ``perf_counter`` at the start of the run.
        most: rounds kept.
    """

    def __init__(self, timers: Mapping[str, float] | None = None, began: float = 0.0, most: int | None = None):
        self.count, self.every = 0, 1
        self.by_direction: dict[str, int] = {}
        self.vertices, self.edges = 0, 0
        self.kept: list[tuple] = []
        self._timers = {} if timers is None else timers
        self._began, self._most = began, most
        self._given = dict.fromkeys((*PARTS, HIDDEN), 0.0)
        self.schedules: dict[str, int] = {}
        self.loads = LoadRecord()

    def extend(self, figures: np.ndarray, seconds: float, notes: Sequence[RoundStats] = ()) -> None:
        """Rounds ended, each after ``seconds``: frontier vertices, frontier edges, 1 if pulled, int64 (rounds, 3).

        ``notes``: of all of them, in order, or none at all.
        """
        if not len(figures):
            return
        vertices, edges, pulled = figures.sum(axis=0).tolist()
        for direction, rounds in (("push", len(figures) - pulled), ("pull", pulled)):
            if rounds:
                self.by_direction[direction] = self.by_direction.get(direction, 0) + rounds
        self.vertices += vertices
        self.edges += edges
        self._thin(self.count + len(figures))
        first = -self.count % self.every
        rows = figures[first :: self.every].tolist()
        told = self._noted(notes, range(first, len(figures), self.every))
        parts, start = self._parts(len(figures), seconds), time.perf_counter() - self._began - seconds * len(figures)
        for i, (v, e, pull) in enumerate(rows):
            at = first + i * self.every
            traversal = "pull" if pull else "push"
            self.kept.append((self.count + at + 1, traversal, v, e, seconds, start + at * seconds, *parts, told[i]))
        self.count += len(figures)

    def _noted(self, notes: Sequence[RoundStats], places: range) -> list[tuple[str, int, float]]:
        """Of some of the next rounds: the schedule, the edges of its fullest thread block, and their mean."""
        if not notes:
            return [NOTHING] * len(places)
        ends, told = np.cumsum([note.rounds for note in notes]), []
        for note, end in zip(notes, ends.tolist(), strict=True):
            if note.schedule:
                self.schedules[note.schedule] = self.schedules.get(note.schedule, 0) + note.rounds
            told.append((note.schedule, *self.loads.add(self.count + end, note)))
        return [told[which] for which in np.searchsorted(ends, places, side="right").tolist()]

    def _parts(self, rounds: int, seconds: float) -> list[float]:
        """What each of ``rounds`` gets of every part: what was spent since the last, at most its ``seconds``."""
        parts = []
        for name, given in self._given.items():
            spent = self._timers.get(name, 0.0)
            self._given[name] = spent
            parts.append(min((spent - given) / max(rounds, 1), seconds))
        return parts

    def _thin(self, count: int) -> None:
        """Before there are so many rounds."""
        while -(-count // self.every) > (self._most or KEPT_ROUNDS):
            del self.kept[1::2]
            self.every *= 2

    def summary(self) -> dict:
        """As in the report: what all ranks share, and this rank's seconds."""
        return {
            "count": self.count,
            "by_direction": self.by_direction,
            "frontier_vertices": self.vertices,
            "frontier_edges": self.edges,
            "every": self.every,
            "kept": [_told(row) for row in self.kept],
        }

    def parts(self) -> dict[str, list[float]]:
        """This rank's start and parts of the rounds kept, and where edges were counted the fullest thread block of each
        and the mean of all."""
        names = ("start", *PARTS, HIDDEN)
        table = np.array([row[5:-1] for row in self.kept]).reshape(-1, len(names))
        columns = dict(zip(names, np.maximum(table, 0.0).round(7).T.tolist(), strict=True))
        if not any(columns[HIDDEN]):
            del columns[HIDDEN]
        if any(row[-1][1] for row in self.kept):
            columns["fullest_block"] = [row[-1][1] for row in self.kept]
            columns["mean_block"] = [round(row[-1][2], 3) for row in self.kept]
        return columns


def _told(row: tuple) -> dict:
    """Of a round that was kept, as in the report."""
    number, direction, vertices, edges, seconds = row[:5]
    told = {
        "round": number,
        "direction": direction,
        "frontier_vertices": vertices,
        "frontier_edges": edges,
        "seconds": seconds,
    }
    if schedule := row[-1][0]:
        told["schedule"] = schedule
    return told
