"""Frontier, direction and seconds of one rank's rounds, in bounded memory.

All rounds are kept while they are few; a long run keeps every 2nd, 4th, … round, the last one and the heaviest one.
Totals cover every round. Main entry: :class:`RoundSeries`; :mod:`record` puts it into the report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dgraph.backend.round_stats import RoundStats
from dgraph.engine.rounds.load_record import LoadRecord

PARTS = ("compute", "pack", "exchange", "unpack", "idle")
"""Timers inside solve that make up its rounds. ``exchange`` is communication that nothing overlaps; ``idle`` is the
wait for the slowest rank at the end of a round."""

HIDDEN = "hidden"
"""Timer of communication that overlaps computing. It is not one of ``PARTS``: it costs no time of its own."""

COLUMNS = ("start", *PARTS, HIDDEN)
"""Seconds of a round of one rank."""

KEPT_ROUNDS, UNREAD = 1024, 4
"""Upper bound of the rounds that one rank keeps, and how many times as many may wait to be read: reading 1,000 takes as
long as 50 rounds of a search on a road network."""

NO_STATS = "", 0, 0.0
"""Schedule, max and mean edges of a thread block, of a round without GPU statistics."""


class RoundSeries:
    """Series of rounds of one rank.

    Args:
        timers: seconds by timer, which the run adds to; a round gets the increase since the round before.
        began: ``perf_counter`` at the start of the run.
        most: rounds to keep; None means ``KEPT_ROUNDS``.
    """

    def __init__(self, timers: Mapping[str, float] | None = None, began: float = 0.0, most: int | None = None):
        self.count, self.every = 0, 1
        self.by_direction: dict[str, int] = {}
        self.vertices, self.edges = 0, 0
        self._kept: list[tuple] = []
        self._pending: list[tuple] = []
        self._unread = 0
        self._heaviest: tuple = ()
        self._last: tuple = ()
        self._timers = {} if timers is None else timers
        self._began, self._most = began, most
        self._given = dict.fromkeys((*PARTS, HIDDEN), 0.0)
        self._schedules: dict[str, int] = {}
        self._loads = LoadRecord()

    @property
    def kept(self) -> list[tuple]:
        """The rounds kept."""
        return self._read()._kept

    @property
    def schedules(self) -> dict[str, int]:
        """Rounds by schedule."""
        return self._read()._schedules

    @property
    def loads(self) -> LoadRecord:
        """Edges by thread, where they are counted."""
        return self._read()._loads

    def extend(
        self, figures: np.ndarray, seconds: float, notes: Sequence[RoundStats] | Callable = (), **fields: Sequence
    ) -> None:
        """Append rounds that ended.

        Args:
            figures: frontier vertices, frontier edges, and 1 for a pull or 0 for a push; int64 (rounds, 3).
            seconds: time of each round.
            notes: GPU statistics of all these rounds in order, or empty; or a function that returns them later.
            fields: further fields of ``rounds.kept``, by name: a value of each round; None: the round has none.
        """
        rounds = len(figures)
        if not rounds:
            return
        start = time.perf_counter() - self._began - seconds * rounds
        spent = list(map(self._timers.get, self._given))
        lists = {name: np.asarray(values).tolist() for name, values in fields.items()}
        self._pending.append((figures.copy(), seconds, notes, spent, start, lists))
        self._unread += rounds
        counted = not callable(notes) and any(note.edges for note in notes)  # arrays by thread, which are large
        if counted or self._unread >= UNREAD * KEPT_ROUNDS:
            self._read()

    def describe_last(self, fields: Mapping[str, Sequence]) -> None:
        """Add fields to the last rounds, all of which have ended: by name, a value of each round."""
        self._read()
        for row in filter(None, (*self._kept, self._heaviest, self._last)):
            for name, values in fields.items():
                place = row[0] - 1 - self.count + len(values)
                if place >= 0:
                    row[-1][name] = values[place]

    def _read(self) -> RoundSeries:
        """Add the rounds that wait: few of them until a report is read."""
        waiting, self._pending, self._unread = self._pending, [], 0
        for figures, seconds, notes, spent, start, fields in waiting:
            parts = self._parts(len(figures), seconds, spent)
            self._add(figures, seconds, notes() if callable(notes) else notes, parts, start, fields)
        return self

    def _add(
        self, figures: np.ndarray, seconds: float, notes: Sequence[RoundStats], parts: list[float], start: float,
        fields: Mapping[str, Sequence],
    ) -> None:  # fmt: skip
        vertices, edges, pulled = figures.sum(axis=0).tolist()
        for direction, rounds in (("push", len(figures) - pulled), ("pull", pulled)):
            if rounds:
                self.by_direction[direction] = self.by_direction.get(direction, 0) + rounds
        self.vertices += vertices
        self.edges += edges
        self._thin(self.count + len(figures))
        first, heaviest, last = -self.count % self.every, int(figures[:, 1].argmax()), len(figures) - 1
        kept = range(first, len(figures), self.every)
        places = [*kept, heaviest, last]
        stats = self._stats(notes, places)
        rows = []
        for place, (v, e, pull), one in zip(places, figures[places].tolist(), stats, strict=True):
            direction = "pull" if pull else "push"
            more = {name: values[place] for name, values in fields.items() if values[place] is not None}
            row = (self.count + place + 1, direction, v, e, seconds, start + place * seconds, *parts, one, more)
            rows.append(row)
        self._kept += rows[:-2]
        if not self._heaviest or rows[-2][3] > self._heaviest[3]:
            self._heaviest = rows[-2]
        self._last = rows[-1]
        self.count += len(figures)

    def _stats(self, notes: Sequence[RoundStats], places: Sequence[int]) -> list[tuple[str, int, float]]:
        """Record ``notes``; return schedule, max and mean edges of a thread block for the rounds at ``places``."""
        if not notes:
            return [NO_STATS] * len(places)
        ends, stats = np.cumsum([note.rounds for note in notes]), []
        for note, end in zip(notes, ends.tolist(), strict=True):
            if note.schedule:
                self._schedules[note.schedule] = self._schedules.get(note.schedule, 0) + note.rounds
            stats.append((note.schedule, *self._loads.add(self.count + end, note)))
        return [stats[which] for which in np.searchsorted(ends, places, side="right").tolist()]

    def _parts(self, rounds: int, seconds: float, timers: Sequence[float | None]) -> list[float]:
        """Return the seconds of each part per round: the increase since the last call, at most ``seconds``.

        Args:
            rounds: how many there were.
            seconds: time of each.
            timers: of the parts, at the end of these rounds; None: not used yet.
        """
        parts = []
        for (name, before), timer in zip(self._given.items(), timers, strict=True):
            self._given[name] = timer or 0.0
            parts.append(min(((timer or 0.0) - before) / rounds, seconds))
        return parts

    def _thin(self, count: int) -> None:
        """Halve the rounds kept until ``count`` rounds fit."""
        while -(-count // self.every) > (self._most or KEPT_ROUNDS):
            del self._kept[1::2]
            self.every *= 2

    def times(self) -> tuple[np.ndarray, dict[str, int]] | None:
        """Return what other ranks need for :meth:`parts_of`, and rounds by schedule; None: send :meth:`parts` instead.

        It takes a tenth of the time, which a call on several ranks spends even if its report is not read.

        Returns:
            Seconds of a round, start, and timers of each batch of rounds, float64 (batches, 2 + timers).
        """
        if self.count:  # rounds were read, as in long runs and where edges are counted
            return None
        self._batches, schedules = self._pending, {}  # type: list[tuple], dict[str, int]
        for *_, notes, _, _, _ in self._batches:
            for note in notes() if callable(notes) else notes:
                if note.schedule:
                    schedules[note.schedule] = schedules.get(note.schedule, 0) + note.rounds
        rows = [(b[1], b[4], *[timer or 0.0 for timer in b[3]]) for b in self._batches]
        return np.array(rows, np.float64).reshape(-1, 2 + len(self._given)), schedules

    def parts_of(self, times: np.ndarray) -> dict[str, list[float]]:
        """Return :meth:`parts` of a rank of this run from its :meth:`times`, after this rank's."""
        rounds = np.array([len(figures) for figures, *_ in self._batches], np.int64)
        ends, numbers = rounds.cumsum(), np.array([row[0] for row in self.kept], np.int64)
        batch = np.searchsorted(ends, numbers)
        seconds, start = times[:, :1], times[:, 1:2]
        parts = np.minimum(np.diff(times[:, 2:], axis=0, prepend=0.0) / rounds[:, np.newaxis], seconds)
        places = (numbers - 1 - (ends - rounds)[batch])[:, np.newaxis]
        return _columns(np.hstack([start[batch] + places * seconds[batch], parts[batch]]))

    def summary(self) -> dict:
        """Return ``rounds`` of ``schema.json``: frontiers of all ranks, seconds of this rank."""
        self._read()
        ends = {"heaviest": _row(self._heaviest), "last": _row(self._last)} if self.count else {}
        return {
            "count": self.count,
            "by_direction": self.by_direction,
            "frontier_vertices": self.vertices,
            "frontier_edges": self.edges,
            "every": self.every,
            **ends,
            "kept": [_row(row) for row in self._kept],
        }

    def parts(self) -> dict[str, list[float]]:
        """Return ``ranks[i].rounds`` of ``schema.json``: this rank's start and parts of the rounds kept, in seconds.

        Where edges were counted, also the max and mean edges of a thread block.
        """
        columns = _columns(np.array([row[5:-2] for row in self.kept]).reshape(-1, len(COLUMNS)))
        if any(row[-2][1] for row in self.kept):
            columns["fullest_block"] = [row[-2][1] for row in self.kept]
            columns["mean_block"] = [round(row[-2][2], 3) for row in self.kept]
        return columns


def _columns(table: np.ndarray) -> dict[str, list]:
    """Return start and parts of rounds by name, of a row for each."""
    columns = dict(zip(COLUMNS, np.maximum(table, 0.0).round(7).T.tolist(), strict=True))
    if not any(columns[HIDDEN]):
        del columns[HIDDEN]
    return columns


def _row(row: tuple) -> dict:
    """Return one round as ``rounds.kept`` of ``schema.json`` has it."""
    number, direction, vertices, edges, seconds = row[:5]
    figures = {
        "round": number,
        "direction": direction,
        "frontier_vertices": vertices,
        "frontier_edges": edges,
        "seconds": seconds,
    }
    if schedule := row[-2][0]:
        figures["schedule"] = schedule
    return figures | row[-1]
