"""Personalised PageRank of several walks at a time: a lane of two cache lines for each walk.

An iteration reads each in-edge once for ``LANES`` walks, whose shares are two cache lines of the neighbour. A walk
restarts at a vertex, or at several by their shares. A lane whose change is below the tolerance keeps its ranks while
others go on, so it has those of a run by itself. Sums over vertices are added by chunks of them, in their order: on one
number of ranks the bits do not depend on threads. :func:`ranked` has the stop rule of all devices; this file's
:class:`HostLanes` iterate on a rank's threads, those of ``gpu/rank_lanes_cuda.py`` on a GPU.

On one rank vertices lie by falling out-degree, and the in-edges of each by tiles of sources, whose shares fit a cache;
the graph keeps this layout for later calls. On several, each keeps the in-edges of a range of vertices, by ascending
source, and gets the shares of all vertices after each iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.lanes import LANES as LANES_OF_LINE
from dgraph.algorithms.many_sources.lanes import RANK_LINES, cache_lines, rank_row
from dgraph.algorithms.pagerank import divisors
from dgraph.algorithms.vertex_values import lids_of
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.graph.halo.collected_arcs import offsets_of
from dgraph.graph.local import LocalGraph
from dgraph.result.columns import FieldColumn

LANES = RANK_LINES * LANES_OF_LINE
"""Walks of a batch."""

CHUNK = 32
"""Vertices that a thread takes at a time, whose sums are added before those of others."""

TILE, TILES = 14, 64
"""log2 of the sources of a tile, whose shares take 2 MiB; most tiles, of which the last one has all further sources."""

TURNED = 1 << 11
"""Rows that are written as columns at a time."""

MOST_DEGREE = 2**16 - 1
"""Degree from which vertices are alike in the order of shares: keys of 16 bits are sorted by their digits."""

SETTLED = 2
"""Iterations after which vertices that nothing enters have the rank 0, and pass on shares of 0."""


@dataclass(frozen=True)
class Restarts:
    """Vertices at which each walk restarts, an entry for each vertex of a walk.

    Attributes:
        vertices: original ids, int64 (entries,).
        walks: number of the walk, int64 (entries,), ascending.
        shares: probability that a restart of the walk is there, float64 (entries,).
        count: number of walks.
    """

    vertices: np.ndarray
    walks: np.ndarray
    shares: np.ndarray
    count: int

    @classmethod
    def at_sources(cls, sources: np.ndarray) -> Restarts:
        """Return a walk for each source."""
        return cls(sources, np.arange(len(sources)), np.ones(len(sources)), len(sources))


@dataclass(frozen=True)
class InRows:
    """In-edges of the vertices that this rank keeps.

    Attributes:
        offsets: int64 (kept + 1,); ``sources``: uint32 (arcs,), rows of shares.
        weights: of the edges; None: each weighs 1.
        leaving: sum of the weights of the out-edges of each kept vertex; 0: it is dangling.
        places: row of each of this rank's vertices among the kept ones, int64 (kept,).
        numbers: returns the rows of original ids among the kept ones; outside of 0 … kept - 1: another rank's.
        to_masters: returns values of kept vertices by this rank's masters; collective.
    """

    offsets: np.ndarray
    sources: np.ndarray
    weights: np.ndarray | None
    leaving: np.ndarray
    places: np.ndarray
    numbers: Callable[[np.ndarray], np.ndarray]
    to_masters: Callable[[np.ndarray], np.ndarray]


@dataclass
class Ranked:
    """Ranks of each walk, float64 (masters,), and the iterations and last L1 change of its ranks."""

    columns: list[np.ndarray | FieldColumn] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)


def in_rows(ctx: Context, team: Team) -> InRows:
    """Return this rank's in-edges; collective.

    Raises:
        DataError: as :func:`divisors`.
    """
    local, comm = ctx.local, ctx.comm
    reads = local.out.weight_type is not None
    ctx.weighted |= reads
    leaving = divisors(ctx, "double") if reads else local.out_degree[: local.masters].astype(np.float64)
    if comm.size == 1:
        places, order, offsets, sources, weights = _layout(local, team)
        numbers = lambda ids: places[lids_of(local, ids)]  # noqa: E731
        return InRows(offsets, sources, weights, leaving[order], places, numbers, np.ascontiguousarray)
    rows = ctx.rows("own", "id", weights=reads, simple=False)
    width = np.ones(len(rows.targets)) if rows.costs is None else rows.costs
    kept, first = rows.stop - rows.first, rows.first
    leaving = np.bincount(rows.sources - first, width, kept)
    offsets, sources, weights = rows.offsets, rows.targets, rows.costs
    if rows.directed:
        keepers = np.searchsorted(rows.bounds[1:-1], rows.targets, side="right")
        target, source, width = ctx.scatter(
            keepers, rows.targets.astype(np.int64), rows.sources.astype(np.uint32), width
        )
        order = np.lexsort((width, source, target))
        offsets, sources = offsets_of(target[order] - first, kept), source[order]
        weights = width[order] if reads else None
    numbers = lambda ids: rows.numbers(ids) - first  # noqa: E731
    return InRows(offsets, sources, weights, leaving, np.arange(kept), numbers, rows.to_masters)


def _layout(local: LocalGraph, team: Team) -> tuple:
    """Return the places of vertices by falling out-degree, their order, and by place the offsets, sources and weights.

    The graph keeps them for later calls.
    """
    into = local.incoming if local.directed else local.out
    if "rank lanes" in into.layouts:
        return into.layouts["rank lanes"]
    rising = MOST_DEGREE - np.minimum(local.out_degree, MOST_DEGREE)
    order, places = np.argsort(rising.astype(np.uint16), kind="stable"), np.empty(local.n, np.int64)
    places[order] = np.arange(local.n)
    offsets = np.append(0, np.cumsum(np.diff(into.offsets)[order]))
    bounds = np.searchsorted(offsets, into.arcs * np.arange(team.size + 1) // team.size)
    sources, weights = np.empty(into.arcs, np.uint32), None if into.weights is None else np.empty(into.arcs)
    starts = np.empty((team.size, min((local.n >> TILE) + 1, TILES) + 1), np.int64)
    rows = into.offsets, into.neighbours, into.weights
    team.run(_lay_out, team.size, *rows, order, places, bounds, offsets, starts, sources, weights)
    into.layouts["rank lanes"] = layout = places, order, offsets, sources, weights
    return layout


class Lanes(Protocol):
    """Ranks of a batch of walks where they are iterated: the vertices that this rank keeps.

    Attributes:
        kept: vertices that this rank keeps.
        numbers: as of :class:`InRows`.
    """

    kept: int
    numbers: Callable[[np.ndarray], np.ndarray]

    def begin(self, vertices: np.ndarray, homes: np.ndarray) -> int:
        """Set all ranks to 1/n; return the number of kept vertices that are dangling.

        Args:
            vertices: places at which walks restart, ascending.
            homes: shares of the restarts there, from row 1 on, float64 (1 + vertices, LANES).
        """

    def iterate(self, factor: np.ndarray, going: np.ndarray, settled: bool) -> np.ndarray:
        """Iterate once; return the L1 changes of the kept ranks, and their rank at dangling vertices: (2, LANES).

        Args:
            factor: factor of ``homes`` by lane.
            going: lanes whose ranks change, bool (LANES,).
            settled: vertices that nothing enters have the rank 0 already.
        """

    def column(self, lane: int) -> np.ndarray | FieldColumn:
        """Return the ranks of a lane by this rank's masters; collective."""


