"""Whole graph on the GPU of rank 0, gathered from all ranks and kept with its part of it.

Some algorithms need thousands of short rounds between GPUs, and one GPU that holds the graph finishes them first.
Entry: :func:`whole_graph`, for ``algorithms/on_one_gpu.py``, which runs them there.
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
from dgraph.backend.cuda.gathered.gathered_local import Assembly
from dgraph.backend.cuda.gathered.owners import Owners, lacking, owners_bytes, owners_of
from dgraph.backend.cuda.gathered.row_assembly import bytes_to_fill, fill
from dgraph.backend.cuda.transports.bulk_moves import Leaving
from dgraph.backend.kernel_register import KERNELS, ROW_KERNELS
from dgraph.backend.one_device import OneDevice
from dgraph.comm import Comm
from dgraph.result.columns import Column, FieldColumn

VERTEX = 60
"""Scratch bytes a vertex while a graph is gathered."""

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
    gathering = VERTEX * n + bytes_to_fill()
    return owners_bytes(part, ranks, True) + 4 * arcs + 8 * n + max(AFTER * n + work, gathering)


class GatheredGraph:
    """Whole graph on the GPU of the first rank, as this rank sees it.

    Attributes:
        owners: owners of the vertices, and mailboxes between all ranks.
        local: the whole graph; None on other ranks.
        masters: on the first rank, the positions there of each rank's masters, uint32.
    """

    def __init__(self, part: DeviceGraph, owners: Owners):
        """Bring all ranks' rows, without weights, to the first rank; collective.

        Args:
            part: this rank's part of the graph.
            owners: the owners.
        """
        self.owners, comm, ranks = owners, owners.moves.comm, range(1)
        rows = owners.collected(np.uint32, owners.gids, ranks)
        counts = owners.collected(np.uint32, (part.out.offsets[1:] - part.out.offsets[:-1]).astype(np.uint32), ranks)
        with comm.together():
            assembly = self._begun(part, rows, counts) if comm.rank == 0 else None
        arcs = Leaving(part.edges, lambda first, stop: owners.gids[part.out.neighbours[first:stop]])
        fill(assembly, owners.moves, rows, counts, arcs, ranks)
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
        """Send a column to the owners of the vertices; collective.

        Args:
            part: this rank's part of the graph.
            name: of the column.
            column: values by gid; None on ranks without it.
            dtype: of its values.
        """
        found = None if column is None else self._by_position(column, part.device)
        view = FieldView(part.device, self.owners.returned(found, dtype, self.masters), part.place)
        return FieldColumn(LazyFields(part.device, {name: view}, part.degree, part.original), name)

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
    there = not comm.total(int(part.whole is None))
    need = bytes_needed(part, comm.size, kernel, there) if comm.rank == 0 else 0
    if comm.largest(int(need > part.device.total())) or lacking(part, comm, need, ("oriented",)):
        return f"the whole graph and its kernel may need {comm.largest(need):,} bytes on a GPU beside its part"
    if not there:
        part.whole = None
        part.whole = GatheredGraph(part, owners_of(part, comm))
    whole: GatheredGraph = part.whole
    returned = partial(whole.returned, part)  # the part must not be evicted before results go back
    return OneDevice(returned, whole.local, alone() if comm.rank == 0 else None)
