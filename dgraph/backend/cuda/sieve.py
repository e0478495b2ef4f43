"""A machine that walks those edges alone that ever propose anything."""

from __future__ import annotations

from dgraph.backend.cuda.machine import Machine


class Sieved(Machine):
    """Before the first round it copies them into rows of their own, if they are few enough."""

    def _names(self) -> list[tuple[str, bool]]:
        return [*super()._names(), ("sieve", self._fused)]

    @property
    def _fused(self) -> bool:
        return self.local.mirrors == 0

    def begin(self) -> None:
        """Sift the edges. A run that goes on from a checkpoint has a frontier already, with the sums of whole rows."""
        arrays, sums = self.arrays, self.arrays.sieve_sums
        if self.round or not self.graph.edges:
            return
        self._launch("mark_edges", "count_marked")
        sums[...] = self.device.xp.cumsum(sums, dtype=sums.dtype)
        kept = int(self.device.get(sums[-1:])[0])
        if kept > len(arrays.kept):
            return
        self._launch("keep_marked")
        self.kernels.tell(
            out_offsets=self.device.address(arrays.kept_offsets),
            out_neighbours=self.device.address(arrays.kept),
            out_edges=kept,
        )

    def _launch(self, *kernels: str) -> None:
        for kernel in kernels:
            self.kernels.launch("sieve", kernel, fused=self._fused)
