"""Reversed partition: a rank's part of the graph in which every arc leads the other way, on the same vertices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph


def reversed_graph(local: LocalGraph, comm: Comm) -> LocalGraph:
    """Return the partition of the reversed graph; collective.

    It has the masters and mirrors of ``local`` under the same lids, its rows are the in-edges of ``local``, and
    ``out_degree`` is the in-degree in the whole graph. It is made once and kept in ``local``, and shares its arrays. An
    undirected graph is its own reverse.
    """
    if not local.directed:
        return local
    if local.turned is None:
        with comm.together():
            incoming, outward = local.incoming, local.out
        local.turned = LocalGraph(
            n=local.n, m=local.m, arcs=local.arcs, masters=local.masters,
            gids=local.gids, original=local.original,
            out_degree=_over_ranks(np.diff(incoming.offsets), local, comm),
            out=incoming, directed=True,
            own_mirrors={peer: replace(side, turned=True) for peer, side in local.own_mirrors.items()},
            peer_mirrors={peer: replace(side, turned=True) for peer, side in local.peer_mirrors.items()},
            incoming_from=lambda: outward,
        )  # fmt: skip
    return local.turned


def in_degrees(local: LocalGraph, comm: Comm) -> np.ndarray:
    """Return the in-degrees in the whole graph, of masters and mirrors: int64; made once, collective."""
    if not local.directed:
        return local.out_degree
    if local.turned is not None:
        return local.turned.out_degree
    if local.in_degree is None:
        from dgraph.graph.rows import count_columns

        with comm.together():
            here = count_columns(local.out.neighbours, 0, local.size)
        local.in_degree = _over_ranks(here, local, comm)
    return local.in_degree


def _over_ranks(here: np.ndarray, local: LocalGraph, comm: Comm) -> np.ndarray:
    """Return the sum over ranks of values by lid, for masters and mirrors: int64; collective."""
    whole = here.astype(np.int64)
    nothing = np.zeros(0, np.int64)
    sent, back = [nothing] * comm.size, [nothing] * comm.size
    for peer, side in local.own_mirrors.items():
        sent[peer] = whole[side.first : side.first + side.count]
    for peer, received in enumerate(comm.alltoallv(sent)):
        if received.size:
            whole[local.peer_mirrors[peer].lids] += received
    for peer, side in local.peer_mirrors.items():
        back[peer] = whole[side.lids]
    for peer, received in enumerate(comm.alltoallv(back)):
        if received.size:
            side = local.own_mirrors[peer]
            whole[side.first : side.first + side.count] = received
    return whole
