"""Redistribution of per-vertex values from one assignment of vertices to ranks to another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import DataError


def redistribute(
    gids: np.ndarray, columns: Mapping[str, np.ndarray], wanted: np.ndarray, n: int, comm: Comm
) -> dict[str, np.ndarray]:
    """Return the values of vertices ``wanted`` from ``columns``, which lie by ``gids`` over all ranks; collective.

    Rank gid // ⌈n / P⌉ holds the value of a vertex in between. So no rank needs to know the old or the new owner, and
    no rank holds more than ⌈n / P⌉ values of a column.

    Args:
        gids: int64, the vertices that this rank read; over all ranks every vertex once.
        columns: name → values, shape of ``gids``; the same names and dtypes on every rank.
        wanted: int64, the vertices that this rank owns now; over all ranks every vertex once.
        n: number of vertices.
        comm: ranks of the run.

    Raises:
        DataError: a vertex is missing in ``gids``, or occurs more than once.
    """
    share = -(-n // comm.size)
    own = min(max(n - comm.rank * share, 0), share)
    order, to = _by_owner(gids, share, comm)
    received = np.concatenate(comm.alltoallv(to)) - comm.rank * share
    wanted_order, requests = _by_owner(wanted, share, comm)
    requested = comm.alltoallv(requests)
    with comm.together():
        if len(received) != own or not np.array_equal(np.bincount(received, minlength=own), np.ones(own)):
            raise DataError("the checkpoint does not hold every vertex once; start anew")
    kept = {}
    cuts = np.cumsum([len(part) for part in to])[:-1]
    for name, values in columns.items():
        table = np.empty(own, values.dtype)
        table[received] = np.concatenate(comm.alltoallv(np.split(values[order], cuts)))
        answers = comm.alltoallv([table[part - comm.rank * share] for part in requested])
        kept[name] = np.empty(len(wanted), values.dtype)
        kept[name][wanted_order] = np.concatenate(answers)
    return kept


def _by_owner(gids: np.ndarray, share: int, comm: Comm) -> tuple[np.ndarray, list[np.ndarray]]:
    """Sort ``gids`` by intermediate rank; return the sorting order and the gids by rank."""
    owner = gids // share
    order = np.argsort(owner, kind="stable")
    return order, np.split(gids[order], np.cumsum(np.bincount(owner, minlength=comm.size))[:-1])
