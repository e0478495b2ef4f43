"""Sources of a search: all vertices, some of them drawn, or those that the caller names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgraph.algorithms.base import Parameter
from dgraph.algorithms.vertex_values import lids_of
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from partitioning.arrays.hashing import hash64

PIECE = 1 << 15
"""Vertices whose values are computed at a time, in a core's cache."""

K = Parameter(
    "k", int, None, "number of sources, drawn by random_state, for an estimate (default: all vertices)", least=1
)
"""Parameter ``k`` of centralities."""

RANDOM_STATE = Parameter("random_state", int, 1, "seed of the draw of k sources")
"""Parameter ``random_state`` of centralities."""


def sources_of(ctx: Context, k: int | None, random_state: int) -> np.ndarray:
    """Return the sources of a centrality, original ids, ascending: all vertices, or ``k`` of them; collective.

    The draw depends on the ids and the seed alone: those of the ``k`` smallest hashes.

    Raises:
        UsageError: ``k`` is more than the graph has vertices.
    """
    if k is not None and k > ctx.local.n:
        raise UsageError(
            f"k = {k} sources cannot be drawn from {ctx.local.n} vertices; give at most that many, or leave k out"
        )
    if k is None:
        return np.sort(np.concatenate(ctx.comm.allgatherv(ctx.local.original[: ctx.local.masters])))
    solver = ctx.solver("draw")
    drawn = smallest(ctx, k, random_state) if solver is None else solver.solve(ctx, k, random_state)
    ids = np.concatenate(ctx.comm.allgatherv(drawn))
    return np.sort(ids[np.lexsort((ids, hashed(ids, random_state)))[:k]])


def smallest(ctx: Context, k: int, seed: int) -> np.ndarray:
    """Return the masters of the ``k`` smallest hashes, original ids in any order; all if there are fewer."""
    ids, limit = ctx.local.original[: ctx.local.masters], np.uint64(np.iinfo(np.uint64).max)
    kept, keys = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    for first in range(0, len(ids), PIECE):
        piece = ids[first : first + PIECE]
        key = hashed(piece, seed)
        low = key <= limit
        kept, keys = np.concatenate([kept, piece[low]]), np.concatenate([keys, key[low]])
        if len(kept) > k:
            least = np.argpartition(keys, k - 1)[:k]
            kept, keys = kept[least], keys[least]
            limit = keys.max()
    return kept


def hashed(ids: np.ndarray, seed: int) -> np.ndarray:
    """Return the SplitMix64 hash of each id under a seed, as :func:`dgraph.mixed` computes it."""
    return hash64(ids.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15 * seed % 2**64))


def numbers_of(name: str, vertices: Any, ids: np.ndarray) -> np.ndarray:
    """Return the places of vertices, original ids, among the ids of all vertices, ascending; int64.

    Raises:
        UsageError: an id is not a vertex; ``name`` is the parameter that has it.
    """
    wanted = np.array(vertices, np.int64)
    numbers = np.searchsorted(ids, wanted)
    missing = np.flatnonzero(ids[np.minimum(numbers, len(ids) - 1)] != wanted) if len(ids) else np.arange(len(wanted))
    if missing.size:
        raise UsageError(f"{name}: {wanted[missing[0]]} is not a vertex of the graph; pass its ids")
    return numbers


def check_sources(ctx: Context, sources: Sequence[int], name: str) -> np.ndarray:
    """Return named sources as int64 if each is a vertex of the graph and none occurs twice; collective.

    Raises:
        UsageError: on every rank, for the first source that is not.
    """
    named = np.array(sources, np.int64)
    if not len(named):
        raise UsageError(f"{name} starts from vertices and sources is empty; give ids of the graph")
    check_vertices(ctx, "source", named)
    distinct, first = np.unique(named, return_index=True)
    if len(distinct) < len(named):
        twice = np.delete(named, first)[0]
        raise UsageError(f"source {twice} is given twice, and each source counts once; leave one out")
    return named


def check_vertices(ctx: Context, name: str, vertices: np.ndarray) -> None:
    """Refuse original ids that the graph does not have; collective.

    Raises:
        UsageError: on every rank, for the first of them; ``name`` is the parameter that has it.
    """
    exists = ctx.comm.allreduce((lids_of(ctx.local, vertices) >= 0).astype(np.int64))
    if not exists.all():
        raise UsageError(
            f"{name} {vertices[np.argmin(exists)]} is not a vertex of the graph, which has {ctx.local.n}; give its ids"
        )
