"""Phases of a round as operations on whole NumPy arrays, an element per vertex or edge; see ``array_rounds.py``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.compile_flags import TOP
from dgraph.backend.cpu.codegen.expressions import NUMPY, NumbaScope
from dgraph.backend.cpu.round import state as slots
from dgraph.backend.cpu.round.array_folds import FOLDS
from dgraph.backend.cpu.round.work_arrays import WorkArrays, lists_of
from dgraph.graph.rows import edges_of
from dgraph.program import Traced
from dgraph.program.row_reducers import LEFT_OUT

PIECE = 1 << 18
"""Edges of a piece of a round: the arrays of an edge take up to 200 bytes."""

COMBINE = {"min": np.minimum, "max": np.maximum, "or": np.bitwise_or, "add": np.add}

Arrays = tuple[np.ndarray, ...]


class ArrayScope(NumbaScope):
    """Spelling of expressions on arrays."""

    def choice(self, test: str, a: str, b: str) -> str:
        """Return an elementwise selection."""
        return f"np.where({test}, {a}, {b})"

    def negated(self, text: str) -> str:
        """Return the elementwise negation of a condition."""
        return f"np.logical_not({text})"

    def call(self, op: str, operands: list[str], kind: str) -> str:
        """Return a call of an operator; those that work on unsigned numbers are called element by element."""
        if op in ("mixed", "bit_count"):
            return f"np.vectorize({op}, otypes=[np.int64])({', '.join(operands)})"
        return super().call(op, operands, kind)


class Phases:
    """Phases of a round with the arguments of those in ``phases.py`` and ``push.py``; ``do`` has the operators."""

    def __init__(self, traced: Traced, do: Any):
        self.do, self.once, self.all, self.applies = do, traced.once, traced.all, traced.apply is not None
        self.minima = [name in traced.minima for name in traced.integer_sums]
        self.float_sums, self.lives, self.reducer = len(traced.float_sums), traced.live is not None, traced.row_reducer
        self.conditional, self.weighted = traced.cond is not None and not traced.once, traced.weighted
        self.flagged, self.bucketed = traced.flagged, traced.priority is not None
        places = ArrayScope(traced).F
        self.fields = [(places[name], traced.fields[name]) for name in traced.proposes]

    def start(self, t, threads, F, P, G, W, c) -> None:
        """Run ``init`` on every master and collect the first frontier."""
        v = np.arange(c[slots.MASTERS])
        awake, terms, floats = self.do.begin(F, P, G, v)
        self._sum(v, terms, floats, W, c)
        if self.lives:  # all of them: a pass over more vertices than it need visit changes nothing
            W.live[: v.size] = v
            W.live_counts[:] = np.bincount(v // slots.BLOCK, minlength=W.live_counts.size)
        if not self.all:
            self._sort(v[spread(awake, v)], self.applies, F, P, G, W, c)

    def push(self, t, threads, graph, F, P, G, W, c) -> None:
        """Propose along every edge u → v of an active u, and list the vertices that changed."""
        u = np.arange(c[slots.ROWS]) if self.all else self._frontier(W, c)
        at_source = tuple(spread(value, u) for value in self.do.at_source(F, P, G, u))
        changed = _no_change(int((graph[0][u + 1] - graph[0][u]).sum()), len(F[0]))
        for part in pieces(graph[0], u):
            source, e = edges_of(graph[0], u[part])
            v = graph[1][e].astype(np.int64)
            p = self._proposals(graph, F, P, G, tuple(value[part][source] for value in at_source), e, v)
            if self.conditional:
                kept = spread(self.do.wants(F, P, G, v), v)
                v, p = v[kept], tuple(value[kept] for value in p)
            self._offer(F, v, p, changed)
        self._list(_ascending(changed), F, W, c)

    def pull(self, t, threads, graph, F, P, G, W, c) -> None:
        """Combine the proposals of the active in-neighbours of every v that accepts some."""
        rows, changed = self._accepting(F, P, G, c), np.zeros(len(F[0]), bool)
        active = None if self.all else self._active(W, c)
        u = np.arange(c[slots.ROWS])  # values from before the round
        at_source = tuple(spread(value, u).copy() for value in self.do.at_source(F, P, G, u))
        for part in pieces(graph[0], rows):
            v, u, e = _entering(graph, rows[part])
            if active is not None:
                kept = active[u]
                v, u, e = v[kept], u[kept], e[kept]
            self._offer(F, v, self._proposals(graph, F, P, G, tuple(value[u] for value in at_source), e, v), changed)
        self._list(np.flatnonzero(changed), F, W, c)

    def fold(self, t, threads, graph, F, P, G, W, c) -> None:
        """Fold the keys of all in-edges of every v that accepts proposals and has an active in-neighbour."""
        v, u, e = _entering(graph, self._accepting(F, P, G, c))
        folded = np.zeros(c[slots.ROWS], bool)
        folded[v if self.all else v[self._active(W, c)[u]]] = True
        s = tuple(spread(value, u) for value in self.do.at_source(F, P, G, u))
        keys, *values = self._proposals(graph, F, P, G, s, e, v)
        if self.reducer.waits:
            folded[v[keys < 0]] = False
        changed, kept = np.flatnonzero(folded), folded[v] & (keys != LEFT_OUT)
        rows = np.cumsum(folded)[v[kept]] - 1
        fold = FOLDS[self.reducer.name]
        results = fold(rows, keys[kept], *(one[kept] for one in values), changed.size)
        self.do.commit(F, changed, results)
        self._list(changed, F, W, c)

    def _accepting(self, F, P, G, c) -> np.ndarray:
        """Return the vertices that accept proposals."""
        v = np.arange(c[slots.ROWS])
        return v[spread(self.do.wants(F, P, G, v), v)] if self.conditional else v

    def _proposals(self, graph, F, P, G, s: Arrays, e: np.ndarray, v: np.ndarray) -> Arrays:
        """Return the proposals along the edges ``e`` to ``v``."""
        p = self.do.propose(F, P, G, s, graph[2][e] if self.weighted else np.int64(1), v)
        return tuple(spread(value, v) for value in p)

    def _frontier(self, W: WorkArrays, c: np.ndarray) -> np.ndarray:
        return lists_of(W, c).queue[: c[slots.QUEUED]].astype(np.int64)

    def _active(self, W: WorkArrays, c: np.ndarray) -> np.ndarray:
        """Return the mask of the frontier."""
        mask = np.zeros(c[slots.ROWS], bool)
        mask[self._frontier(W, c)] = True
        return mask

    def _list(self, changed: np.ndarray, F: Arrays, W: WorkArrays, c: np.ndarray) -> None:
        """List the vertices that changed, masters and mirrors."""
        if self.all:
            return
        changed = self._unmarked(changed, W)
        mine = changed < c[slots.MASTERS]
        append(lists_of(W, c).touched, changed[mine], W.shared, self.do.slot(c) + slots.TOUCHED_TAIL)
        append(W.mirrors, changed[~mine], W.shared, self.do.slot(c) + slots.MIRROR_TAIL)
        self._count(changed[mine], F, W, c)

    def vertex(self, t, threads, fused, graph, F, P, G, W, c) -> None:
        """Run ``apply`` on changed masters, or on all; sort them into near and far bucket where there are some."""
        base = self.do.slot(c)
        v = lists_of(W, c).touched[: W.shared[base + slots.TOUCHED_TAIL]].astype(np.int64)
        if self.flagged:
            W.flags[v] = 0
        whole = self.all or bool(self.do.WHOLE_PASSES and c[slots.WHOLE])
        if whole:
            v = np.arange(c[slots.MASTERS])
        if self.applies:
            awake, dirty, terms, floats = self.do.apply(F, F, P, G, v)
            self.do.reset(F, v)
            self._sum(v, terms, floats, W, c)
            awake = spread(awake, v)
            if self.do.DIRTY:
                append(W.dirty, v[awake | dirty], W.shared, base + slots.DIRTY_TAIL)
            v = v[awake]
        if not self.all and (self.applies or self.bucketed):
            self._sort(v, not whole, F, P, G, W, c)

    def _sort(self, v: np.ndarray, waits: bool, F: Arrays, P, G, W: WorkArrays, c: np.ndarray) -> None:
        """Append active masters to the frontier; those of farther buckets to the waiting list if ``waits``."""
        if self.bucketed and waits:
            near = self.do.bucket(F, P, G, v) <= c[slots.BUCKET]
            late = v[~near & (W.waiting[v] == 0)]
            W.waiting[late] = 1
            append(lists_of(W, c).far, late, W.shared, slots.FAR_COUNT)
            v = v[near]
        self._join(v, F, W, c)

    def _sum(self, v: np.ndarray, terms: Arrays, floats: Arrays, W: WorkArrays, c: np.ndarray) -> None:
        """Add the terms of vertices to the globals that are reduced; floats by blocks, as compiled rounds do."""
        reduced = (
            np.min(spread(one, v), initial=TOP) if least else spread(one, v).sum()
            for one, least in zip(terms, self.minima, strict=False)
        )
        self.do.flush_sums(W.shared, self.do.slot(c) + slots.SUMS_AT, tuple(reduced))
        for i in range(self.float_sums):
            blocks = np.bincount(v // slots.BLOCK, spread(floats[i], v), int(self.do.blocks_of(c)))
            W.parts[i : blocks.size * self.float_sums : self.float_sums] = blocks

    def lowest(self, t, threads, F, P, G, W, c) -> None:
        """Find the lowest bucket above the current one in which a vertex waits."""
        where = self.do.bucket(F, P, G, lists_of(W, c).far[: c[slots.FAR]].astype(np.int64))
        low = np.min(where[where > c[slots.BUCKET]] - slots.FAR_BASE, initial=0)
        lowest = self.do.slot(c) + slots.FAR_MIN
        W.shared[lowest] = min(W.shared[lowest], low)

    def open(self, t, threads, opened, F, P, G, W, c) -> None:
        """Move waiting vertices of buckets up to ``opened`` to the frontier, and farther ones to ``far_next``."""
        v = lists_of(W, c).far[: c[slots.FAR]].astype(np.int64)
        where = self.do.bucket(F, P, G, v)
        append(lists_of(W, c).far_next, v[where > opened], W.shared, self.do.slot(c) + slots.FAR_TAIL)
        W.waiting[v[where <= opened]] = 0
        self._join(v[(where <= opened) & (where > c[slots.BUCKET])], F, W, c)

    def combine(self, lids, positions, count, values, F, P, results, arrays, c) -> None:
        """Combine proposals of mirrors into the masters ``lids[positions]``."""
        W = WorkArrays(*arrays)
        v = lids[positions[:count]].astype(np.int64)
        combined = _no_change(v.size, len(F[0]))
        self._offer(F, v, self.do.values_at(values, slice(0, count)), combined)
        if not self.all:
            changed = self._unmarked(_ascending(combined), W)
            append(lists_of(W, c).touched, changed, W.shared, self.do.slot(c) + slots.TOUCHED_TAIL)
            self._count(changed, F, W, c)

    def _offer(self, F: Arrays, v: np.ndarray, p: Arrays, changed: np.ndarray | list) -> None:
        """Combine proposals ``p`` into the vertices ``v``, and mark or list those that changed."""
        for (place, field), proposed in zip(self.fields, p, strict=True):
            values, name = F[place], field.reduce.name  # type: ignore[union-attr]
            if values.dtype.kind in "iu" and proposed.dtype != values.dtype:
                low, high = ends_of(values.dtype)
                proposed = np.minimum(np.maximum(proposed, low), high)
            proposed = spread(proposed, v).astype(NUMPY.get(field.dtype, field.dtype))
            if self.once:
                better = (values[v] == field.identity) & (proposed != field.identity)
                values[v[better]] = proposed[better]
            else:
                combined = COMBINE[name](values[v], proposed)
                better = np.full(v.shape, True) if name == "add" else combined != values[v]
                COMBINE[name].at(values, v[better], proposed[better])
            if isinstance(changed, list):
                changed.append(v[better])
            else:
                changed[v[better]] = True

    def _unmarked(self, vertices: np.ndarray, W: WorkArrays) -> np.ndarray:
        """Return the vertices that are not flagged yet, and flag them."""
        if self.flagged:
            vertices = vertices[W.flags[vertices] == 0]
            W.flags[vertices] = 1
        return vertices

    def _count(self, masters: np.ndarray, F: Arrays, W: WorkArrays, c: np.ndarray) -> None:
        """Add the out-edges of changed masters if they are the next frontier."""
        if not (self.bucketed or self.applies):
            W.shared[self.do.slot(c) + slots.EDGE_SUM] += F[-1][masters].sum()

    def _join(self, masters: np.ndarray, F: Arrays, W: WorkArrays, c: np.ndarray) -> None:
        """Append masters to the frontier."""
        append(lists_of(W, c).queue, masters, W.shared, self.do.slot(c) + slots.FRONT_TAIL)
        W.shared[self.do.slot(c) + slots.EDGE_SUM] += F[-1][masters].sum()


def spread(value: Any, like: np.ndarray) -> np.ndarray:
    """Return a value of each element of another array; operators may return one for all."""
    return value if getattr(value, "shape", None) == like.shape else np.broadcast_to(value, like.shape)


@cache
def ends_of(dtype: np.dtype) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer type."""
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def pieces(offsets: np.ndarray, rows: np.ndarray) -> Iterator[slice]:
    """Yield slices of ``rows`` with about ``PIECE`` edges; a row is never cut."""
    degrees = offsets[rows + 1] - offsets[rows]
    edges = int(degrees.sum())
    if edges <= PIECE:
        yield slice(0, rows.size)
        return
    ends = np.cumsum(degrees)
    cuts = np.searchsorted(ends, np.arange(PIECE, edges, PIECE)) + 1
    bounds = [0, *np.unique(cuts[cuts < rows.size]).tolist(), rows.size]
    yield from map(slice, bounds[:-1], bounds[1:])


