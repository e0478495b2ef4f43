"""What a rank's graph and a program will take of a GPU's memory: reckoned from sizes, before anything is allocated.

The graph's part follows ``device_graph.py`` statement by statement: what lives at once while it is uploaded, renumbered
and transposed. CuPy's sort keeps a copy of the keys, the order, and both again while it works.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.codegen.message_layout import bound
from dgraph.backend.cuda.device_graph import propagation_blocking as tiles
from dgraph.backend.cuda.device_graph.device_graph import RENUMBERED, SOME
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.memory.work_arrays import STORED, held, wanted
from dgraph.program import Traced

RENUMBERING, FOLLOWING = 28, 20
"""Bytes of scratch an edge of ``RENUMBERED``, while edges are renumbered, and more where weights follow them."""

TURNING, MOVING = 32, 28
"""Bytes of scratch an edge of ``SOME``: while edges are sorted by target; beside a weight, while weights follow."""

PARTING = 40
"""Bytes of scratch an edge of ``SOME`` while rows are brought into two parts."""

LIGHTEST = 8
"""Light edges have rows of their own where they are one in so many or fewer."""

ORDERING, COUNTING, RESULT = 48, 16, 20
"""Bytes a vertex: while degrees are sorted; while targets are counted; while an answer is put back into order."""


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes of one program on one rank's GPU.

    Attributes:
        upload: the most while the graph is brought there.
        graph: what stays of it.
        turning: the most while edges are sorted by target, beside the graph, for a while or to stay so; 0 where nobody
            asks for that.
        incoming: what stays of that.
        arrays: what the program's rounds write.
        result: the most while values are put there, or an answer is put into order, beside the arrays.
        messages: buffers of the exchange, which lie outside of the pool that the others come from.
        parting: the most while rows are brought into two parts, beside the graph; 0 where nobody asks for that.
        parts: what stays of that.
        lightening: the most while light edges get rows of their own, beside all that stays.
        light: what stays of that.
        tiles: edges by tiles of targets, where they are asked for.
        heads: the first neighbour of every row, and for searches a bit that tells of others, where they are asked for.
    """

    upload: int
    graph: int
    turning: int
    incoming: int
    arrays: int
    result: int
    messages: int = 0
    parting: int = 0
    parts: int = 0
    lightening: int = 0
    light: int = 0
    heads: int = 0
    tiles: int = 0

    @property
    def rounds(self) -> int:
        """The most at once, once the graph is there; without messages."""
        parting = self.incoming + self.parting
        rounds = self.incoming + self.parts + self.tiles + self.arrays
        return self.graph + max(
            self.turning, self.heads + max(parting, rounds + max(self.lightening, self.light + self.result))
        )

    @property
    def peak(self) -> int:
        """The most at once; without messages."""
        return max(self.upload, self.rounds)


