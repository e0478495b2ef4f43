"""Search for communities of a whole graph on one GPU; the labels are those of ``community_search.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.communities import gpu_shares
from dgraph.algorithms.communities.algorithm_base import SearchSettings
from dgraph.algorithms.communities.community_search import Communities, CommunitySearch, first_labels
from dgraph.algorithms.communities.gpu_contraction import GraphLevel0
from dgraph.algorithms.communities.gpu_engine import AT_ONCE, GpuEngine
from dgraph.algorithms.communities.search_steps import SearchSteps
from dgraph.algorithms.communities.units import Units, shift_of
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.device_graph.lid_order import by_lid
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context
from dgraph.result.columns import FieldColumn


class GpuCommunities(RowSolver):
    """Search on a GPU that holds the whole graph."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of the levels and their tables beside the graph.

        An arc takes 48: 12 in level 0, 12 while it is contracted, 12 in the levels above, 12 in tables of long rows. A
        vertex takes 192.
        """
        return 48 * size.arcs + 192 * size.vertices

    def fits(self, ctx: Context) -> bool:
        """Return True if vertices have numbers of 31 bits."""
        return 0 < ctx.local.masters == ctx.local.n < 1 << 31

    def solve(self, ctx: Context, settings: SearchSettings, start: np.ndarray | None, name: str) -> Communities:
        """Return communities; see :meth:`CommunitySearch.solve`, which serves a limit of their size."""
        if settings.most < ctx.local.n:
            return CommunitySearch(self.backend).solve(ctx, settings, start, name)
        with ctx.record("prepare"):
            graph, device = self.backend.graph_of(ctx.local), self.backend.device
            require(device, self.bytes(RowSize.whole(ctx.local.n, graph.edges)), f"{name} on a GPU")
            engine, level = _begun(ctx, settings, graph, self.backend)
            labels = engine.alone(level.n) if start is None else _placed(graph, device, start, engine.places[1])
        with ctx.record("compute"):
            steps = SearchSteps(ctx, settings, engine, level)
            labels, quality, polished = steps.communities(labels)
            columns = [_column(graph, device, engine.named(graph, part)) for part in (labels, *steps.parts(labels))]
            count = engine.count(labels) + ctx.local.n - level.n
        self.backend.keep(level, ctx.local)
        return Communities(
            columns[0], columns[1:], count, engine.units, quality, polished, steps.levels, steps.finished
        )  # fmt: skip


def _begun(ctx: Context, settings: SearchSettings, graph: Any, backend: Any) -> tuple[GpuEngine, GraphLevel0]:
    """Return the engine with its units, and level 0, which an earlier call may have kept."""
    costs, key = graph.incoming.weights, ("communities", settings.cpm)
    ctx.weighted |= costs is not None
    left = lambda: AT_ONCE if ctx.max_rounds is None else max(ctx.max_rounds - ctx.rounds, 1)  # noqa: E731
    shared = graph.edges >= gpu_shares.LEAST_ARCS
    replicas = getattr(ctx.local, "replicas", None) if shared else None
    narrow = (costs is None or not graph.edges) and graph.edges < 1 << 31
    engine = GpuEngine(backend.device, narrow, settings.theta, left, replicas)
    level = backend.taken(key, ctx.local)
    if level is None:
        weights, shift = _integers(graph, backend.device, costs)
        level = engine.level_of(graph, weights, settings.cpm)
        level.kept_as, level.shift = key, shift
    engine.places, engine.squares_apart = level.places, level.squares_apart
    engine.units = Units.of(settings.cpm, settings.resolution, level.whole, level.shift, ctx.local.n)
    return engine, level


def _integers(graph: Any, device: Any, costs: Any) -> tuple[Any, int]:
    """Return weights as integers, None if each is 1, and the power of two by which they are scaled."""
    xp, shift, weights = device.xp, 0, None
    if costs is not None and graph.edges:
        costs = costs.astype(np.float64)
        integers = not bool(xp.not_equal(costs, xp.rint(costs)).any())
        shift = shift_of(float(device.get(costs.max())), integers, graph.edges)
        halves = 2.0 ** (shift // 2), 2.0 ** (shift - shift // 2)  # either is finite
        weights = xp.rint(costs * halves[0] * halves[1]).astype(np.int64)
    return weights, shift


def _placed(graph: Any, device: Any, start: np.ndarray, vertex: Any) -> Any:
    """Return the labels that masters start from, by vertex of level 0; ``vertex``: position of each, None if equal."""
    values = graph.arranged(device.put(start))
    labels = first_labels(device.get(values if vertex is None else values[vertex]), len(start))
    return device.put(labels.astype(np.uint32))


def _column(graph: Any, device: Any, values: Any) -> FieldColumn:
    """Return original ids by position as a column of this rank's vertices, which stays on the GPU."""
    place = graph.place
    if graph.replicas is not None:
        values, place = by_lid(device, values, graph.replicas.masters), graph.replicas.place
    fields = LazyFields(device, {"labels": FieldView(device, values, place)}, graph.degree, graph.original)
    return FieldColumn(fields, "labels")
