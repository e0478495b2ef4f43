"""Plan of the GPU memory of a rank's graph and a program, computed from sizes before anything is allocated.

The graph's part follows ``device_graph.py`` statement by statement: the arrays that live at once while the graph is
uploaded, renumbered and transposed. CuPy's sort holds a copy of the keys, the order, and both again as scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.codegen.exchange_state import bound
from dgraph.backend.cuda.device.placed_rows import piece_of
from dgraph.backend.cuda.device_graph import propagation_blocking as tiles
from dgraph.backend.cuda.device_graph.device_graph import SOME, DeviceCsr, DeviceGraph, sorted_at_once
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory.work_arrays import STORED, bytes_of, wanted
from dgraph.backend.kernel_register import Kernel, kernel_of
from dgraph.errors import OutOfMemory, option
from dgraph.program import HINDEX, MODE, Traced

RENUMBERING, FOLLOWING = 28, 20
"""Scratch bytes an edge of a piece of ``sorted_at_once`` edges, and further ones where weights move along."""

TRANSPOSING = 24
"""Scratch bytes an edge of ``SOME``, beside its weight, while edges are sorted by target."""

LIGHTEST = 8
"""Light edges are copied if they are at most one in LIGHTEST of all edges."""

ORDERING, COUNTING, RESULT = 48, 16, 20
"""Bytes a vertex while degrees are sorted, while targets are counted, and while a result is put into order."""


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes of one program on one rank's GPU.

    Attributes:
        upload: peak while the graph is uploaded.
        graph: graph, afterwards.
        transpose: peak while in-edges (CSC) are made, beside the graph; 0 where none are needed.
        incoming: in-edges, afterwards.
        arrays: arrays that the program's rounds write.
        result: peak while values are uploaded or a result is put into order, beside the arrays.
        messages: buffers of the exchange, outside of the arrays' pool.
        filter_light: peak while light edges are copied, beside all that stays.
        light: light edges, afterwards.
        heads: first neighbour of every row and, for searches, a bitmap of rows with more, where needed.
        tiles, weighted_tiles: edges binned by target, without and with weights, where needed.
        id_heads: first neighbours of every row by id, where needed.
    """

    upload: int
    graph: int
    transpose: int
    incoming: int
    arrays: int
    result: int
    messages: int = 0
    filter_light: int = 0
    light: int = 0
    heads: int = 0
    tiles: int = 0
    weighted_tiles: int = 0
    id_heads: int = 0

    @property
    def binned(self) -> int:
        """Edges binned by target."""
        return self.tiles + self.weighted_tiles

    @property
    def rounds(self) -> int:
        """Peak after the upload, without messages."""
        rounds = self.heads + self.id_heads + self.incoming + self.binned + self.arrays
        return self.graph + max(self.transpose, rounds + max(self.filter_light, self.light + self.result))

    @property
    def peak(self) -> int:
        """Peak in all, without messages."""
        return max(self.upload, self.rounds)

    @property
    def numbering(self) -> int:
        """Bytes that several GPUs must each have free to number vertices by degree before a program is known."""
        return max(self.upload, 2 * self.graph)

    def buffers(self, transports: Mapping[int, str]) -> int:
        """Return the bytes of message buffers; transports other than p2p stage messages on this GPU as well.

        Args:
            transports: transport to each peer.
        """
        return self.messages * (1 + any(name != "p2p" for name in transports.values()))


