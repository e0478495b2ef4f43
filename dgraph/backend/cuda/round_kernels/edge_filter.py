"""A machine that walks those edges alone that ever propose anything."""

from __future__ import annotations

from dgraph.backend.cuda.round_kernels.machine import Machine


class EdgeFilter(Machine):
    """It has the kernels that mark edges and copy them into rows of their own."""

    filters_edges = True

    @property
    def _fused(self) -> bool:
        return self.local.mirrors == 0

    def _launch_filter(self, kernel: str, argument: int = 0) -> None:
        self.kernels.launch("sieve", kernel, argument, fused=self._fused)


class FilteredMachine(EdgeFilter):
    """Before the first round it copies those that do into rows of their own, if they are few enough."""

    def begin(self) -> None:
        """Sift the edges. A run that goes on from a checkpoint has a frontier already, with the sums of whole rows."""
        arrays, sums = self.arrays, self.arrays.sieve_sums
        if self.round or not self.graph.edges:
            return
        self._launch_filter("mark_edges")
        self._launch_filter("count_marked")
        sums[...] = self.device.xp.cumsum(sums, dtype=sums.dtype)
        kept = int(self.device.get(sums[-1:])[0])
        if kept > len(arrays.kept):
            return
        self._launch_filter("keep_marked")
        self.kernels.set_members(
            out_offsets=self.device.address(arrays.kept_offsets),
            out_neighbours=self.device.address(arrays.kept),
            out_edges=kept,
        )
