"""Certificates of triangle counts and clustering coefficients: both are counted again on the graph as it was loaded.

Edges lead to their end of higher degree. A row's ends are marked, and looked for in the rows of these ends.
"""

from __future__ import annotations

import numpy as np

from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rising_rows import RisingRows
from dgraph.validate.rule import Rule


@certifies("triangles")
def triangles(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``triangles``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a count is wrong.
    """
    counts, _ = _counted(distributed)
    claimed = columns["triangles"]
    equal = Rule("counts are equal", "vertex {v} has {x} triangles, and {y} were counted")
    distributed.judge(equal.test(claimed != counts, {"v": distributed.gids}, {"x": claimed, "y": counts}))
    return ["triangles at every vertex were counted again"]


@certifies("lcc")
def lcc(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``lcc``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a coefficient is wrong by more than rounding.
    """
    arcs = parameters.get("count") == "arcs"
    counts, degree = _counted(distributed, arcs)
    pairs = np.maximum(degree * (degree - 1), 1)
    wanted, claimed = (1 if arcs else 2) * counts / pairs, columns["lcc"]
    near = Rule("coefficients are shares of closed pairs", "vertex {v} has {x}, and {y} was counted")
    near.test(~(np.abs(claimed - wanted) <= 4e-16 * wanted), {"v": distributed.gids}, {"x": claimed, "y": wanted})
    distributed.judge(near)
    return ["closed pairs of neighbours of every vertex were counted again"]


@certifies("clustering")
def clustering(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``clustering``; collective.

    Each of the products and sums of k numbers ≥ 0, of cube roots among others, is right within (k + 16) 2^-53.

    Raises:
        ValidationFailed: a coefficient is wrong by more than rounding.
    """
    block, arcs = distributed.block, parameters["count"] == "arcs"
    rows = np.repeat(np.arange(block.rows), np.diff(block.offsets))
    between = rows + block.first != np.asarray(block.targets)
    factors = np.ones(len(rows))
    if parameters["weighted"] and block.weights is not None:
        weights = np.where(between, np.asarray(block.weights, np.float64), 0.0)
        factors = np.cbrt(weights / (distributed.comm.allgather(np.array([weights.max(initial=0.0)])).max() or 1.0))
    sums, degree = _counted(distributed, arcs, factors)
    pairs = degree * (degree - 1) / 2
    if arcs:
        ends = np.bincount(rows[between], minlength=block.rows)
        pairs = ends * (ends - 1) - 2 * (ends - degree)
    wanted = sums / np.maximum(pairs, 1)
    claimed, slack = columns["clustering"], (2 * np.maximum(pairs, 0) + 32) * 2.0**-53
    near = Rule("coefficients are shares of closed pairs by weight", "vertex {v} has {x}, and {y} was added up")
    near.test(~(np.abs(claimed - wanted) <= slack * wanted), {"v": distributed.gids}, {"x": claimed, "y": wanted})
    distributed.judge(near)
    return ["closed pairs of neighbours of every vertex were added up again"]


def _counted(
    distributed: DistributedColumns, arcs: bool = False, factors: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return triangles and distinct neighbours of every row of this rank; collective.

    With ``arcs`` a triangle counts at a vertex as often as the edge between the other two is listed; with ``factors``,
    of each arc, by the product over its edges of the sum of theirs, or without ``arcs`` of the smallest.
    """
    rising, rows = RisingRows(distributed, "triangles"), distributed.block.rows
    groups, fold = rising.listed, np.add if arcs else np.minimum
    if factors is not None:
        listed = fold.reduceat(factors[rising.proper], groups) if len(groups) else np.zeros(0)
    else:
        listed = np.diff(np.append(groups, rising.proper.sum())) if arcs else np.ones(len(groups), np.int64)
    sums = rising.sums(listed[rising.rises].astype(np.float64), factors is not None)
    counts = np.zeros(rows, np.int64 if factors is None else np.float64)
    gids = np.flatnonzero(sums)
    distributed.add(gids, sums[gids], counts)
    return counts, rising.degree