def for_rounds(
    traced: Traced, extent: GraphSize, forced: str, options: GpuPlan, blocks: int,
    weights: Callable[[], tuple] | None = None,
) -> MemoryPlan:  # fmt: skip
    """Return the memory of a program that walks edges.

    Args:
        traced: the program.
        extent: sizes of the graph.
        forced: direction that was asked for.
        options: options of the run.
        blocks: multiprocessors of the GPU.
        weights: returns the smallest and the largest weight first; None: not known.
    """
    x, pulls = extent, may_pull(traced, forced)
    tiled = options.bins_edges(traced, x, pulls)
    longest = pieces(x) if traced.all and pulls and not tiled else 0
    if traced.row_reducer:
        limits = {MODE: (control.FOLD_TABLES, control.FOLD_CHUNK), HINDEX: (control.HINDEX_LONG, control.HINDEX_CHUNK)}
        longest = sum(
            x.edges // most for most in limits.get(traced.row_reducer, (control.FOLD_LONG, control.FOLD_CHUNK))
        )
    arrays = bytes_of(wanted(traced, x, longest, pulls, options, blocks))
    dtypes = [field.dtype for name, field in traced.fields.items() if field.given and name not in traced.init]
    widths = [np.dtype(STORED.get(field.dtype, field.dtype)).itemsize for field in traced.fields.values()]
    put = max((np.dtype(STORED.get(dtype, dtype)).itemsize for dtype in dtypes), default=0)
    need = _plan(x, x.directed and pulls and not tiled, arrays, RESULT if x.renumbered else put)
    message_bytes = bound(x.positions // x.peers + 1, [*widths, 1], SOME) if x.peers else 0
    tests_heads, reads_heads = uses_row_heads(traced, pulls), kernel_of(traced.program.kernel).row_heads
    heads = 4 * x.size * (x.renumbered and (tests_heads or reads_heads))
    heads += _bits(x.size) if x.renumbered and tests_heads else 0
    if options.tests_id_heads(traced, x, pulls):
        need = replace(need, id_heads=4 * control.ID_HEADS * x.size)
    need = replace(need, messages=2 * x.peers * message_bytes, heads=heads)  # two buffers, by parity of the exchange
    if tiled:
        read = x if traced.weighted else replace(x, weight=0)
        width = read.weight
        if weights and width:
            width = tiles.weight_type(np.dtype(traced.weight), *weights()[:2]).itemsize
        binned = tiles.held_bytes(x.size, x.edges, blocks, width)
        need = replace(need, **{"weighted_tiles" if traced.weighted else "tiles": binned})
        if x.mirrored and not x.directed:
            need = replace(need, transpose=max(_transpose_peak(read), read.rows + binned))
    if options.light_edges_only(traced, pulls):
        need = replace(need, **_light(x))
    return need


def _light(x: GraphSize) -> dict[str, int]:
    """Return the bytes of light edges' rows, and the peak: bitmap words and two prefix sums beside them."""
    prefix = 8 if x.wide else 4
    rows = x.edges // LIGHTEST * (4 + x.weight) + prefix * (x.size + 1)
    return {"filter_light": rows + (4 + 2 * prefix) * ((x.edges + 31) // 32), "light": rows}


def for_graph(extent: GraphSize) -> MemoryPlan:
    """Return the memory of a graph alone."""
    return _plan(extent, False, 0, 0)


def for_kernel(kernel: Kernel, extent: GraphSize) -> MemoryPlan:
    """Return the memory of a single-GPU kernel that allocates arrays of its own (``Kernel.memory``)."""
    assert kernel.memory is not None
    need = _plan(extent, False, kernel.memory.arrays * extent.size, kernel.memory.result if extent.renumbered else 0)
    return replace(need, heads=4 * extent.size * (extent.renumbered and kernel.row_heads))


def _plan(x: GraphSize, turns: bool, arrays: int, result: int) -> MemoryPlan:
    """Return the plan without optional parts.

    Args:
        x: sizes of the graph.
        turns: True if in-edges are made.
        arrays: bytes of a program's arrays.
        result: bytes a vertex beside the arrays, while values are uploaded or downloaded.
    """
    n, ends = x.size, x.edges * (4 + x.weight)
    place = 8 * n if x.renumbered else 0
    mirror_slots = 4 * (x.masters + 1) + 8 * x.shared if x.peers else 0
    graph = x.rows + x.spare + place + (x.ids + 4) * n + mirror_slots
    upload = max(x.rows + place + 8 * n, graph + place // 2)
    if x.renumbered:
        moving = RENUMBERING + FOLLOWING * bool(x.weight)
        scratch = max(moving * min(x.edges, sorted_at_once(x.edges)), (4 + x.weight) * min(x.edges, piece_of(x.edges)))
        upload = max(upload, (8 + ORDERING) * n, ends + 24 * n + scratch)
    return MemoryPlan(
        upload=upload,
        graph=graph,
        transpose=_transpose_peak(x) if turns else 0,
        incoming=x.rows + _bits(n) if turns else 0,
        arrays=arrays,
        result=result * n,
    )


def _transpose_peak(x: GraphSize) -> int:
    """Return the peak bytes of in-edges while they are sorted by target."""
    return x.rows + COUNTING * x.size + (TRANSPOSING + x.weight) * min(x.edges, SOME)


def in_edges(graph: DeviceGraph) -> DeviceCsr:
    """Return the in-edges (CSC) of a graph on its GPU.

    Raises:
        OutOfMemory: they do not fit.
    """
    require(graph.device, 0 if graph.has_incoming else _transpose_peak(graph.extent), "in-edges")
    return graph.incoming


def require(device: Any, need: int, what: str) -> None:
    """Raise OutOfMemory if ``what`` needs more bytes of GPU memory than are free."""
    free = device.free(need)
    if need > free:
        raise OutOfMemory(
            f"{what} may need {need:,} bytes of GPU memory beside the graph, and {free:,} are free on "
            f"{device.name}{beside(device)}; use more GPUs, or {option('backend', 'cpu')}"
        )


def _bits(vertices: int) -> int:
    """Return the bytes of a bitmap of vertices."""
    return (vertices + 31) // 32 * 4


def may_pull(traced: Traced, forced: str) -> bool:
    """Return True if a program may ever pull, when ``forced`` is the direction that was asked for."""
    directions = traced.program.directions
    if "pull" not in directions or (forced == "push" and "push" in directions):
        return False
    if "push" not in directions:
        return True
    return traced.once or traced.all or traced.program.gathers or forced in ("pull", "flip")


def uses_row_heads(traced: Traced, pulls: bool) -> bool:
    """Return True if pulls test the first neighbour of a row, from an array of its own, before the row."""
    return pulls and traced.once and not traced.weighted


def pieces(extent: GraphSize) -> int:
    """Return the most chunks of rows longer than LONG_ROW."""
    return extent.edges // control.CHUNK + extent.edges // control.LONG_ROW


def beside(device) -> str:
    """Return the end of an error message about a limit, and about other graphs of this process; "" if there is none."""
    others, limit = device.elsewhere(), device.limit
    allowed = f" within the limit of {limit:,} ({option('gpu_memory')}: give more)" if limit is not None else ""
    return allowed + (f", where other graphs of this process hold {others:,}: let go of them" if others else "")


def refusal(name: str, extent: GraphSize, need: MemoryPlan, messages: int, wanted: int, free: int, device: Any) -> str:
    """Return the text of the error for a program that does not fit.

    Args:
        name: the program.
        extent: sizes of the graph.
        need: the program's memory.
        messages: bytes of message buffers.
        wanted: bytes in all.
        free: bytes that the graph and the program may take.
        device: the GPU.
    """
    other = f"{option('direction', 'push')}, which needs no edges by target, or " if need.incoming else ""
    return (
        f"{name} on {extent.size:,} vertices and {extent.edges:,} edges needs {wanted:,} bytes of GPU memory (bringing "
        f"the graph there {need.upload:,}; the graph {need.graph:,}, its edges by target {need.incoming:,}, light ones "
        f"{need.light:,}, rows' first neighbours {need.heads + need.id_heads:,}, binned edges {need.binned:,}, the "
        f"program {need.arrays:,}, messages {messages:,}), and {free:,} are free on {device.name}{beside(device)}; use "
        f"{other}more GPUs (python -m dgraph estimate shows how many)"
    )
