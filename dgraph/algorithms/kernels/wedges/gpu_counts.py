"""Answers of counting triangles on GPUs: columns that stay there until they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.result.columns import FieldColumn


@dataclass(frozen=True)
class GpuCounts:
    """Triangles and joined shares of masters, and the sum of each, over all ranks once they are added up."""

    columns: dict[str, FieldColumn]
    corners: int
    share: float

    @classmethod
    def of(cls, graph: DeviceGraph, triangles: Any, shares: Any) -> GpuCounts:
        """Return the columns of masters' values by position, and their sums on this rank."""
        columns = gpu_columns(graph, {"triangles": triangles, "lcc": shares})
        corners = int(graph.device.get(triangles.sum()))
        return cls(columns, corners, columns["lcc"].fields.total("lcc") or 0.0)  # type: ignore[attr-defined]

    def triangles(self) -> tuple[FieldColumn, int]:
        """Return the triangles and their sum."""
        return self.columns["triangles"], self.corners

    def shares(self) -> tuple[FieldColumn, float]:
        """Return the shares and their sum."""
        return self.columns["lcc"], self.share
