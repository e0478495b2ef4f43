"""Whole graph on the GPU of each rank, gathered from all ranks and kept with this one's part of it.

Some algorithms need thousands of short rounds between GPUs, and GPUs that hold the graph finish them first. Entry:
:func:`whole_graph`, for ``algorithms/on_replicas.py``, which runs them there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.graph_size import is_skewed
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.backend.cuda.device_graph.lid_order import by_lid
from dgraph.backend.cuda.gathered.gathered_local import GatheredLocal, Replicas
from dgraph.backend.cuda.gathered.gathered_rows import gathered_rows
from dgraph.backend.cuda.gathered.numbering import Numbering, Order, lacking, numbering_bytes, numbering_of
from dgraph.backend.cuda.gathered.row_assembly import bytes_to_fill
from dgraph.backend.cuda.gathered.small_replica import gathers_on_host, masters_column
from dgraph.backend.cuda.graph_build.vertices import BuiltVertices
from dgraph.backend.cuda.transports.bulk_moves import Leaving
from dgraph.backend.graph_replica import GraphReplica
from dgraph.backend.kernel_register import KERNELS, SOLVERS
from dgraph.backend.row_solver import RowSize
from dgraph.comm import Comm
from dgraph.graph.halo.numbered_rows import whole_graph_of
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
    gathering = VERTEX * n + bytes_to_fill(arcs)
    return numbering_bytes(part, ranks) + 4 * arcs + 8 * n + max(AFTER * n + work, gathering)


def gathered_graph(part: DeviceGraph, numbering: Numbering) -> GatheredLocal:
    """Bring all ranks' rows to every rank; collective."""
    local, comm, masters = part.local, numbering.moves.comm, part.local.masters
    with comm.together():
        lengths = (part.out.offsets[1:] - part.out.offsets[:-1]).astype(np.uint32)
        largest = int(part.degree[:masters].max()) if masters else 0
    if is_skewed(comm.largest(largest), local.arcs, local.n):
        order = numbering.by_degree()
    else:
        order = Order(numbering.gids, None, local.n)
    numbers = order.numbers
    arcs = Leaving(part.edges, lambda first, stop: numbers[part.out.neighbours[first:stop]])
    rows = gathered_rows(numbering, numbers[:masters], local.n, numbers, lengths, arcs, numbering.ids())
    with comm.together():
        replicas = Replicas(numbering.moves, rows.place, part.place)
        return GatheredLocal(local, rows, order.by_gid, part.device, replicas)


def _mine(part: DeviceGraph, whole: GatheredLocal, name: str, column: Column) -> FieldColumn:
    """Return the values of this rank's masters.

    Args:
        part: this rank's part of the graph.
        whole: the graph.
        name: of the column.
        column: values by gid, or of a field of these masters.
    """
    convert = column.convert if isinstance(column, FieldColumn) else same
    view = _raw(column)
    if isinstance(view, FieldView) and view.is_whole(part.local.masters, part.place):
        values = view.values
    else:
        values = by_lid(part.device, _by_position(column, part.device, whole.vertices), whole.replicas.masters)
    return replace(gpu_columns(part, {name: values})[name], convert=convert)


def _by_position(column: Column, device: Any, vertices: BuiltVertices) -> Any:
    """Return a column by position, on the GPU; of a field, the values that are still to be converted."""
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


def gathered_before(part: DeviceGraph | None, comm: Comm, kernel: str) -> bool:
    """Return True if every rank still has the whole graph, and memory for a kernel; collective.

    Args:
        part: this rank's part; None: it is not on the GPU.
        comm: the ranks.
        kernel: name of the registered kernel that will run on it.
    """
    ready = part is not None and part.whole is not None
    if part is not None and ready:  # enough even if all ranks use one GPU
        ready = part.device.spares(bytes_needed(part, comm.size, kernel, there=True) * comm.size)
    return not comm.total(not ready)


def whole_graph(part: DeviceGraph, comm: Comm, kernel: str) -> str:
    """Gather the whole graph at the first call; return "", or the reason why it is not there; collective.

    Arguments as of :func:`gathered_before`.
    """
    there = not comm.total(int(part.whole is None))
    need = bytes_needed(part, comm.size, kernel, there)
    if lacking(part, comm, need, ("oriented",)):
        return f"the whole graph and its kernel may need {comm.largest(need):,} bytes on a GPU beside its part"
    if not there:
        part.whole = None
        on_host = gathers_on_host(part, comm)
        part.whole = whole_graph_of(part.local, comm) if on_host else gathered_graph(part, numbering_of(part, comm))
    return ""


def replica_of(part: DeviceGraph, alone: Any) -> GraphReplica:
    """Return the whole graph beside a part; ``alone`` is a backend of this GPU for a single rank."""
    whole = part.whole  # the part must not be evicted meanwhile
    mine = partial(_mine, part, whole) if isinstance(whole, GatheredLocal) else partial(masters_column, part)
    return GraphReplica(whole, alone, mine)
