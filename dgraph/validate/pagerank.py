"""Certificate of PageRank.

One iteration is G(x) = (1 - α) j + α (x's flow along arcs + the mass of sinks · j), j the jump vector, in float64. An
arc u → v of weight w carries x_u w / W_u, W_u the sum of the weights of all arcs that leave u; where the graph has no
weights, every w is 1. u is a sink if W_u = 0.

Theorem. |G(x) - G(y)| ≤ α |x - y|, in L1: flow along arcs plus sinks' mass is a matrix whose entries are ≥ 0, since no
weight is negative, and whose columns sum to 1. Hence

- a run that stopped because |x' - x| < tol, with x' = G(x) the result, has |G(x') - x'| ≤ α tol, and its distance
  from the true PageRank is at most that / (1 - α). One more iteration is made here, and its change is held against
  the bound.
- a fixed number of iterations has no such property (it need not be near anything): all of them are made again here,
  and the result must be the same.

Rounding. A sum of k numbers ≥ 0 is off by at most (k - 1) u of itself, u = 2^-53. An iteration adds at most n terms for
the sinks and as many as a vertex has arcs for its flow, and a handful beside; x sums to 1. So it is off by at most
``slack`` = (n + most arcs + 16) u in L1, here and there, and what k iterations add up is at most min(k, 1 / (1 - α)) of
them. This is added to every bound: 1e-9 at four million vertices. With weights W_u is such a sum too, of as many terms
as arcs leave u, so most arcs count twice; two more roundings, of w and of the product, are among the handful.

In single precision ranks, what crosses arcs and its sums are rounded by U = 2^-24 of themselves. The flow into a vertex
that k arcs lead to is off by at most (k + 2) U of itself, with weights, where the product is rounded, (k + 3) U: so an
iteration misses G by ``missed`` = U (2 + the sum of that times the flow). Terms of U² are covered by taking it twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule

ROUNDOFF = 2.0**-53
SINGLE = 2.0**-24


def pagerank(
    ground: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """The whole vector; ``rounds``: iterations that led to it where they were not ended by ``tol``, else 0."""
    found, alpha, tol = columns["pagerank"].astype(np.float64, copy=False), parameters["alpha"], parameters["tol"]
    mass = Rule("ranks are shares", "vertex {v} has pagerank {x}")
    mass.test(~(found >= 0) | (found > 2), {"v": ground.gids}, {"x": found})
    ground.judge(mass)
    n, facts, weighted = ground.block.n, ground.block.facts, ground.block.weights is not None
    most_arcs = ground.block.arcs if facts.duplicates_kept else n
    slack = (n + (1 + weighted) * most_arcs + 16) * ROUNDOFF
    adding_up = min(rounds or np.inf, 1 / (1 - alpha)) if alpha < 1 else rounds or parameters["max_iter"]
    unit = SINGLE if parameters.get("precision") == "single" else 0.0
    arcs = _arriving(ground) if unit else np.zeros(ground.block.rows)
    most = ground.comm.allgather(np.array([arcs.max(initial=0)])).max()
    drift, off = 2 * slack * adding_up, 2 * unit * (most + 4 + weighted) * adding_up
    total = ground.sum(found)
    if abs(total - 1) > drift + off:
        text = "the ranks of all vertices sum to {total}, which is off 1 by more than {bound:.3g}"
        raise Rule("ranks sum to 1", text).broken({"total": total, "bound": drift + off})
    jump, leaving = _jump(ground, parameters.get("personalization")), _leaving(ground)
    if rounds:
        expected, off = np.full(ground.block.rows, 1 / n), unit
        for _ in range(rounds):
            expected, missed = _iterate(ground, expected, jump, alpha, arcs, leaving)
            off = alpha * off + unit * missed
        bound = drift + 2 * off
        _near(ground, found, expected, bound, f"{rounds} iterations", f"{rounds} iterations give {{y}}")
        return [f"all {rounds} iterations, made again", "sum 1"]
    expected, missed = _iterate(ground, found, jump, alpha, arcs, leaving)
    bound = alpha * (tol + unit) + 2 * (slack + unit * missed)
    change = _near(ground, found, expected, bound, "the residual", "one more iteration gives {y}")
    return [f"one more iteration changes {change:.3g} of at most {bound:.3g} (L1)", "sum 1"]


def _near(ground, found, expected, bound, name, gives) -> float:
    """Refuse an L1 difference above the bound, and name the vertex of the largest."""
    apart = np.abs(found - expected)
    change = ground.sum(apart)
    if change <= bound:
        return change
    most = ground.comm.allgather(np.array([apart.max(initial=-1)])).max()
    text = f"the whole vector is off by {change:.3g} in L1, more than {bound:.3g}; most at {{v}}: it has {{x}}, {gives}"
    rule = Rule(name, text)
    rule.test(apart == most, {"v": ground.gids}, {"x": found, "y": expected})
    ground.judge(rule)
    return change


def _arriving(ground) -> np.ndarray:
    """How many arcs lead to each vertex."""
    arcs = np.zeros(ground.block.rows)
    for piece in ground.pieces():
        ground.add(piece.dst, np.ones(piece.dst.size), arcs)
    return arcs


def _leaving(ground) -> np.ndarray:
    """The weights of the arcs that leave each vertex, added up; how many arcs these are, where they have no weights."""
    block = ground.block
    if block.weights is None:
        return np.diff(block.offsets)
    sums = np.zeros(block.rows)
    chances = Rule("no weight is negative", "arc {u} → {v} has weight {w}")
    for piece in ground.pieces():
        weights = block.weights[piece.start : piece.stop]
        chances.test(~(weights >= 0), {"u": piece.src, "v": piece.dst}, {"w": weights})
        np.add.at(sums, piece.rows, weights.astype(np.float64))
    ground.judge(chances)
    return sums


def _iterate(ground, rank, jump, alpha, arcs, leaving) -> tuple[np.ndarray, float]:
    """G(rank), and by how many units of rounding a run may miss it in L1.

    Args:
        arcs: that lead to each vertex.
        leaving: as of ``_leaving``.
    """
    weights = ground.block.weights
    share = np.divide(rank, leaving, out=np.zeros_like(rank), where=leaving > 0)
    inflow = np.zeros_like(rank)
    for piece in ground.pieces():
        flow = share[piece.rows]
        if weights is not None:
            flow *= weights[piece.start : piece.stop]
        ground.add(piece.dst, flow, inflow)
    dangling = ground.sum(rank[leaving == 0])
    missed = 2 + ground.sum((arcs + 2 + (weights is not None)) * inflow)
    return (1 - alpha) * jump + alpha * (inflow + dangling * jump), missed


def _jump(ground, personalization) -> np.ndarray:
    """This rank's part of the jump vector, which sums to 1."""
    if personalization is None:
        return np.full(ground.block.rows, 1 / ground.block.n)
    weights = personalization if isinstance(personalization, dict) else dict.fromkeys(map(int, personalization), 1.0)
    gids = ground.block.ids.to_gid(np.array(list(weights), np.int64), ground.comm)
    values = np.array(list(weights.values()), np.float64)
    rows = gids - ground.block.first
    mine = (rows >= 0) & (rows < ground.block.rows)
    jump = np.zeros(ground.block.rows)
    jump[rows[mine]] = values[mine] / values.sum()
    return jump
