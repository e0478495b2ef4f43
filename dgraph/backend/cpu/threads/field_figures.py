"""Figures of a field on the host, in one pass over a rank's masters, by all threads of a team if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.team import Team

SHARE = 1 << 17
"""Vertices of a thread's share below which one thread is faster than waking another."""


class TeamFields(dict[str, np.ndarray]):
    """Masters' values of every field; the team computes figures of them.

    Args:
        out_degree: of the masters, int64.
    """

    def __init__(self, fields: Mapping[str, np.ndarray], out_degree: np.ndarray, team: Team):
        super().__init__(fields)
        self._out_degree, self._team = out_degree, team

    def reached(self, name: str) -> tuple[int, float, int]:
        """Return the figures of distances; see :func:`reached`."""
        return reached(self[name], self._out_degree, self._team)


def reached(values: np.ndarray, out_degree: np.ndarray, team: Team | None = None) -> tuple[int, float, int]:
    """Return the number of distances, the largest one (0 if there are none), and the sum of those vertices' degrees.

    Args:
        values: shape (masters,); the dtype's largest value, or infinity, marks a vertex without a path.
        out_degree: int64 (masters,), in the whole graph.
        team: None: one thread.
    """
    count = _finite if values.dtype.kind == "f" else _below
    kind = float if values.dtype.kind == "f" else int
    threads = 1 if team is None else max(1, min(team.size, values.size // SHARE))
    if team is None or threads == 1:
        vertices, farthest, arcs = count(values, out_degree)
        return vertices, kind(farthest), arcs
    parts: list[tuple] = [()] * threads
    team.run(_count_share, threads, count, values, out_degree, parts)
    counts, largest, sums = zip(*parts, strict=True)
    return sum(counts), kind(max(largest)), sum(sums)


def _count_share(t: int, threads: int, count: Callable, values: np.ndarray, out_degree: np.ndarray, parts: list):
    """Set ``parts[t]`` to the figures of thread t's share of the vertices."""
    share = slice(values.size * t // threads, values.size * (t + 1) // threads)
    parts[t] = count(values[share], out_degree[share])


def _below(values: np.ndarray, out_degree: np.ndarray) -> tuple[int, int, int]:
    return _below_end(values, np.iinfo(values.dtype).max, out_degree)


def _below_few(values, end, out_degree):
    here = values != end
    return (
        int(np.count_nonzero(here)),
        int(values.max(initial=0, where=here)),
        int(out_degree[: values.size][here].sum()),
    )


@njit(cache=True, nogil=True, few=_below_few)
def _below_end(values, end, out_degree):
    count, farthest, arcs = 0, 0, 0
    for v in range(len(values)):  # without branches, so that it becomes vector instructions
        here = values[v] != end
        count += here
        farthest = max(farthest, values[v] if here else 0)
        arcs += out_degree[v] if here else 0
    return count, farthest, arcs


@njit(cache=True, nogil=True)
def _finite(values, out_degree):
    count, farthest, arcs = 0, 0.0, 0
    for v in range(len(values)):
        if np.isfinite(values[v]):
            count += 1
            farthest = max(farthest, values[v])
            arcs += out_degree[v]
    return count, farthest, arcs
