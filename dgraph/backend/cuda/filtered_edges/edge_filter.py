"""Machine that walks only edges which can ever propose anything (``Program.sparse``)."""

from __future__ import annotations

from dgraph.backend.cuda.device_graph.device_graph import DeviceCsr
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.program import Traced


class EdgeFilter(GpuMachine):
    """Machine whose module set has the kernels that mark edges and copy them into rows of their own."""

    filters_edges = True

    @property
    def _fused(self) -> bool:
        return self.local.mirrors == 0

    def _launch_filter(self, kernel: str, argument: int = 0) -> None:
        self.kernels.launch("edge_filter", kernel, argument, fused=self._fused)


class FilteredMachine(EdgeFilter):
    """Machine that copies useful edges into rows of their own before the first round, if they are few."""

    @classmethod
    def serves(cls, traced: Traced, extent: GraphSize, options: GpuPlan, pulls: bool) -> bool:
        """Return True if some edges of the program can never propose anything."""
        return options.filters_edges(traced, extent, pulls)

    def renew(self, traced: Traced) -> None:
        """Prepare for another run, which filters all edges anew."""
        self._walk(self.graph.out, self.graph.edges)
        super().renew(traced)

    def _walk(self, rows: DeviceCsr, edges: int) -> None:
        """Have rounds walk these rows."""
        offsets, neighbours = self.device.address(rows.offsets), self.device.address(rows.neighbours)
        self.kernels.set_members(out_offsets=offsets, out_neighbours=neighbours, out_edges=edges)

    def begin(self) -> None:
        """Filter the edges.

        A run that resumes from a checkpoint does not: its frontier has prefix sums of whole rows.
        """
        arrays, sums = self.arrays, self.arrays.marked_sums
        if self.round or not self.graph.edges:
            return
        self._launch_filter("mark_edges")
        self._launch_filter("count_marked")
        sums[...] = self.device.xp.cumsum(sums, dtype=sums.dtype)
        kept = int(self.device.get(sums[-1:])[0])
        if kept > len(arrays.kept):
            return
        self._launch_filter("keep_marked")
        self._walk(DeviceCsr(arrays.kept_offsets, arrays.kept, None), kept)