def _no_change(edges: int, vertices: int) -> np.ndarray | list:
    """Return what collects the vertices that a round changes: a list if its edges are few, else a mask of all."""
    return [np.empty(0, np.int64)] if 8 * edges < vertices else np.zeros(vertices, bool)


def _ascending(changed: np.ndarray | list) -> np.ndarray:
    """Return the vertices that were collected."""
    return np.unique(np.concatenate(changed)) if isinstance(changed, list) else np.flatnonzero(changed)


def _entering(graph: tuple, rows: np.ndarray) -> Arrays:
    """Return target, source and index of the in-edges of some vertices."""
    target, e = edges_of(graph[0], rows)
    return rows[target], graph[1][e].astype(np.int64), e


def append(listed: np.ndarray, vertices: np.ndarray, counters: np.ndarray, tail: int) -> None:
    """Append vertices to the list ``listed``, whose length is ``counters[tail]``."""
    first = int(counters[tail])
    listed[first : first + vertices.size] = vertices
    counters[tail] += vertices.size


WIDEST = ends_of(np.dtype(np.int64))


def saturating_add(a: Any, b: Any) -> np.ndarray:
    """Return a + b, saturated at the ends of int64."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    total = a + b
    past = ((a ^ total) & (b ^ total)) < 0
    return np.where(past, np.where(b > 0, *WIDEST[::-1]), total) if past.any() else total


def saturating_subtract(a: Any, b: Any) -> np.ndarray:
    """Return a - b, saturated at the ends of int64."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    total = a - b
    past = ((a ^ b) & (a ^ total)) < 0
    return np.where(past, np.where(b < 0, *WIDEST[::-1]), total) if past.any() else total
