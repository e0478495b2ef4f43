"""Quality of a placement: cut arcs, mirrors, balance, and the bytes of a round."""

from __future__ import annotations

import numpy as np

from partitioning.arrays import arcs
from partitioning.placement import Placement, errors_on_all_ranks

ROOM = 1 << 29
"""Bytes of mark bits that a rank holds at a time: two bits a part and vertex. Beyond, arcs are traversed again."""

LABELS = {"bfs": (4, 1 / 8), "sssp": (8, 8 + 1 / 8), "cc": (8, 8 + 1 / 8), "pagerank": (8, 8), "kcore": (8, 1 / 8)}
"""Bytes that a push round sends per mirror, by algorithm: (for its proposal to the master, for the master's value).

The first counts for mirrors that arcs enter. The second counts for mirrors that arcs leave: the fields that edges read
there, and 1/8 byte for the active bit.
"""


def quality(edges, placement: Placement, comm) -> dict:
    """Compute figures of a placement; collective, and equal on every rank.

    Returns:
        ``cut``: share of the arcs whose ends have different owners, 0 .. 1.
        ``mirrors``: copies of vertices on parts that do not own them, over all parts.
        ``mirrors_entered``, ``mirrors_left``: those that arcs enter, those that arcs leave; some do both.
        ``replication_factor``: (masters + mirrors) / vertices.
        ``vertex_balance``, ``edge_balance``: masters, and arcs, of the fullest part over the mean.
        ``round_bytes``: by algorithm, bytes of one push round over all parts if every label changes.

    Raises:
        PolicyError: a look-up gives something other than a part of the placement.
    """
    parts = placement.parts
    rows = np.arange(edges.first, edges.first + len(edges.offsets) - 1, dtype=np.int64)
    with errors_on_all_ranks(comm):
        owners = placement.owner(rows)
    masters = comm.allreduce(np.bincount(owners, minlength=parts))
    arcs_of_parts, crossing = np.zeros(parts, np.int64), 0
    counts = np.zeros(3, np.int64)
    group = max(1, min(parts, ROOM // (2 * (edges.n // 8 + 8))))
    for low in range(0, parts, group):
        marks = _Marks(edges.n, low, min(low + group, parts))
        with errors_on_all_ranks(comm):
            for start in range(0, len(edges.targets), arcs.CHUNK):
                if parts == 1 and not placement.holder:  # the owners of all rows were looked up
                    arcs_of_parts[0] += len(edges.targets)
                    break
                src, dst, of_src, of_dst = _owned(edges, placement, start)
                owner = of_src if placement.cut == "outgoing" else of_dst
                holder = placement.holder(src, dst) if placement.holder else owner
                marks.add(src, dst, of_src, of_dst, holder)
                if low == 0:
                    arcs_of_parts += np.bincount(holder, minlength=parts)
                    crossing += int(np.count_nonzero(of_src != of_dst))
        counts += marks.counts(comm)
    left, entered, either = counts.tolist()
    return {
        "cut": comm.total(crossing) / max(edges.arcs, 1),
        "mirrors": either,
        "mirrors_entered": entered,
        "mirrors_left": left,
        "replication_factor": (edges.n + either) / max(edges.n, 1),
        "vertex_balance": _balance(masters),
        "edge_balance": _balance(comm.allreduce(arcs_of_parts)),
        "round_bytes": {
            name: round(entered * proposed + left * read) for name, (proposed, read) in LABELS.items()
        },
    }  # fmt: skip


def cut(edges, placement: Placement, comm) -> float:
    """Return the share of the arcs whose ends have different owners; collective."""
    crossing = 0
    for start in range(0, len(edges.targets), arcs.CHUNK):
        *_, of_src, of_dst = _owned(edges, placement, start)
        crossing += int(np.count_nonzero(of_src != of_dst))
    return comm.total(crossing) / max(edges.arcs, 1)


def edge_balance(edges, placement: Placement, comm) -> float:
    """Return the arcs on the fullest part over the mean; collective."""
    arcs_of_parts = np.zeros(placement.parts, np.int64)
    for src, dst in arcs.pieces(edges):
        arcs_of_parts = arcs_of_parts + np.bincount(placement.edge_owner(src, dst), minlength=placement.parts)
    return _balance(comm.allreduce(arcs_of_parts))


def _owned(edges, placement, start):
    """Return the ends of the piece of arcs from ``start`` on, and the owners of both; each row is looked up once."""
    stop = min(start + arcs.CHUNK, len(edges.targets))
    low, high, lengths = arcs.rows(edges, start, stop)
    gids = np.arange(edges.first + low, edges.first + high, dtype=edges.targets.dtype)
    dst = edges.targets[start:stop]
    return np.repeat(gids, lengths), dst, np.repeat(placement.owner(gids), lengths), placement.owner(dst)


class _Marks:
    """Bitmaps of vertices with a mirror on parts ``low .. high - 1`` that arcs leave, and that arcs enter."""

    def __init__(self, n: int, low: int, high: int):
        self.low = low
        self.bits = np.zeros((2, high - low, n // 64 + 1), np.uint64)

    def add(self, src, dst, of_src, of_dst, holder) -> None:
        """Set the bits of the mirrors of these arcs."""
        from partitioning.arrays.kernels import mark

        mark(self.bits, self.low, src, dst, of_src, of_dst, holder)

    def counts(self, comm) -> np.ndarray:
        """Count mirrors that arcs leave, that arcs enter, and either; collective.

        Each rank counts a share of the words.
        """
        from partitioning.arrays.kernels import ones

        flat = self.bits.reshape(2, -1)
        cuts = np.arange(comm.size + 1) * flat.shape[1] // comm.size
        shares = []
        for bits in flat:
            received = comm.alltoallv([bits[cuts[r] : cuts[r + 1]] for r in range(comm.size)])
            shares.append(np.bitwise_or.reduce(received))
        return comm.allreduce(np.array([ones(shares[0]), ones(shares[1]), ones(shares[0] | shares[1])], np.int64))


def _balance(counts: np.ndarray) -> float:
    return float(counts.max() / counts.mean()) if counts.any() else 1.0
