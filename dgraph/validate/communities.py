"""Certificate of communities: connected parts that neither a move of one vertex nor a join of two improves.

Definition. Quality of a partition: Σ_c w(c) - γ M(c)² / W, where w(c) is the weight of arcs within c, loops twice, M(c)
the sum of degrees, and W of all degrees (modularity [Newman & Girvan 2004], times W). For the constant Potts model M(c)
is the number of vertices, and W is 1. If v with degree k moves from a to b, the quality rises by twice
w(v, b) - w(v, a) - γ k (M(b) - M(a) + k) / W, and by twice w(a, b) - γ M(a) M(b) / W if a and b join.

Gains are added up in float64. Those that rounding may have made positive are added up again as fractions. Weights that
are no integers, and resolutions whose denominators exceed 2^20, may be rounded by 2^-20 of the largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.component_forest import ComponentForest
from dgraph.validate.distributed_columns import DistributedColumns, distinct
from dgraph.validate.host.host_rows import HostRows
from dgraph.validate.rule import Rule

FINE = 2.0**-20
"""Share of the largest weight, and denominator of a resolution, below which a difference may be due to rounding."""


@certifies("louvain")
@certifies("leiden")
def communities(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``community``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a community is misnamed, not connected, or too large, or a move or a join raises the quality.
    """
    if distributed.block.directed:
        raise UsageError("communities are of undirected graphs; pass the block of graph.undirected()")
    labels = _named(distributed, columns["community"])
    _connected(distributed, labels)
    _check_levels(distributed, columns, labels)
    quality = _Quality(distributed, labels, parameters)
    quality.check_sizes()
    quality.check_moves()
    quality.check_joins()
    return ["communities are connected", "no move and no join gains", f"{quality.metric} is {quality.value():.12g}"]


def _named(distributed: DistributedColumns, column: np.ndarray) -> np.ndarray:
    """Return the gid after which each row's community is named; refuse names other than the smallest id of a member."""
    labels = distributed.block.ids.to_gid(column, distributed.comm)
    named = Rule("communities are named by members", "vertex {v} has community {x}")
    distributed.judge(named.test(labels < 0, {"v": distributed.gids}, {"x": column}))
    ids = distributed.block.ids.to_original(distributed.gids, distributed.comm)
    (there,) = distributed.fetch(labels, column)
    named.test((there != column) | (column > ids), {"v": distributed.gids}, {"x": column})
    distributed.judge(named)
    return labels


def _connected(distributed: DistributedColumns, labels: np.ndarray) -> None:
    """Refuse a community that arcs within it do not connect."""
    block = distributed.block
    rows = np.repeat(np.arange(block.rows), np.diff(block.offsets))
    inner = np.zeros(len(block.targets), np.bool_)
    for piece in distributed.pieces(labels):
        inner[piece.start : piece.stop] = piece.there[0] == labels[piece.rows]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[inner], minlength=block.rows))])
    within = replace(block, offsets=offsets, targets=block.targets[inner], weights=None)
    parts = DistributedColumns(within, distributed.comm)
    lowest = ComponentForest(parts, HostRows(parts)).lowest()
    names = labels if block.ids.ascending else block.ids.to_original(labels, distributed.comm)
    whole = Rule("communities are connected", "vertex {v} has no path within its community to {x}, the smallest member")
    ids = block.ids.to_original(labels, distributed.comm)
    distributed.judge(whole.test(lowest != names, {"v": distributed.gids}, {"x": ids}))


def _check_levels(distributed: DistributedColumns, columns: Mapping[str, np.ndarray], labels: np.ndarray) -> None:
    """Refuse parts that are misnamed, not connected, or in several parts of the level above."""
    above = labels
    for i in range(1, 1 + sum(name.startswith("level_") for name in columns)):
        parts = _named(distributed, columns[f"level_{i}"])
        _connected(distributed, parts)
        nested = Rule(
            "parts lie within those of the level above", "vertex {v} is in the part of {u}, which is in another"
        )
        (there,) = distributed.fetch(parts, above)
        distributed.judge(nested.test(there != above, {"v": distributed.gids, "u": parts}, {}))
        above = parts


