"""Certificate of trusses: all edges are peeled again on the graph as it was loaded.

Theorem [Cohen 2008]. Remove edges in fewer than k - 2 triangles until none is left to remove. The rest is the k-truss,
whatever the order: a subgraph whose edges all lie in k - 2 of its triangles loses none of them. So an edge that goes at
level k, and did not at level k - 1, has trussness k - 1.

All triangles are listed first, as in ``triangle_counts.py``, and kept with those of each edge: some 90 bytes
each. That suits graphs up to about R-MAT 16. An edge that goes takes its triangles along, each once.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dgraph.errors import ValidationFailed
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns, distinct
from dgraph.validate.rising_rows import RisingRows
from dgraph.validate.rule import Rule


@certifies("ktruss")
def ktruss(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``truss`` or ``in_truss``, and the edges where the answer has them; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a value is wrong, or an edge is missing or one too many.
    """
    wanted, lower, higher, truss = _peeled(distributed)
    k = parameters.get("k")
    name = "truss" if k is None else "in_truss"
    if k is not None:
        wanted = (wanted >= k).astype(np.int64)
    equal = Rule("values are those of a peel", f"vertex {{v}} has {name} {{x}}, and peeling gives {{y}}")
    equal.test(columns[name] != wanted, {"v": distributed.gids}, {"x": columns[name], "y": wanted})
    distributed.judge(equal)
    if distributed.edges is not None:
        _compare(distributed, lower, higher, truss, k)
    return ["edges were peeled again by their triangles"]


def _compare(distributed: DistributedColumns, lower: np.ndarray, higher: np.ndarray, truss, k: int | None) -> None:
    """Compare the answer's edges with those of the peel: ends by gid, and trussness, at most ``k``."""

    def at_lower_ends(ends: np.ndarray, others: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
        low, high = np.minimum(ends, others), np.maximum(ends, others)
        order = np.argsort(low, kind="stable")
        columns = distributed.send(low[order], high[order], values[order])
        order = np.lexsort((columns[1], columns[0]))
        return [column[order] for column in columns]

    if k is not None:
        inside = truss >= k
        lower, higher, truss = lower[inside], higher[inside], np.full(np.count_nonzero(inside), k)
    wanted = at_lower_ends(lower, higher, truss)
    answer = at_lower_ends(*distributed.edge_ends(), distributed.edges.values)
    same = all(np.array_equal(one, other) for one, other in zip(answer[:2], wanted[:2], strict=True))
    if distributed.comm.total(int(not same)):
        raise ValidationFailed("the answer is wrong: its edges are not those of the truss, each once")
    equal = Rule("trussness of edges is that of a peel", "edge {u} – {v} has {x}, and peeling gives {y}")
    ends = {"u": answer[0] + distributed.block.first, "v": answer[1]}
    distributed.judge(equal.test(answer[2] != wanted[2], ends, {"x": answer[2], "y": wanted[2]}))


class _ByEdge:
    """Triangles by edge.

    Args:
        edges: an edge of each triangle, below ``count``; an edge may come several times.
        triangles: its triangles.
        count: number of edges.
    """

    def __init__(self, edges: np.ndarray, triangles: np.ndarray, count: int):
        self._triangles = triangles[np.argsort(edges, kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(edges, minlength=count))])

    def of(self, edges: np.ndarray) -> np.ndarray:
        """Return the triangles of these edges."""
        starts, counts = self._starts[edges], self._starts[edges + 1] - self._starts[edges]
        return self._triangles[np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)]


def _peeled(distributed: DistributedColumns) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Peel all edges; collective.

    Returns:
        The largest trussness of an edge at each row of this rank, 0 without edges: int64. Of each edge here, the gids
        of its ends and its trussness.
    """
    comm = distributed.comm
    rows, targets, (first, second, corner, third) = _listed(distributed)
    count, numbers = len(rows), np.arange(len(first))

    def sent(gids: np.ndarray, chosen: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
        chosen = chosen[np.argsort(gids[chosen], kind="stable")]
        return distributed.send(gids[chosen], *(column[chosen] for column in columns))[1:]

    lowest = rows[first] + distributed.block.first
    edges, askers, theirs = sent(corner, numbers, third, lowest, numbers)  # triangles of others on edges of this rank
    here = _ByEdge(np.concatenate([first, second]), np.concatenate([numbers, numbers]), count)
    there = _ByEdge(edges, np.arange(len(edges)), count)
    support = np.bincount(np.concatenate([first, second, edges]), minlength=count)
    truss, left, whole = np.full(count, 2, np.int64), np.ones(count, np.bool_), np.ones(len(first), np.bool_)
    k = 2
    while comm.total(int(np.count_nonzero(left))):
        least = int(comm.allreduce(np.array([support[left].min(initial=np.iinfo(np.int64).max)]), "min")[0])
        k = max(k, least + 2)
        gone = np.flatnonzero(left & (support <= k - 2))
        truss[gone], left[gone] = k, False
        lost = distinct(np.concatenate([here.of(gone), *sent(askers, there.of(gone), theirs)]))
        lost = lost[whole[lost]]
        whole[lost] = False
        for edges_lost in (first[lost], second[lost], *sent(corner, lost, third)):
            np.subtract.at(support, edges_lost, 1)
    most = np.zeros(distributed.block.rows, np.int64)
    np.maximum.at(most, rows, truss)
    distributed.ask(targets, truss, partial(_raised, most))
    return most, rows + distributed.block.first, targets, truss


def _raised(most: np.ndarray, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    np.maximum.at(most, rows, values)
    return rows


def _listed(distributed: DistributedColumns) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """List the triangles whose lowest corner this rank has; collective.

    Returns:
        Row of each edge's lower end and gid of its higher end. Of each triangle: both edges at its lowest corner, the
        gid of its middle corner, and the number of the third edge on that corner's rank.
    """
    rising = RisingRows(distributed, "trusses")
    parts: list[list[np.ndarray]] = [[np.empty(0, np.int64)] for _ in range(4)]
    for first, second, third, _ in rising.triangles(rising.targets):
        for part, values in zip(parts, (first, second, rising.targets[first], third), strict=True):
            part.append(values.copy())
    return rising.rows, rising.targets, [np.concatenate(part) for part in parts]