def for_rounds(traced: Traced, extent: GraphSize, forced: str, options: Options, blocks: int) -> MemoryPlan:
    """The memory of a program. ``forced``: its direction; ``blocks``: multiprocessors of the GPU."""
    x, pulls = extent, may_pull(traced, forced)
    tiled = options.tiling(traced, x, pulls)
    longest = pieces(x) if traced.all and pulls and not tiled else 0
    arrays = held(wanted(traced, x, longest, pulls, options, blocks))
    given = [field.dtype for name, field in traced.fields.items() if field.given and name not in traced.init]
    widths = [np.dtype(STORED.get(field.dtype, field.dtype)).itemsize for field in traced.fields.values()]
    put = max((np.dtype(STORED.get(dtype, dtype)).itemsize for dtype in given), default=0)
    need = _plan(x, x.directed and pulls and not tiled, arrays, RESULT if x.renumbered else put)
    each = bound(x.positions // x.peers + 1, [*widths, 1], SOME) if x.peers else 0
    heads = 4 * x.size * (x.renumbered and (uses_row_heads(traced, pulls) or traced.program.kernel == "components"))
    heads += _bits(x.size) if x.renumbered and uses_row_heads(traced, pulls) else 0
    need = replace(need, messages=2 * x.peers * each, heads=heads)  # two of each, by the parity of the exchange
    if tiled:
        need = replace(need, tiles=tiles.held(x.size, x.edges, blocks))
        if x.mirrored and not x.directed:
            bare = replace(x, weight=0)
            need = replace(need, turning=max(_turning(bare), bare.rows + need.tiles))
    if options.lightening(traced, pulls):
        need = replace(need, **_light(x))
    return replace(need, **_parts(x)) if options.parting(traced, x) else need


def _light(x: GraphSize) -> dict[str, int]:
    """Of light edges: their rows; words of bits, twice how many stand in front of each."""
    prefix = 8 if x.wide else 4
    rows = x.edges // LIGHTEST * (4 + x.weight) + prefix * (x.size + 1)
    return {"lightening": rows + (4 + 2 * prefix) * ((x.edges + 31) // 32), "light": rows}


def _parts(x: GraphSize) -> dict[str, int]:
    """Of rows in two parts: a copy of edges, and where their second parts begin."""
    copied, each = x.edges * (4 + x.weight), 4 * (x.size + 1)
    return {"parting": copied + each + max(PARTING * min(x.edges, SOME), 2 * each), "parts": copied + each}


def for_components(extent: GraphSize) -> MemoryPlan:
    """The memory of components by hooking: a parent and a label a vertex."""
    need = _plan(extent, False, 12 * extent.size, 8 if extent.renumbered else 0)
    return replace(need, heads=4 * extent.size * extent.renumbered)


def _plan(x: GraphSize, turns: bool, arrays: int, result: int) -> MemoryPlan:
    """``result``: bytes a vertex beside the arrays, when values come or go."""
    n, ends = x.size, x.edges * (4 + x.weight)
    place = 8 * n if x.renumbered else 0
    told = 4 * (x.masters + 1) + 8 * x.shared if x.peers else 0
    graph = x.rows + x.spare + place + (x.ids + 4) * n + told
    upload = max(x.rows + place + 8 * n, graph + place // 2)
    if x.renumbered:
        moving = RENUMBERING + FOLLOWING * bool(x.weight)
        upload = max(upload, ORDERING * n, 2 * ends + 24 * n + moving * min(x.edges, RENUMBERED))
    return MemoryPlan(
        upload=upload,
        graph=graph,
        turning=_turning(x) if turns else 0,
        incoming=x.rows + _bits(n) if turns else 0,
        arrays=arrays,
        result=result * n,
    )


def _turning(x: GraphSize) -> int:
    """Bytes of edges by target, and of bringing them into that order."""
    return x.rows + COUNTING * x.size + max(TURNING, MOVING + x.weight) * min(x.edges, SOME)


def _bits(vertices: int) -> int:
    """Bytes of a bit a vertex."""
    return (vertices + 31) // 32 * 4


def may_pull(traced: Traced, forced: str) -> bool:
    """Whether a program will ever walk edges backwards. ``forced``: its direction."""
    ways = traced.program.directions
    if "pull" not in ways or (forced == "push" and "push" in ways):
        return False
    return traced.once or traced.all or traced.program.gathers or forced in ("pull", "flip")


def uses_row_heads(traced: Traced, pulls: bool) -> bool:
    """Whether pulls look at the first neighbour of a row before they do at the row."""
    return pulls and traced.once and not traced.weighted


def pieces(extent: GraphSize) -> int:
    """Pieces of the longest rows, at most."""
    return extent.edges // at.CHUNK + extent.edges // at.LONG_ROW


def beside(device) -> str:
    """Of an error: what other graphs of this process hold of a GPU."""
    held = device.elsewhere()
    return f", where other graphs of this process hold {held:,}: let go of them" if held else ""
