"""Whole graph on the GPU of rank 0, gathered from all ranks and kept with their parts of it.

Some algorithms need thousands of short rounds between GPUs, or rows that other ranks own, and one GPU that holds the
graph finishes them first. Entry: :func:`on_rank_0`, for ``algorithms/on_one_gpu.py``, which runs them there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.graph_size import is_skewed
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gathered.gathered_local import PIECE as SORTED
from dgraph.backend.cuda.gathered.gathered_local import Assembly, GatheredLocal
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
    """Return the bytes of GPU memory that rank 0 needs beside its part.

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


@dataclass
class GatheredGraph:
    """Graph on rank 0, as this rank sees it.

    Attributes:
        part: this rank's part of it, on its GPU.
        moves: mailboxes between all ranks.
        local: the whole graph; None on ranks other than 0.
        masters: on rank 0, the gids of each rank's masters by their position there, uint32.
    """

    part: DeviceGraph
    moves: BulkMoves
    local: GatheredLocal | None = None
    masters: dict[int, Any] = field(default_factory=dict)

    def returned(self, name: str, column: Column | None, dtype: np.dtype) -> FieldColumn:
        """Send a column to the owners of the vertices; collective.

        Args:
            name: of the column.
            column: on rank 0, values by gid.
            dtype: of its values.
        """
        device, leaving = self.part.device, {}
        if column is not None:
            found = column.on_device() if isinstance(column, FieldColumn) else None
            if found is None:
                found = device.put(np.ascontiguousarray(column() if callable(column) else column))
            leaving = {peer: _picked(found, gids) for peer, gids in self.masters.items()}
        values = device.xp.empty(self.part.local.masters, dtype)

        def placed(peer: int, first: int, piece: Any) -> None:
            values[first : first + len(piece)] = piece

        self.moves.move(dtype, leaving, placed)
        view = FieldView(device, values, self.part.place)
        return FieldColumn(LazyFields(device, {name: view}, self.part.degree, self.part.original), name)


def on_rank_0(part: DeviceGraph, comm: Comm, kernel: str, alone: Callable[[], Any]) -> OneDevice | str:
    """Return the whole graph, gathered at the first call, or the reason why it is not; collective.

    Args:
        part: this rank's part.
        comm: the ranks.
        kernel: name of the registered kernel that will run on it.
        alone: returns a backend of rank 0's GPU for a single rank.
    """
    there = not comm.total(int(part.whole is None))
    need = bytes_needed(part.local, kernel, there)
    if comm.total(int(comm.rank == 0 and need > part.device.free(need))):
        return f"the whole graph and its kernel may need {need:,} bytes beside the part of rank 0"
    if not there:
        part.whole = None  # on ranks that have it: its mailboxes are of no use to the others
        part.whole = gather(part, comm)
    whole = part.whole
    return OneDevice(whole.returned, whole.local, None if whole.local is None else alone())


def gather(part: DeviceGraph, comm: Comm) -> GatheredGraph:
    """Bring all ranks' rows to rank 0; ``part`` is this rank's; collective."""
    local = part.local
    built = hasattr(local, "built")  # generated graphs have ids from 0, which are the gids
    gids = part.original if built else part.arranged(part.device.put(local.gids.astype(np.uint32)))
    gids = gids.astype(np.uint32, copy=False)
    assert part.links is not None
    whole = GatheredGraph(part, BulkMoves(part.device, comm, part.links))
    rows = _collected(whole.moves, np.uint32, gids)
    counts = _collected(whole.moves, np.uint32, (part.out.offsets[1:] - part.out.offsets[:-1]).astype(np.uint32))
    whole.masters = _collected(whole.moves, np.uint32, gids[: local.masters])
    renamed = bool(comm.total(int(not built)))
    ids = _collected(whole.moves, np.int64, part.original[: local.masters].astype(np.int64)) if renamed else {}
    merged = not comm.total(int(local.repeats))
    assembly = _begun(part, rows, counts, whole.masters, ids) if comm.rank == 0 else None
    for sender in range(comm.size):
        if sender in rows:
            assembly.begin(rows[sender], counts[sender])  # type: ignore[union-attr]
        _move_arcs(part, gids, whole.moves, comm.rank == sender, assembly)
    if assembly is not None:
        whole.local = assembly.finished(merged)
    return whole


def _collected(moves: BulkMoves, dtype: Any, mine: Any) -> dict[int, Any]:
    """Bring an array of each rank to rank 0; return rank → array there, nothing elsewhere; collective."""
    found: dict[int, list[Any]] = {}
    moves.move(dtype, {0: Leaving.of(mine)}, lambda peer, first, piece: found.setdefault(peer, []).append(piece))
    return {peer: moves.device.xp.concatenate(pieces) for peer, pieces in found.items()}


def _begun(part: DeviceGraph, rows: dict, counts: dict, masters: dict, ids: dict) -> Assembly:
    """Return the rows of the whole graph, still empty.

    Args:
        part: this rank's part.
        rows: rank → gid of each of its rows.
        counts: rank → arcs of each of its rows.
        masters: rank → gids of its masters.
        ids: rank → their original ids; nothing where ids are gids.
    """
    xp, n, original = part.device.xp, part.local.n, None
    degrees = xp.zeros(n, np.int64)
    for peer, gids in rows.items():
        degrees[gids] += counts[peer]
    if ids:
        original = xp.zeros(n, np.int64)
        for peer, found in ids.items():
            original[masters[peer]] = found
        if int(original.max()) < 2**32:
            original = original.astype(np.uint32)
    skewed = is_skewed(int(degrees.max()) if n else 0, part.local.arcs, n)
    return Assembly(part.local, part.device, degrees, skewed, original)


def _move_arcs(part: DeviceGraph, gids: Any, moves: BulkMoves, here: bool, assembly: Assembly | None) -> None:
    """Bring the arcs of one rank to rank 0; collective. ``here``: this is the rank."""
    out, weights = part.out, part.local.out.weight_type
    arcs = Leaving(part.edges, lambda first, stop: gids[out.neighbours[first:stop]])
    moves.move(np.uint32, {0: arcs} if here else {}, lambda _, first, piece: assembly.fill(first, piece))  # type: ignore[union-attr]
    if weights is not None:
        heavy = {0: Leaving.of(out.weights)} if here else {}
        moves.move(weights, heavy, lambda _, first, piece: assembly.fill_weights(first, piece))  # type: ignore[union-attr]


def _picked(column: Any, gids: Any) -> Leaving:
    """Return the values of some vertices as items to send."""
    return Leaving(len(gids), lambda first, stop: column[gids[first:stop]])
