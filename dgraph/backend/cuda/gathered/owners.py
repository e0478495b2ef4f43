"""Owners of the vertices of a partitioned graph, as known to the first rank.

:class:`Owners` brings arrays of all ranks to some, and columns of the whole graph back to the owners of the vertices.
It stays with the part of the graph on each GPU. Entry: :func:`owners_of`.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.vertex_order import places_by_id
from dgraph.backend.cuda.transports.bulk_moves import PIECE, BulkMoves, Leaving
from dgraph.comm import Comm


class Owners:
    """Masters of all ranks on the first one, and mailboxes between all; methods are collective.

    Attributes:
        part: this rank's part of the graph, on its GPU.
        moves: the mailboxes.
        gids: of this rank's masters and mirrors, by position: uint32 on the device.
        masters: on the first rank, rank → gids of its masters by position, uint32 on the device; elsewhere empty.
        ids: on the first rank, original ids by gid, uint32 if they are less than 2**32 - 1, else int64, on the device;
            None where they are the gids, and elsewhere.
    """

    def __init__(self, part: DeviceGraph, comm: Comm):
        assert part.links is not None
        self.part = weakref.proxy(part)
        self.moves, local = BulkMoves(part.device, comm, part.links), part.local
        built = hasattr(local, "built")  # generated graphs have ids from 0, which are the gids
        with comm.together():
            gids = part.original if built else part.arranged(part.device.put(local.gids.astype(np.uint32)))
            self.gids = gids.astype(np.uint32, copy=False)
        self.masters = self.collected(np.uint32, self.gids[: local.masters], range(1))
        self.ids = self.ids_by_gid(self.masters, range(1))

    def ids_by_gid(self, gids: Mapping[int, Any], ranks: range) -> Any:
        """Return the original ids by gid on some ranks: uint32 if they are less than 2**32 - 1, else int64.

        None where they are the gids, and on other ranks.

        Args:
            gids: on ``ranks``, rank → gids by position, masters first.
            ranks: where the ids are wanted.
        """
        local = self.part.local
        if not self.moves.comm.total(int(not hasattr(local, "built"))):
            return None
        found = self.collected(np.int64, self.part.original[: local.masters].astype(np.int64), ranks)
        if not found:
            return None
        ids = self.part.device.xp.zeros(local.n, np.int64)
        for peer, theirs in found.items():
            ids[gids[peer][: len(theirs)]] = theirs
        return ids.astype(np.uint32) if int(ids.max()) < 2**32 - 1 else ids

    @cached_property
    def id_places(self) -> tuple[Any, Any]:
        """On the first rank, place of each gid in the order of ids, and gid at each place; None twice if equal."""
        xp, ids = self.part.device.xp, self.ids
        if ids is None or bool(xp.greater(ids[1:], ids[:-1]).all()):
            return None, None
        return places_by_id(ids, xp)

    def collected(self, dtype: Any, mine: Any, ranks: range) -> dict[int, Any]:
        """Bring an array of each rank to some; return rank → array there, nothing elsewhere."""
        found: dict[int, list[Any]] = {}
        leaving = dict.fromkeys(ranks, Leaving.of(mine))
        self.moves.move(dtype, leaving, lambda peer, first, piece: found.setdefault(peer, []).append(piece))
        join = self.part.device.xp.concatenate
        pieces = ((peer, found.pop(peer)) for peer in list(found))
        return {peer: each[0] if len(each) == 1 else join(each) for peer, each in pieces}

    def returned(self, values: Any, dtype: Any) -> Any:
        """Send a column of the whole graph from the first rank to the owners of the vertices.

        Args:
            values: by gid, on the device; None on other ranks.
            dtype: as which it is sent; it may be narrower than that of ``values``.

        Returns:
            The values of this rank's masters by position, on the device.
        """
        leaving = {} if values is None else {peer: _picked(values, gids, dtype) for peer, gids in self.masters.items()}
        found = self.part.device.xp.empty(self.part.local.masters, dtype)

        def placed(_: int, first: int, piece: Any) -> None:
            found[first : first + len(piece)] = piece

        self.moves.move(dtype, leaving, placed)
        return found


def owners_of(part: DeviceGraph, comm: Comm) -> Owners:
    """Return the owners, which are made at the first call; collective."""
    if comm.total(int(part.owners is None)):
        part.owners = None  # on ranks that have it: its mailboxes are of no use to the others
        part.owners = Owners(part, comm)
    return part.owners


def lacking(part: DeviceGraph, comm: Comm, need: int, spared: tuple[str, ...]) -> int:
    """Return the most bytes that a GPU lacks for the needs of all ranks that use it; collective.

    Args:
        part: this rank's part of the graph.
        comm: the ranks.
        need: bytes that this rank needs.
        spared: gathered arrays of the part that are freed, one by one, if memory is short.
    """
    for name in spared:
        if need > part.device.free(need):
            part.forget(name)
    needs: dict[str, int] = {}
    frees: dict[str, int] = {}
    for gpu, rank_needs, free in comm.allgather_json([part.device.raw.uuid(), need, part.device.free(need)]):
        needs[gpu] = needs.get(gpu, 0) + rank_needs
        frees[gpu] = min(frees.get(gpu, free), free)
    return max(0, *(needs[gpu] - frees[gpu] for gpu in needs))


def owners_bytes(part: DeviceGraph, ranks: int, first: bool) -> int:
    """Return the bytes of GPU memory for the owners and the mailboxes on a rank.

    Args:
        part: this rank's part of the graph.
        ranks: number of all ranks.
        first: this is the first rank.
    """
    if part.owners is not None:
        return 0
    return 4 * PIECE * (ranks - 1) + 4 * part.local.size + (24 * part.local.n if first else 8 * part.local.masters)


def _picked(column: Any, at: Any, dtype: Any) -> Leaving:
    """Return the values at some positions as items to send."""
    return Leaving(len(at), lambda first, stop: column[at[first:stop]].astype(dtype, copy=False))
