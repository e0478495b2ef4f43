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
from dgraph.backend.cuda.transports.bulk_moves import PIECE, BulkMoves, Leaving
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
        device: this rank's GPU.
        moves: mailboxes between all ranks.
        ranks: the ranks that have the whole graph: the first one, or all.
        local: the whole graph; None on other ranks.
        masters: on these ranks, the positions there of each rank's masters, uint32.
    """

    def __init__(self, part: DeviceGraph, comm: Comm, ranks: range):
        """Bring all ranks' rows, of which ``part`` has this one's, to ``ranks``; collective."""
        assert part.links is not None
        self.device, self.ranks, local = part.device, ranks, part.local
        self.moves = BulkMoves(part.device, comm, part.links)
        built = hasattr(local, "built")  # generated graphs have ids from 0, which are the gids
        gids = part.original if built else part.arranged(part.device.put(local.gids.astype(np.uint32)))
        gids = gids.astype(np.uint32, copy=False)
        rows = self._collected(np.uint32, gids)
        counts = self._collected(np.uint32, (part.out.offsets[1:] - part.out.offsets[:-1]).astype(np.uint32))
        masters = self._collected(np.uint32, gids[: local.masters])
        renamed = bool(comm.total(int(not built)))
        ids = self._collected(np.int64, part.original[: local.masters].astype(np.int64)) if renamed else {}
        with comm.together():
            assembly = self._begun(local, rows, counts, masters, ids) if comm.rank in ranks else None
        for sender in range(comm.size):
            if sender in rows:
                assembly.begin(rows[sender], counts[sender])  # type: ignore[union-attr]
            self._move_arcs(part, gids, comm.rank == sender, assembly)
        with comm.together():
            self.local = None if assembly is None else assembly.finished()
        place = None if self.local is None else self.local.vertices.place
        self.masters = masters if place is None else {peer: place[each] for peer, each in masters.items()}

    def returned(self, part: DeviceGraph, name: str, column: Column | None, dtype: np.dtype) -> FieldColumn:
        """Send a column to the owners of the vertices, unless all ranks have it; collective.

        Args:
            part: this rank's part of the graph.
            name: of the column.
            column: values by gid; None on ranks without it.
            dtype: of its values.
        """
        device = self.device
        found = None if column is None else self._by_position(column)
        if self.moves.comm.total(int(found is None)):
            masters = {} if found is None else self.masters
            leaving = {peer: _picked(found, at) for peer, at in masters.items()}
            values = device.xp.empty(part.local.masters, dtype)

            def placed(peer: int, first: int, piece: Any) -> None:
                values[first : first + len(piece)] = piece

            self.moves.move(dtype, leaving, placed)
        else:
            values = found[self.masters[self.moves.comm.rank]]  # type: ignore[index]
        view = FieldView(device, values, part.place)
        return FieldColumn(LazyFields(device, {name: view}, part.degree, part.original), name)

    def _by_position(self, column: Column) -> Any:
        """Return a column of the whole graph by position, on the GPU."""
        vertices = self.local.vertices  # type: ignore[union-attr]
        if isinstance(column, FieldColumn):
            view = getattr(column.fields, "raw", lambda _: None)(column.name)
            if isinstance(view, FieldView) and view.is_whole(vertices.size, vertices.place):
                return column.convert(view.values)
        found = self.device.put(np.ascontiguousarray(column() if callable(column) else column))
        return found if vertices.order is None else found[vertices.order]

    def _collected(self, dtype: Any, mine: Any) -> dict[int, Any]:
        """Bring an array of each rank to ``ranks``; return rank → array there, nothing elsewhere; collective."""
        found: dict[int, list[Any]] = {}
        leaving = dict.fromkeys(self.ranks, Leaving.of(mine))
        self.moves.move(dtype, leaving, lambda peer, first, piece: found.setdefault(peer, []).append(piece))
        return {peer: self.device.xp.concatenate(pieces) for peer, pieces in found.items()}

    def _begun(self, local: LocalGraph, rows: dict, counts: dict, masters: dict, ids: dict) -> Assembly:
        """Return the rows of the whole graph, still empty.

        Args:
            local: this rank's part.
            rows: rank → gid of each of its rows.
            counts: rank → arcs of each of its rows.
            masters: rank → gids of its masters.
            ids: rank → original ids of its masters; nothing where they are gids.
        """
        xp, original = self.device.xp, None
        degrees = xp.zeros(local.n, np.int64)
        for peer, gids in rows.items():
            degrees[gids] += counts[peer]
        if ids:
            original = xp.zeros(local.n, np.int64)
            for peer, found in ids.items():
                original[masters[peer]] = found
            if int(original.max()) < 2**32:
                original = original.astype(np.uint32)
        skewed = is_skewed(int(degrees.max()), local.arcs, local.n)
        return Assembly(local, self.device, degrees, skewed, original)

    def _move_arcs(self, part: DeviceGraph, gids: Any, here: bool, assembly: Assembly | None) -> None:
        """Bring the arcs of one rank to ``ranks``; collective. ``here``: they are of this one."""
        out, kind, fill = part.out, part.local.out.weight_type, assembly
        arcs = Leaving(part.edges, lambda first, stop: gids[out.neighbours[first:stop]])
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
    need, device = bytes_needed(part.local, kernel, there), part.device
    if comm.total(int(comm.rank in ranks and (need > device.total() or need > device.free(need)))):
        return f"the whole graph and its kernel may need {need:,} bytes on a GPU beside its part"
    if not there:
        part.whole = None  # on ranks that have it: its mailboxes are of no use to the others
        part.whole = GatheredGraph(part, comm, ranks)
    whole: GatheredGraph = part.whole
    returned = partial(whole.returned, part)
    if comm.rank not in ranks:
        return OneDevice(returned)
    backend = alone()
    backend.replicas = whole.moves if shared else None
    return OneDevice(returned, whole.local, backend, shared)


def _picked(column: Any, at: Any) -> Leaving:
    """Return the values at some positions as items to send."""
    return Leaving(len(at), lambda first, stop: column[at[first:stop]])
