"""How many threads a round of middling size gets: what was faster lately, measured.

Such a round costs some microseconds. On free cores a team is faster; where another process holds a core, a team waits
for it at every barrier, and one thread is several times faster. Nothing but the clock tells which it is.
"""

from __future__ import annotations

SMALL = 1024
"""Frontier vertices and edges below which one thread is faster than waking the others."""

LARGE = 1 << 17
"""And above which the others are always worth waiting for."""

ROUNDS = 256
"""Rounds between two decisions; a quarter while one of the two is not known."""

PROBE = 16
"""Decisions after which the slower one is tried again."""


class ThreadTuner:
    """Costs of one thread and of the team, seconds a frontier vertex or edge, as calls of fused rounds showed them.

    They are kept by size, in powers of two: the larger a round, the less its barriers weigh.
    """

    def __init__(self) -> None:
        self._cost: dict[tuple[int, bool], float] = {}
        self._decisions = 0

    def team(self, work: int) -> tuple[bool, int]:
        """Whether the team should run the next rounds, of ``work`` frontier vertices and edges; and how many."""
        size = work.bit_length()
        for untried in (True, False):
            if (size, untried) not in self._cost:
                return untried, ROUNDS // 4
        self._decisions += 1
        faster = self._cost[size, True] < self._cost[size, False]
        return (not faster, ROUNDS // 4) if self._decisions % PROBE == 0 else (faster, ROUNDS)

    def learn(self, team: bool, size: int, seconds: float, work: int) -> None:
        """Rounds with ``work`` frontier vertices and edges in all, the first with ``size``, took so long."""
        key, cost = (size.bit_length(), team), seconds / max(work, 1)
        self._cost[key] = (self._cost.get(key, cost) + cost) / 2