def ranked(ctx: Context, lanes: Lanes, restarts: Restarts, alpha: float, tol: float, max_iter: int) -> Ranked:
    """Rank the vertices for each walk, ``LANES`` at a time; collective."""
    answer, numbers, n = Ranked(), lanes.numbers(restarts.vertices), ctx.local.n
    here = (numbers >= 0) & (numbers < lanes.kept)
    for first in range(0, restarts.count, LANES):
        mine = here & (restarts.walks >= first) & (restarts.walks < first + LANES)
        vertices, places = np.unique(numbers[mine], return_inverse=True)
        homes = lines(len(vertices) + 1)
        homes[places + 1, restarts.walks[mine] - first] = restarts.shares[mine]
        used = np.arange(LANES) < restarts.count - first
        sinks = np.full(LANES, ctx.total(lanes.begin(vertices, homes)) * (1 / max(n, 1)))
        frozen, iterations, changes = ~used, np.zeros(LANES, np.int64), np.zeros(LANES)
        for number in range(1, max_iter + 1):
            ctx.comm.watchdog.begin(number)
            mine = lanes.iterate(1 - alpha + alpha * sinks, ~frozen, number > SETTLED)
            change, sinks = np.add.reduce(ctx.comm.allgather(mine), axis=0)
            changes = np.where(frozen, changes, change)
            iterations[~frozen] = number
            frozen = frozen | (changes < tol)
            ctx.rounds += 1
            boundary(ctx, f"the run was cancelled after round {number}; its ranks are not final", ctx.rounds, n)
            if frozen.all():
                break
        answer.columns += [lanes.column(lane) for lane in np.flatnonzero(used).tolist()]
        answer.iterations += iterations[used].tolist()
        answer.changes += changes[used].tolist()
    return answer


