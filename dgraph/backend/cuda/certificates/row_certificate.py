"""Rows of a whole graph on one GPU, for the certificates of ``dgraph/validate``.

Trusted: for a graph that was loaded, its rows on the host, which are uploaded afresh; what runs made of them on the GPU
is not read. For a graph that was built on the GPU, the rows there: their fingerprint is computed again and must be the
one of when they were built. Nothing else of a run is read but the answer's columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import plateaus
from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.certificates.rank_steps import RankSteps
from dgraph.backend.cuda.certificates.row_kernels import RowKernels
from dgraph.comm import Comm
from dgraph.errors import ValidationFailed
from dgraph.graph.block import EdgeBlock, GraphFacts
from dgraph.graph.build.fingerprint import text as fingerprint_text
from dgraph.graph.ids import ConsecutiveIds

MOST = 72
"""Bytes a vertex that a certificate takes beside the rows: columns, their copies by position, and work arrays."""

Found = dict[str, tuple[int, int]]
"""Rule → number of violations and the smallest place: a gid, or an arc as source and target of 32 bits each."""


class DeviceRows:
    """CSR on the device by position.

    Attributes:
        offsets: (n + 1,), uint32 or int64.
        neighbours: positions, uint32 (arcs,).
        weights: (arcs,) or None.
        original, place: the gid of each position, and the position of each gid, uint32; None: they are equal.
    """

    def __init__(self, offsets: Any, neighbours: Any, weights: Any, original: Any = None, place: Any = None):
        self.offsets, self.neighbours, self.weights = offsets, neighbours, weights
        self.original, self.place = original, place


class RowCertificate:
    """A whole graph of one rank, whose answers are checked on the GPU.

    Args:
        known: sizes, ids and facts of the graph.
        device: the GPU.
        block: returns the rows on the host.
        comm: the one rank's communicator.
        built: rows that were built on the GPU and are checked by ``fingerprint``; None: rows of ``block`` are uploaded.
        fingerprint: of the graph, for built rows.
        drawn: certificate that draws the edges again, for distances; None: rows are read.
    """

    first = 0

    def __init__(
        self, graph: EdgeBlock | GraphFacts, device: Any, block: Callable[[], EdgeBlock],
        comm: Comm, built: DeviceRows | None = None, fingerprint: str = "", drawn: Any = None,
    ):  # fmt: skip
        self.comm = comm
        self.device, self._block, self._drawn = device, block, drawn
        self._built, self._fingerprint = built, fingerprint
        self._rows: DeviceRows | None = None
        self.n, self.rows, self.arcs, self.ids = graph.n, graph.n, graph.arcs, graph.ids
        self.directed, self.facts, self.weight_type = graph.directed, graph.facts, graph.weight_type

    @property
    def whole(self) -> EdgeBlock:
        """The rows on the host."""
        return self._block()

    def able(self, algorithm: str) -> bool:
        """Return True if this GPU can check answers: two gids fit 64 bits, and the arrays fit its memory."""
        if not self.n or self.n > 1 << 32 or not self.ids.ascending:
            return False
        self.device.use()
        weight = 0 if self.weight_type is None else self.weight_type.itemsize
        uploaded = 0 if self._built else 8 * (self.n + 1) + (4 + weight) * self.arcs
        need = uploaded + MOST * self.n
        return need <= self.device.free(need)

    def takes(self, dtypes: Mapping[str, np.dtype]) -> bool:
        """Return True if columns of these dtypes can be checked."""
        return dtypes.get("distance", np.dtype(np.int64)) in (np.int64, np.float64, np.float32)

    def to_gid(self, originals: Any) -> Any:
        """Return the gids of a column of original ids on the GPU; -1, or a number beyond n, for ids of no vertex."""
        if isinstance(self.ids, ConsecutiveIds) and not self.ids.base:
            return originals.astype(np.int64, copy=False)
        return self.device.put(self.ids.to_gid(self.device.get(originals), self.comm))

    def put(self, column: Any) -> Any:
        """Return a column on the GPU."""
        return self.device.put(column)

    def value(self, column: Any, gid: int) -> np.generic:
        """Return a column's value at a gid."""
        return np.asarray(self.device.get(column[gid : gid + 1]))[0]

    def prove_tree(self, distance: Any, predecessor: Any, source: int, cutoff: float | None, weighted: bool) -> Found:
        """Check distances and predecessors (gids, or None) against every arc; arguments as for a drawn graph's."""
        if self._drawn is not None and distance.dtype != np.float32:
            return self._drawn.prove_tree(distance, predecessor, source, cutoff, weighted)
        xp, bits = self.device.xp, (self.n + 31) // 32 + 1
        kernels = self._kernels("tree", distance.dtype.name)
        kernels.take(claimed=distance, window=distance, parents=predecessor)
        kernels.take(joined=xp.zeros(bits, np.uint32), tight=xp.zeros(bits, np.uint32))
        kernels.set(high=self.n, window_high=self.n, source=source, unit=not weighted)
        most = np.iinfo(np.int64).max
        kernels.set(real_cutoff=math.inf if cutoff is None else cutoff)
        kernels.set(cutoff=most if cutoff is None or cutoff >= most else math.floor(cutoff))
        kernels.launch("prove_vertices", 0)
        if predecessor is not None:
            kernels.launch("prove_predecessors")
        kernels.launch("prove_arcs")
        if kernels.violations(rules.TREE)["plateaus"][0]:
            plateaus.follow(kernels, self.n, predecessor is not None)
        kernels.launch("prove_vertices", 2 if predecessor is None else 1)
        return kernels.violations(rules.TREE) | {"plateaus": (0, 0)}

    def weight(self, u: int, v: int, dtype: np.dtype, weighted: bool) -> np.generic:
        """Return the smallest weight of an arc u → v."""
        if self._drawn is not None and dtype != np.float32:
            return self._drawn.weight(u, v, dtype, weighted)
        rows, get = self._on_device(), self.device.get
        if not weighted or rows.weights is None:
            return dtype.type(1)
        row = u if rows.place is None else int(get(rows.place[u : u + 1])[0])
        first, stop = get(rows.offsets[row : row + 2]).tolist()
        targets, weights = get(rows.neighbours[first:stop]), get(rows.weights[first:stop])
        position = v if rows.place is None else int(get(rows.place[v : v + 1])[0])
        return weights[targets == position].min().astype(dtype)

    def prove_colors(self, color: Any) -> tuple[Found, int]:
        """Check colours, and return the smallest colour that no vertex has."""
        kernels = self._kernels("color")
        kernels.take(values=self._by_position(color, np.int64))
        kernels.take(words=self.device.xp.zeros((self.n + 2 + 31) // 32 + 1, np.uint32))
        for kernel in ("prove_colors", "find_gap", "prove_gap", "prove_arcs"):
            kernels.launch(kernel)
        violations = kernels.violations(rules.COLOR)
        return violations, violations["gap"][1]

    def prove_set(self, inside: Any) -> Found:
        """Check membership of a maximal independent set."""
        kernels = self._kernels("set")
        kernels.take(values=self._by_position(inside, np.int64))
        kernels.take(words=self.device.xp.zeros((self.n + 31) // 32, np.uint32))
        kernels.launch("prove_arcs")
        kernels.launch("prove_members")
        return kernels.violations(rules.SET)

    def prove_cores(self, core: Any, k: int = -1, multiple: bool = False) -> tuple[Found, Any]:
        """Check core numbers, or membership of the ``k``-core; return also the counted neighbours by gid.

        Loops do not count, and parallel arcs once, or each if ``multiple``.
        """
        xp, kernels = self.device.xp, self._kernels("core")
        counts = xp.zeros(self.n, np.uint32)
        kernels.take(values=self._by_position(core, np.int64), counts=counts, queue=xp.empty(self.n, np.uint32))
        kernels.take(words=xp.zeros((self.n + 31) // 32, np.uint32))
        kernels.set(core=k, multiple=multiple)
        kernels.launch("count_neighbours")
        kernels.launch("prove_cores")
        begin, end = 0, self._queued(kernels)
        few = kernels.violations(rules.CORE)["few"]
        if few[0]:
            return kernels.violations(rules.CORE), self.value(counts, self._position(few[1]))
        while begin < end:
            kernels.set(end=end)
            kernels.launch("peel", begin)
            begin, end = end, self._queued(kernels)
        kernels.launch("prove_removed")
        return kernels.violations(rules.CORE), 0

    def _queued(self, kernels: RowKernels) -> int:
        return int(self.device.read(kernels.broken[rules.CORE["queued"]])[0])

    def prove_labels(self, label: Any, claimed: Any) -> tuple[Found, Callable[[int], np.generic]]:
        """Check labels, given as gids; return also a function that returns the smallest original id joined to a gid."""
        xp, kernels = self.device.xp, self._kernels("component")
        forest, lowest = xp.empty(self.n, np.uint32), xp.empty(self.n, np.uint32)
        kernels.take(values=self._by_position(label, np.int64), forest=forest, lowest=lowest)
        for kernel in ("plant", "join_arcs", "find_lowest", "prove_labels"):
            kernels.launch(kernel)

        def smallest(gid: int) -> np.generic:
            root, above = -1, self._position(gid)
            while root != above:
                root, above = above, int(self.value(forest, above))
            return self.ids.to_original(np.asarray(self.device.get(lowest[root : root + 1])), self.comm)[0]

        return kernels.violations(rules.COMPONENT), smallest

    def prove_ranks(self, rank: Any, alpha: float, jump: np.ndarray | None, single: bool) -> RankSteps:
        """Check ranks one by one, and return the iterations' steps."""
        ranks = self._by_position(rank, np.float64)
        moved = None if jump is None else self._by_position(self.device.put(jump), np.float64)
        return RankSteps(self._kernels("rank"), self._on_device(), ranks, alpha, moved, single)

    def _kernels(self, family: str, distance: str = "int64") -> RowKernels:
        self.device.use()
        return RowKernels(family, self.device, self._on_device(), self.directed, distance)

    def _on_device(self) -> DeviceRows:
        """Return the rows on the GPU, uploaded or checked by their fingerprint at first use."""
        if self._rows is None:
            self.device.use()
            if self._built is not None:
                self._rows = self._built
                self._check_fingerprint(self._built)
            else:
                block, put = self._block(), self.device.put
                weights = None if block.weights is None else put(block.weights)
                self._rows = DeviceRows(put(block.offsets), put(block.targets.view(np.uint32)), weights)
        return self._rows

    def _check_fingerprint(self, rows: DeviceRows) -> None:
        kernels = RowKernels("color", self.device, rows, self.directed)
        kernels.launch("hash_arcs")
        fingerprint = fingerprint_text(self.n, self.directed, int(self.device.get(kernels.broken)[0, 0]))
        if fingerprint != self._fingerprint:
            raise ValidationFailed(
                f"the graph's rows on the GPU have fingerprint {fingerprint}, and had {self._fingerprint} when they "
                "were built: something has written to them; load the graph again"
            )

    def _by_position(self, column: Any, dtype: Any) -> Any:
        column, rows = self.device.put(column), self._on_device()
        column = column.astype(dtype, copy=False)
        return column if rows.original is None else column[rows.original]

    def _position(self, gid: int) -> int:
        place = self._on_device().place
        return gid if place is None else int(self.value(place, gid))


def evidence(graph: Any, local: Any, device: Any) -> Any:
    """Return the input of certificates of a graph, all of which is on one GPU as ``local``, or in a simple form there.

    Built rows of the simple form are not the graph's: then its rows on the host are uploaded.
    """

    def block() -> EdgeBlock:
        return graph.block

    if not hasattr(local, "built") or all(part.local is not local for part in graph.partitions.values()):
        return RowCertificate(graph, device, block, graph.comm)
    built, vertices = local.built, local.vertices
    original = None if vertices.place is None else vertices.original
    rows = DeviceRows(built.offsets, built.neighbours, built.weights, original, vertices.place)
    drawn = graph.evidence if getattr(graph, "draws", False) else None
    return RowCertificate(graph, device, block, graph.comm, rows, graph.fingerprint(), drawn)
