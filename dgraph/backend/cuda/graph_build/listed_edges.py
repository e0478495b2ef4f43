"""Edges of a file or of a user's arrays in GPU memory, and the plan of the graph that they make.

:func:`plan_of` says whether a GPU can build it; :func:`listed_edges` uploads and checks. Input that the host would
refuse, or that needs its rules of merging, is left to the host, whose errors name the place. :func:`numbered` numbers
ids that are nearly dense, as ``graph/build/id_bitmap.py`` does on the host.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph.backend.cuda.device.placed_rows import piece_of
from dgraph.backend.cuda.graph_build.build_kernels import GONE
from dgraph.backend.cuda.graph_build.build_memory import building, listing
from dgraph.backend.cuda.graph_build.build_plan import MOST, BuildPlan
from dgraph.graph.build.id_bitmap import SMALL
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.build.weights import read_rule
from dgraph.graph.generators.recipe import Formula
from dgraph.graph.ids import SparseIds
from dgraph.graph.load_options import LoadOptions

SPAN = 4
"""Largest id, as a multiple of the listed edges, up to which a GPU numbers the ids that occur."""

NUMBERING = 17
"""Bytes an id, up to the largest, while ids are numbered: whether it occurs, a prefix sum, and the ids."""

SOME = 1 << 24
"""Ids numbered at a time, or narrowed from the host's int64 by threads, which pays from as many on."""

SHARE = 2
"""Part of the free memory that building may take, 1 / SHARE: a graph that was built on a GPU is not evicted."""


@dataclass
class UploadedEdges:
    """Edges on a GPU.

    Attributes:
        sources, targets: uint32 (edges,), from 0.
        weights: (edges,), or None.
        offsets: of rows, uint64 (n + 1,); then ``sources`` are the vertex of each row, None for 0 … n - 1. Else None.
        lent: True if targets or weights belong to a graph.
        rows: rows in the host's memory that are placed piece by piece; then the columns are None.
    """

    sources: Any
    targets: Any
    weights: Any
    offsets: Any = None
    lent: bool = False
    rows: RawRows | None = None


def numbered(raw: RawEdges | RawRows, options: LoadOptions, device) -> RawEdges | RawRows | None:
    """Return edges whose ids are consecutive, on the GPU if they were not; None if the host is to number them."""
    if isinstance(raw, RawRows) or raw.ids is not None or not (raw.n is None or options.sparse_ids):
        return raw
    xp, edges = device.xp, raw.src.size
    if raw.vertices is not None or not edges or not _spared(8 * edges - on_gpu(raw, device), device):
        return None
    columns = [raw.src, raw.dst] if raw.extra is None or not raw.extra.size else [raw.src, raw.dst, raw.extra]
    columns = [_put(column, device) for column in columns]
    if any(column is None for column in columns):
        return None
    largest = max(int(column.max()) for column in columns)
    if min(int(column.min()) for column in columns) < 0 or largest >= max(SMALL, SPAN * edges):
        return None
    if not _spared(NUMBERING * (largest + 1), device):
        return None
    occurs = xp.zeros(largest + 1, np.bool_)
    for column in columns:
        for first in range(0, column.size, SOME):
            occurs[column[first : first + SOME]] = True
    ids = device.get(xp.flatnonzero(occurs)).astype(np.int64)
    gids = xp.cumsum(occurs, dtype=np.uint32)
    gids -= np.uint32(1)
    del occurs
    starts = np.array([0, ids.size], np.int64)
    sparse = SparseIds(ids, starts, np.zeros(1, np.int64))
    numbers = [column if column.dtype == np.uint32 else xp.empty(column.size, np.uint32) for column in columns[:2]]
    for column, places in zip(columns, numbers, strict=False):
        for first in range(0, column.size, SOME):
            places[first : first + SOME] = gids[column[first : first + SOME]]
    consecutive = replace(raw, src=numbers[0], dst=numbers[1], n=ids.size, base=0, ids=sparse)
    drop_columns(raw, device)  # they were overwritten: the host is to read them again
    return consecutive


def on_gpu(raw: RawEdges | RawRows, device: Any) -> int:
    """Return the bytes of the columns that a file's reader left on the GPU."""
    return sum(column.nbytes for column in vars(raw).values() if _is_on_gpu(column, device))


def drop_columns(raw: RawEdges | RawRows, device: Any) -> None:
    """Drop columns that a file's reader left on the GPU, so that their memory is freed with the list."""
    for name, column in list(vars(raw).items()):
        if _is_on_gpu(column, device):
            setattr(raw, name, None)


def _is_on_gpu(column: Any, device: Any) -> bool:
    return isinstance(column, device.xp.ndarray) and not isinstance(column, np.ndarray)


