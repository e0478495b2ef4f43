"""Graphs on one of this node's GPUs: uploaded, built there, or gathered from parts, and kept between runs.

Entry: :class:`GpuGraphs`, whose :meth:`~GpuGraphs.graph_of` the backend of programs and solvers ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.backend_base import Backend
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.graph_cache import GraphCache
from dgraph.backend.cuda.device_graph.graph_size import GraphSize, is_skewed
from dgraph.backend.cuda.device_graph.small_graph import graph_on
from dgraph.backend.cuda.gathered.numbering import numbering_of
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory import memory_plan as plans
from dgraph.backend.cuda.transports import Links
from dgraph.backend.cuda.transports.bulk_moves import BulkMoves
from dgraph.comm import Comm
from dgraph.errors import OutOfMemory, option
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.formats.binary import columns_by
from dgraph.graph.formats.text import parsing_with
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph

if TYPE_CHECKING:
    from dgraph.graph.build.rows_from_file import Listed
    from dgraph.graph.handle import Graph


class GpuGraphs(Backend):
    """Graphs of a rank on its GPU.

    Attributes:
        device: the GPU.
        options: options of the run.
        alone: True if there is one rank in all.
        links: transports between GPUs; None on one rank, and where a rank has no GPU.
    """

    device: Any
    options: GpuPlan
    alone: bool
    links: Links | None = None
    _graphs: GraphCache
    _renumber: bool | None

    def prepare(self, local: LocalGraph, comm: Comm) -> None:
        """Decide for all ranks whether vertices are numbered by degree; collective.

        They are if some part of the graph is skewed and all GPUs have memory for it. Both sides of a message count the
        same positions, so a graph that was evicted from one GPU is dropped on all.
        """
        self._renumber = self.options.renumber
        if hasattr(local, "built"):
            return
        uploaded = self._graphs.of(local)
        if uploaded is not None and self._renumber not in (None, uploaded.extent.renumbered):
            del self._graphs[id(local)]
            uploaded = None
        if self.links is None:
            return
        skewed, room = (uploaded.extent.renumbered, True) if uploaded else self._skewed(local)
        skewed, cramped, lacking = comm.allreduce(np.array([skewed, not room, uploaded is None], np.int64))
        if uploaded is not None and lacking:
            del self._graphs[id(local)]
        if self._renumber is None:
            self._renumber = bool(skewed and not cramped)

    def _skewed(self, local: LocalGraph) -> tuple[bool, bool]:
        """Return (degrees are skewed enough to renumber vertices, memory suffices for it)."""
        need = plans.for_graph(GraphSize.of(local, renumber=True)).numbering
        return is_skewed(local.largest_degree, local.arcs, local.n), need <= self.device.free(need)

    def graph_of(self, local: LocalGraph) -> DeviceGraph:
        """Return the graph on the GPU, uploaded if it was neither kept nor built there.

        Raises:
            OutOfMemory: it does not fit.
        """
        self.device.use()
        if self._graphs.of(local) is None and not hasattr(local, "built"):
            need, free = plans.for_graph(GraphSize.of(local, self._renumber)), self.device.free()
            if need.upload > free:
                raise OutOfMemory(
                    f"the graph needs {need.upload:,} bytes of GPU memory, and {free:,} are free on "
                    f"{self.device.name}{plans.beside(self.device)}; use more GPUs, or {option('backend', 'cpu')}"
                )
        return self._graph(local)

    def _graph(self, local: LocalGraph) -> DeviceGraph:
        """Return the graph on the GPU, uploaded once and kept as long as it lives on the host."""
        graph = self._graphs.of(local)
        if graph is None:
            graph = self._graphs.keep(local, graph_on(self.device, local, self._renumber))
        graph.links = self.links
        return graph

    def _uploaded(self, local: LocalGraph) -> DeviceGraph | None:
        """Return the graph if it is on the GPU as this run's options want it; not collective."""
        self.device.use()
        graph = self._graphs.of(local)
        return graph if graph and self.options.renumber in (None, graph.extent.renumbered) else None

    def part_of(self, local: LocalGraph, comm: Comm) -> DeviceGraph:
        """Return this rank's part of the graph, uploaded on all ranks; raises as :meth:`graph_of`; collective."""
        if not comm.total(self._uploaded(local) is None):
            return self.graph_of(local)
        self.prepare(local, comm)
        with comm.together():
            part = self.graph_of(local)
        return part

    def upload(self, local: LocalGraph) -> None:
        """Copy a graph to the GPU, if it is not there; raises as :meth:`graph_of` does."""
        self.graph_of(local)

    def keep_on_gpu(self, local: LocalGraph, graph: DeviceGraph) -> None:
        """Register a graph that is on the GPU already as the device graph of ``local``."""
        self._graphs.keep(local, graph)

    def release(self) -> None:
        """Drop the graphs on this GPU and return their memory to the driver."""
        self._graphs.clear()
        self.device.give_back()

    def reversed(self, local: LocalGraph, comm: Comm) -> LocalGraph:
        """Return the partition of the reversed graph; where GPUs built the graph, no rows are copied; collective."""
        make = getattr(local, "make_reversed", None)
        if make is not None and local.directed and local.turned is None:
            with comm.together():
                self.device.use()
                incoming = plans.in_edges(self._graph(local))
            make(incoming, comm)
        return super().reversed(local, comm)

    def build(self, spec: str, comm: Comm, policy: str, options: LoadOptions) -> Graph:
        """Build a generated graph on the GPUs; collective."""
        from dgraph.backend.cuda.graph_build import BuiltGraph  # not at the top: lists would wait for Numba

        return BuiltGraph.from_spec(spec, comm, self.device, policy, options, self.options.renumber)

    def build_listed(
        self, read: Callable[[], Listed], comm: Comm, policy: str, options: LoadOptions
    ) -> Graph | Listed | None:
        """Read edges, and build their graph on the one rank's GPU.

        Returns:
            The graph; or the edges if the host is to build it; None: it is to read them, too.
        """
        from dgraph.backend.cuda.graph_build import LoadedGraph  # not at the top: lists would wait for Numba
        from dgraph.backend.cuda.graph_load.plain_lines import plain_parser
        from dgraph.backend.cuda.graph_load.record_columns import column_reader
        from dgraph.graph.build.raw_edges import RawEdges

        self.device.use()
        with parsing_with(plain_parser(self.device)), columns_by(column_reader(self.device)):
            raw = read()
        graph = LoadedGraph.from_raw(raw, comm, self.device, policy, options, self.options.renumber)
        if graph is None and isinstance(raw, RawEdges):
            if raw.src is None:
                return None
            raw.src, raw.dst = self.device.get(raw.src), self.device.get(raw.dst)
            raw.weights = None if raw.weights is None else self.device.get(raw.weights)
        if graph is None and isinstance(raw, RawRows) and not isinstance(raw.targets, np.ndarray):
            return None
        return raw if graph is None else graph

    def evidence(self, graph: Graph, local: LocalGraph, algorithm: str) -> Any:
        """Return the input of certificates, which run on the ranks' GPUs; not collective."""
        if not self.alone and (self.links is None or algorithm in ("bfs", "sssp")):
            return graph.evidence
        from dgraph.backend.cuda.certificates import evidence  # not at the top: lists would wait for Numba

        def moves() -> BulkMoves:
            return numbering_of(self.part_of(local, graph.comm), graph.comm).moves

        return evidence(graph, local, self.device, None if self.alone else moves)
