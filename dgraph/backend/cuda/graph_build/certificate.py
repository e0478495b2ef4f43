"""Check of distances and predecessors against the edges of a graph that GPUs built.

The edges are drawn again (``drawn_proof.cuh``), so nothing of the rows that a run used is trusted. Rules and their
names: ``dgraph/validate/tree.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import plateaus
from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.graph_build.build_kernels import RULE_UNIT, BuildKernels, words
from dgraph.backend.cuda.graph_build.build_memory import demand
from dgraph.graph.block import EdgeBlock

WINDOW = 16
"""Bytes a vertex of free memory with which a GPU takes the distances of all ranks at once, and draws edges once."""


class EdgeCertificate:
    """Edges of a graph, for certificates that can do without rows.

    Attributes:
        n, ids, weight_type: as of :class:`~dgraph.graph.block.EdgeBlock`.
        first, rows: the gids whose values this rank checks: ``first … first + rows``.
    """

    def __init__(self, graph: Any, first: int, rows: int):
        self.graph, self.n, self.ids, self.first, self.rows = graph, graph.n, graph.ids, first, rows
        self.weight_type = graph.weight_type

    @property
    def whole(self) -> EdgeBlock:
        """The rows themselves, made on the host; collective."""
        return self.graph.block

    def able(self, algorithm: str) -> bool:
        """Return True if answers of an algorithm can be checked; two gids must fit 64 bits."""
        return self.n <= 1 << 32 and algorithm in ("bfs", "sssp")

    def takes(self, dtypes: Mapping[str, np.dtype]) -> bool:
        """Return True if columns of these dtypes can be checked."""
        return dtypes["distance"] in (np.int64, np.float64)

    def prove_tree(
        self, distance: np.ndarray, predecessor: np.ndarray | None, source: int, cutoff: float | None, weighted: bool
    ) -> dict[str, tuple[int, int]]:
        """Check the distances and predecessors of this rank's vertices against every edge; collective.

        Where memory is short, edges are drawn once for each rank's vertices as sources.

        Args:
            distance: int64 or float64, shape (rows,).
            predecessor: gids, int64 of the same shape, -1 for none; or None.
            source: gid.
            cutoff: the longest distance that counts; None: any.
            weighted: False: every edge weighs 1.

        Returns:
            Rule → number of violations among this rank's vertices, and the first place: a gid, or source and target as
            two gids of 32 bits.
        """
        comm, device, real = self.graph.comm, self.graph.built_on, distance.dtype.kind == "f"
        with comm.together():
            device.use()
            xp = device.xp
            demand(distance.nbytes * 3 + self.rows // 4, device, "a proof")
            kernels = BuildKernels(self.graph.draft, device, comm.rank, comm.size, "double" if real else "i64")
            if not weighted:
                kernels.set(rule=RULE_UNIT)
            broken = device.put(np.array([[0, rules.NONE]] * rules.PROOFS, np.uint64))
            kernels.take(
                broken=broken, claimed=device.put(distance),
                parents=None if predecessor is None else device.put(predecessor),
                joined=xp.zeros(words(self.rows) + 1, np.uint32), tight=xp.zeros(words(self.rows) + 1, np.uint32),
            )  # fmt: skip
            self._limit(kernels, cutoff, real)
            kernels.set(low=self.first, high=self.first + self.rows, source=source)
            kernels.launch("prove_vertices", 0)
        starts = np.append(comm.allgather(np.array([self.first], np.int64))[:, 0], self.n).tolist()
        lacking = comm.size > 1 and comm.total(WINDOW * self.n > device.free(WINDOW * self.n)) > 0
        for first, end in pairwise(range(comm.size + 1)) if lacking else [(0, comm.size)]:
            window = self._window(kernels, distance, starts, first, end)
            with comm.together():
                kernels.take(window=window)
                kernels.set(window_low=starts[first], window_high=starts[end])
                if predecessor is not None:
                    kernels.launch("prove_predecessors")
                kernels.launch("prove_arcs")
                device.wait()
        with comm.together():
            followed = comm.size == 1 and int(device.get(broken)[rules.PLATEAUS, 0]) > 0
            if followed:
                plateaus.follow(kernels, self.n, predecessor is not None)
            kernels.launch("prove_vertices", 2 if predecessor is None else 1)
            words_found = device.get(broken)
        violations = {name: (int(words_found[rule, 0]), int(words_found[rule, 1])) for name, rule in rules.TREE.items()}
        return violations | {"plateaus": (0, 0)} if followed else violations

    def count_edges(self, distance: Any) -> int:
        """Return how many of the generator's edges have a reached source, loops and parallel ones included.

        Args:
            distance: int64 by gid, of all vertices: for one rank.
        """
        device = self.graph.built_on
        kernels = BuildKernels(self.graph.draft, device, 0, 1, "i64")
        kernels.take(broken=device.xp.zeros(1, np.uint64), claimed=device.put(distance))
        kernels.launch("count_reached")
        return int(device.get(kernels.arrays["broken"])[0])

    def weight(self, u: int, v: int, dtype: np.dtype, weighted: bool) -> np.generic:
        """Return the weight of the arc u → v; not collective."""
        device = self.graph.built_on
        kernels = BuildKernels(self.graph.draft, device, 0, 1, "double" if dtype.kind == "f" else "i64")
        if not weighted:
            kernels.set(rule=RULE_UNIT)
        weight = device.xp.zeros(1, dtype)
        kernels.take(broken=weight)
        kernels.set(low=u, high=v)
        kernels.launch("write_weight")
        return device.get(weight)[0]

    def _limit(self, kernels: BuildKernels, cutoff: float | None, real: bool) -> None:
        if real:
            kernels.set(real_cutoff=math.inf if cutoff is None else cutoff)
        else:
            most = np.iinfo(np.int64).max
            kernels.set(cutoff=most if cutoff is None or cutoff >= most else math.floor(cutoff))

    def _window(self, kernels: BuildKernels, distance: np.ndarray, starts: list[int], first: int, end: int) -> Any:
        """Return the distances of the vertices of ranks ``first … end`` on the device, one rank's sent after the other.

        Collective.
        """
        comm, device, claimed = self.graph.comm, self.graph.built_on, kernels.arrays["claimed"]
        if comm.size == 1:
            return claimed
        with comm.together():
            window = device.xp.empty(starts[end] - starts[first], distance.dtype)
        for rank in range(first, end):
            mine = distance if comm.rank == rank else distance[:0]
            sent = comm.alltoallv([mine] * comm.size)[rank]
            with comm.together():
                place = window[starts[rank] - starts[first] : starts[rank + 1] - starts[first]]
                device.copy(place, claimed if comm.rank == rank else device.put(sent))
        return window
