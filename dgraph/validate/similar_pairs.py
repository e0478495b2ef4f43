"""Certificate of similarities: common neighbours are looked up again on the graph as it was loaded.

A vertex w is a common neighbour of u and v if w is in the row of u and v is in the row of w. The owner of u looks its
neighbours up at their owners, for every pair of the answer. That no vertex is more similar than those of an answer
without given pairs is checked for some vertices, of which all vertices at two hops are listed.
"""

from __future__ import annotations

import numpy as np

from dgraph.errors import UsageError, ValidationFailed
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.searched_arcs import NEAR, SearchedArcs, places_of

SOME = 16
"""Vertices of which all pairs are computed again."""

STEP = 1 << 22
"""Neighbours that are looked up at a time."""


@certifies("similarity")
def similarity(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check the pairs where the answer has them, and columns ``similarity`` and ``target``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a value is wrong, or a more similar vertex is missing.
    """
    if distributed.block.directed:
        raise UsageError("similarities are of undirected graphs; pass the block of graph.undirected()")
    again, gids = _Similarities(distributed, parameters["measure"]), distributed.gids
    other = distributed.block.ids.to_gid(columns["target"], distributed.comm)
    paired = columns["target"] >= 0
    if distributed.comm.total(int(np.count_nonzero(paired & (other < 0)))):
        raise ValidationFailed("the answer is wrong: a target is not a vertex of the graph")
    largest = np.where(paired, columns["similarity"], np.inf)
    again.check(gids[paired], other[paired], largest[paired])
    alone = Rule("a vertex without a pair has no value", "vertex {v} has {x}, and no pair")
    alone.test(~paired & ~np.isinf(columns["similarity"]), {"v": gids}, {"x": columns["similarity"]})
    distributed.judge(alone)
    pairs, k = (gids[paired] - distributed.block.first, largest[paired]), 1  # without edges, the best pair of each
    if distributed.edges is not None:
        ends, values = distributed.edge_ends(), distributed.edges.values
        again.check(*ends, values)
        order = np.argsort(ends[0], kind="stable")
        rows, values = distributed.send(ends[0][order], values[order])
        pairs, k = (rows, values), int(parameters["k"])
        most = np.full(len(largest), -np.inf)
        np.maximum.at(most, rows, values)
        equal = Rule("a vertex has its pair of largest value", "vertex {v} has {x}, and its pairs at most {y}")
        answer = np.where(paired, columns["similarity"], -np.inf)
        distributed.judge(equal.test(answer != most, {"v": gids}, {"x": answer, "y": most}))
    checked = [f"{distributed.comm.total(len(pairs[0]))} pairs were computed again"]
    if parameters.get("second") is None:
        first = parameters.get("first")
        chosen = None if first is None else distributed.block.ids.to_gid(np.unique(first), distributed.comm)
        again.complete(*pairs, k, chosen)
        checked.append(f"of up to {SOME} vertices no vertex at two hops is more similar")
    return checked


class _Similarities:
    """Similarities by the rows of all ranks."""

    def __init__(self, distributed: DistributedColumns, measure: str):
        self.distributed, self.measure, self.comm = distributed, measure, distributed.comm
        arcs, rows = SearchedArcs(distributed), distributed.block.rows
        self.sources, self.targets, self.offsets = arcs.rows, arcs.targets, arcs.offsets
        self.keys = arcs.rows * distributed.block.n + arcs.targets
        self.degrees = np.diff(self.offsets)
        with np.errstate(divide="ignore"):
            shares = {"adamic_adar": 1 / np.log(np.maximum(self.degrees, 1)), "resource_allocation": 1 / self.degrees}
        self.shares = shares.get(measure, np.ones(rows))

    def check(self, first: np.ndarray, second: np.ndarray, values: np.ndarray) -> None:
        """Compare the values of pairs (gids, on any ranks) with those that are computed again; collective."""
        order = np.argsort(first, kind="stable")
        rows, others, values = self.distributed.send(first[order], second[order], values[order])
        totals, lengths = np.zeros(len(rows)), self.degrees[rows]
        steps = np.cumsum(lengths) // STEP
        for step in range(self.comm.largest(int(steps[-1]) + 1 if len(steps) else 0)):
            pairs = np.flatnonzero(steps == step)
            places = places_of(self.offsets, rows[pairs])
            pairs = np.repeat(pairs, lengths[pairs])
            shares = self.distributed.ask(self.targets[places], others[pairs], self._shared)
            totals += np.bincount(pairs, shares, len(rows))
        (theirs,) = self.distributed.fetch(others, self.degrees)
        wanted = self._scaled(totals, self.degrees[rows], theirs)
        equal = Rule("similarities are of common neighbours", "the pair {u} – {v} has {x}, and {y} was computed")
        ends = {"u": rows + self.distributed.block.first, "v": others}
        self.distributed.judge(equal.test(~_close(values, wanted), ends, {"x": values, "y": wanted}))

    def _shared(self, rows: np.ndarray, sought: np.ndarray) -> np.ndarray:
        """Return the share of each row that has an arc to the vertex sought, else 0."""
        keys = rows * self.distributed.block.n + sought
        places = np.searchsorted(self.keys, keys)
        present = places < len(self.keys)
        present[present] = self.keys[places[present]] == keys[present]
        return np.where(present, self.shares[rows], 0.0)

    def _scaled(self, total: np.ndarray, one: np.ndarray, two: np.ndarray) -> np.ndarray:
        scale = {
            "jaccard": one + two - total, "overlap": np.minimum(one, two), "sorensen": (one + two) / 2,
            "cosine": np.sqrt(one.astype(float) * two),
        }.get(self.measure, np.ones(len(total)))  # fmt: skip
        if self.measure == "preferential_attachment":
            return one.astype(float) * two
        return total / np.where(total == 0, 1, scale)

    def complete(self, pair_rows: np.ndarray, pair_values: np.ndarray, k: int, chosen: np.ndarray | None) -> None:
        """Check that no vertex at two hops of some vertices is more similar than their ``k`` pairs; collective.

        ``chosen``: gids of the vertices that have pairs, equal on every rank; None: all have.
        """
        n, first, comm = self.distributed.block.n, self.distributed.block.first, self.comm
        degrees = np.concatenate(comm.allgatherv(self.degrees))
        best = Rule("no vertex at two hops is more similar", "vertex {v} has {x} pairs, not its most similar ones")
        count = n if chosen is None else chosen.size
        some = np.unique(np.linspace(0, count - 1, min(count, SOME)).astype(np.int64)) if count else ()
        for v in some if chosen is None else chosen[list(some)]:
            mine = self.targets[self.sources == v - first]
            rows = np.concatenate(comm.allgatherv(mine)) - first
            rows = rows[(rows >= 0) & (rows < len(self.degrees))]
            shares = np.repeat(self.shares[rows], self.degrees[rows])
            part = np.bincount(self.targets[places_of(self.offsets, rows)], shares, n).astype(np.float64)
            totals = comm.allreduce(part)  # without targets NumPy counts integers
            totals[v] = 0
            near = np.flatnonzero(totals)
            wanted = np.sort(self._scaled(totals[near], degrees[near], np.full(len(near), degrees[v])))[::-1][:k]
            answer = np.sort(pair_values[pair_rows == v - first])[::-1]
            here = first <= v < first + len(self.degrees)
            wrong = here and not (len(answer) == len(wanted) and np.all(_close(answer, wanted)))
            best.test(np.array([wrong]), {"v": np.array([v])}, {"x": np.array([len(answer)])})
        self.distributed.judge(best)


def _close(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (values == wanted) | (np.abs(values - wanted) <= NEAR * (1 + np.abs(wanted)))
