"""Send rows and arcs, in pieces of bounded size, from the ranks that loaded them to those that hold them.

:func:`move_masters` sends vertices, :func:`move_rows` whole rows under an outgoing edge-cut, :func:`move_arcs` single
arcs under every other placement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.part_layout import PartLayout
from partitioning import Placement, PolicyError
from partitioning.arrays import arcs


@dataclass
class Masters:
    """Vertices that a part owns.

    Attributes:
        gids: int64, ascending.
        degrees: their out-degrees in the whole graph, int64.
        arcs_from: number of their out-edges that each rank loaded, int64 (P,).
    """

    gids: np.ndarray
    degrees: np.ndarray
    arcs_from: np.ndarray


@dataclass
class HeldArcs:
    """Arcs that a part holds, as rows by ascending gid; one gid may have several adjacent rows.

    Attributes:
        rows: source gid of each row.
        counts: arcs in each row, int64.
        targets: gids, row after row, in the dtype of the block's targets.
        weights: in the order of ``targets``, or None.
        ours: False if ``targets`` is the block's own array, which must not be written to.
    """

    rows: np.ndarray
    counts: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    ours: bool


def move_masters(block: EdgeBlock, placement: Placement, layout: PartLayout) -> tuple[np.ndarray, list[Masters]]:
    """Send every vertex, with its out-degree, to its owner; collective.

    Returns:
        The owner of every row that this rank loaded, int32 (rows,); and the masters of every part here.

    Raises:
        UsageError: the placement returns something other than existing parts.
    """
    gids = np.arange(block.first, block.first + block.rows, dtype=np.int64)
    with layout.comm.together():
        owners = _parts(placement.owner, gids)
    order, cuts = arcs.group_by_owner(owners, layout.count)
    masters = layout.collect(gids, order, cuts)
    degrees = layout.collect(np.diff(block.offsets), order, cuts)
    return owners, [
        Masters(np.concatenate(of_part), np.concatenate(theirs), np.array([piece.sum() for piece in theirs], np.int64))
        for of_part, theirs in zip(masters, degrees, strict=True)
    ]


def move_rows(block: EdgeBlock, owners: np.ndarray, masters: list[Masters], layout: PartLayout) -> list[HeldArcs]:
    """Send every arc to its source's owner; collective.

    Rows arrive in the order of the masters, so sources are not sent. If every row is already at its owner, nothing is.
    """
    comm = layout.comm
    here = layout.here
    away = np.any(owners[1:] < owners[:-1]) or (owners.size and not here.start <= owners[0] <= owners[-1] < here.stop)
    if not comm.total(int(away)):
        return _local_slices(block, owners, masters, here)
    inboxes = [_Inbox(block, part.arcs_from) for part in masters]
    for number in range(arcs.rounds(block, comm)):
        start, stop = arcs.span(block, number)
        low, high, lengths = arcs.rows(block, start, stop)
        order, cuts = arcs.group_by_owner(np.repeat(owners[low:high], lengths), layout.count)
        _receive(inboxes, block, start, stop, order, cuts, layout)
    return [
        HeldArcs(part.gids, part.degrees, inbox.targets, inbox.weights, ours=True)
        for part, inbox in zip(masters, inboxes, strict=True)
    ]


def move_arcs(block: EdgeBlock, placement: Placement, layout: PartLayout) -> list[HeldArcs]:
    """Send every arc to the part that the placement assigns; collective.

    Raises:
        UsageError: the placement returns something other than existing parts.
    """
    comm = layout.comm
    counts = np.zeros(layout.count, np.int64)
    with comm.together():
        for src, dst in arcs.pieces(block):
            counts += np.bincount(_parts(placement.edge_owner, src, dst), minlength=layout.count)
    every = np.arange(layout.count + 1)
    inboxes = [_Inbox(block, np.concatenate(sent)) for sent in layout.collect(counts, None, every)]
    rows: list[list[list[np.ndarray]]] = [[[] for _ in range(comm.size)] for _ in layout.here]
    lengths: list[list[list[np.ndarray]]] = [[[] for _ in range(comm.size)] for _ in layout.here]
    for number in range(arcs.rounds(block, comm)):
        start, stop = arcs.span(block, number)
        src, dst = arcs.ends(block, start, stop)
        order, cuts = arcs.group_by_owner(placement.edge_owner(src, dst), layout.count)
        _receive(inboxes, block, start, stop, order, cuts, layout)
        for part, sent in enumerate(layout.collect(src, order, cuts)):
            for peer, piece in enumerate(sent):
                firsts = np.flatnonzero(np.diff(piece, prepend=piece[:1] + 1))
                rows[part][peer].append(piece[firsts])
                lengths[part][peer].append(np.diff(firsts, append=len(piece)))
    return [
        HeldArcs(
            _concatenate_parts(of_rows, block.targets.dtype), _concatenate_parts(of_lengths, np.int64),
            inbox.targets, inbox.weights, ours=True,
        )
        for of_rows, of_lengths, inbox in zip(rows, lengths, inboxes, strict=True)
    ]  # fmt: skip


def _local_slices(block: EdgeBlock, owners: np.ndarray, masters: list[Masters], here: range) -> list[HeldArcs]:
    """Return slices of the block, one a part, without copying."""
    cuts = block.offsets[np.searchsorted(owners, np.arange(here.start, here.stop + 1))]
    return [
        HeldArcs(
            part.gids, part.degrees, _cut(block.targets, low, high),
            None if block.weights is None else _cut(block.weights, low, high), ours=False,
        )
        for part, (low, high) in zip(masters, pairwise(cuts.tolist()), strict=True)
    ]  # fmt: skip


def _cut(values, low, high):
    return values if high - low == len(values) else values[low:high]


class _Inbox:
    """Receive buffer for the arcs of a part, ordered by sending rank: pieces are written to their final place."""

    def __init__(self, block, arcs_from):
        ends = np.cumsum(arcs_from)
        self.next = ends - arcs_from
        self.targets = np.empty(ends[-1], block.targets.dtype)
        self.weights = None if block.weights is None else np.empty(ends[-1], block.weights.dtype)


def _receive(inboxes, block, start, stop, order, cuts, layout):
    """Send arcs ``start .. stop`` of the block to their parts, and store the received ones."""
    counts = _fill(inboxes, "targets", layout.collect(block.targets[start:stop], order, cuts))
    if block.weights is not None:
        _fill(inboxes, "weights", layout.collect(block.weights[start:stop], order, cuts))
    for inbox, came in zip(inboxes, counts, strict=True):
        inbox.next += came


def _fill(inboxes, name, came):
    for inbox, pieces in zip(inboxes, came, strict=True):
        for start, piece in zip(inbox.next, pieces, strict=True):
            getattr(inbox, name)[start : start + len(piece)] = piece
    return [np.array([len(piece) for piece in pieces], np.int64) for pieces in came]


def _parts(look_up: Callable[..., np.ndarray], *gids: np.ndarray) -> np.ndarray:
    """Return the parts that a placement assigns; its PolicyError becomes a UsageError."""
    try:
        return look_up(*gids)
    except PolicyError as wrong:
        raise UsageError(str(wrong)) from wrong


def _concatenate_parts(parts: list[list[np.ndarray]], dtype) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *(part for by_peer in parts for part in by_peer)])
