"""Handle of a graph that a GPU built of listed edges: of a file, or of a user's arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.backend.cuda.graph_build.build_kernels import HASH, HASH_BACK, BuildKernels
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.backend.cuda.graph_build.build_rows import BuiltCsr, WrongList
from dgraph.backend.cuda.graph_build.built_graph import BuiltGraph
from dgraph.backend.cuda.graph_build.listed_edges import (
    UploadedEdges,
    drop_columns,
    fits,
    in_place,
    listed_edges,
    numbered,
    plan_of,
)
from dgraph.backend.cuda.graph_build.ownership import place
from dgraph.backend.cuda.graph_build.vertices import BuiltVertices
from dgraph.comm import Comm
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.parallel_edges import TWICE
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.generators.recipe import Formula
from dgraph.graph.handle import Graph, Partitioned
from dgraph.graph.ids import ConsecutiveIds, SparseIds, VertexIds
from dgraph.graph.load_options import LoadOptions


class NotMirrored(Exception):
    """An undirected graph was listed in which some arc lacks its reverse of the same weight."""


class LoadedGraph(BuiltGraph):
    """Graph of listed edges on the GPU of the one rank. Its list is freed once rows exist.

    Rows by gid are copied to the host when something needs them there.
    """

    draws = False

    def __init__(
        self, plan: BuildPlan, edges: UploadedEdges, ids: VertexIds, comm: Comm, device, policy: str,
        options: LoadOptions, renumber: bool | None = None,
    ):  # fmt: skip
        self._edges: list[UploadedEdges] = [edges]
        super().__init__(plan, comm, device, policy, options, renumber)
        self._known.ids = ids
        if isinstance(ids, SparseIds):
            for part in self.partitions.values():
                part.local.take_ids(ids.here)

    @classmethod
    def from_raw(
        cls, raw: RawEdges | RawRows, comm: Comm, device, policy: str, options: LoadOptions, renumber: bool | None
    ) -> LoadedGraph | None:
        """Build the graph of listed edges on the one rank's GPU; None where the host is to build it, or refuse it."""
        device.use()
        consecutive = numbered(raw, options, device)
        plan = None if consecutive is None else plan_of(consecutive, options)
        if consecutive is None or plan is None:
            return None
        edges = listed_edges(consecutive, plan, device) if fits(plan, device, consecutive) else None
        if edges is None:
            return None
        ids = getattr(consecutive, "ids", None) or ConsecutiveIds(plan.n)
        if in_place(plan):
            for listed in (raw, consecutive):
                drop_columns(listed, device)
        try:
            return cls(plan, edges, ids, comm, device, policy, options, renumber)
        except (NotMirrored, WrongList):
            return None

    def opened(self, policy: str) -> Partitioned:
        """Return the one rank's partition, the same under every policy."""
        local = next(iter(self.partitions.values())).local
        placement = place(policy, self.draft, None, self.comm)  # type: ignore[arg-type]
        return Partitioned(placement.policy, placement.reason, placement.warning, local)

    def _kernels(self) -> BuildKernels:
        """Return the kernels, with the edges, which they drop when rows are filled."""
        kernels, edges = super()._kernels(), self._edges.pop()
        if edges.rows is not None:
            kernels.listed_rows, edges.rows = edges.rows, None
            kernels.take(offsets=edges.offsets)
            edges.offsets = None
            return kernels
        if edges.offsets is not None:
            gids, edges.sources = edges.sources, self.built_on.xp.empty(max(edges.targets.size, 1), np.uint32)
            kernels.take(starts=edges.offsets, targets=edges.sources)
            kernels.set(row_end=self.draft.n, end=edges.targets.size)
            kernels.launch("list_rows")
            self.built_on.wait()
            kernels.take(starts=None, targets=None)
            edges.sources = edges.sources if gids is None else gids[edges.sources]
        kernels.take(sources=edges.sources, entered=edges.targets, listed=edges.weights)
        if self.draft.both and self.draft.keep_parallel and not edges.lent:
            kernels.launch("hash_list")
            there, back = kernels.counted()[[HASH, HASH_BACK]].tolist()
            if there == back != 0:  # 0: loops alone
                self._known.facts.warnings.append(TWICE)
            kernels.counters.fill(0)
        kernels.in_place = in_place(self.draft) and not edges.lent
        edges.sources = edges.targets = edges.weights = edges.offsets = None  # callers still refer to ``edges``
        return kernels

    def _set_facts(self, built: BuiltCsr, vertices: BuiltVertices, degree: Any) -> None:
        if not built.mirrored:
            raise NotMirrored
        super()._set_facts(built, vertices, degree)

    @property
    def evidence(self) -> EdgeBlock:  # type: ignore[override]
        """Input of certificates: the rows."""
        return self.block

    @classmethod
    def of_rows(
        cls, graph: BuiltGraph, local: Any, plan: BuildPlan, change: Callable[[EdgeBlock, Comm], EdgeBlock]
    ) -> Graph:
        """Return the graph of another plan, built of a graph's rows; on the host if the GPU lacks the memory.

        Args:
            graph: on the one rank's GPU.
            local: its partition.
            plan: of the new graph; weights without a rule are those of the rows.
            change: makes the new graph's rows from this one's, on the host.
        """
        rows, vertices, device = local.built, local.vertices, graph.built_on
        listed = None if plan.rule is not None or rows.weights is None else rows.weights.dtype
        both = graph.directed and not plan.directed
        plan = replace(plan, items=graph.arcs, both=both, listed=listed, formula=Formula("listed"), own_weights=False)
        if not fits(plan, device, None):
            return Graph(change(graph.block, graph.comm), graph.comm)
        with device.using():
            gids = None if vertices.place is None else vertices.original
            targets = rows.neighbours if gids is None else gids[rows.neighbours]
            edges = UploadedEdges(gids, targets, listed and rows.weights, rows.offsets.astype(np.uint64), True)
            return cls(plan, edges, graph.ids, graph.comm, device, graph.policy, graph._options, graph._renumber)

    def _built_anew(self, plan: BuildPlan, change: Callable[[EdgeBlock, Comm], EdgeBlock]) -> Graph:
        """Return the graph of another plan, built of this one's rows."""
        return self.of_rows(self, next(iter(self.partitions.values())).local, plan, change)