def _put(ids: Any, device: Any) -> Any:
    """Return ids on the GPU, in 32 bits where many are in 64 on the host; None if one needs more."""
    if not isinstance(ids, np.ndarray) or ids.itemsize == 4 or ids.size < SOME:
        return device.put(ids)
    numbers, fits_32 = device.xp.empty(ids.size, np.uint32), [True]

    def read(place: np.ndarray, first: int) -> None:
        piece = ids[first // 4 : (first + place.size) // 4]
        if piece.min() < 0 or piece.max() >= 1 << 32:
            fits_32[0] = False
        place.view(np.uint32)[:] = piece

    device.fill(numbers, read)
    return numbers if fits_32[0] else None


def plan_of(raw: RawEdges | RawRows, options: LoadOptions) -> BuildPlan | None:
    """Return the plan of the graph that ``assemble`` or ``build_from_rows`` would make; None: that is to do it."""
    listed_twice = not raw.directed if isinstance(raw, RawRows) else raw.mirrored
    directed = raw.directed if options.directed is None else options.directed
    sparse = options.sparse_ids and getattr(raw, "ids", None) is None
    if raw.n is None or sparse or raw.base or raw.n > MOST or (listed_twice and directed):
        return None
    notes, warnings = list(raw.facts.notes), list(raw.facts.warnings)
    facts = replace(raw.facts, notes=notes, warnings=warnings, loops_kept=options.keep_loops)
    facts.duplicates_kept = options.keep_parallel or getattr(raw, "parallel", False)
    if why := raw.why if directed == raw.directed else "asked for":
        facts.notes.insert(0, f"{'directed' if directed else 'undirected'}: {why}")
    ruled = options.weights is not None
    return BuildPlan(
        raw.n, raw.targets.size if isinstance(raw, RawRows) else raw.src.size, Formula("listed"),
        directed=directed,
        both=not listed_twice and not (raw.directed and directed),
        keep_loops=options.keep_loops,
        keep_parallel=facts.duplicates_kept,
        rule=read_rule(options.weights, options.seed) if ruled and options.weights != "unit" else None,  # type: ignore[arg-type]
        own_weights=False,
        facts=facts,
        listed=None if ruled or raw.weights is None else raw.weights.dtype,
    )  # fmt: skip


def fits(plan: BuildPlan, device, raw: RawEdges | RawRows | None) -> bool:
    """Return True if edges and graph take at most a share of the free memory; ``raw``: None for a graph's rows."""
    weight = 0 if plan.weight_type is None else plan.weight_type.itemsize
    listed = 0 if plan.listed is None else plan.listed.itemsize
    need = building(plan.n, plan.n, plan.arcs, 1, ids=4, weight=weight, renumbered=True, listed=bool(listed))
    if raw is not None and host_rows(raw, plan) is not None:
        need = max(need, 24 * (plan.n + 2) + (4 + listed) * (plan.items + piece_of(plan.items)))
    elif raw is not None and in_place(plan):
        need = max(need, listing(plan.n, plan.items, plan.arcs, listed, plan.both))
    else:
        need += (8 + listed) * plan.items
    return _spared(need - (0 if raw is None else on_gpu(raw, device)), device)


def _spared(need: int, device) -> bool:
    """Return True if ``need`` bytes are at most a share of the free memory."""
    return need <= device.free(need * SHARE) // SHARE


def in_place(plan: BuildPlan) -> bool:
    """Return True if the list may become the rows, or be grouped as they are."""
    return 0 < plan.items < GONE


def host_rows(raw: RawEdges | RawRows, plan: BuildPlan) -> RawRows | None:
    """Return rows in the host's memory if an entry is an arc, so that they can be placed piece by piece; else None."""
    able = isinstance(raw, RawRows) and isinstance(raw.targets, np.ndarray) and in_place(plan) and not plan.both
    return raw if able else None  # type: ignore[return-value]


def listed_edges(raw: RawEdges | RawRows, plan: BuildPlan, device) -> UploadedEdges | None:
    """Upload edges; None if an id or a weight is one that the host refuses."""
    if (rows := host_rows(raw, plan)) is not None:
        rows = rows if plan.listed is not None else replace(rows, weights=None)
        return UploadedEdges(None, None, None, device.put(rows.offsets.view(np.uint64)), rows=rows)
    weights = None if plan.listed is None or raw.weights is None else device.put(raw.weights)
    if weights is not None and weights.dtype.kind == "f" and bool(device.xp.isnan(weights).any()):
        return None
    if isinstance(raw, RawRows):
        offsets, sources = device.put(raw.offsets.view(np.uint64)), None
        targets = _numbers(raw.targets, plan.n, device)
    else:
        offsets, sources, targets = None, *(_numbers(ends, plan.n, device) for ends in (raw.src, raw.dst))
        if sources is None:
            return None
    return None if targets is None else UploadedEdges(sources, targets, weights, offsets)


def _numbers(ids: np.ndarray, n: int, device) -> Any:
    """Return ids on the GPU as uint32; None if one is outside ``0 .. n - 1``."""
    numbers = _put(ids, device)
    if numbers is None:
        return None
    if numbers.size and not (int(numbers.min()) >= 0 and int(numbers.max()) < n):
        return None
    return numbers.astype(np.uint32, copy=False)
