"""Certificates of eigenvector and Katz centrality: fixed points, by one more iteration.

Eigenvector. Let M = I + Aᵀ / c with the mean weight c, and N(x) = x / |x|, all norms |·| Euclidean and |·|₁ of the sum.
A run that stopped has p = N(M q) with |p - q|₁ < tol. Then |N(M p) - p|₁ ≤ |M (p - q)|₁ (1 + |p|₁) / |M p|, since
N(a) - N(b) = (a - b) / |a| + N(b) (|b| - |a|) / |a|, and |a - b| ≤ |a - b|₁. With |M|₁ = 1 + the largest sum of a
vertex's out-weights / c, that is at most tol |M|₁ (1 + |p|₁) / |M p|. This proves a fixed point within that bound. In a
strongly connected graph the only one ≥ 0 is the eigenvector of the largest eigenvalue [Perron, Frobenius].

Katz. A run that stopped has x' = α Aᵀ x + β with |x' - x|₁ < tol, so r = x' - α Aᵀ x' differs from β by at most
ε = α |Aᵀ|₁ tol in L1. The column is y = x' / s with unknown s. Of all c, the least squares c = <y - α Aᵀ y, β> / <β, β>
is nearest to 1 / s, and y - α Aᵀ y differs from c β by at most ε / s (1 + |β|₁ / |β|) in L1; c ≥ 1 / s (1 - ε / |β|).

Rounding. A sum of k numbers has an error of at most (k - 1) 2^-53 of the sum of their absolute values: every vector is
right within (n + arcs + 16) 2^-53 of that in L1, four times over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.validate.arc_sums import arriving, largest, leaving, near, slack, weights_of
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule

FIXED = "scores are a fixed point"
"""Rule of both certificates."""


@certifies("eigenvector")
def eigenvector(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``eigenvector``; collective.

    Raises:
        ValidationFailed: a score is negative, their norm is not 1, or they are no fixed point.
    """
    scores, block = columns["eigenvector"], distributed.block
    _are_numbers(distributed, "eigenvector", scores, scores >= 0)
    _has_norm_1(distributed, "eigenvector", scores)
    whole = distributed.sum(np.array([weights_of(block, piece).sum() for piece in distributed.pieces()]))
    mean = whole / block.arcs if whole else 1.0
    sums = scores + arriving(distributed, scores) / mean
    norm = distributed.sum(sums * sums) ** 0.5
    growth = (1 + largest(distributed, leaving(distributed)) / mean) * (1 + distributed.sum(scores)) / norm
    bound = parameters["tol"] * growth + slack(distributed) * (1 + distributed.sum(scores))
    change = near(distributed, scores, sums / norm, bound, FIXED, "one more iteration changes")
    return [f"one more iteration changes {change:.3g} of at most {bound:.3g} (L1)", "norm 1"]


@certifies("katz")
def katz(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``katz``; collective.

    Raises:
        ValidationFailed: a score is not a number, their norm is not 1, or they are no fixed point.
    """
    scores, alpha = columns["katz"], parameters["alpha"]
    _are_numbers(distributed, "katz", scores, np.isfinite(scores))
    beta = _beta(distributed, parameters)
    square = distributed.sum(beta * beta)
    rest = scores - alpha * arriving(distributed, scores)
    factor, checked = 1.0, []
    if parameters["normalized"] and square:
        _has_norm_1(distributed, "katz", scores)
        factor, checked = distributed.sum(rest * beta) / square, ["norm 1"]
    sent = leaving(distributed)
    growth = abs(alpha) * largest(distributed, sent)
    apart = abs(factor) * growth * parameters["tol"]
    ratio = distributed.sum(np.abs(beta)) / square**0.5 if square else 0.0
    terms = distributed.sum(np.abs(scores) * (1 + abs(alpha) * sent)) + abs(factor) * distributed.sum(np.abs(beta))
    bound = 2 * apart * (1 + ratio) + slack(distributed) * terms
    wanted = scores - rest + factor * beta
    change = near(distributed, scores, wanted, bound, FIXED, "one more step of all walks changes")
    return [f"one more step of all walks changes {change:.3g} of at most {bound:.3g} (L1)", *checked]


def _beta(distributed: DistributedColumns, parameters: Mapping[str, Any]) -> np.ndarray:
    """Return the score of each row without walks; collective."""
    beta = np.full(distributed.block.rows, float(parameters["beta"]))
    named = parameters.get("betas") or {}
    pairs = named if isinstance(named, dict) else dict.fromkeys(named, 1.0)
    rows = distributed.block.ids.to_gid(np.array(list(pairs), np.int64), distributed.comm) - distributed.block.first
    mine = (rows >= 0) & (rows < distributed.block.rows)
    beta[rows[mine]] = np.array(list(pairs.values()), np.float64)[mine]
    return beta


def _are_numbers(distributed: DistributedColumns, name: str, scores: np.ndarray, right: np.ndarray) -> None:
    rule = Rule("scores are numbers", f"vertex {{v}} has {name} {{x}}")
    distributed.judge(rule.test(~right, {"v": distributed.gids}, {"x": scores}))


def _has_norm_1(distributed: DistributedColumns, name: str, scores: np.ndarray) -> None:
    """Raise if the Euclidean norm of scores is not 1 within rounding."""
    norm = distributed.sum(scores * scores) ** 0.5
    if distributed.block.n and not abs(norm - 1) <= slack(distributed):
        raise Rule("scores have the norm 1", f"the scores of {name} have the norm {{x}}").broken({"x": norm})
