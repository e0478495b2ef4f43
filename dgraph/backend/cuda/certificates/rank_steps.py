"""Iterations of PageRank on a GPU for its certificate: one more, or all of them again (``rank_proof.cuh``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.certificates.row_kernels import RowKernels


class RankSteps:
    """Claimed ranks, and a vector that is iterated, by position.

    Attributes:
        mass: violations and smallest gid of ranks that are not shares.
        chances: violations and smallest arc of weights that are negative.
        total: sum of the ranks.
        most_arriving: largest in-degree; 0 if the precision needs none.
    """

    def __init__(self, kernels: RowKernels, rows: Any, claim: Any, alpha: float, jump: Any, single: bool):
        self._made, self._rows, self._claim, self._device = kernels, rows, claim, kernels.device
        xp, n = self._device.xp, len(claim)
        self._totals = xp.zeros(len(rules.TOTALS), np.float64)
        counts = xp.zeros(n, np.uint32) if single else None
        weighted = rows.weights is not None
        kernels.take(
            found=claim, jump=jump, totals=self._totals, counts=counts, ranks=xp.empty(n, np.float64),
            share=xp.empty(n, np.float64), inflow=xp.empty(n, np.float64),
            leaving=xp.zeros(n, np.float64) if weighted else None,
        )  # fmt: skip
        kernels.set(alpha=alpha)
        kernels.launch("prove_shares")
        if weighted:
            kernels.launch("sum_weights")
        if single:
            kernels.launch("count_arriving")
            kernels.launch("find_most")
        words = kernels.violations(rules.RANK)
        self.mass, self.chances, self.most_arriving = words["mass"], words["chances"], words["most_arriving"][0]
        self.total = self._total("mass")

    def _total(self, name: str) -> float:
        return float(self._device.read(self._totals)[rules.TOTALS[name]])

    def start(self, uniform: bool) -> None:
        """Set the vector to 1 / n each, or to the claimed ranks."""
        ranks = self._made.arrays["ranks"]
        if uniform:
            ranks.fill(1 / len(ranks))
        else:
            ranks[:] = self._claim

    def iterate(self) -> float:
        """Iterate the vector once; return ``missed``, the bound of a run's rounding error in units of its precision."""
        self._device.clear(self._totals)
        for kernel in ("share_ranks", "flow", "arrive"):
            self._made.launch(kernel)
        return 2 + self._total("missed")

    def change(self) -> float:
        """Return the L1 distance of the vector from the claimed ranks."""
        return self._total("change")

    def worst(self) -> tuple[int, np.generic, np.generic]:
        """Return the smallest gid where the two differ most, and both values."""
        get = self._device.get
        claimed, expected = get(self._claim), get(self._made.arrays["ranks"])
        if self._rows.place is not None:
            place = get(self._rows.place)
            claimed, expected = claimed[place], expected[place]
        gid = int(np.argmax(np.abs(claimed - expected)))
        return gid, claimed[gid], expected[gid]
