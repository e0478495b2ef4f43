"""Rows of a graph on the GPUs of its ranks, for the certificates of ``dgraph/validate``.

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
from dgraph.backend.cuda.certificates.class_searches import ClassSearches
from dgraph.backend.cuda.certificates.core_peel import CorePeel
from dgraph.backend.cuda.certificates.forest_levels import ForestLevels, listed
from dgraph.backend.cuda.certificates.joined_trees import smallest_joined
from dgraph.backend.cuda.certificates.rank_steps import RankSteps
from dgraph.backend.cuda.certificates.row_kernels import RowKernels
from dgraph.backend.cuda.certificates.shared_columns import SharedColumns
from dgraph.backend.cuda.transports.bulk_moves import BulkMoves
from dgraph.comm import Comm
from dgraph.errors import ValidationFailed
from dgraph.graph.block import EdgeBlock, GraphFacts
from dgraph.graph.build.fingerprint import digest
from dgraph.graph.ids import ConsecutiveIds

MOST = 72
"""Bytes a vertex that a certificate takes beside the rows: columns, their copies by position, and work arrays."""

MORE = {"mst": 64}
"""Bytes a vertex that the certificate of an algorithm takes beside these."""

SHARED = 60
"""Bytes a vertex of the whole graph that one of several ranks takes beside these: columns and sums by gid."""

Found = dict[str, tuple[int, int]]
"""Rule → number of violations and the smallest place: a gid, or an arc as source and target of 32 bits each."""


class DeviceRows:
    """CSR on the device by position.

    Attributes:
        offsets: (n + 1,), uint32 or int64.
        neighbours: positions, uint32 (arcs,).
        weights: (arcs,) or None.
        original: the gid of each position, uint32; None: they are equal.
        place: on one rank, the position of each gid, uint32; None: they are equal.
    """

    def __init__(self, offsets: Any, neighbours: Any, weights: Any, original: Any = None, place: Any = None):
        self.offsets, self.neighbours, self.weights = offsets, neighbours, weights
        self.original, self.place = original, place


class RowCertificate:
    """A graph on the GPUs of its ranks, where answers are checked.

    Args:
        graph: sizes, ids and facts of the graph.
        device: this rank's GPU.
        block: returns this rank's rows on the host.
        comm: the ranks.
        built: rows that were built on the GPU and are checked by ``fingerprint``; None: rows of ``block`` are uploaded.
        fingerprint: of the graph, for built rows.
        drawn: on one rank, certificate that draws the edges again, for distances; None: rows are read.
        moves: makes the mailboxes between several ranks, collectively; None: one rank.

    Attributes:
        first, rows: the gids of vertices that this rank checks: ``first … first + rows``.
    """

    def __init__(
        self, graph: EdgeBlock | GraphFacts, device: Any, block: Callable[[], EdgeBlock], comm: Comm,
        built: DeviceRows | None = None, fingerprint: str = "", drawn: Any = None,
        moves: Callable[[], BulkMoves] | None = None,
    ):  # fmt: skip
        self.comm = comm
        self.device, self._block, self._drawn = device, block, drawn
        self._built, self._fingerprint, self._moves = built, fingerprint, moves
        self._rows: DeviceRows | None = None
        self.shared = SharedColumns(device, comm, graph.n, None)
        self.n, self.first, self.rows = graph.n, self.shared.low, self.shared.high - self.shared.low
        self.arcs, self.ids = graph.arcs, graph.ids
        self.directed, self.facts, self.weight_type = graph.directed, graph.facts, graph.weight_type

    @property
    def whole(self) -> EdgeBlock:
        """The rows on the host."""
        return self._block()

    def able(self, algorithm: str) -> bool:
        """Return True if this GPU can check answers: two gids fit 64 bits, and the arrays fit its memory."""
        if not self.n or self.n > 1 << 32 or not self.ids.ascending:
            return False
        a_vertex = MOST + MORE.get(algorithm, 0)
        if self._moves is None:
            return self._fits(self.arcs, a_vertex * self.n)
        if algorithm in ("bfs", "sssp"):
            return False
        if self.comm.total(int(not self._fits(self._arcs_here(), (a_vertex + SHARED) * self.n))):
            return False
        self.shared = SharedColumns(self.device, self.comm, self.n, self._moves())
        return True

    def _fits(self, arcs: int, need: int) -> bool:
        self.device.use()
        weight = 0 if self.weight_type is None else self.weight_type.itemsize
        need += 0 if self._built else 8 * (self.n + 1) + (4 + weight) * arcs
        return need <= self.device.free(need)

    def _arcs_here(self) -> int:
        return len(self._built.neighbours) if self._built else len(self._block().targets)

    def gathered(self, columns: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return an answer's columns by gid on the GPUs of several ranks; None if some vertex has not one row."""
        with self.comm.together():
            fetch = getattr(columns, "on_device", columns.__getitem__)
            moved = {name: self.put(fetch(name)) for name in columns if name != "vertex"}
        gids = self.put(self.ids.to_gid(columns["vertex"], self.comm))
        return self.shared.gathered(gids, moved)

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

    def spread(self, column: Any) -> Any:
        """Return the column of all vertices, from those that each rank checks; collective."""
        return self.shared.spread(column)

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
        row, position = (vertex if rows.original is None else self._row(vertex) for vertex in (u, v))
        first, stop = get(rows.offsets[row : row + 2]).tolist()
        targets, weights = get(rows.neighbours[first:stop]), get(rows.weights[first:stop])
        return weights[targets == position].min().astype(dtype)

    def _row(self, gid: int) -> int:
        """Return the row of a vertex, which is here."""
        return int(self.device.xp.flatnonzero(self._on_device().original == gid)[0])

    def prove_colors(self, color: Any) -> tuple[Found, int]:
        """Check colours, and return the smallest colour that no vertex has."""
        kernels = self._kernels("color")
        kernels.take(values=self._by_position(color, np.int64))
        words = self.device.xp.zeros((self.n + 2 + 31) // 32 + 1, np.uint32)
        kernels.take(words=words)
        kernels.launch("prove_arcs")
        self._by_vertex(kernels, values=self._numbers(color))
        kernels.launch("prove_colors")
        self.shared.united(words)
        kernels.launch("find_gap")
        kernels.launch("prove_gap")
        violations = kernels.violations(rules.COLOR)
        return violations, violations["gap"][1]

    def prove_set(self, inside: Any) -> Found:
        """Check membership of a maximal independent set."""
        kernels = self._kernels("set")
        kernels.take(values=self._by_position(inside, np.int64))
        words = self.device.xp.zeros((self.n + 31) // 32, np.uint32)
        kernels.take(words=words)
        kernels.launch("prove_arcs")
        self.shared.united(words)
        self._by_vertex(kernels, values=self._numbers(inside))
        kernels.launch("prove_members")
        return kernels.violations(rules.SET)

    def prove_cores(self, core: Any, k: int = -1, multiple: bool = False) -> tuple[Found, Any]:
        """Check core numbers, or membership of the ``k``-core; return also how many the first that lacks any has.

        Loops do not count, and parallel arcs once, or each if ``multiple``.
        """
        kernels, values = self._kernels("core"), self._by_position(core, np.int64)
        kernels.set(core=k, multiple=multiple)
        peel = CorePeel(kernels, self.shared, self._on_device(), values, self._numbers(core))
        violations = peel.counted()
        few = violations["few"]
        if self.comm.total(few[0] + violations["flag"][0]):
            return violations, self.value(peel.left, self._position(few[1]) - self.first) if few[0] else 0
        return peel.peeled(), 0

    def prove_labels(self, label: Any, claimed: Any) -> tuple[Found, Callable[[int], np.generic]]:
        """Check labels, given as gids; return also a function that returns the smallest original id joined to a gid."""
        kernels, values = self._kernels("component"), self._by_position(label, np.int64)
        words = self.device.xp.zeros((self.n + 31) // 32, np.uint32)
        kernels.take(words=words, values=values)
        joined = smallest_joined(kernels, self.shared, self._on_device(), "join_arcs")
        self._by_vertex(kernels, values=label.astype(np.int64, copy=False))
        kernels.launch("mark_own")
        self.shared.united(words)
        kernels.launch("prove_labels")

        def smallest(gid: int | None) -> np.generic:
            place = 0 if gid is None else self._position(gid) - self.first
            lowest_there = self.device.get(joined[place : place + (gid is not None)]).astype(np.int64)
            return np.append(self.ids.to_original(lowest_there, self.comm), 0)[0]

        return kernels.violations(rules.COMPONENT), smallest

    def prove_strong(self, label: Any, claimed: Any) -> Found | None:
        """Check labels of strong components, given as gids; None if the CPUs are to follow long paths."""
        kernels, labels = self._kernels("strong"), self._numbers(label)
        by_row = self._by_position(labels, np.int64)
        search = ClassSearches(kernels, self.shared, self._on_device(), self.directed)
        return search.proved(by_row, by_row if self.shared.alone else self.shared.mine(labels))

    def prove_forest(
        self, source: Any, target: Any, weight: Any, ends: tuple[Any, Any]
    ) -> tuple[Found, ForestLevels | None]:
        """Check the edges of vertices, of which ``ends`` are gids; return also the forest."""
        violations: Found = dict.fromkeys(("apart", "light", "missing"), (0, -1))
        columns = self._numbers(source), self._numbers(target), self._forest_weights(weight)
        kernels = self._kernels("forest")
        violations["valid"], pairs, weights = listed(kernels, self.shared, columns, ends)
        if self.comm.total(violations["valid"][0]):
            return violations, None
        forest = ForestLevels(kernels, self.shared, pairs, weights, weight.dtype)
        if forest.circular:
            forest = ForestLevels(kernels, self.shared, pairs, weights, weight.dtype, by_ends=True)
            violations["circle"] = forest.circle()
            return violations, forest
        return violations | forest.check(), forest

    def _forest_weights(self, weight: Any) -> Any:
        """Return an answer's weights as int64, or float64 as the rows have them; no edge has the largest value."""
        real = self.weight_type is not None and self.weight_type.kind == "f"
        weights = weight.astype(np.float64 if real else np.int64, copy=False)
        if (weight.dtype.kind == "f") != real:
            largest = np.iinfo(np.int64).max
            weights[weight == (largest if real else np.inf)] = np.inf if real else largest
        return weights

    def prove_ranks(self, rank: Any, alpha: float, jump: np.ndarray | None, single: bool) -> RankSteps:
        """Check ranks one by one, and return the iterations' steps."""
        claim, rows = rank.astype(np.float64, copy=False), self._on_device()
        jump = None if jump is None else self.device.put(jump)
        if self.shared.alone:
            claim = self._by_position(claim, np.float64)
            jump = None if jump is None else self._by_position(jump, np.float64)
        else:
            claim = self.shared.mine(claim)
        return RankSteps(self._kernels("rank"), rows, claim, alpha, jump, single, self.shared)

    def _kernels(self, family: str, distance: str = "int64") -> RowKernels:
        self.device.use()
        one_way = self.directed or not self.shared.alone  # the reverse of an arc may be elsewhere
        return RowKernels(family, self.device, self._on_device(), self.n, one_way, distance)

    def _numbers(self, column: Any) -> Any:
        """Return a column by gid as int64."""
        return column.astype(np.int64, copy=False)

    def _by_vertex(self, kernels: RowKernels, **columns: Any) -> None:
        """Let kernels read columns, by gid, of the vertices that this rank checks; one rank has them by row."""
        if not self.shared.alone:
            mine = {name: self.shared.mine(column) for name, column in columns.items()}
            kernels.by_vertex(self.first, self.rows, **mine)

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
                before = np.zeros(block.first, np.int64)
                behind = np.full(block.n - block.first - block.rows, block.offsets[-1])
                offsets = np.concatenate([before, block.offsets, behind])  # gids are positions on every rank
                self._rows = DeviceRows(put(offsets), put(block.targets.astype(np.uint32)), weights)
        return self._rows

    def _check_fingerprint(self, rows: DeviceRows) -> None:
        kernels = RowKernels("color", self.device, rows, self.n, self.directed)
        kernels.launch("hash_arcs")
        fingerprint = digest(self.n, self.directed, self.device.get(kernels.broken)[0, 0], self.comm)
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
        """Return the position of a vertex where arrays are by row on one rank, else its gid."""
        place = self._on_device().place
        return gid if place is None else int(self.value(place, gid))


def evidence(graph: Any, local: Any, device: Any, moves: Callable[[], BulkMoves] | None = None) -> RowCertificate:
    """Return the input of certificates of a graph that GPUs solved as ``local``, in a simple form perhaps.

    Built rows of the simple form are not the graph's: then its rows on the host are uploaded.

    Args:
        graph: the graph.
        local: this rank's partition of it.
        device: this rank's GPU.
        moves: makes the mailboxes between several ranks; None: one rank.
    """

    def block() -> EdgeBlock:
        return graph.block

    parts = (part.local for part in graph.partitions.values() if hasattr(part.local, "built"))
    built_local = next(parts, None) if hasattr(local, "built") else None
    if built_local is None:
        return RowCertificate(graph, device, block, graph.comm, moves=moves)
    built, vertices = built_local.built, built_local.vertices
    original = vertices.original if moves is not None or vertices.place is not None else None
    place = vertices.place if moves is None else None
    rows = DeviceRows(built.offsets, built.neighbours, built.weights, original, place)
    drawn = graph.evidence if moves is None and getattr(graph, "draws", False) else None
    return RowCertificate(graph, device, block, graph.comm, rows, graph.fingerprint(), drawn, moves)
