"""Array rounds of ``paths_kernel.py``, which answer first runs on small graphs in place of 3 to 4 s of compilation.

A round is a product of the rows with the lanes of a level, by SciPy where it is installed, else by ``np.bincount``.
Both add in the order of the arcs, as the kernel does, so that bits are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial, reduce
from importlib import import_module
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.betweenness.paths_kernel import DOWN, LARGE, LEAST, search_batch, sum_lanes
from dgraph.algorithms.many_sources.lanes import LANES
from dgraph.backend.cpu.threads.plain_kernels import MOST, PlainFirst
from dgraph.graph.rows import edges_of

FEW = 1 << 32
"""Sources times arcs times levels up to which array rounds take less time than the compilation: 1 ns for each."""

PATIENCE = 6.0
"""Seconds of a processor in array rounds from which on compilation pays."""


def first_kernels() -> tuple[PlainFirst, PlainFirst]:
    """Return ``search_batch`` and ``sum_lanes`` for the rows of a run, or their array rounds until compilation pays."""
    rounds = partial(_searched, [])
    return PlainFirst(search_batch, MOST, rounds, PATIENCE), PlainFirst(sum_lanes, MOST, _summed, PATIENCE)


def _searched(
    products, groups, sources, degree, rows, neighbours, out_rows, out_neighbours, pushed_offsets, pushed,
    gates, cellses, bounds, nows, seens, pathses, shares, sumses, markses, buffers, buffer_laneses, logs, laneses,
    levelses, factorses, mosts, depths,
) -> Iterator[None]:  # fmt: skip
    """Search from the batches of all groups, and compute dependencies; ``products`` is kept for later calls."""
    yield
    if not products:
        products += _product(rows, neighbours), _product(out_rows, out_neighbours)
    fold_in, fold_out = products
    _, n, width = pathses.shape
    lanes = np.flatnonzero(sources >= 0)
    reached = np.zeros((n, groups * width))
    reached[sources[lanes], lanes] = 1.0
    levels, factors = list[tuple[np.ndarray, np.ndarray, np.ndarray]](), list[Any]()
    bound, unseen = 1.0, np.ones(reached.shape)
    factor: Any = 1.0
    pathses[:groups], depths[:groups] = 0.0, 0
    while (new := reached > 0.0).any():
        if bound > LARGE:
            most = reached.max(axis=0)
            factor, bound = np.where(most > LARGE, DOWN, 1.0), max(1.0, min(most.max(), LARGE))
            reached *= factor
            small = np.any(new & (reached < LEAST) & (factor < 1.0), axis=0).reshape(groups, width)
            if small.any():
                depths[:groups][small.any(axis=1)] = -1
                return
        v = np.flatnonzero(new.any(axis=1))  # all rows of all levels would take a square of the vertices of a path
        levels.append((v, reached[v], new[v].astype(np.float64)))
        factors.append(factor)
        unseen[v] -= levels[-1][2]
        depths[:groups] += np.bitwise_or.reduce(new.view(f"u{width}")) > 0
        reached = fold_in(reached, unseen > 0.0)
        reached *= unseen
        bound, factor = bound * degree, 1.0
    paths = np.zeros(unseen.shape)
    for d in range(len(levels) - 2, 0, -1):
        v, values, inside = levels[d + 1]
        share, wanted = np.zeros(paths.shape), np.zeros(paths.shape, np.bool_)
        share[v] = (1.0 + paths[v]) / (values + (1.0 - inside)) * inside  # no division by 0
        v, values, inside = levels[d]
        wanted[v] = inside > 0.0
        paths[v] += values * fold_out(share, wanted)[v] * factors[d + 1]
    pathses[:groups] = paths.reshape(n, groups, width).swapaxes(0, 1)
    seens[:groups] = np.packbits(unseen.reshape(n, groups, width) == 0.0, axis=2, bitorder="little")[:, :, 0].T


def _product(rows: np.ndarray, neighbours: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function of lanes and of those that are wanted, which sums the neighbours of each row by its arcs."""
    n, degrees = len(rows) - 1, np.diff(rows)

    @cache
    def matrix() -> Any:
        """Return the rows as a matrix of SciPy; None: it is not installed."""
        with suppress(ImportError):
            arcs = np.ones(len(neighbours)), neighbours.view(np.int32), rows.astype(np.int32)
            return import_module("scipy.sparse").csr_array(arcs, shape=(n, n))

    def sums(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        width = values.shape[1]
        v = np.flatnonzero(reduce(np.bitwise_or, wanted.view(f"u{min(width, LANES)}").T))
        if matrix() is not None and 2 * degrees[v].sum() > len(neighbours):
            return matrix() @ values
        total = np.zeros((n, width))
        if matrix() is not None:
            total[v] = matrix()[v] @ values
        else:
            row, e = edges_of(rows, v)
            places = row[:, None] * width + np.arange(width)
            parts = np.bincount(places.ravel(), values[neighbours[e]].ravel(), len(v) * width)
            total[v] = parts.reshape(len(v), width)
        return total

    return sums


def _bits(lanes: np.ndarray, width: int) -> np.ndarray:
    """Return the bits of each byte as a row of bool."""
    return np.unpackbits(lanes[:, None], axis=1, count=width, bitorder="little").view(bool)


def _summed(groups, sources, gates, seens, pathses, sumses, endpoints, parts, reached) -> Iterator[None]:
    """Sum the dependencies of each group's batch over its lanes."""
    yield
    for group in range(groups):
        seen, paths, place = seens[group], pathses[group], group * LANES
        many = max(min(LANES, len(sources) - place), 0)
        for k in range(many):
            if sources[place + k] >= 0:
                v = sources[place + k]
                paths[v, k], seen[v] = 0.0, seen[v] & ~np.uint8(1 << k)
        total = np.zeros(len(seen))
        for lane in paths[: len(seen)].T:
            total += lane
        if endpoints:
            ends = _bits(seen, many) if many else np.zeros((len(seen), 0))
            for lane in ends.T:
                total += lane
            reached[place : place + many] += ends.sum(axis=0, dtype=np.int64)
        parts[group] = np.where(seen, total, 0.0)
