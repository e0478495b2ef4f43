"""Random walks of a whole graph on one GPU (``walks.cuh``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.walks.walk_request import ENDED, Walked, WalkRequest
from dgraph.algorithms.kernels.walks.walk_rows import check_sums, check_walk_weights
from dgraph.algorithms.vertex_values import lids_of
from dgraph.algorithms.weight_checks import has_weights
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context

SOME = 1 << 23
"""Arcs that are put in the order of ids at a time, unless a row has more."""

SORTING, MOVING = 40, 32
"""Scratch bytes an arc of ``SOME``, and further ones where weights move along."""


@cache
def text(wide: bool) -> str:
    """Return the kernels' text; ``wide``: offsets are 64-bit."""
    return own_text(f"typedef {'i64' if wide else 'u32'} offset_t;", "walks")


class GpuWalks(RowSolver):
    """Walks on a GPU."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes beside the graph and the walks: neighbours by id, and of weighted graphs weights and sums.

        Of an arc these are 20; of a vertex its start and its visits, 16; and the scratch of a sort.
        """
        return 20 * size.arcs + 16 * size.vertices + (SORTING + MOVING) * min(size.arcs, SOME)

    def solve(self, ctx: Context, request: WalkRequest) -> Walked:
        """Make the walks of a whole graph.

        Raises:
            UsageError: a source is not a vertex.
            DataError: a weight that no edge can be drawn by.
            OutOfMemory: the walks do not fit.
        """
        local, device, graph = ctx.local, self.backend.device, self.backend.graph_of(ctx.local)
        xp = device.xp
        with ctx.record("prepare"):
            reads = check_walk_weights(ctx, request)
            starts, sources = self._starts(graph, local, request)
            count, length = sources * request.per_source, request.length
            weighs = request.weights and not has_weights(ctx)
            need = count * (4 * (length + 1) + 8 * length * request.weights + 16)
            need += self.bytes(RowSize.whole(local.size, graph.edges if reads or not graph.by_id else 0))
            require(device, need + 8 * graph.edges * weighs, f"{count:,} walks of {length} steps")
            offsets, neighbours, weights = rows_by_id(graph, reads)
            weights = xp.ones(graph.edges, np.float64) if weighs else weights
            module = device.module(text(graph.wide), "walks")
            totals = None
            if request.weighted and reads:
                totals = xp.empty(graph.edges, np.float64)
                module.set_environment(words_of(device, [offsets, None, totals, weights, *[0] * 9]))
                module.launch("sum_rows", device.blocks * module.resident("sum_rows"), local.size)
                check_sums(ctx, bool(xp.isinf(totals).any()))
            walks, crossed = xp.empty((length + 1, count), np.uint32), xp.zeros(1, np.uint64)
            passed = xp.empty((length, count), np.float64) if request.weights else None
        with ctx.record("compute"):
            words = [
                offsets, neighbours, totals, weights if request.weights else None, starts, walks, passed,
                crossed, count, request.per_source, length, int(request.key), int(request.returns),
            ]  # fmt: skip
            module.set_environment(words_of(device, words))
            module.launch("walk", device.blocks * module.resident("walk"))
            steps = int(device.read(crossed)[0])

        def vertices() -> np.ndarray:
            there = walks.T
            ended = xp.equal(there, ENDED)
            ids = graph.original[xp.where(ended, 0, there)].astype(np.int64) if local.size else there.astype(np.int64)
            ids[ended] = -1
            return device.get(xp.ascontiguousarray(ids))

        def visits() -> np.ndarray:
            counts = xp.zeros(local.size + 1, np.int64)
            for row in walks:
                counts += xp.bincount(xp.minimum(row, local.size), minlength=local.size + 1)
            by_lid = counts[:-1] if graph.place is None else counts[graph.place]
            return device.get(by_lid)

        def crossed_weights() -> np.ndarray:
            assert passed is not None
            return device.get(xp.ascontiguousarray(passed.T))

        return Walked(0, count, steps, vertices, crossed_weights if request.weights else None, visits)

    def _starts(self, graph: Any, local: Any, request: WalkRequest) -> tuple[Any, int]:
        """Return the positions of the sources on the GPU (None: source i is at position i), and their number."""
        if request.sources is None:
            return graph.id_places[1], local.masters
        ids = local.original[: local.masters]
        request.starts(ids if local.ascending else np.sort(ids))
        lids = self.backend.device.put(lids_of(local, np.array(request.sources, np.int64)).astype(np.uint32))
        return lids if graph.place is None else graph.place[lids], len(lids)


def rows_by_id(graph: Any, weights: bool) -> tuple[Any, Any, Any]:
    """Return rows by ascending id and weight: offsets, neighbours as positions, and weights as float64, or None.

    A graph whose rows are in that order gives its own neighbours; of others, rows are sorted some at a time.
    """
    xp, rows = graph.device.xp, graph.out
    moved = rows.weights.astype(np.float64) if weights else None
    if graph.by_id and not (weights and graph.local.repeats):
        return rows.offsets, rows.neighbours, moved
    place, position = graph.id_places
    offsets = graph.device.get(rows.offsets).astype(np.int64)
    neighbours, row = xp.empty(graph.edges, np.uint32), 0
    while row < graph.local.size:
        first = int(offsets[row])
        stop = max(int(np.searchsorted(offsets, first + SOME, side="right")) - 1, row + 1)
        last = int(offsets[stop])
        targets = rows.neighbours[first:last]
        keys = xp.searchsorted(rows.offsets[row : stop + 1], xp.arange(first, last), side="right").astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= (targets if place is None else place[targets]).astype(np.uint64)
        if moved is None:
            graph.device.sort(keys)
        else:
            order = xp.argsort(moved[first:last], kind="stable")
            order = order[xp.argsort(keys[order], kind="stable")]
            keys, moved[first:last] = keys[order], moved[first:last][order]
        targets = keys.astype(np.uint32)
        neighbours[first:last] = targets if position is None else position[targets]
        row = stop
    return rows.offsets, neighbours, moved
