"""Redistribution of per-vertex values from one assignment of vertices to ranks to another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.owner_directed import fetch, scatter
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
    received, *came = scatter(comm, gids // share, gids, *columns.values())
    first = comm.rank * share
    received = received - first
    with comm.together():
        if len(received) != own or not np.array_equal(np.bincount(received, minlength=own), np.ones(own)):
            raise DataError("the checkpoint does not hold every vertex once; start anew")
    tables = [np.empty(own, values.dtype) for values in came]
    for table, values in zip(tables, came, strict=True):
        table[received] = values
    kept = fetch(comm, wanted // share, wanted, lambda asked: tuple(table[asked - first] for table in tables))
    return dict(zip(columns, kept, strict=True))