class RankLanes(HostSolver):
    """Iterations on a team of threads, of a rank with or without a GPU."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of lanes and of rows while they are laid out: 64 an arc; 200 a vertex, 176 a kept one.

        A kept vertex at which a walk restarts takes 256 more, which are not counted.
        """
        return 200 * size.n + 176 * size.masters + 64 * size.arcs

    def solve(self, ctx: Context, restarts: Restarts, alpha: float, tol: float, max_iter: int) -> Ranked:
        """Rank the vertices for each walk; collective.

        Raises:
            DataError: weights that no walk can follow, as of pagerank.
        """
        with ctx.record("prepare"):
            lanes = HostLanes(ctx, in_rows(ctx, self.team), self.team, alpha)
        with ctx.record("compute"):
            return ranked(ctx, lanes, restarts, alpha, tol, max_iter)


class HostLanes:
    """Lanes in this rank's memory, iterated by a team of threads.

    A rank is kept as the share of each unit that leaves its vertex; the share of a dangling vertex is its rank. The
    change is of shares, times what leaves, so it is 0 where nothing changes.
    """

    def __init__(self, ctx: Context, rows: InRows, team: Team, alpha: float):
        self.ctx, self.rows, self.team, self.alpha = ctx, rows, team, alpha
        self.kept, self.numbers = len(rows.leaving), rows.numbers
        self.dangling = rows.leaving == 0
        self.leaving = np.where(self.dangling, 1, rows.leaving)
        self.portions = 1 / self.leaving
        self.following, self.shares = lines(self.kept), lines(ctx.local.n)
        self.first = ctx.comm.before(self.kept)
        self.totals = lines(2 * -(-self.kept // CHUNK))
        self.columns: np.ndarray | None = None

    def begin(self, vertices: np.ndarray, homes: np.ndarray) -> int:
        """Set all ranks to 1/n."""
        if self.columns is not None:
            self.columns, self.shares = None, lines(self.ctx.local.n)
        self.team.run(_spread, self.team.size, self.portions / max(self.ctx.local.n, 1), self.following)
        self.homes, self.jumps, self.jump = homes, lines(len(homes)), np.zeros(self.kept, np.uint32)
        self.jump[vertices] = np.arange(1, len(homes))
        return int(self.dangling.sum())

    def iterate(self, factor: np.ndarray, going: np.ndarray, settled: bool) -> np.ndarray:
        """Iterate once, by the shares of all vertices; collective."""
        rows, on = self.rows, lines(1)
        self._gather()
        np.multiply(self.homes, factor, self.jumps)
        on[0], self.totals[:] = going, 0.0
        own = self.shares[self.first : self.first + self.kept]
        self.team.run(
            _iterate, self.team.size, rows.offsets, rows.sources, rows.weights, self.shares, own, self.following,
            self.jumps, self.jump, on, self.totals, self.alpha, self.portions, self.leaving, self.dangling, settled,
            np.zeros(1, np.int64),
        )  # fmt: skip
        return np.add.reduce(self.totals.reshape(-1, 2, LANES))

    def _gather(self) -> None:
        """Make ``shares`` those of all vertices, and ``following`` the array of the next ones; collective."""
        if self.ctx.comm.size == 1:
            self.shares, self.following = self.following, self.shares
        else:
            np.concatenate(self.ctx.comm.allgatherv(self.following.reshape(-1)), out=self.shares.reshape(-1))

    def column(self, lane: int) -> np.ndarray:
        """Return the ranks of a lane by this rank's masters, in memory of the shares, which no iteration follows."""
        if self.columns is None:
            self.columns = self.shares[: self.kept].reshape(LANES, self.kept)
            self.team.run(_turn, self.team.size, self.following, self.leaving, self.rows.places, self.columns)
        return self.rows.to_masters(self.columns[lane])


def lines(rows: int) -> np.ndarray:
    """Return zeros (rows, LANES) whose rows begin at cache lines."""
    return cache_lines(rows, RANK_LINES, dtype=float).reshape(rows, LANES)


def _part(t: int, threads: int, count: int) -> slice:
    """Return the elements of a thread."""
    return slice(count * t // threads, count * (t + 1) // threads)


def _spread(t: int, threads: int, column: np.ndarray, shares: np.ndarray) -> None:
    """Write a column to all lanes of ``shares``."""
    part = _part(t, threads, len(shares))
    shares[part] = column[part, None]


def _turn(
    t: int, threads: int, shares: np.ndarray, leaving: np.ndarray, places: np.ndarray, columns: np.ndarray
) -> None:
    """Write shares times what leaves, at their places, as columns, some that fit the cache at a time."""
    part = _part(t, threads, len(shares))
    for first in range(part.start, part.stop, TURNED):
        some = places[first : min(first + TURNED, part.stop)]
        rows = shares[some]
        rows *= leaving[some, None]
        columns[:, first : first + len(some)] = rows.T


@njit(**OPTIONS)
def _lay_out(t, threads, offsets, sources, weights, order, places, bounds, ends, starts, placed, weighed):
    """Write the arcs of the rows of a thread, in each row by tile."""
    start, last = starts[t], starts.shape[1] - 2
    for row in range(bounds[t], bounds[t + 1]):
        v = order[row]
        start[:] = 0
        for arc in range(offsets[v], offsets[v + 1]):
            start[min(places[sources[arc]] >> TILE, last) + 1] += 1
        start[0] = ends[row]
        for tile in range(last):
            start[tile + 1] += start[tile]
        for arc in range(offsets[v], offsets[v + 1]):
            place = places[sources[arc]]
            tile = min(place >> TILE, last)
            placed[start[tile]] = place
            if weights is not None:
                weighed[start[tile]] = weights[arc]
            start[tile] += 1


@njit(**OPTIONS)
def _iterate(
    t, threads, offsets, sources, weights, shares, own, following, jumps, jump, going, totals, alpha, portions, leaving,
    dangling, settled, taken,
):  # fmt: skip
    n = len(portions)
    while True:
        chunk = fetch_add(taken, 0, 1)
        begin = chunk * CHUNK
        if begin >= n:
            return
        for v in range(begin, min(begin + CHUNK, n)):
            first, last = offsets[v], offsets[v + 1]
            if settled and first == last and jump[v] == 0:
                continue
            rank_row(
                sources, weights, first, last, shares, own, np.int64(v), following, jumps, np.int64(jump[v]), going,
                totals, 2 * chunk, alpha, portions[v], leaving[v], 1.0 if dangling[v] else 0.0,
            )  # fmt: skip
