"""ThreadTuner: one thread or the whole team for rounds of medium size, by measurement.

A medium round takes some microseconds. A team is faster on free cores. If another process occupies a core, the team
waits for it at every barrier, and one thread is several times faster. Only timing distinguishes the two cases.
"""

from __future__ import annotations

from functools import cache

SMALL = 1024
"""Frontier vertices and edges below which one thread is faster than waking the others."""

LARGE = 1 << 17
"""Frontier vertices and edges above which the whole team is always used."""

ROUNDS, TRIAL = 256, 16
"""Rounds between two decisions, and rounds while a choice is being measured."""

PROBE = 16
"""Decisions after which the slower choice is measured again."""


class ThreadTuner:
    """Running averages of the cost of one thread and of the team, in seconds per frontier vertex or edge.

    They are kept per power of two of the round's size, since barriers matter less in larger rounds.
    """

    def __init__(self) -> None:
        self._cost: dict[tuple[int, bool], float] = {}
        self._decisions = 0

    def choose(self, work: int) -> tuple[bool, int]:
        """Choose for the next rounds.

        Args:
            work: vertices and edges of the next frontier.

        Returns:
            True for the team, False for one thread; and the number of rounds until the next choice.
        """
        size = work.bit_length()
        for untried in (True, False):
            if (size, untried) not in self._cost:
                return untried, TRIAL
        self._decisions += 1
        faster = self._cost[size, True] < self._cost[size, False]
        return (not faster, TRIAL) if self._decisions % PROBE == 0 else (faster, ROUNDS)

    def record(self, team: bool, size: int, seconds: float, work: int) -> None:
        """Record the time of rounds.

        Args:
            team: the choice.
            size: frontier vertices and edges of the first round.
            seconds: their time.
            work: frontier vertices and edges of all rounds.
        """
        key, cost = (size.bit_length(), team), seconds / max(work, 1)
        self._cost[key] = (self._cost.get(key, cost) + cost) / 2


@cache
def tuner_of(program: str, threads: int) -> ThreadTuner:
    """Return the tuner of a program and a team's size, which a process keeps: later runs need not measure again."""
    return ThreadTuner()
