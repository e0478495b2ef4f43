"""A rank's graph in GPU memory, made once and used by every program.

:class:`DeviceGraph` uploads the CSR, renumbers vertices by degree and makes further arrays (CSC, heads, tiles …) on
first use. Positions are lids after renumbering; without it they are equal. Arrays are compared by ``xp.greater`` and
the like: the operators ``>`` and ``==`` of CuPy import SciPy first (0.2 s).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.backend import wire
from dgraph.backend.cuda.device.placed_rows import piece_of, placed
from dgraph.backend.cuda.device_graph import row_marks
from dgraph.backend.cuda.device_graph.graph_size import WIDE, GraphSize, chunks_of, fits_32, is_whole
from dgraph.backend.cuda.device_graph.id_heads import id_heads
from dgraph.backend.cuda.device_graph.propagation_blocking import EdgeTiles
from dgraph.backend.cuda.device_graph.row_classes import RowClasses
from dgraph.backend.cuda.device_graph.turned_rows import turned
from dgraph.backend.cuda.device_graph.vertex_order import IdPlaces, by_descending_degree, cuts_of, groups_of, row_cut
from dgraph.backend.cuda.transports import Links
from dgraph.graph.local import LocalGraph, Mirrors

SOME = 1 << 23
"""Edges transposed at a time; bounds the scratch memory."""

RENUMBERED = SOME // 2
"""Most edges renumbered at a time, which takes twice the scratch."""


def sorted_at_once(edges: int) -> int:
    """Return the edges renumbered at a time: few enough that the scratch is small beside the rows."""
    return min(RENUMBERED, piece_of(edges))


MADE_WITH = {"heads": ("incoming_heads", "incoming_many"), "incoming": ("incoming_some",)}
"""Arrays derived from an array, freed with it."""


class DeviceCsr:
    """CSR on the device.

    Attributes:
        offsets: (rows + 1,), uint32 or int64; ``neighbours``: uint32 (edges,); ``weights``: (edges,) or None.
    """

    def __init__(self, offsets, neighbours, weights):
        self.offsets, self.neighbours, self.weights = offsets, neighbours, weights


LEAST_SHARED = 1 << 30
"""Fewest arcs of a gathered graph at which GPUs share work. The first look of mis at all vertices, shared by two H200s,
took 1.24 ms in place of .78 at 2**29 arcs, and 1.59 in place of 1.44 at 2**30 (``benchmarks/results/across-2.md``)."""


class DeviceGraph(RowClasses, IdPlaces):
    """Arrays of a :class:`LocalGraph` on a device.

    Attributes:
        order: the lid at each position; None if vertices are not renumbered.
        place: the position of each lid, likewise.
        extent: its sizes.
        wide: True if offsets are 64-bit.
        sorted_rows: True if positions ascend in every row of a graph without mirrors.
        links: transports to the other GPUs; None on one rank, and if some rank has no GPU.
        post: mailboxes, once there were messages.
        pull_requests: times a program would have pulled if the in-edges had been there.
        id_requests: programs so far that could have tested rows' neighbours by id.
        light: of the last program that processed light edges only, their largest weight and, if they are few, their
            rows.
        whole: the graph of all ranks as gathered on one GPU; None: it was not, or its memory was needed.
        oriented: rows of all ranks as gathered for counts of triangles; None likewise.
        numbering: numbers of the vertices in the whole graph; None likewise.
        replicas: GPUs that hold this graph and share work, if it was gathered and is large; else None.
    """

    marks: Any = row_marks
    turn, bring = staticmethod(turned), staticmethod(placed)
    """Functions that make lists of rows, in-edges, and rows by position."""
    links: Links | None = None
    post: Any = None
    whole: Any = None
    oriented: Any = None
    numbering: Any = None
    replicas: Any = None
    pull_requests = id_requests = 0
    light: tuple[float, DeviceCsr | None] | None = None

    def __init__(self, local: LocalGraph, device, renumber: bool | None = None):
        self.local, self.device = local, device
        self.edges = local.out.arcs
        self.wide = self.edges >= WIDE
        self.extent = replace(GraphSize.of(local, renumber), wide=self.wide)
        self.largest = self.extent.largest
        self._with_edges: dict[int, int] = {}
        if hasattr(local, "built"):
            self._take_built(local)
        else:
            self._upload(local)
        self.sorted_rows = self.order is not None and self.largest <= sorted_at_once(self.edges)

    def _take_built(self, local: Any) -> None:
        """Adopt the arrays of a graph that was built on this GPU."""
        built, vertices = local.built, local.vertices
        self.order, self.place = vertices.order if vertices.place is not None else None, vertices.place
        self.out = DeviceCsr(built.offsets, built.neighbours, built.weights)
        self.original, self.degree = local.original_ids, local.degree
        self.lids, self.replicas = vertices.lids, local.replicas if local.arcs >= LEAST_SHARED else None
        if local.in_edges is not None:
            self.incoming = local.in_edges

    def _upload(self, local: LocalGraph) -> None:
        device, xp = self.device, self.device.xp
        self.order = self.place = None
        offsets = device.put(local.out.offsets)
        if self.extent.renumbered:
            degrees = offsets[1:] - offsets[:-1] if is_whole(local) else device.put(local.out_degree)
            self.order = by_descending_degree(degrees, cuts_of(local), xp)
            del degrees
            self.place = xp.empty(local.size, np.uint32)
            self.place[self.order] = xp.arange(local.size, dtype=np.uint32)
        neighbours, weights = local.out.neighbours.view(np.uint32), local.out.weights
        if self.order is not None:
            offsets, neighbours, weights = self._renumbered(offsets, neighbours, weights)
        else:
            neighbours, weights = device.put(neighbours), None if weights is None else device.put(weights)
        offsets = offsets.astype(np.int64 if self.wide else np.uint32, copy=False)
        self.out = DeviceCsr(offsets, neighbours, weights)
        self.original = self.arranged(self._put_narrow(local.original))
        if is_whole(local) and not self.wide:
            self.degree = offsets[1:] - offsets[:-1]
        else:
            self.degree = self.arranged(self._put_narrow(local.out_degree))

    def _put_narrow(self, values):
        """Upload values, in 32 bits if all fit, to save bandwidth."""
        return self.device.put(values, np.dtype(np.uint32 if fits_32(values) else np.int64))

    def arranged(self, by_lid):
        """Return an array by lid in the order of positions."""
        return by_lid if self.order is None else by_lid[self.order]

    def _renumbered(self, offsets, neighbours, weights):
        """Return the host's rows by position; within a row hubs come first, except in rows longer than a piece."""
        xp = self.device.xp
        starts = xp.zeros(self.local.size + 1, np.int64)
        xp.cumsum((offsets[1:] - offsets[:-1])[self.order], out=starts[1:])
        targets, moved, _ = self.bring(self.device, offsets, starts, self.place, neighbours, weights)
        last, most = 0, sorted_at_once(self.edges)
        while (first := last) < self.edges:
            last = min(first + most, self.edges)
            whole = int(starts[xp.searchsorted(starts, xp.asarray([last]), side="right") - 1][0])
            last = whole if whole > first else row_cut(targets, first, last, xp)
            row = xp.searchsorted(starts, xp.arange(first, last, dtype=np.int64), side="right")
            keys = row.view(np.uint64)
            keys <<= np.uint64(32)
            keys |= targets[first:last]
            if moved is None:
                self.device.sort(keys)
            else:
                by = xp.argsort(keys)
                keys = keys[by]
                moved[first:last] = moved[first:last][by]
            targets[first:last] = keys
        return starts, targets, moved

    def held_bytes(self, sizes: Mapping[str, int]) -> int:
        """Return the bytes that earlier programs keep allocated with the graph, mailboxes included.

        Args:
            sizes: bytes of "incoming", "heads", "id_heads", "light", "tiles" and "weighted_tiles".
        """
        there = {
            "incoming": self.has_incoming,
            "heads": not {"heads", "incoming_heads"}.isdisjoint(self.__dict__),
            "id_heads": "id_heads" in self.__dict__,
            "light": bool(self.light and self.light[1]),
            "tiles": "tiles" in self.__dict__,
            "weighted_tiles": "weighted_tiles" in self.__dict__,
        }
        return sum(sizes[name] for name in there if there[name]) + (self.post.boxes.bytes if self.post else 0)

    def forget(self, name: str) -> None:
        """Free "incoming", "heads", "id_heads", "light" or tiles; the next use makes them again."""
        self.__dict__.pop(name, None)
        for more in MADE_WITH.get(name, ()):
            self.__dict__.pop(more, None)

    @property
    def has_incoming(self) -> bool:
        """True if the in-edges (CSC) are there."""
        return "incoming" in self.__dict__

    @cached_property
    def by_id(self) -> bool:
        """True if original ids ascend in each row of both directions: no renumbering and no mirrors."""
        return self.order is None and not self.local.mirrors and self.local.by_id

    def longest(self, pulling: bool) -> int:
        """Return the largest degree of the rows that are read."""
        return self._longest_in if pulling and self.local.directed else self.largest

    @cached_property
    def _longest_in(self) -> int:
        return int(self._in_degree().max()) if self.local.size else 0

    def split_degree(self, bins: int) -> int:
        """Return the most edges of a vertex for one thread: (fullest bin ÷ bins) · largest degree.

        Bins of the degree histogram are counted from 1.   [000 III B]
        """
        xp = self.device.xp
        if not self.largest:
            return 1
        scaled = self._row_degrees() * bins + self.largest - 1
        counts = xp.bincount(scaled // self.largest, minlength=bins + 1)
        counts[1] += counts[0]  # vertices without edges are in the first bin
        return max((int(counts[1:].argmax()) + 1) * self.largest // bins, 1)

    def _row_degrees(self):
        """Return the number of edges of each row of this rank, int64 (masters + mirrors,)."""
        offsets = self.out.offsets
        return (offsets[1:] - offsets[:-1]).astype(np.int64)

    def split_vertices(self, mdt: int) -> tuple[int, int]:
        """Return the number of vertices of more than ``mdt`` out-edges, and that of the children they split into."""
        pieces = (self._row_degrees() + (mdt - 1)) // mdt
        return int((pieces > 1).sum()), int((self.device.xp.maximum(pieces, 1) - 1).sum())

    @cached_property
    def incoming(self) -> DeviceCsr:
        """In-edges (CSC); the out-edges where every arc has its reverse."""
        return self._turned(self.out) if self.local.directed else self.out

    def _turned(self, rows: DeviceCsr) -> DeviceCsr:
        """Transpose rows, piece by piece; sources of a target keep their order."""
        return DeviceCsr(*self.turn(self.device, rows.offsets, rows.neighbours, rows.weights, self.local.size, SOME))

    def _taken(self, targets, free) -> tuple[Any, Any]:
        """Return the stable order of some targets, and the place that each takes from those that are ``free``."""
        xp = self.device.xp
        order = xp.argsort(targets, kind="stable")
        to = targets[order]
        where = xp.arange(to.size, dtype=np.int64)
        where -= xp.searchsorted(to, to, side="left")
        where += free[to]
        taken = xp.zeros(free.size, np.uint32)
        self._count(to, taken)
        free += taken
        return order, where

    def _count(self, vertices, counts) -> None:
        """Add the number of occurrences to ``counts`` (uint32); a bincount would take gigabytes of scratch."""
        self.device.xp.add.at(counts, vertices, np.uint32(1))

    def rows_with_edges(self, rows: int) -> int:
        """Return how many of the first ``rows`` rows precede the trailing empty ones."""
        if rows not in self._with_edges:
            self._with_edges[rows] = self.marks.behind_last(self.device, rows, 1, self.out.offsets)
        return self._with_edges[rows]

    @cached_property
    def rows_pulled(self) -> int:
        """Rows before the trailing rows without in-edges."""
        if not self.local.directed:
            return self.rows_with_edges(self.local.size)
        return self.marks.behind_last(self.device, self.local.size, 1, self.incoming.offsets)

    @cached_property
    def masters_with_edges(self) -> int:
        """Masters before the trailing ones without out-edges in the whole graph; all if not renumbered."""
        if self.order is None:
            return self.local.masters
        return self.marks.behind_last(self.device, self.local.masters, 1, degrees=self.degree)

    @cached_property
    def rows_of_many(self) -> int:
        """Masters before the trailing ones with one edge or none."""
        return self.marks.behind_last(self.device, self.local.masters, 2, self.out.offsets)

    @cached_property
    def heads(self):
        """First neighbour of every row, or ``NO_HEAD``: uint32 by position; None if not renumbered.

        They lie side by side, while rows are far apart. With hubs first, few vertices need another neighbour.
        """
        return self._heads(self.out)

    @cached_property
    def incoming_heads(self):
        """First in-neighbour of every vertex; as ``heads``."""
        return self._heads(self.incoming) if self.local.directed else self.heads

    def pays_id_heads(self) -> bool:
        """Return True from the second request on: finding ``id_heads`` takes longer than one program saves by them."""
        self.id_requests += 1
        return self.id_requests > 1

    @cached_property
    def id_heads(self):
        """In-neighbours of smallest original id of every row; see ``id_heads.py``."""
        return id_heads(self.device, self.incoming.offsets, self.incoming.neighbours, self.original)

    @cached_property
    def incoming_some(self):
        """Bitmap of vertices with in-edges: uint32. Late in a search few other vertices are unreached."""
        return self.marks.bits(self.device, self.incoming.offsets, 1)

    @cached_property
    def incoming_many(self):
        """Bitmap of vertices with several in-edges; for the others the head is enough."""
        return self.marks.bits(self.device, self.incoming.offsets, 2)

    def _heads(self, rows: DeviceCsr):
        return None if self.order is None else self.marks.heads(self.device, rows.offsets, rows.neighbours)

    @cached_property
    def tiles(self) -> EdgeTiles:
        """All edges in tiles of targets."""
        return self._tiled(DeviceCsr(self.out.offsets, self.out.neighbours, None))

    @cached_property
    def weighted_tiles(self) -> EdgeTiles:
        """All edges and their weights in tiles of targets."""
        return self._tiled(self.out)

    def _tiled(self, rows: DeviceCsr) -> EdgeTiles:
        """Return edges in tiles. Where every arc has its reverse, rows serve as in-edges.

        With mirrors the local arcs still have to be transposed.
        """
        turned = not self.local.directed and self.local.mirrors
        return EdgeTiles(self._turned(rows) if turned else rows, self.local.masters, self.device)

    @cached_property
    def peers(self) -> list[int]:
        """Ranks that share vertices with this one, ascending."""
        return sorted({*self.local.own_mirrors, *self.local.peer_mirrors})

    @cached_property
    def lids(self) -> dict:
        """Peer → position of the master of each of its mirrors, uint32; the peer orders them by the same degrees."""
        return {peer: self._masters(side) for peer, side in sorted(self.local.peer_mirrors.items())}

    def _masters(self, side: Mirrors):
        lids = self.device.put(side.lids)
        if self.place is None:
            return lids
        degrees = self.device.put(self.local.out_degree[side.lids])
        return self.place[lids[by_descending_degree(degrees, groups_of(side), self.device.xp)]]

    @cached_property
    def mirror_slots(self):
        """Positions of each master in the peers' lists: offsets (masters + 1,) and slots, uint32.

        A slot counts positions over all peers; each peer's begin at a multiple of a chunk.
        """
        xp, base, peers = self.device.xp, 0, self.lids.values()
        offsets, counts = xp.zeros(self.local.masters + 1, np.int64), xp.zeros(self.local.masters, np.uint32)
        for lids in peers:
            self._count(lids, counts)
        xp.cumsum(counts, out=offsets[1:])
        slots, free = xp.empty(sum(map(len, peers)), np.uint32), offsets[:-1].copy()
        for lids in peers:
            for first in range(0, len(lids), SOME):
                order, where = self._taken(lids[first : first + SOME], free)
                slots[where] = order + (base + first)
            base += chunks_of(len(lids)) << wire.GPU.chunk_bits
        return offsets.astype(np.uint32), slots
