"""How good a placement is: what it cuts, what it copies, how evenly it loads the ranks."""

from __future__ import annotations

import numpy as np

from partitioning import arcs
from partitioning.placement import Placement


def quality(edges, placement: Placement, comm) -> dict[str, float | int]:
    """Figures of a placement; collective, and equal on every rank.

    Returns:
        ``cut``: share of the arcs whose ends have different owners, 0 .. 1.
        ``mirrors``: copies of vertices on ranks that do not own them, over all ranks.
        ``replication_factor``: (masters + mirrors) / vertices.
        ``vertex_balance``, ``edge_balance``: masters, and arcs, of the fullest rank over the mean.
    """
    rows = np.arange(edges.first, edges.first + len(edges.offsets) - 1, dtype=np.int64)
    masters = comm.allreduce(np.bincount(placement.owner(rows), minlength=comm.size))
    mirrors = count_mirrors(edges, placement, comm)
    return {
        "cut": cut(edges, placement, comm),
        "mirrors": mirrors,
        "replication_factor": (edges.n + mirrors) / max(edges.n, 1),
        "vertex_balance": _balance(masters),
        "edge_balance": edge_balance(edges, placement, comm),
    }


def cut(edges, placement: Placement, comm) -> float:
    """Share of the arcs whose ends have different owners; collective."""
    crossing = sum(int(np.count_nonzero(placement.owner(s) != placement.owner(d))) for s, d in arcs.pieces(edges))
    return comm.total(crossing) / max(edges.arcs, 1)


def edge_balance(edges, placement: Placement, comm) -> float:
    """Arcs on the fullest rank over the mean; collective."""
    held = np.zeros(comm.size, np.int64)
    for src, dst in arcs.pieces(edges):
        held = held + np.bincount(placement.edge_owner(src, dst), minlength=comm.size)
    return _balance(comm.allreduce(held))


def count_mirrors(edges, placement: Placement, comm) -> int:
    """Mirrors on all ranks together; collective. Every rank is told the vertices of its arcs that it does not own."""
    from partitioning.gidset import GidSet

    here = GidSet(edges.n)
    for number in range(arcs.rounds(edges, comm)):
        src, dst = arcs.ends(edges, *arcs.span(edges, number))
        holder = placement.edge_owner(src, dst).astype(np.int64)
        foreign = [_foreign(gids, holder, edges.n, placement) for gids in (src, dst)]
        pairs = np.unique(np.concatenate(foreign))
        cuts = np.searchsorted(pairs, np.arange(comm.size + 1) * edges.n)
        for part in comm.alltoallv([pairs[cuts[r] : cuts[r + 1]] - r * edges.n for r in range(comm.size)]):
            here.add(part)
    return comm.total(here.seal())


def _foreign(gids, holder, n, placement) -> np.ndarray:
    """(holder, gid) as one number, where the holder does not own the vertex."""
    remote = placement.owner(gids) != holder
    return holder[remote] * n + gids[remote]


def _balance(held: np.ndarray) -> float:
    return float(held.max() / held.mean()) if held.any() else 1.0
