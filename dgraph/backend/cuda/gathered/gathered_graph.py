"""Whole graph on the GPU of each rank, gathered from all ranks and kept with this one's part of it.

Some algorithms need thousands of short rounds between GPUs, and GPUs that hold the graph finish them first. Entry:
:func:`whole_graph`, for ``algorithms/on_replicas.py``, which runs them there.
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
from dgraph.backend.cuda.gathered.numbering import Numbering, lacking, numbering_bytes, numbering_of
from dgraph.backend.cuda.gathered.row_assembly import bytes_to_fill, fill
from dgraph.backend.cuda.transports.bulk_moves import BulkMoves, Leaving
from dgraph.backend.graph_replica import GraphReplica
from dgraph.backend.kernel_register import KERNELS, SOLVERS
from dgraph.backend.row_solver import RowSize
from dgraph.comm import Comm
from dgraph.result.columns import Column, FieldColumn, same

VERTEX = 60
"""Scratch bytes a vertex while a graph is gathered."""

AFTER = 20
"""Bytes a vertex afterwards, beside rows: order, place, ids, degree, and positions of masters."""


def bytes_needed(part: DeviceGraph, ranks: int, kernel: str, there: bool) -> int:
    """Return the bytes of GPU memory that a rank needs for the whole graph beside its part.

    Args:
        part: the part.
        ranks: number of all ranks.
        kernel: name of a registered kernel.
        there: the graph is gathered already.
    """
    n, arcs = part.local.n, part.local.arcs
    if kernel in SOLVERS:
        work = SOLVERS[kernel].load("gpu").bytes(RowSize.whole(n, arcs))
    else:
        memory = KERNELS[kernel].memory
        work = 0 if memory is None else (memory.arrays + memory.result) * n
    if there:
        return work
    gathering = VERTEX * n + bytes_to_fill()
    return numbering_bytes(part, ranks) + 4 * arcs + 8 * n + max(AFTER * n + work, gathering)


class GpuReplicas:
    """GPUs that each hold the whole graph.

    Attributes:
        moves: mailboxes between all ranks.
        number, count, masters, place: of :class:`dgraph.graph.local.Replicas`; masters: uint32 on the device.
    """

    def __init__(self, moves: BulkMoves, masters: Any, place: Any):
        self.moves, self.number, self.count = moves, moves.comm.rank, moves.comm.size
        self.masters, self.place = masters, place

    def spread(self, array: Any) -> None:
        """Bring each rank's part of an array to all, or raise the error by which a rank ended before; collective."""
        self.moves.comm.agree(None)
        self.moves.spread(array)


class GatheredGraph:
    """Whole graph on this rank's GPU.

    Attributes:
        local: the graph.
        replicas: the GPUs that hold it.
    """

    def __init__(self, part: DeviceGraph, numbering: Numbering):
        """Bring all ranks' rows, without weights, to every rank; collective.

        Args:
            part: this rank's part of the graph.
            numbering: the numbering.
        """
        comm = numbering.moves.comm
        rows = numbering.collected(np.uint32, numbering.gids)
        counts = numbering.collected(np.uint32, (part.out.offsets[1:] - part.out.offsets[:-1]).astype(np.uint32))
        ids = numbering.ids_by_gid(rows)
        with comm.together():
            assembly = _begun(part, rows, counts, ids)
        arcs = Leaving(part.edges, lambda first, stop: numbering.gids[part.out.neighbours[first:stop]])
        fill(assembly, numbering.moves, rows, counts, arcs)
        with comm.together():
            self.local = assembly.finished()
            place, masters = self.local.vertices.place, numbering.gids[: part.local.masters]
            self.replicas = GpuReplicas(numbering.moves, masters if place is None else place[masters], part.place)
            self.local.replicas = self.replicas

    def mine(self, part: DeviceGraph, name: str, column: Column) -> FieldColumn:
        """Return the values of this rank's masters.

        Args:
            part: this rank's part of the graph.
            name: of the column.
            column: values by gid, or of a field of these masters.
        """
        convert = column.convert if isinstance(column, FieldColumn) else same
        view = _raw(column)
        if not (isinstance(view, FieldView) and view.is_whole(part.local.masters, part.place)):
            view = FieldView(part.device, self._by_position(column, part.device)[self.replicas.masters], part.place)
        return FieldColumn(LazyFields(part.device, {name: view}, part.degree, part.original), name, convert)

    def _by_position(self, column: Column, device: Any) -> Any:
        """Return a column by position, on the GPU; of a field, the values that are still to be converted."""
        vertices = self.local.vertices
        view = _raw(column)
        if isinstance(view, FieldView) and view.is_whole(vertices.size, vertices.place):
            return view.values
        if isinstance(column, FieldColumn):
            column = column.fields[column.name]
        values = device.put(np.ascontiguousarray(column() if callable(column) else column))
        return values if vertices.order is None else values[vertices.order]


def _raw(column: Column) -> Any:
    """Return the field of a column where it lies on the GPU, else None."""
    raw = getattr(column.fields, "raw", None) if isinstance(column, FieldColumn) else None
    return raw(column.name) if raw else None  # type: ignore[union-attr]


def _begun(part: DeviceGraph, rows: dict, counts: dict, ids: Any) -> Assembly:
    """Return the rows of the whole graph, still empty.

    Args:
        part: this rank's part.
        rows: rank → gid of each of its rows.
        counts: rank → arcs of each of its rows.
        ids: original ids by gid; None: they are the gids.
    """
    local, xp = part.local, part.device.xp
    degrees = xp.zeros(local.n, np.int64)
    for peer, gids in rows.items():
        degrees[gids] += counts[peer]
    skewed = is_skewed(int(degrees.max()), local.arcs, local.n)
    return Assembly(local, part.device, degrees, skewed, ids)


def whole_graph(part: DeviceGraph, comm: Comm, kernel: str, alone: Callable[[], Any]) -> GraphReplica | str:
    """Return the whole graph, gathered at the first call, or the reason why it is not; collective.

    Args:
        part: this rank's part.
        comm: the ranks.
        kernel: name of the registered kernel that will run on it.
        alone: returns a backend of this GPU for a single rank.
    """
    there = not comm.total(int(part.whole is None))
    need = bytes_needed(part, comm.size, kernel, there)
    if comm.largest(int(need > part.device.total())) or lacking(part, comm, need, ("oriented",)):
        return f"the whole graph and its kernel may need {comm.largest(need):,} bytes on a GPU beside its part"
    if not there:
        part.whole = None
        part.whole = GatheredGraph(part, numbering_of(part, comm))
    whole: GatheredGraph = part.whole
    return GraphReplica(whole.local, alone(), partial(whole.mine, part))  # the part must not be evicted meanwhile
