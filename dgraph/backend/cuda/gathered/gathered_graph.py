"""Whole graph on the GPU of rank 0, or on every GPU, gathered from all ranks and kept with their parts of it.

Some algorithms need thousands of short rounds between GPUs, or rows that other ranks own, and one GPU that holds the
graph finishes them first. Entry: :func:`whole_graph`, for ``algorithms/on_one_gpu.py``, which runs them there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.graph_size import is_skewed
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gathered.gathered_local import PIECE as SORTED
from dgraph.backend.cuda.gathered.gathered_local import Assembly
from dgraph.backend.cuda.gathered.owners import Owners, owners_bytes, owners_of
from dgraph.backend.cuda.transports.bulk_moves import PIECE, Leaving
from dgraph.backend.kernel_register import KERNELS, ROW_KERNELS
from dgraph.backend.one_device import OneDevice
from dgraph.comm import Comm
from dgraph.result.columns import Column, FieldColumn

VERTEX, ITEM = 60, 48
"""Scratch bytes a vertex, and for each item of a piece that is placed or sorted, while a graph is gathered."""

AFTER = 20
"""Bytes a vertex afterwards, beside rows: order, place, ids, degree, and positions of masters."""


def bytes_needed(part: DeviceGraph, ranks: int, kernel: str, there: bool) -> int:
    """Return the bytes of GPU memory that a rank with the whole graph needs beside its part.

    Args:
        part: the part.
        ranks: number of all ranks.
        kernel: name of a registered kernel.
        there: the graph is gathered already.
    """
    n, arcs = part.local.n, part.local.arcs
    if kernel in ROW_KERNELS:
        work = ROW_KERNELS[kernel].gpu.of(n, arcs)
    else:
        memory = KERNELS[kernel].memory
        work = 0 if memory is None else (memory.arrays + memory.result) * n
    if there:
        return work
    gathering = VERTEX * n + ITEM * max(SORTED, PIECE // 4)
    return owners_bytes(part, ranks, True) + 4 * arcs + 8 * n + max(AFTER * n + work, gathering)


class GatheredGraph:
    """Whole graph on the GPUs of some ranks, as this rank sees it.

    Attributes:
        owners: owners of the vertices, and mailboxes between all ranks.
        ranks: the ranks that have the whole graph: the first one, or all.
        local: the whole graph; None on other ranks.
        masters: on these ranks, the positions there of each rank's masters, uint32.
    """

    def __init__(self, part: DeviceGraph, owners: Owners, ranks: range):
        """Bring all ranks' rows, without weights, to ``ranks``; collective.

        Args:
            part: this rank's part of the graph.
            owners: the owners, known to ``ranks``.
            ranks: the first rank, or all.
        """
        self.owners, self.ranks, comm = owners, ranks, owners.moves.comm
        rows = owners.collected(np.uint32, owners.gids, ranks)
        counts = owners.collected(np.uint32, (part.out.offsets[1:] - part.out.offsets[:-1]).astype(np.uint32), ranks)
        with comm.together():
            assembly = self._begun(part, rows, counts) if comm.rank in ranks else None
        arcs = Leaving(part.edges, lambda first, stop: owners.gids[part.out.neighbours[first:stop]])
        for sender in range(comm.size):
            if sender in rows:
                assembly.begin(rows[sender], counts[sender])  # type: ignore[union-attr]
            leaving = dict.fromkeys(ranks, arcs) if comm.rank == sender else {}
            owners.moves.move(np.uint32, leaving, lambda _, first, piece: assembly.fill(first, piece))  # type: ignore[union-attr]
        with comm.together():
            self.local = None if assembly is None else assembly.finished()
        place = None if self.local is None else self.local.vertices.place
        self.masters = owners.masters if place is None else {peer: place[at] for peer, at in owners.masters.items()}

    def _begun(self, part: DeviceGraph, rows: dict, counts: dict) -> Assembly:
        """Return the rows of the whole graph, still empty.

        Args:
            part: this rank's part.
            rows: rank → gid of each of its rows.
            counts: rank → arcs of each of its rows.
        """
        local, xp = part.local, part.device.xp
        degrees = xp.zeros(local.n, np.int64)
        for peer, gids in rows.items():
            degrees[gids] += counts[peer]
        skewed = is_skewed(int(degrees.max()), local.arcs, local.n)
        return Assembly(local, part.device, degrees, skewed, self.owners.ids)

    def returned(self, part: DeviceGraph, name: str, column: Column | None, dtype: np.dtype) -> FieldColumn:
        """Send a column to the owners of the vertices, unless all ranks have it; collective.

        Args:
            part: this rank's part of the graph.
            name: of the column.
            column: values by gid; None on ranks without it.
            dtype: of its values.
        """
        device, comm = part.device, self.owners.moves.comm
        found = None if column is None else self._by_position(column, device)
        if comm.total(int(found is None)):
            values = self.owners.returned(found, dtype, self.masters)
        else:
            values = found[self.masters[comm.rank]]  # type: ignore[index]
        view = FieldView(device, values, part.place)
        return FieldColumn(LazyFields(device, {name: view}, part.degree, part.original), name)

    def _by_position(self, column: Column, device: Any) -> Any:
        """Return a column of the whole graph by position, on the GPU."""
        vertices = self.local.vertices  # type: ignore[union-attr]
        if isinstance(column, FieldColumn):
            view = getattr(column.fields, "raw", lambda _: None)(column.name)
            if isinstance(view, FieldView) and view.is_whole(vertices.size, vertices.place):
                return column.convert(view.values)
        found = device.put(np.ascontiguousarray(column() if callable(column) else column))
        return found if vertices.order is None else found[vertices.order]


def whole_graph(part: DeviceGraph, comm: Comm, kernel: str, alone: Callable[[], Any]) -> OneDevice | str:
    """Return the whole graph, gathered at the first call, or the reason why it is not; collective.

    Args:
        part: this rank's part.
        comm: the ranks.
        kernel: name of the registered kernel that will run on it.
        alone: returns a backend of this GPU for a single rank.
    """
    shared = kernel in ROW_KERNELS and ROW_KERNELS[kernel].shared
    ranks = range(comm.size if shared else 1)
    there = not comm.total(int(part.whole is None or len(part.whole.ranks) < len(ranks)))
    need, device = bytes_needed(part, comm.size, kernel, there), part.device
    if comm.total(int(comm.rank in ranks and (need > device.total() or need > device.free(need)))):
        return f"the whole graph and its kernel may need {need:,} bytes on a GPU beside its part"
    if not there:
        part.whole = None
        part.whole = GatheredGraph(part, owners_of(part, comm, ranks), ranks)
    whole: GatheredGraph = part.whole
    returned = partial(whole.returned, part)  # the part must not be evicted before results go back
    if comm.rank not in ranks:
        return OneDevice(returned)
    backend = alone()
    backend.replicas = whole.owners.moves if shared else None
    return OneDevice(returned, whole.local, backend, shared)
