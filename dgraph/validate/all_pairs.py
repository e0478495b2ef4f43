"""Certificate of all-pairs shortest paths, and of the figures of its rows.

Theorem: let d[u, u] = 0 and d[u, v] = min over arcs x → v of d[u, x] + weight, for all v ≠ u, and let no arc into u
offer d[u, u] less than 0. By the first equations, d[u, v] is at most the weight of every walk from u to v, and the last
one excludes a negative cycle within reach. By the others, every v with a finite d[u, v] has a *tight* arc that enters
it. Tight arcs followed back from v end at u, so d[u, v] is the weight of a walk, or run in a cycle of weight 0. Where
weights are > 0 there is no such cycle; else a search over tight arcs from u must reach every v with a finite distance.
Predecessors are trees if each is the start of a tight arc, and those of v, followed back, end at u.

Integers below 2**24 or 2**53 are compared exactly; other sums may differ by n roundings. All arcs pass every rank in
pieces. Without a matrix, distances are computed by the equations from d[u, u] = 0, and the figures are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dgraph.errors import UsageError
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule

ARCS = 1 << 14
"""Arcs of each rank that pass at a time."""

ENTRIES = 1 << 22
"""Entries of rows that are checked at a time."""


@certifies("apsp")
def apsp(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check the matrix, if there is one, and columns ``reached`` and ``farthest``; collective.

    Raises:
        ValidationFailed: a distance or a figure is wrong.
    """
    comm, n, matrix = distributed.comm, distributed.block.n, distributed.matrix
    if not distributed.block.ids.ascending:
        raise UsageError("rows of a matrix ascend by id, and this graph has another order; load it with build='host'")
    bounds = n * np.arange(comm.size + 1) // comm.size
    first, stop = int(bounds[comm.rank]), int(bounds[comm.rank + 1])
    rows = max(ENTRIES // max(n, 1), 1)
    itself = Rule("a vertex is at distance 0 from itself", "the distance from {u} to itself is {x}, by in-arcs {y}")
    equal = Rule("a distance is the least that in-arcs give", "from {u} to {v} it is {x}, and in-arcs give {y}")
    walked = Rule("tight arcs lead from the source", "no arcs give {x} as the distance from {u} to {v}")
    trees = PairTrees(distributed)
    reached, farthest = np.zeros(stop - first, np.int64), np.zeros(stop - first)
    positive, whole, most = _weights(distributed)
    for turn in range(comm.largest(-(-(stop - first) // rows))):
        low = min(first + turn * rows, stop)
        high = min(low + rows, stop)
        own = (np.arange(high - low), np.arange(low, high))
        if matrix is None:
            claimed = _computed(distributed, low, high)
        else:
            claimed = matrix[low - first : high - first]
            offered = np.full(claimed.shape, np.inf, claimed.dtype)
            for src, dst, weight in _arcs(distributed):
                np.minimum(offered, _offers(claimed, src, dst, weight), out=offered)
            slack = 0.0
            if not (whole and n * most < 2.0 ** (np.finfo(claimed.dtype).nmant + 1)):
                slack = 2 * n * np.finfo(claimed.dtype).eps
            diagonal = np.zeros(claimed.shape, bool)
            diagonal[own] = True
            near = slack * (np.where(offered < np.inf, np.abs(offered), 0.0) + most)
            _test(itself, diagonal & ~((claimed == 0) & (offered >= -near)), low, x=claimed, y=offered)
            with np.errstate(invalid="ignore"):
                same = (claimed == offered) | (np.abs(claimed - offered) <= near)
            _test(equal, ~(same | diagonal), low, x=claimed, y=offered)
            if not positive:
                lead = _led(distributed, claimed, own, slack, most)
                _test(walked, (claimed < np.inf) & ~lead, low, x=claimed)
            if distributed.predecessors is not None:
                trees.check(claimed, distributed.predecessors[low - first : high - first], low, slack, most)
        finite = claimed < np.inf
        reached[low - first : high - first] = finite.sum(axis=1)
        farthest[low - first : high - first] = np.max(claimed, axis=1, initial=-np.inf, where=finite)
    distributed.judge(itself, equal, walked, *trees.rules)
    _figures(distributed, columns, bounds, reached, farthest, matrix is None and not whole, n)
    text = "every distance is the least that in-arcs give, and 0 on the diagonal"
    proved = ["distances of every row were computed again" if matrix is None else text, "figures of rows are theirs"]
    return proved if distributed.predecessors is None else [*proved, "predecessors are trees of tight arcs"]


class PairTrees:
    """Rules of the predecessors of all pairs: each is the start of a tight arc, and they lead back to the source."""

    def __init__(self, distributed: DistributedColumns):
        self.distributed = distributed
        self.needed = Rule(
            "the reached alone have predecessors", "from {u} to {v} the distance is {x}, and {y} before it"
        )
        self.tight = Rule("predecessors' arcs are tight", "from {u}, no tight arc enters {v} from its predecessor {x}")
        self.back = Rule("predecessors lead to the source", "from {u}, those of {v} do not end there; first is {x}")
        self.rules = self.needed, self.tight, self.back

    def check(self, rows: np.ndarray, before: np.ndarray, low: int, slack: float, most: float) -> None:
        """Check the rows of distances, and of predecessors, from ``low`` on; collective."""
        n = rows.shape[1]
        child = rows < np.inf
        child[np.arange(len(rows)), np.arange(low, low + len(rows))] = False
        named = (before >= 0) & (before < n)
        _test(self.needed, np.where(child, ~named, before != -1), low, x=rows, y=before)
        enters, near = np.zeros(rows.shape, bool), slack * (np.where(rows < np.inf, np.abs(rows), 0.0) + most)
        for src, dst, weight in _arcs(self.distributed):
            heads, begins = np.unique(dst, return_index=True)
            step = max(ENTRIES // max(len(dst), 1), 1)
            for first in range(0, len(rows) if len(dst) else 0, step):
                part = slice(first, first + step)
                with np.errstate(invalid="ignore"):
                    off = np.abs(rows[part][:, src] + weight - rows[part][:, dst])
                tree = (before[part][:, dst] == src) & (off <= near[part][:, dst])
                enters[part, heads] |= np.logical_or.reduceat(tree, begins, axis=1)
        _test(self.tight, child & named & ~enters, low, x=before)
        lines = np.arange(len(rows))[:, None]
        pointer = np.where(child & named, before, np.arange(n))
        for _ in range(n.bit_length()):
            pointer = pointer[lines, pointer]
        _test(self.back, child & named & (pointer != low + lines), low, x=before)


def _test(rule: Rule, bad: np.ndarray, low: int, **values: np.ndarray) -> None:
    """Count violations at entries of rows from ``low`` on."""
    u, v = np.nonzero(bad)
    rule.test(np.ones(len(u), bool), {"u": low + u, "v": v}, {name: matrix[u, v] for name, matrix in values.items()})


def _figures(
    distributed: DistributedColumns, columns: Mapping, bounds: np.ndarray, reached, farthest, loose: bool, n: int
) -> None:
    """Compare the columns with figures of the rows ``bounds`` of the ranks."""
    comm = distributed.comm
    every = [np.concatenate(comm.allgatherv(values))[distributed.gids] for values in (reached, farthest)]
    count = Rule("reached is the number of finite distances", "vertex {v} has {x}, and its row has {y}")
    largest = Rule("farthest is the largest distance", "vertex {v} has {x}, and its row has {y}")
    count.test(columns["reached"] != every[0], {"v": distributed.gids}, {"x": columns["reached"], "y": every[0]})
    slack = 2e-7 * n * np.abs(every[1]) if loose else 0.0
    wrong = ~(np.abs(columns["farthest"] - every[1]) <= slack)
    largest.test(wrong, {"v": distributed.gids}, {"x": columns["farthest"], "y": every[1]})
    distributed.judge(count, largest)


def _weights(distributed: DistributedColumns) -> tuple[bool, bool, float]:
    """Return if all weights are > 0, if all are integers, and the largest absolute one."""
    weights, comm = distributed.block.weights, distributed.comm
    if weights is None:
        return True, True, 1.0
    small = comm.total(int(np.count_nonzero(~(weights > 0))))
    most = float(np.abs(weights.astype(np.float64)).max(initial=0.0))
    return not small, weights.dtype.kind == "i", float(comm.allreduce(np.array([most]), "max")[0])


def _arcs(distributed: DistributedColumns) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield all arcs of all ranks in pieces, by ascending target: sources, targets, weights; collective."""
    block, comm = distributed.block, distributed.comm
    targets = np.asarray(block.targets)
    for turn in range(comm.largest(-(-len(targets) // ARCS))):
        piece = slice(min(turn * ARCS, len(targets)), min((turn + 1) * ARCS, len(targets)))
        numbers = np.arange(piece.start, piece.stop)
        source = block.first + np.searchsorted(block.offsets, numbers, side="right") - 1
        weight = np.ones(len(numbers)) if block.weights is None else block.weights[piece].astype(np.float64)
        src, dst, weight = (
            np.concatenate(comm.allgatherv(column)) for column in (source, targets[piece].astype(np.int64), weight)
        )
        order = np.argsort(dst, kind="stable")
        yield src[order], dst[order], weight[order]


def _offers(rows: np.ndarray, src: np.ndarray, dst: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the least that arcs, by ascending target, give from these rows: inf where no arc enters."""
    offers = np.full(rows.shape, np.inf, rows.dtype)
    heads, begins = np.unique(dst, return_index=True)
    step = max(ENTRIES // max(len(dst), 1), 1)
    for low in range(0, len(rows), step):
        part = rows[low : low + step]
        offers[low : low + step, heads] = np.minimum.reduceat(part[:, src] + weight.astype(rows.dtype), begins, axis=1)
    return offers


def _computed(distributed: DistributedColumns, low: int, high: int) -> np.ndarray:
    """Return rows of distances in float64, by Bellman and Ford's rounds."""
    rows = np.full((high - low, distributed.block.n), np.inf)
    rows[np.arange(high - low), np.arange(low, high)] = 0
    while True:
        lower = rows
        for src, dst, weight in _arcs(distributed):
            lower = np.minimum(lower, _offers(rows, src, dst, weight))
        changed = int(not np.array_equal(lower, rows))
        rows = lower
        if not distributed.comm.total(changed):
            return rows


def _led(distributed: DistributedColumns, rows: np.ndarray, own: tuple, slack: float, most: float) -> np.ndarray:
    """Return which entries tight arcs lead to from the diagonal.

    Tight arcs that weigh more than all slack come from lower distances, of which the lowest is the diagonal's. So
    without negative arcs only the other ones are searched, from the heads of these.
    """
    lead = np.zeros(rows.shape, bool)
    lead[own] = True
    near = slack * (np.where(rows < np.inf, np.abs(rows), 0.0) + most)
    widest = 2 * float(distributed.comm.allreduce(np.array([near.max(initial=0.0)]), "max")[0])
    descends = not any((weight < 0).any() for _, _, weight in _arcs(distributed))  # the same on all ranks
    if descends:
        lead |= _tight(distributed, rows, rows, near, lambda weight: weight > widest)
    while True:
        before = int(lead.sum())
        from_lead = np.where(lead, rows, np.inf)
        lead |= _tight(distributed, from_lead, rows, near, lambda weight: ~(descends & (weight > widest)))
        if not distributed.comm.total(int(lead.sum()) - before):
            return lead


def _tight(
    distributed: DistributedColumns, starts: np.ndarray, rows: np.ndarray, near: np.ndarray,
    chosen: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:  # fmt: skip
    """Return which entries of ``rows`` some of the arcs give, by weight, from distances of their starts."""
    tight = np.zeros(rows.shape, bool)
    for src, dst, weight in _arcs(distributed):
        arcs = np.flatnonzero(chosen(weight))
        offered = _offers(starts, src[arcs], dst[arcs], weight[arcs])
        with np.errstate(invalid="ignore"):
            tight |= (offered < np.inf) & (np.abs(offered - rows) <= near)
    return tight
