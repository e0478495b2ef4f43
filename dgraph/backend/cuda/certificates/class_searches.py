"""Searches on GPUs for the certificate of strong components (``strong_proof.cuh``).

Each rank spreads marks along its own arcs until none is new, then ranks unite them. A pass reads all arcs, so a path of
very many vertices, or of components, is left to the CPUs, whose searches follow it. In an undirected graph, trees join
the vertices of a class instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.certificates.joined_trees import smallest_joined
from dgraph.backend.cuda.certificates.row_kernels import RowKernels
from dgraph.backend.cuda.certificates.shared_columns import SharedColumns

PASSES = 20_000_000_000
"""Arcs that passes read on a GPU, at most, before the proof is left to the CPUs; about a second."""

FEWEST = 200
"""Passes that are made in any case."""


class ClassSearches:
    """Searches of one answer; methods are collective."""

    def __init__(self, kernels: RowKernels, shared: SharedColumns, rows: Any, directed: bool):
        self._kernels, self._shared, self._device = kernels, shared, kernels.device
        self._rows, self._directed = rows, directed
        self._passes = max(FEWEST, PASSES // max(shared.comm.largest(len(rows.neighbours)), 1))
        names = ("words", "behind", "before", "removed", "entered")
        self._bits = {name: self._device.xp.zeros((shared.n + 31) // 32, np.uint32) for name in names}
        kernels.take(**self._bits)

    def proved(self, by_row: Any, by_vertex: Any) -> dict[str, tuple[int, int]] | None:
        """Return violations; those of rules that come after a broken one are left out. None: too many passes.

        Args:
            by_row: gids of labels, int64, by row.
            by_vertex: the same of the vertices that this rank checks.
        """
        kernels, total = self._kernels, self._shared.comm.total

        def turn(*names: str) -> bool:
            """Launch kernels for vertices; return True if a rule is broken, on any rank."""
            self._by_vertex(by_vertex)
            for name in names:
                kernels.launch(name)
            return total(sum(count for count, _ in self._violations().values())) > 0

        if turn("prove_labels"):
            self._unite("words")
            turn("prove_own")
            return self._violations()
        for name in ("words", "behind", "before"):
            self._unite(name)
        if turn("prove_own"):
            return self._violations()
        if not self._directed:
            self._join(by_row)
            turn("mark_joined")
            self._unite("behind")
            self._unite("before")
        elif not self._spread(by_row):
            return None
        if turn("prove_joined"):
            return self._violations()
        if not self._remove(by_row):
            return None
        turn("prove_apart")
        return self._violations()

    def _join(self, by_row: Any) -> None:
        """Find the smallest vertex that each is joined to inside its class; it has to be the label."""
        kernels = self._kernels
        kernels.by_row()
        kernels.take(values=by_row)
        smallest_joined(kernels, self._shared, self._rows, "join_inside")

    def _spread(self, by_row: Any) -> bool:
        """Spread marks until none is new; False if that takes too many passes."""
        kernels, passes = self._kernels, 0
        kernels.by_row()
        kernels.take(values=by_row)
        while passes < self._passes:
            news, new = 0, 1
            while new and passes < self._passes:
                kernels.launch("search_arcs")
                new, passes = self._changed(), passes + 1
                news += new
            if not self._shared.comm.total(news):
                return True
            for name in ("behind", "before"):
                self._unite(name)
            passes = self._shared.comm.largest(passes)
        return False

    def _remove(self, by_row: Any) -> bool:
        """Remove classes until none can be; False if that takes too many passes."""
        kernels = self._kernels
        kernels.by_row()
        kernels.take(values=by_row)
        for _ in range(self._passes):
            kernels.launch("mark_entered")
            self._unite("entered")
            kernels.launch("remove_classes")
            if not self._changed():
                return True
        return False

    def _violations(self) -> dict[str, tuple[int, int]]:
        names = {name: row for name, row in rules.STRONG.items() if name != "changed"}
        return self._kernels.violations(names)

    def _changed(self) -> int:
        row = self._kernels.broken[rules.STRONG["changed"]]
        count = int(self._device.read(row)[0])
        row[:1] = 0
        return count

    def _unite(self, name: str) -> None:
        self._shared.united(self._bits[name])

    def _by_vertex(self, values: Any) -> None:
        shared = self._shared
        if not shared.alone:
            self._kernels.by_vertex(shared.low, shared.high - shared.low)
        self._kernels.take(values=values)
