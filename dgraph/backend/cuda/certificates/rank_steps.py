"""Iterations of PageRank on GPUs for its certificate: one more, or all of them again (``rank_proof.cuh``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.certificates.row_kernels import RowKernels
from dgraph.backend.cuda.certificates.shared_columns import SharedColumns


class RankSteps:
    """Claimed ranks, and a vector that is iterated: by row on one rank, else of the vertices that each rank checks.

    Attributes:
        mass: violations and smallest gid of ranks that are not shares.
        chances: violations and smallest arc of weights that are negative.
        total: sum of the ranks.
        most_arriving: largest in-degree; 0 if the precision needs none.
    """

    def __init__(
        self, kernels: RowKernels, rows: Any, claim: Any, alpha: float, jump: Any, single: bool, shared: SharedColumns
    ):
        self._kernels, self._rows, self._claim, self._device = kernels, rows, claim, kernels.device
        self._shared = shared
        xp, n, arcs_here = self._device.xp, len(claim), len(rows.offsets) - 1
        weighted = rows.weights is not None
        self._totals = xp.zeros(len(rules.TOTALS), np.float64)
        self._leaving = self._counts = None
        self._inflow = xp.zeros(arcs_here, np.float64)
        kernels.set(alpha=alpha)
        if weighted:
            self._leaving = xp.zeros(arcs_here, np.float64)
            kernels.take(leaving=self._leaving)
            kernels.launch("sum_weights")
        elif not shared.alone:
            self._leaving = (rows.offsets[1:] - rows.offsets[:-1]).astype(np.float64)
        if self._leaving is not None:
            self._leaving = shared.summed(self._leaving, rows.original)
        if single:
            self._counts = xp.zeros(arcs_here, np.uint32)
            kernels.take(counts=self._counts)
            kernels.launch("count_arriving")
            self._counts = shared.summed(self._counts, rows.original)
        kernels.take(
            found=claim, jump=jump, totals=self._totals, counts=self._counts, leaving=self._leaving,
            ranks=xp.empty(n, np.float64), share=xp.empty(n, np.float64),
        )  # fmt: skip
        self._by_vertex()
        kernels.launch("prove_shares")
        if single:
            kernels.launch("find_most")
        words = kernels.violations(rules.RANK)
        self.mass, self.chances = words["mass"], words["chances"]
        self.most_arriving = shared.comm.largest(words["most_arriving"][0])
        self.total = self._total("mass")

    def _by_vertex(self) -> None:
        if not self._shared.alone:
            self._kernels.by_vertex(self._shared.low, self._shared.high - self._shared.low)

    def _total(self, name: str) -> float:
        return self._shared.sum(float(self._device.read(self._totals)[rules.TOTALS[name]]))

    def start(self, uniform: bool) -> None:
        """Set the vector to 1 / n each, or to the claimed ranks."""
        ranks = self._kernels.arrays["ranks"]
        if uniform:
            ranks.fill(1 / self._shared.n)
        else:
            ranks[:] = self._claim

    def iterate(self) -> float:
        """Iterate the vector once; return ``missed``, the bound of a run's rounding error in units of its precision."""
        kernels, shared, rows = self._kernels, self._shared, self._rows
        share = kernels.arrays["share"]
        self._device.clear(self._totals)
        kernels.launch("share_ranks")
        if not shared.alone:
            self._share_totals("lost")
            every = shared.spread(share)
            kernels.by_row()
            kernels.take(share=every if rows.original is None else every[rows.original])
        inflow = self._inflow
        inflow.fill(0)
        kernels.take(inflow=inflow)
        kernels.launch("flow")
        kernels.take(share=share, inflow=shared.summed(inflow, rows.original))
        self._by_vertex()
        kernels.launch("arrive")
        return 2 + self._total("missed")

    def _share_totals(self, name: str) -> None:
        """Replace a total by its sum over ranks."""
        total = self._total(name)
        word = rules.TOTALS[name]
        self._totals[word : word + 1] = total

    def change(self) -> float:
        """Return the L1 distance of the vector from the claimed ranks."""
        return self._total("change")

    def worst(self) -> tuple[int, np.generic, np.generic]:
        """Return the smallest gid where the two differ most, or -1 on ranks that do not have it; and both values."""
        get, shared = self._device.get, self._shared
        claimed, expected = get(self._claim), get(self._kernels.arrays["ranks"])
        if self._rows.place is not None:
            place = get(self._rows.place)
            claimed, expected = claimed[place], expected[place]
        apart = np.abs(claimed - expected)
        most = shared.comm.allgather(np.array([apart.max(initial=-1)])).max()
        gids = np.flatnonzero(apart == most)[:1]
        if not gids.size:
            return -1, np.float64(0), np.float64(0)
        return shared.low + int(gids[0]), claimed[gids[0]], expected[gids[0]]
