"""Numbers of a part's vertices in the whole graph, and arrays brought from each GPU to all.

:class:`Numbering` stays with the part of the graph on each GPU. Entry: :func:`numbering_of`.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.transports.bulk_moves import PIECE, BulkMoves, Leaving
from dgraph.comm import Comm

NO_DEGREE = np.uint64((2**32 - 1) << 32)
"""Least key of a vertex without arcs in the order by degree."""

PLACED = 1 << 24
"""Numbers that are written at a time."""


@dataclass(frozen=True)
class Order:
    """Numbers of all vertices in one order.

    Attributes:
        numbers: of this rank's masters and mirrors, by position: uint32 on the device.
        by_gid: of all vertices, likewise; None: gids are the numbers.
        ending: all vertices from this number on have no arcs.
    """

    numbers: Any
    by_gid: Any
    ending: int


class Numbering:
    """Numbers of this rank's vertices in the whole graph, and mailboxes between all ranks; methods are collective.

    Attributes:
        part: this rank's part of the graph, on its GPU.
        moves: the mailboxes.
        gids: of this rank's masters and mirrors, by position: uint32 on the device.
    """

    def __init__(self, part: DeviceGraph, comm: Comm):
        assert part.links is not None
        self.part = weakref.proxy(part)
        self.moves, local = BulkMoves(part.device, comm, part.links), part.local
        built = hasattr(local, "built")  # generated graphs have ids from 0, which are the gids
        with comm.together():
            gids = part.original if built else part.arranged(part.device.put(local.gids.astype(np.uint32)))
            self.gids = gids.astype(np.uint32, copy=False)
        self._id_order: tuple[Any, Any] | None = None

    def ids(self) -> Any:
        """Return the original ids of this rank's masters, int64; None if those of all ranks are the gids."""
        local = self.part.local
        if not self.moves.comm.total(int(not hasattr(local, "built"))):
            return None
        return self.part.original[: local.masters].astype(np.int64)

    def by_degree(self) -> Order:
        """Return the order of all vertices by descending degree in the whole graph, then by gid."""
        part, device, comm = self.part, self.part.device, self.moves.comm
        xp, n, masters = device.xp, part.local.n, part.local.masters
        begins = np.concatenate([[0], np.cumsum(comm.allgather(np.array([masters], np.int64)))]).tolist()
        with comm.together():
            keys = xp.empty(n, np.uint64)

        def keys_of(first: int, stop: int) -> Any:
            piece = part.degree[first:stop].astype(np.uint64)
            piece <<= np.uint64(32)
            piece = xp.subtract(NO_DEGREE, piece)
            piece |= self.gids[first:stop]
            return piece

        def placed(peer: int, first: int, piece: Any) -> None:
            keys[begins[peer] + first : begins[peer] + first + len(piece)] = piece

        self.moves.move(np.uint64, dict.fromkeys(range(comm.size), Leaving(masters, keys_of)), placed)
        with comm.together():
            device.sort(keys)
            ending = int(xp.searchsorted(keys, xp.asarray([NO_DEGREE]))[0])
            number = xp.empty(n, np.uint32)
            for first in range(0, n, PLACED):
                gids = keys[first : first + PLACED].astype(np.uint32)
                number[gids] = xp.arange(first, first + len(gids), dtype=np.uint32)
            return Order(number[self.gids], number, ending)

    @property
    def is_ordered(self) -> bool:
        """True if :meth:`id_order` was called."""
        return self._id_order is not None

    def id_order(self) -> tuple[Any, Any]:
        """Return the place of each position in the order of all vertices' ids, uint32, and the id at each place.

        The ids are uint32 or int64, or None where they are the places. Both lie on the device and are kept.
        """
        if self._id_order is None:
            local, comm, original, xp = self.part.local, self.moves.comm, self.part.original, self.part.device.xp
            with comm.together():
                largest = int(original[: local.masters].max()) if local.masters else -1
            if comm.largest(largest) == local.n - 1:
                places, ids = original.astype(np.uint32, copy=False), None
            else:
                every = self.collected(np.int64, original[: local.masters].astype(np.int64))
                with comm.together():
                    ids = xp.sort(xp.concatenate(list(every.values())))
                    places = xp.searchsorted(ids, original.astype(np.int64)).astype(np.uint32)
                    ids = ids.astype(np.uint32 if int(ids[-1]) < 2**32 - 1 else np.int64, copy=False)
            self._id_order = places, ids  # on all ranks or on none
        return self._id_order

    def collected(self, dtype: Any, mine: Any) -> dict[int, Any]:
        """Bring an array of each rank to all; return rank → array, without empty ones."""
        received: dict[int, list[Any]] = {}
        leaving = dict.fromkeys(range(self.moves.comm.size), Leaving.of(mine))
        self.moves.move(dtype, leaving, lambda peer, first, piece: received.setdefault(peer, []).append(piece))
        join = self.part.device.xp.concatenate
        pieces = ((peer, received.pop(peer)) for peer in list(received))
        return {peer: parts[0] if len(parts) == 1 else join(parts) for peer, parts in pieces}


def numbering_of(part: DeviceGraph, comm: Comm) -> Numbering:
    """Return the numbering, which is made at the first call; collective."""
    if comm.total(int(part.numbering is None)):
        part.numbering = None  # on ranks that have it: its mailboxes are of no use to the others
        part.numbering = Numbering(part, comm)
    return part.numbering


def lacking(part: DeviceGraph, comm: Comm, need: int, spared: tuple[str, ...]) -> int:
    """Return the most bytes that a GPU lacks for the needs of all ranks that use it; collective.

    Args:
        part: this rank's part of the graph.
        comm: the ranks.
        need: bytes that this rank needs.
        spared: gathered arrays of the part that are freed, one by one, if memory is short.
    """
    free, beyond = part.device.free(need), need - part.device.total()
    most, least, beyond = comm.allreduce(np.array([need, -free, beyond], np.int64), "max").tolist()
    if most * comm.size <= -least:  # even if all ranks use one GPU
        return 0
    if beyond > 0:
        return most + least
    for name in spared:
        if need > part.device.free(need):
            part.forget(name)
    needs: dict[str, int] = {}
    frees: dict[str, int] = {}
    for gpu, rank_needs, free in comm.allgather_json([part.device.raw.uuid(), need, part.device.free(need)]):
        needs[gpu] = needs.get(gpu, 0) + rank_needs
        frees[gpu] = min(frees.get(gpu, free), free)
    return max(0, *(needs[gpu] - frees[gpu] for gpu in needs))


def numbering_bytes(part: DeviceGraph, ranks: int) -> int:
    """Return the bytes of GPU memory for the numbering and its mailboxes on a rank.

    Args:
        part: this rank's part of the graph.
        ranks: number of all ranks.
    """
    return 0 if part.numbering is not None else 4 * PIECE * (ranks - 1) + 4 * part.local.size
