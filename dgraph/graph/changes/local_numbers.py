"""Lids of a partition after a change: new masters by gid among the masters, new mirrors and new roles in their groups.

No array of all vertices is sorted: the few that come or change their group are inserted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dgraph.graph.build.local_graph import mirrors_of
from dgraph.graph.local import LocalGraph, Mirrors

GROUPS = 3
"""Groups of mirrors of one owner: column only, both, row only (:class:`Mirrors`)."""


@dataclass(frozen=True)
class Numbers:
    """Lids after a change.

    Attributes:
        masters: number of masters.
        gids: int64, by lid.
        own_mirrors: as of :class:`LocalGraph`.
        lids: uint32, the lid of each former lid; None if no lid changed.
        former: int64, the former lid of each lid, -1 for new ones; None if no lid changed.
    """

    masters: int
    gids: np.ndarray
    own_mirrors: dict[int, Mirrors]
    lids: np.ndarray | None = None
    former: np.ndarray | None = None


def lids_of(masters: int, gids: np.ndarray, own_mirrors: dict[int, Mirrors], wanted: np.ndarray) -> np.ndarray:
    """Return the lids of gids, -1 for those that are not on this rank: int64.

    Args:
        masters: number of masters.
        gids: by lid.
        own_mirrors: groups of the mirrors.
        wanted: gids.
    """
    lids, spans = np.full(wanted.size, -1, np.int64), [(0, masters)]
    if masters and gids[masters - 1] - gids[0] == masters - 1:  # consecutive, as on one rank and in blocks
        here = (wanted >= gids[0]) & (wanted <= gids[masters - 1])
        lids[here], spans = wanted[here] - gids[0], []
    for side in own_mirrors.values():
        cuts = [side.first + cut for cut in (0, side.rows, side.columns, side.count)]
        spans += pairwise(cuts)
    for first, last in spans:
        if first < last:
            positions = np.minimum(np.searchsorted(gids[first:last], wanted), last - first - 1) + first
            here = gids[positions] == wanted
            lids[here] = positions[here]
    return lids


def numbers_after(
    local: LocalGraph,
    gids: np.ndarray,
    masters: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    owners: tuple[np.ndarray, np.ndarray],
    rank: int,
    ranks: int,
) -> Numbers:
    """Return the lids after vertices and arcs were added.

    Args:
        local: the partition before.
        gids: gids in the changed graph, by former lid.
        masters: gids of this rank's new masters, ascending.
        ends: sources and targets of the arcs that this rank adds.
        owners: ranks that own these sources and targets.
        rank: this rank.
        ranks: number of ranks.
    """
    counts = np.zeros((ranks, GROUPS), np.int64)
    for peer, side in local.own_mirrors.items():
        counts[peer] = side.rows, side.columns - side.rows, side.count - side.columns
    moved, key, coming = _coming(local, gids, ends, owners, rank, counts)
    if not (masters.size or coming.size):
        return Numbers(local.masters, gids, local.own_mirrors)
    places = np.searchsorted(gids[: local.masters], masters)
    stay = np.ones(local.mirrors, bool)
    stay[moved[moved >= 0] - local.masters] = False
    kept = np.flatnonzero(stay) + local.masters
    former_key = np.repeat(np.arange(counts.size), counts.ravel())
    starts = np.searchsorted(former_key[stay], np.arange(counts.size + 1))
    place = np.empty(coming.size, np.int64)
    for group in np.unique(key):
        chosen = key == group
        segment = gids[kept[starts[group] : starts[group + 1]]]
        place[chosen] = starts[group] + np.searchsorted(segment, coming[chosen])
    former = np.concatenate(
        [np.insert(np.arange(local.masters), places, -1), np.insert(kept, place, moved)]
    )  # fmt: skip
    after = np.concatenate([np.insert(gids[: local.masters], places, masters), np.insert(gids[kept], place, coming)])
    lids = np.empty(local.size, np.uint32)
    old = former >= 0
    lids[former[old]] = np.flatnonzero(old)
    sizes = np.diff(starts) + np.bincount(key, minlength=counts.size)
    total = local.masters + masters.size
    return Numbers(total, after, mirrors_of(total, sizes.reshape(ranks, GROUPS)), lids, former)


def _coming(local, gids, ends, owners, rank, counts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mirrors that come or change their group: former lids or -1, keys, gids, by key and gid.

    A key is owner · 3 + group.
    """
    away = [owner != rank for owner in owners]
    sources, targets = (end[apart] for end, apart in zip(ends, away, strict=True))
    ends_of_arcs, first = np.unique(np.concatenate([sources, targets]), return_index=True)
    owner = np.concatenate([own[apart] for own, apart in zip(owners, away, strict=True)])[first].astype(np.int64)
    is_row, is_column = np.isin(ends_of_arcs, sources), np.isin(ends_of_arcs, targets)
    lid = lids_of(local.masters, gids, local.own_mirrors, ends_of_arcs)
    group = np.full(ends_of_arcs.size, -1, np.int64)
    for peer, side in local.own_mirrors.items():
        theirs = (lid >= 0) & (owner == peer)
        positions = lid[theirs] - side.first
        group[theirs] = np.searchsorted([side.rows, side.columns], positions, side="right")
    was_row, was_column = group >= 1, (group == 0) | (group == 1)
    is_row, is_column = is_row | was_row, is_column | was_column
    now = np.where(is_column, is_row.astype(np.int64), 2)
    new = now != group
    key = owner * GROUPS + now
    order = np.flatnonzero(new)[np.lexsort((ends_of_arcs[new], key[new]))]
    return lid[order], key[order], ends_of_arcs[order]
