"""Minimum spanning forest of a whole graph on one GPU, and the finder of forests on GPUs.

Lightest edges that went first are joined once more from the beginning, with the heavier ones of the forest: the rows of
the answer name the trees of Borůvka's rounds.
"""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.kernels.forest_between_gpus import found as between_gpus
from dgraph.algorithms.kernels.forest_cpu import Forest
from dgraph.algorithms.kernels.forest_search import RowSearch, bytes_needed
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.result.columns import FieldColumn


class GpuForest(Forest):
    """Finder of minimum spanning forests on a GPU."""

    def __init__(self, backend: Any):
        super().__init__(None)
        self.backend = backend

    def whole(self, local: Any) -> tuple[dict[str, Any], int | float, int]:
        """Return the columns of the forest, which stay on the GPU, the sum of the weights, and the number of edges."""
        return WholeSearch(self.backend.graph_of(local), self.backend.device).found()

    def between_ranks(self, ctx: Any) -> tuple[dict[str, Any], int | float, int] | None:
        """Return the same where every rank has a GPU with the memory, else None; collective."""
        return between_gpus(ctx, self.backend)


class WholeSearch(RowSearch):
    """Search of a whole graph."""

    def __init__(self, graph: DeviceGraph, device: Any):
        require(device, bytes_needed(graph, part=False), "a spanning forest")
        super().__init__(graph, device, part=False)

    def found(self) -> tuple[dict[str, Any], int | float, int]:
        """Find the forest; see :meth:`GpuForest.whole`."""
        graph = self.graph
        self._launch("begin", 1)
        bound = self.light()
        if bound is None:
            self.first_round()
        else:
            self.lightest_first(bound)
            self._launch("begin", 0)
            self._list("list_chosen", self.n)
            self._rounds()
        columns, total, edges = self.columns()
        views = {name: FieldView(self.device, values, graph.place) for name, values in columns.items()}
        fields = LazyFields(self.device, views, graph.degree, graph.original)
        return {name: FieldColumn(fields, name) for name in columns}, total, edges
