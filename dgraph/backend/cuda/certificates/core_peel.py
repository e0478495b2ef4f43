"""Removal of vertices on GPUs for the certificate of core numbers (``core_proof.cuh``).

Each rank removes what it may by the neighbours that it knows to be gone, until nothing is left to remove; then ranks
add up the neighbours that each of them removed. A count that a rank knows is never too small, so no vertex goes early.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.certificates.row_kernels import RowKernels
from dgraph.backend.cuda.certificates.shared_columns import SharedColumns


class CorePeel:
    """One removal; methods are collective.

    Args:
        kernels: the kernels, with numbers of the answer set.
        shared: columns of all ranks.
        rows: rows of this rank.
        by_row: claimed core numbers, or membership, by row, int64.
        by_gid: the same by gid.

    Attributes:
        left: remaining neighbours of as large a core, of the vertices that this rank checks.
    """

    def __init__(self, kernels: RowKernels, shared: SharedColumns, rows: Any, by_row: Any, by_gid: Any):
        self._kernels, self._shared, self._original = kernels, shared, rows.original
        self._device, self._by_row, self._by_gid = kernels.device, by_row, by_gid
        self.left = self._counts = self._device.xp.zeros(len(by_row), np.uint32)
        self._queued = 0

    def counted(self) -> dict[str, tuple[int, int]]:
        """Count each vertex' neighbours of as large a core, and return the violations of rule 1."""
        kernels, shared = self._kernels, self._shared
        kernels.take(values=self._by_row, counts=self._counts)
        kernels.launch("count_neighbours")
        if not shared.alone:
            total = shared.summed(self._counts, self._original, whole=True)
            self._counts = total if self._original is None else total[self._original]
            self.left = shared.mine(total).copy()
        self._launch_by_vertex("prove_cores")
        return kernels.violations(rules.CORE)

    def peeled(self) -> dict[str, tuple[int, int]]:
        """Remove the vertices that can be removed, and return the violations of both rules."""
        kernels, shared, xp = self._kernels, self._shared, self._device.xp
        words = xp.zeros((len(self._by_row) + 31) // 32, np.uint32)
        kernels.take(words=words, queue=xp.empty(len(self._by_row), np.uint32))
        before = None if shared.alone else self._counts.copy()
        while self._removed():
            if shared.alone:
                break
            gone = shared.summed(before - self._counts, self._original, whole=True)
            self.left -= shared.mine(gone)
            self._counts = before - (gone if self._original is None else gone[self._original])
            before = self._counts.copy()
        self._launch_by_vertex("prove_removed")
        return kernels.violations(rules.CORE)

    def _removed(self) -> bool:
        """Remove what this rank may remove; return True if some rank removed a vertex."""
        kernels, begin = self._kernels, self._queued
        kernels.by_row()
        kernels.take(values=self._by_row, counts=self._counts)
        kernels.launch("begin_peel")
        first, end = begin, self._end_of_queue()
        while begin < end:
            kernels.set(end=end)
            kernels.launch("peel", begin)
            begin, end = end, self._end_of_queue()
        self._queued = end
        return self._shared.comm.total(end - first) > 0

    def _end_of_queue(self) -> int:
        return int(self._device.read(self._kernels.broken[rules.CORE["queued"]])[0])

    def _launch_by_vertex(self, kernel: str) -> None:
        shared = self._shared
        if not shared.alone:
            values = shared.mine(self._by_gid)
            self._kernels.by_vertex(shared.low, shared.high - shared.low, values=values, counts=self.left)
        self._kernels.launch(kernel)
