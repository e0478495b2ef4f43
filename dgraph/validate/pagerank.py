"""Certificate of PageRank.

One iteration is G(x) = (1 - α) j + α (flow of x along arcs + mass of sinks · j) in float64, with j the jump vector. An
arc u → v of weight w carries x_u w / W_u, where W_u is the sum of the weights of all out-edges of u. Without weights
every w is 1. u is a sink if W_u = 0.

Theorem. |G(x) - G(y)| ≤ α |x - y| in L1: the flow along arcs plus the sinks' mass is a matrix whose entries are ≥ 0,
since no weight is negative, and whose columns sum to 1. Hence

- a run that stopped because |x' - x| < tol, with result x' = G(x), has |G(x') - x'| ≤ α tol, and its distance from the
  true PageRank is at most that / (1 - α). The certificate runs one more iteration and compares its change with the
  bound.
- a fixed number of iterations has no similar property, because it may be far from convergence. The certificate repeats
  all iterations, and the result must be equal within rounding.

Rounding. A sum of k numbers ≥ 0 has a relative error of at most (k - 1) u, u = 2^-53. An iteration adds at most n terms
for the sinks, one term per in-edge for a vertex's flow, and a few more; x sums to 1. So the error of an iteration, in
the run or here, is at most ``slack`` = (n + max arcs + 16) u in L1. Over k iterations it accumulates to at most
min(k, 1 / (1 - α)) of that. This is added to every bound: 1e-9 at four million vertices. With weights W_u is a sum of
one term per out-edge too, so the arcs count twice; the roundings of w and of the product are among the 16.

In single precision, ranks, values sent along arcs and their sums are rounded with U = 2^-24. The flow into a vertex
with k in-edges has a relative error of at most (k + 2) U, or (k + 3) U with weights, where the product is rounded. So
an iteration misses G by ``missed`` = U (2 + the sum of that times the flow). Doubling it covers the terms of U².
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
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check column ``pagerank``; collective.

    Args:
        distributed: rows and exchanges.
        columns: the result.
        parameters: the algorithm's.
        rounds: number of iterations if it was fixed; 0 if the tolerance ended the run.

    Raises:
        ValidationFailed: the vector is wrong.
    """
    found, alpha, tol = columns["pagerank"].astype(np.float64, copy=False), parameters["alpha"], parameters["tol"]
    mass = Rule("ranks are shares", "vertex {v} has pagerank {x}")
    mass.test(~(found >= 0) | (found > 2), {"v": distributed.gids}, {"x": found})
    distributed.judge(mass)
    n, facts, weighted = distributed.block.n, distributed.block.facts, distributed.block.weights is not None
    most_arcs = distributed.block.arcs if facts.duplicates_kept else n
    slack = (n + (1 + weighted) * most_arcs + 16) * ROUNDOFF
    adding_up = min(rounds or np.inf, 1 / (1 - alpha)) if alpha < 1 else rounds or parameters["max_iter"]
    unit = SINGLE if parameters.get("precision") == "single" else 0.0
    arcs = _arriving(distributed) if unit else np.zeros(distributed.block.rows)
    most = distributed.comm.allgather(np.array([arcs.max(initial=0)])).max()
    drift, off = 2 * slack * adding_up, 2 * unit * (most + 4 + weighted) * adding_up
    total = distributed.sum(found)
    if abs(total - 1) > drift + off:
        text = "the ranks of all vertices sum to {total}, which is off 1 by more than {bound:.3g}"
        raise Rule("ranks sum to 1", text).broken({"total": total, "bound": drift + off})
    jump, leaving = _jump(distributed, parameters.get("personalization")), _leaving(distributed)
    if rounds:
        expected, off = np.full(distributed.block.rows, 1 / n), unit
        for _ in range(rounds):
            expected, missed = _iterate(distributed, expected, jump, alpha, arcs, leaving)
            off = alpha * off + unit * missed
        bound = drift + 2 * off
        _near(distributed, found, expected, bound, f"{rounds} iterations", f"{rounds} iterations give {{y}}")
        return [f"all {rounds} iterations, made again", "sum 1"]
    expected, missed = _iterate(distributed, found, jump, alpha, arcs, leaving)
    bound = alpha * (tol + unit) + 2 * (slack + unit * missed)
    change = _near(distributed, found, expected, bound, "the residual", "one more iteration gives {y}")
    return [f"one more iteration changes {change:.3g} of at most {bound:.3g} (L1)", "sum 1"]


