"""Figures of a field on the host, in one pass over a rank's masters, by all threads of a team if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

import numpy as np

from dgraph._support.compiled import njit
from dgraph._support.threads import in_order
from dgraph.backend.cpu.threads import launch
from dgraph.backend.cpu.threads.atomics import OPTIONS
from dgraph.backend.cpu.threads.team import Team, team_of

SHARE = 1 << 18
"""Vertices of a thread's share below which one thread is faster than waking another."""


class TeamFields(dict[str, np.ndarray]):
    """Masters' values of every field; the team computes figures of them.

    Args:
        out_degree: of the masters, int64.
        levels: of a search by levels, what :func:`reached` would return for its levels.
    """

    def __init__(
        self, fields: Mapping[str, np.ndarray], out_degree: np.ndarray, team: Team,
        levels: tuple[int, int, int] | None = None,
    ):  # fmt: skip
        super().__init__(fields)
        self._out_degree, self._team, self.levels = out_degree, team, levels

    def reached(self, name: str) -> tuple[int, float, int]:
        """Return the figures of distances; see :func:`reached`."""
        return reached(self[name], self._out_degree, self._team)

    def total(self, name: str) -> float:
        """Return the sum of a field of floats: that of shares, whose length does not depend on threads."""
        values = self[name]
        pieces = [values[first : first + SHARE] for first in range(0, values.size, SHARE)]
        return float(sum(in_order(partial(np.sum, dtype=np.float64), pieces, min(self._team.size, len(pieces)))))


def reached(values: np.ndarray, out_degree: np.ndarray, team: Team | None = None) -> tuple[int, float, int]:
    """Return the number of distances, the largest one (0 if there are none), and the sum of those vertices' degrees.

    Args:
        values: shape (masters,); the dtype's largest value, or infinity, marks a vertex without a path.
        out_degree: int64 (masters,), in the whole graph.
        team: None: one thread.
    """
    end = _end(values.dtype)
    team = team or team_of(1)
    threads = max(1, min(team.size, values.size // SHARE))
    counts, farthest = np.zeros((threads, 8), np.int64), np.zeros((threads, 8), type(end))
    team.launch(count, threads, values, end, out_degree, counts, farthest)
    reached, arcs = counts[:, :2].sum(axis=0).tolist()
    return reached, farthest.max().tolist(), arcs


@cache
def _end(dtype: np.dtype) -> int | float:
    """Return the value of a vertex without a path."""
    return np.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)


def _count_few(t, team, threads, values, end, out_degree, counts, farthest):
    here = values < end
    counts[0, 0], counts[0, 1] = np.count_nonzero(here), out_degree[: values.size][here].sum()
    farthest[0, 0] = values[here].max(initial=0)
    return 0


@njit(few=_count_few, **OPTIONS)
def count(t, team, threads, values, end, out_degree, counts, farthest):
    """Set ``counts[t]`` to the number of distances in thread t's share, and the sum of degrees; and ``farthest[t]``."""
    launch.begin(t, team, threads)
    vertices, most, arcs = 0, farthest[t, 0], 0
    for v in range(len(values) * t // threads, len(values) * (t + 1) // threads):
        here = values[v] < end  # without branches, so that it becomes vector instructions
        vertices += here
        most = max(most, values[v] if here else 0)
        arcs += out_degree[v] if here else 0
    counts[t, 0], counts[t, 1], farthest[t, 0] = vertices, arcs, most
    launch.end(t, team, threads)
    return 0
