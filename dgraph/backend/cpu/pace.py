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
"""Rounds between two decisions."""

PROBE = 16
"""Decisions after which the slower one is tried again."""


class Pace:
    """Costs of one thread and of the team, seconds a frontier vertex or edge, as calls of fused rounds showed them."""

    def __init__(self) -> None:
        self._cost: dict[bool, float] = {}
        self._decisions = 0

    def team(self) -> bool:
        """Whether the team should run the next rounds of middling size."""
        for untried in (True, False):
            if untried not in self._cost:
                return untried
        self._decisions += 1
        faster = self._cost[True] < self._cost[False]
        return not faster if self._decisions % PROBE == 0 else faster

    def learn(self, team: bool, seconds: float, work: int) -> None:
        """Rounds with ``work`` frontier vertices and edges took so long."""
        if work > SMALL:
            cost = seconds / work
            self._cost[team] = (self._cost.get(team, cost) + cost) / 2
