"""Values by vertex, from the ranks that wrote them to those that need them now, whoever that is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import DataError


def redistribute(
    gids: np.ndarray, columns: Mapping[str, np.ndarray], wanted: np.ndarray, n: int, comm: Comm
) -> dict[str, np.ndarray]:
    """The values of vertices ``wanted``, out of ``columns`` that lie by ``gids`` over all ranks; collective.

    Both sides meet at rank gid // ⌈n / P⌉, so nobody needs to know who held a vertex, or who holds it now, and no rank
    holds more than its share.

    Args:
        gids, wanted: int64, each vertex on one rank alone; together all n of them.
        columns: the same names and dtypes on every rank, shape of ``gids``.

    Raises:
        DataError: some vertex is in no column, or in several.
    """
    share = -(-n // comm.size)
    here = min(max(n - comm.rank * share, 0), share)
    order, to = _by_owner(gids, share, comm)
    came = np.concatenate(comm.alltoallv(to)) - comm.rank * share
    asking, asks = _by_owner(wanted, share, comm)
    questions = comm.alltoallv(asks)
    with comm.together():
        if len(came) != here or not np.array_equal(np.bincount(came, minlength=here), np.ones(here)):
            raise DataError("the checkpoint does not hold every vertex once; start anew")
    out = {}
    cuts = np.cumsum([len(part) for part in to])[:-1]
    for name, values in columns.items():
        table = np.empty(here, values.dtype)
        table[came] = np.concatenate(comm.alltoallv(np.split(values[order], cuts)))
        answers = comm.alltoallv([table[question - comm.rank * share] for question in questions])
        out[name] = np.empty(len(wanted), values.dtype)
        out[name][asking] = np.concatenate(answers)
    return out


def _by_owner(gids: np.ndarray, share: int, comm: Comm) -> tuple[np.ndarray, list[np.ndarray]]:
    """The order that sorts ``gids`` by the rank where they meet, and the parts."""
    owner = gids // share
    order = np.argsort(owner, kind="stable")
    return order, np.split(gids[order], np.cumsum(np.bincount(owner, minlength=comm.size))[:-1])
