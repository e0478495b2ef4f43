"""The weighted out-degree of vertices: the sum of the weights of their out-edges in the whole graph."""

from __future__ import annotations

import numpy as np

from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph


def out_weights(local: LocalGraph, comm: Comm) -> np.ndarray:
    """The weighted out-degree of every master, float64 (masters,); collective. The graph must have weights.

    Each rank adds up the rows that it holds, and sends the sums of its mirrors' rows to their masters, which add them
    in rank order: the bits are the same in every run on as many ranks under one policy. The result is kept with
    ``local``.
    """
    if local.out_weight is None:
        here = local.out.row_sums()
        sums = here[: local.masters].copy()
        nothing = np.empty(0)
        sent = [nothing] * comm.size
        for peer, side in local.mine.items():
            low, high = side.span("row")
            sent[peer] = here[side.first + low : side.first + high]
        for peer, received in enumerate(comm.alltoallv(sent)):
            if received.size:
                side = local.theirs[peer]
                sums[side.lids[slice(*side.span("row"))]] += received  # type: ignore[index]
        local.out_weight = sums
    return local.out_weight