class _Quality:
    """Sums of a partition, in float64 where they only sift."""

    def __init__(self, distributed: DistributedColumns, labels: np.ndarray, parameters: Mapping[str, Any]):
        self.distributed, self.labels, self.metric = distributed, labels, parameters["metric"]
        self.most = parameters.get("max_size") or distributed.block.n
        block, comm = distributed.block, distributed.comm
        self.weights = np.ones(len(block.targets), np.int64) if block.weights is None else np.asarray(block.weights)
        largest = float(comm.allgather(np.array([self.weights.max(initial=0)], np.float64)).max())
        if 2 * largest * block.arcs >= 2**63:  # sums of int64 could wrap around; those of 2^52 and more are not exact
            self.weights = self.weights.astype(np.float64)
        rows = np.repeat(np.arange(block.rows), np.diff(block.offsets))
        self.loop = rows + block.first == block.targets
        twice = np.where(self.loop, 2, 1).astype(self.weights.dtype) * self.weights
        self.degree = np.zeros(block.rows, self.weights.dtype)
        np.add.at(self.degree, rows, twice)
        self.total = float(distributed.sum(self.degree.astype(np.float64))) or 1.0
        self.cpm = self.metric == "cpm"
        mass = np.ones(block.rows, np.int64) if self.cpm else self.degree
        self.mass = mass.astype(np.float64)
        self.ratio = Fraction(str(parameters["resolution"])).limit_denominator(1 << 40 if self.cpm else 1 << 20)
        self.price = float(self.ratio) / (1.0 if self.cpm else self.total)
        whole = bool(np.all(self.weights == np.rint(self.weights)))
        self.exact = not comm.total(not whole) and self.total < 2**52
        self.exact &= self.ratio == Fraction(str(parameters["resolution"]))
        self.slack = 0.0 if self.exact else 4 * FINE * largest
        self.of, self.sizes = self._sums(self.mass), self._sums(np.ones(block.rows))
        self._fold()

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over the members of the community that is named after each row."""
        sums = np.zeros(self.distributed.block.rows)
        self.distributed.add(self.labels, values, sums)
        return sums

    def _fold(self) -> None:
        """Add up the weights from each row to each community next to it."""
        distributed, n = self.distributed, self.distributed.block.n
        keys, sums = np.zeros(0, np.int64), np.zeros(0, self.weights.dtype)
        for piece in distributed.pieces(self.labels):
            kept = ~self.loop[piece.start : piece.stop]
            key = piece.rows[kept] * n + piece.there[0][kept]
            keys, sums = _added(keys, sums, key, self.weights[piece.start : piece.stop][kept])
        self.rows, self.next_to, self.sums = keys // n, keys % n, sums
        own = self.next_to == self.labels[self.rows]
        self.within = np.zeros(distributed.block.rows, self.weights.dtype)
        self.within[self.rows[own]] = sums[own]
        self.rows, self.next_to, self.sums = self.rows[~own], self.next_to[~own], sums[~own]

    def value(self) -> float:
        """Return the quality as NetworkX scales it; collective."""
        distributed = self.distributed
        rows = np.repeat(np.arange(distributed.block.rows), np.diff(distributed.block.offsets))
        loops = np.bincount(rows[self.loop], self.weights[self.loop], distributed.block.rows)
        inner = distributed.sum(self.within.astype(np.float64) + 2 * loops)
        if self.cpm:
            return inner / 2 - float(self.ratio) * distributed.sum(self.of**2) / 2
        return inner / self.total - float(self.ratio) * distributed.sum((self.of / self.total) ** 2)

    def check_sizes(self) -> None:
        """Refuse communities of more vertices than ``max_size``."""
        rule = Rule("communities have at most max_size vertices", "the community of {v} has {x} vertices")
        rule.test(self.sizes > self.most, {"v": self.distributed.gids}, {"x": self.sizes.astype(np.int64)})
        self.distributed.judge(rule)

    def check_moves(self) -> None:
        """Refuse a vertex that gains by joining a community next to it, or by leaving its own to be alone."""
        distributed, gids = self.distributed, self.distributed.gids
        own, size = distributed.fetch(self.labels, self.of, self.sizes)
        other, room = distributed.fetch(self.next_to, self.of, self.sizes)
        mass = self.mass[self.rows]
        stay = self.within[self.rows], own[self.rows] - mass
        gains = self._gains(self.sums, other, *stay, mass)
        gains &= room + 1 <= self.most
        rule = Rule("no move gains", "vertex {v} gains by joining the community of {u}")
        rule.test(gains, {"v": self.rows + distributed.block.first, "u": self.next_to}, {})
        alone = Rule("no vertex gains alone", "vertex {v} gains by leaving its community")
        zero = np.zeros(len(gids), self.weights.dtype)
        leaves = self._gains(zero, np.zeros(len(gids)), self.within, own - self.mass, self.mass)
        alone.test(leaves & (size > 1), {"v": gids}, {})
        distributed.judge(rule, alone)

    def check_joins(self) -> None:
        """Refuse two communities that gain by joining; each pair is summed up by the owner of its smaller name."""
        distributed, n = self.distributed, self.distributed.block.n
        mine = self.labels[self.rows]
        pair = np.flatnonzero(mine < self.next_to)
        keys, sums = _added(np.zeros(0, np.int64), self.sums[:0], mine[pair] * n + self.next_to[pair], self.sums[pair])
        rows, others, sums = distributed.send(keys // n, keys % n, sums)
        keys, sums = _added(np.zeros(0, np.int64), sums[:0], rows * n + others, sums)
        rows, others = keys // n, keys % n
        mass, size = distributed.fetch(others, self.of, self.sizes)
        zero = np.zeros(len(rows), sums.dtype)
        gains = self._gains(sums, mass, zero, np.zeros(len(rows)), self.of[rows])
        gains &= size + self.sizes[rows] <= self.most
        rule = Rule("no join gains", "the communities of {u} and {v} gain by joining")
        distributed.judge(rule.test(gains, {"u": rows + distributed.block.first, "v": others}, {}))

    def _gains(self, joined, other, left, rest, mass) -> np.ndarray:
        """Return True where joined - left - price mass (other - rest) is above 0, beyond what rounding explains."""
        expected = self.price * mass * (other - rest)
        gain = joined.astype(np.float64) - left - expected
        bound = 2.0**-48 * (joined + left + self.price * mass * (other + rest)) + self.slack * (1 + mass / FINE / 2**20)
        gains = gain > bound
        if self.exact:
            scale = Fraction(1) if self.cpm else Fraction(int(self.total))
            for i in np.flatnonzero(np.abs(gain) <= bound).tolist():
                product = self.ratio * int(mass[i]) * (int(other[i]) - int(rest[i])) / scale
                gains[i] = int(joined[i]) - int(left[i]) > product
        return gains


def _added(keys: np.ndarray, sums: np.ndarray, more: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct keys, ascending, and the sums of their values."""
    if not more.size:
        return keys, sums
    both = np.concatenate([keys, more])
    keys = distinct(both)
    total = np.zeros(len(keys), sums.dtype)
    np.add.at(total, np.searchsorted(keys, both), np.concatenate([sums, values]))
    return keys, total
