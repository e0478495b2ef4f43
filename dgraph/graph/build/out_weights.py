"""Weighted out-degrees: the sum of the weights of a vertex's out-edges in the whole graph."""

from __future__ import annotations

import numpy as np

from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph


def out_weights(local: LocalGraph, comm: Comm) -> np.ndarray:
    """Return the weighted out-degree of every master, float64 (masters,); collective, for weighted graphs.

    Each rank sums its rows and sends the sums of mirrors to their masters, which add them in rank order. The result is
    therefore bitwise reproducible for a given number of ranks and policy. It is cached in ``local``, read-only.
    """
    if local.out_weight is None:
        here = local.out.row_sums()
        sums = here[: local.masters].copy()
        nothing = np.empty(0)
        sent = [nothing] * comm.size
        for peer, side in local.own_mirrors.items():
            low, high = side.span("row")
            sent[peer] = here[side.first + low : side.first + high]
        for peer, received in enumerate(comm.alltoallv(sent)):
            if received.size:
                side = local.peer_mirrors[peer]
                sums[side.lids[slice(*side.span("row"))]] += received  # type: ignore[index]
        sums.flags.writeable = False
        local.out_weight = sums
    return local.out_weight
