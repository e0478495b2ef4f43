"""ThreadTuner: the number of threads for rounds of medium size, by measurement: one, a part of the team, or all.

A medium round takes some microseconds. Several threads are faster on free cores; of many, each has too little to do.
If another process occupies a core, a team waits for it at every barrier, and one thread is several times faster. Only
timing distinguishes the cases.
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
"""Decisions after which a slower choice is measured again."""


class ThreadTuner:
    """Running averages of the cost of each number of threads, in seconds per frontier vertex or edge.

    They are kept per power of two of the round's size, since barriers matter less in larger rounds.

    Args:
        team: threads of the team; the others to choose from are half of them, a quarter and one.
    """

    def __init__(self, team: int) -> None:
        self._numbers = sorted({1, *(max(team >> shift, 1) for shift in range(3))}, reverse=True)
        self._cost: dict[tuple[int, int], float] = {}
        self._decisions = 0

    def choose(self, work: int) -> tuple[int, int]:
        """Choose for the next rounds.

        Args:
            work: vertices and edges of the next frontier.

        Returns:
            the number of threads, and that of rounds until the next choice.
        """
        size = work.bit_length()
        for untried in self._numbers:
            if (size, untried) not in self._cost:
                return untried, TRIAL
        self._decisions += 1
        fastest, *others = sorted(self._numbers, key=lambda threads: self._cost[size, threads])
        probes, decisions = divmod(self._decisions, PROBE)
        return (fastest, ROUNDS) if decisions else (others[probes % len(others)], TRIAL)

    def record(self, threads: int, size: int, seconds: float, work: int) -> None:
        """Record the time of rounds.

        Args:
            threads: the choice.
            size: frontier vertices and edges of the first round.
            seconds: their time.
            work: frontier vertices and edges of all rounds.
        """
        key, cost = (size.bit_length(), threads), seconds / max(work, 1)
        self._cost[key] = (self._cost.get(key, cost) + cost) / 2


@cache
def tuner_of(program: str, threads: int) -> ThreadTuner:
    """Return the tuner of a program and a team's size, which a process keeps: later runs need not measure again."""
    return ThreadTuner(threads)
