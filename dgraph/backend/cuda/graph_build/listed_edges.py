"""Edges of a file or of a user's arrays in GPU memory, and the plan of the graph that they make.

:func:`plan_of` says whether a GPU can build it; :func:`listed_edges` uploads and checks. Input that the host would
refuse, or that needs its rules of merging, is left to the host, whose errors name the place. :func:`numbered` numbers
ids that are nearly dense, as ``graph/build/id_bitmap.py`` does on the host.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph.backend.cuda.graph_build.build_kernels import GONE
from dgraph.backend.cuda.graph_build.build_memory import building
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
    """

    sources: Any
    targets: Any
    weights: Any
    offsets: Any = None
    lent: bool = False


def numbered(raw: RawEdges | RawRows, options: LoadOptions, device) -> RawEdges | RawRows | None:
    """Return edges whose ids are consecutive, on the GPU if they were not; None if the host is to number them."""
    if isinstance(raw, RawRows) or raw.ids is not None or not (raw.n is None or options.sparse_ids):
        return raw
    xp, edges = device.xp, raw.src.size
    need = 5 * max(SMALL, SPAN * edges) + 24 * edges
    if raw.vertices is not None or not edges or need > device.free(need * SHARE) // SHARE:
        return None
    columns = [raw.src, raw.dst] if raw.extra is None or not raw.extra.size else [raw.src, raw.dst, raw.extra]
    src, dst, *_ = columns = [device.put(column) for column in columns]
    largest = max(int(column.max()) for column in columns)
    if min(int(column.min()) for column in columns) < 0 or largest >= max(SMALL, SPAN * edges):
        return None
    occurs = xp.zeros(largest + 1, np.bool_)
    for column in columns:
        occurs[column] = True
    ids = device.get(xp.flatnonzero(occurs)).astype(np.int64)
    gids = xp.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
    starts = np.array([0, ids.size], np.int64)
    sparse = SparseIds(ids, starts, np.zeros(1, np.int64))
    return replace(raw, src=gids[src], dst=gids[dst], n=ids.size, base=0, ids=sparse)


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


def fits(plan: BuildPlan, device) -> bool:
    """Return True if edges and graph take at most a share of the free memory."""
    weight = 0 if plan.weight_type is None else plan.weight_type.itemsize
    need = (16 + weight) * plan.items + building(
        plan.n, plan.n, plan.arcs, 1, ids=4, weight=weight, renumbered=True, listed=plan.listed is not None
    )
    need -= (4 + weight) * plan.items * (in_place(plan) and not plan.both)
    return need <= device.free(need * SHARE) // SHARE


def in_place(plan: BuildPlan) -> bool:
    """Return True if the list may become the rows, or be grouped as they are."""
    return 0 < plan.items < GONE


def listed_edges(raw: RawEdges | RawRows, plan: BuildPlan, device) -> UploadedEdges | None:
    """Upload edges; None if an id or a weight is one that the host refuses."""
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
    numbers = device.put(ids)
    if numbers.size and not (int(numbers.min()) >= 0 and int(numbers.max()) < n):
        return None
    return numbers.astype(np.uint32, copy=False)
