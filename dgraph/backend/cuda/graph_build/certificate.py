"""What certificates are shown of a graph that GPUs built: its edges, drawn once more and held against distances."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from dgraph.backend.cuda.graph_build import build_kernels as at
from dgraph.backend.cuda.graph_build.build_kernels import BuildKernels, words
from dgraph.backend.cuda.graph_build.build_memory import demand
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.comm import Comm
from dgraph.graph.block import EdgeBlock
from dgraph.graph.ids import VertexIds

NONE = np.uint64(2**64 - 1)
FINDINGS = {
    "source": at.BROKEN_SOURCE, "negative": at.BROKEN_NEGATIVE, "beyond": at.BROKEN_BEYOND, "root": at.BROKEN_ROOT,
    "out": at.BROKEN_OUT, "none": at.BROKEN_NONE, "lost": at.BROKEN_LOST, "short": at.BROKEN_SHORT,
    "arc": at.BROKEN_ARC, "tight": at.BROKEN_TIGHT, "alone": at.BROKEN_ALONE, "plateaus": at.PLATEAUS,
}  # fmt: skip
"""What is counted, by the names of ``dgraph/validate/tree.py``."""


class GeneratedGraph(Protocol):
    """What a proof reads of a graph that was drawn on GPUs (``built_graph.py``)."""

    n: int
    ids: VertexIds
    weight_type: np.dtype | None
    comm: Comm
    device: Any
    draft: BuildPlan

    @property
    def block(self) -> EdgeBlock: ...


class EdgeCertificate:
    """The graph, as a certificate takes it in place of rows.

    Attributes:
        n, ids, weight_type: as of :class:`~dgraph.graph.block.EdgeBlock`.
        first, rows: the gids whose values this rank looks after.
    """

    def __init__(self, graph: Any, first: int, rows: int):
        self.graph, self.n, self.ids, self.first, self.rows = graph, graph.n, graph.ids, first, rows
        self.weight_type = graph.weight_type

    @property
    def whole(self) -> EdgeBlock:
        """The rows themselves, made on the host; collective."""
        return self.graph.block

    def able(self, distance: np.dtype) -> bool:
        """Whether distances of this dtype can be proved: two gids must fit a word."""
        return self.n <= 1 << 32 and distance in (np.int64, np.float64)

    def prove_tree(
        self, distance: np.ndarray, predecessor: np.ndarray | None, source: int, cutoff: float | None, weighted: bool
    ) -> dict[str, tuple[int, int]]:
        """Hold the distances and predecessors of this rank's vertices against every edge; collective.

        Edges are drawn once for every rank's vertices as sources; so no rank holds all distances.

        Args:
            distance: int64 or float64, shape (rows,).
            predecessor: gids, int64 of the same shape, -1 where there is none; or None.
            source: gid.
            cutoff: the longest distance that counts.
            weighted: False: every edge weighs 1.

        Returns:
            By name, how often a rule is broken among this rank's vertices, and the first place: a gid, or two of them,
            source and target, 32 bits each.
        """
        comm, device, real = self.graph.comm, self.graph.device, distance.dtype.kind == "f"
        with comm.together():
            device.use()
            xp = device.xp
            demand(distance.nbytes * 3 + self.rows // 4, device, "a proof")
            made = BuildKernels(self.graph.draft, device, comm.rank, comm.size, "double" if real else "i64")
            if not weighted:
                made.set(rule=at.RULE_UNIT)
            broken = xp.zeros((at.PROOFS, 2), np.uint64)
            broken[:, 1] = NONE
            made.take(
                broken=broken, claimed=device.put(distance),
                parents=None if predecessor is None else device.put(predecessor),
                joined=xp.zeros(words(self.rows) + 1, np.uint32), tight=xp.zeros(words(self.rows) + 1, np.uint32),
            )  # fmt: skip
            self._limit(made, cutoff, real)
            made.set(low=self.first, high=self.first + self.rows, source=source)
            made.launch("prove_vertices", 0)
        starts = np.append(comm.allgather(np.array([self.first], np.int64))[:, 0], self.n)
        for rank in range(comm.size):
            window = distance if comm.size == 1 else self._told(distance, rank)
            with comm.together():
                made.take(window=made.arrays["claimed"] if comm.rank == rank else device.put(window))
                made.set(window_low=int(starts[rank]), window_high=int(starts[rank + 1]))
                if predecessor is not None:
                    made.launch("prove_predecessors")
                made.launch("prove_arcs")
                device.wait()
        with comm.together():
            made.launch("prove_vertices", 2 if predecessor is None else 1)
            found = device.get(broken)
        return {name: (int(found[rule, 0]), int(found[rule, 1])) for name, rule in FINDINGS.items()}

    def weight(self, u: int, v: int, dtype: np.dtype, weighted: bool) -> np.generic:
        """Of the arc u → v; not collective."""
        device = self.graph.device
        made = BuildKernels(self.graph.draft, device, 0, 1, "double" if dtype.kind == "f" else "i64")
        if not weighted:
            made.set(rule=at.RULE_UNIT)
        told = device.xp.zeros(1, dtype)
        made.take(broken=told)
        made.set(low=u, high=v)
        made.launch("write_weight")
        return device.get(told)[0]

    def _limit(self, made: BuildKernels, cutoff: float | None, real: bool) -> None:
        if real:
            made.set(real_cutoff=math.inf if cutoff is None else cutoff)
        else:
            most = np.iinfo(np.int64).max
            made.set(cutoff=most if cutoff is None or cutoff >= most else math.floor(cutoff))

    def _told(self, distance: np.ndarray, rank: int) -> np.ndarray:
        """The distances of another rank's vertices, from it to all; collective."""
        comm = self.graph.comm
        mine = distance if comm.rank == rank else distance[:0]
        return comm.alltoallv([mine] * comm.size)[rank]