def _near(distributed, found, expected, bound, name, gives) -> float:
    """Return the L1 difference; raise if it exceeds the bound, with the vertex of the largest difference."""
    apart = np.abs(found - expected)
    change = distributed.sum(apart)
    if change <= bound:
        return change
    most = distributed.comm.allgather(np.array([apart.max(initial=-1)])).max()
    text = f"the whole vector is off by {change:.3g} in L1, more than {bound:.3g}; most at {{v}}: it has {{x}}, {gives}"
    rule = Rule(name, text)
    rule.test(apart == most, {"v": distributed.gids}, {"x": found, "y": expected})
    distributed.judge(rule)
    return change


def _arriving(distributed) -> np.ndarray:
    """Return the in-degree of each row, float64."""
    arcs = np.zeros(distributed.block.rows)
    for piece in distributed.pieces():
        distributed.add(piece.dst, np.ones(piece.dst.size), arcs)
    return arcs


def _leaving(distributed) -> np.ndarray:
    """Return the sum of the weights of each row's out-edges, or its out-degree if the graph has no weights."""
    block = distributed.block
    if block.weights is None:
        return np.diff(block.offsets)
    sums = np.zeros(block.rows)
    chances = Rule("no weight is negative", "arc {u} → {v} has weight {w}")
    for piece in distributed.pieces():
        weights = block.weights[piece.start : piece.stop]
        chances.test(~(weights >= 0), {"u": piece.src, "v": piece.dst}, {"w": weights})
        np.add.at(sums, piece.rows, weights.astype(np.float64))
    distributed.judge(chances)
    return sums


def _iterate(distributed, rank, jump, alpha, arcs, leaving) -> tuple[np.ndarray, float]:
    """Return G(rank), and the bound of a run's rounding error in L1, in units of U.

    Args:
        distributed: rows and exchanges.
        rank: the vector.
        jump: this rank's part of j.
        alpha: damping factor.
        arcs: in-degree of each row.
        leaving: result of :func:`_leaving`.
    """
    weights = distributed.block.weights
    share = np.divide(rank, leaving, out=np.zeros_like(rank), where=leaving > 0)
    inflow = np.zeros_like(rank)
    for piece in distributed.pieces():
        flow = share[piece.rows]
        if weights is not None:
            flow *= weights[piece.start : piece.stop]
        distributed.add(piece.dst, flow, inflow)
    dangling = distributed.sum(rank[leaving == 0])
    missed = 2 + distributed.sum((arcs + 2 + (weights is not None)) * inflow)
    return (1 - alpha) * jump + alpha * (inflow + dangling * jump), missed


def _jump(distributed, personalization) -> np.ndarray:
    """Return this rank's part of the jump vector, which sums to 1 over all ranks."""
    if personalization is None:
        return np.full(distributed.block.rows, 1 / distributed.block.n)
    weights = personalization if isinstance(personalization, dict) else dict.fromkeys(map(int, personalization), 1.0)
    gids = distributed.block.ids.to_gid(np.array(list(weights), np.int64), distributed.comm)
    values = np.array(list(weights.values()), np.float64)
    rows = gids - distributed.block.first
    mine = (rows >= 0) & (rows < distributed.block.rows)
    jump = np.zeros(distributed.block.rows)
    jump[rows[mine]] = values[mine] / values.sum()
    return jump
