"""Whole graph on the GPU of rank 0, or on every GPU, gathered from all ranks and kept with their parts of it.

Some algorithms need thousands of short rounds between GPUs, or rows that other ranks own, and one GPU that holds the
graph finishes them first. Entry: :func:`whole_graph`, for ``algorithms/on_one_gpu.py``, which runs them there.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.graph_size import is_skewed
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gathered.gathered_local import PIECE as SORTED
from dgraph.backend.cuda.gathered.gathered_local import Assembly
from dgraph.backend.cuda.gathered.owners import Owners, owners_of
from dgraph.backend.cuda.transports.bulk_moves import PIECE, Leaving
from dgraph.backend.kernel_register import KERNELS, ROW_KERNELS
from dgraph.backend.one_device import OneDevice
from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph
from dgraph.result.columns import Column, FieldColumn

VERTEX, ITEM = 60, 48
"""Scratch bytes a vertex, and for each item of a piece that is placed or sorted, while a graph is gathered."""

AFTER = 24
"""Bytes a vertex afterwards, beside rows: order, place, ids, degree, and gids of masters."""


def bytes_needed(local: LocalGraph, kernel: str, there: bool) -> int:
    """Return the bytes of GPU memory that a rank needs beside its part.

    Args:
        local: any rank's part.
        kernel: name of a registered kernel.
        there: the graph is gathered already.
    """
    if kernel in ROW_KERNELS:
        work = ROW_KERNELS[kernel].gpu.of(local.n, local.arcs)
    else:
        memory = KERNELS[kernel].memory
        work = 0 if memory is None else (memory.arrays + memory.result) * local.n
    if there:
        return work
    kind = local.out.weight_type
    rows = local.arcs * (4 + (0 if kind is None else kind.itemsize)) + 8 * local.n
    return rows + max(AFTER * local.n + work, VERTEX * local.n + ITEM * max(SORTED, PIECE // 4))


class GatheredGraph:
    """Whole graph on the GPUs of some ranks, as this rank sees it.

    Attributes:
        part: this rank's part of it, on its GPU.
        owners: owners of the vertices, and mailboxes between all ranks.
        ranks: the ranks that have the whole graph: the first one, or all.
        local: the whole graph; None on other ranks.
        masters: on these ranks, the positions there of each rank's masters, uint32.
    """

    def __init__(self, part: DeviceGraph, owners: Owners, ranks: range):
        """Bring all ranks' rows to ``ranks``; collective. ``owners`` are known to these."""
        self.part, self.owners, self.ranks = weakref.proxy(part), owners, ranks
        self.moves, rank = owners.moves, owners.moves.comm.rank
        rows = self._collected(owners.gids)
        counts = self._collected((part.out.offsets[1:] - part.out.offsets[:-1]).astype(np.uint32))
        assembly = self._begun(rows, counts) if rank in ranks else None
        for sender in range(self.moves.comm.size):
            if sender in rows:
                assembly.begin(rows[sender], counts[sender])  # type: ignore[union-attr]
            self._move_arcs(rank == sender, assembly)
        self.local = None if assembly is None else assembly.finished()
        place = None if self.local is None else self.local.vertices.place
        self.masters = owners.masters if place is None else {peer: place[at] for peer, at in owners.masters.items()}

    def returned(self, name: str, column: Column | None, dtype: np.dtype) -> FieldColumn:
        """Send a column to the owners of the vertices, unless all ranks have it; collective.

        Args:
            name: of the column.
            column: values by gid; None on ranks without it.
            dtype: of its values.
        """
        device, comm = self.part.device, self.moves.comm
        found = None if column is None else self._by_position(column)
        if comm.total(int(found is None)):
            values = self.owners.returned(found, dtype, self.masters)
        else:
            values = found[self.masters[comm.rank]]  # type: ignore[index]
        view = FieldView(device, values, self.part.place)
        return FieldColumn(LazyFields(device, {name: view}, self.part.degree, self.part.original), name)

    def _by_position(self, column: Column) -> Any:
        """Return a column of the whole graph by position, on the GPU."""
        vertices = self.local.vertices  # type: ignore[union-attr]
        if isinstance(column, FieldColumn):
            view = getattr(column.fields, "raw", lambda _: None)(column.name)
            if isinstance(view, FieldView) and view.is_whole(vertices.size, vertices.place):
                return column.convert(view.values)
        found = self.part.device.put(np.ascontiguousarray(column() if callable(column) else column))
        return found if vertices.order is None else found[vertices.order]

    def _collected(self, mine: Any) -> dict[int, Any]:
        """Bring a uint32 array of each rank to ``ranks``."""
        return self.owners.collected(np.uint32, mine, self.ranks)

    def _begun(self, rows: dict, counts: dict) -> Assembly:
        """Return the rows of the whole graph, still empty.

        Args:
            rows: rank → gid of each of its rows.
            counts: rank → arcs of each of its rows.
        """
        local, xp = self.part.local, self.part.device.xp
        degrees = xp.zeros(local.n, np.int64)
        for peer, gids in rows.items():
            degrees[gids] += counts[peer]
        skewed = is_skewed(int(degrees.max()), local.arcs, local.n)
        return Assembly(local, self.part.device, degrees, skewed, self.owners.ids)

    def _move_arcs(self, here: bool, assembly: Assembly | None) -> None:
        """Bring the arcs of one rank to ``ranks``; collective. ``here``: they are of this one."""
        out, kind, fill, gids = self.part.out, self.part.local.out.weight_type, assembly, self.owners.gids
        arcs = Leaving(self.part.edges, lambda first, stop: gids[out.neighbours[first:stop]])
        leaving = dict.fromkeys(self.ranks, arcs) if here else {}
        self.moves.move(np.uint32, leaving, lambda _, first, piece: fill.fill(first, piece))  # type: ignore[union-attr]
        if kind is not None:
            leaving = dict.fromkeys(self.ranks, Leaving.of(out.weights)) if here else {}
            self.moves.move(kind, leaving, lambda _, first, piece: fill.fill_weights(first, piece))  # type: ignore[union-attr]


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
    need = bytes_needed(part.local, kernel, there)
    if comm.total(int(comm.rank in ranks and need > part.device.free(need))):
        return f"the whole graph and its kernel may need {need:,} bytes on a GPU beside its part"
    if not there:
        part.whole = None
        part.whole = GatheredGraph(part, owners_of(part, comm, ranks), ranks)
    whole: GatheredGraph = part.whole
    if comm.rank not in ranks:
        return OneDevice(whole.returned)
    backend = alone()
    backend.replicas = whole.moves if shared else None
    return OneDevice(whole.returned, whole.local, backend, shared)
