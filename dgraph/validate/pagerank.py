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

from functools import partial

import numpy as np

from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.host.host_prover import HostProver
from dgraph.validate.rule import Rule
from dgraph.validate.violation import NOWHERE, Violations, decide

ROUNDOFF = 2.0**-53
SINGLE = 2.0**-24


@certifies("pagerank", proved=True)
def pagerank(
    distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int
) -> list[str] | None:
    """Check column ``pagerank``; collective. Return None if the ranks' CPUs must check it.

    Args:
        distributed: rows and exchanges.
        columns: the result.
        parameters: the algorithm's.
        rounds: number of iterations if it was fixed; 0 if the tolerance ended the run.

    Raises:
        ValidationFailed: the vector is wrong.
    """
    claimed, alpha, tol = columns["pagerank"], parameters["alpha"], parameters["tol"]
    block = distributed.block
    n, facts, weighted = block.n, block.facts, block.weight_type is not None
    most_arcs = block.arcs if facts.duplicates_kept else n
    slack = (n + (1 + weighted) * most_arcs + 16) * ROUNDOFF
    adding_up = min(rounds or np.inf, 1 / (1 - alpha)) if alpha < 1 else rounds or parameters["max_iter"]
    unit = SINGLE if parameters.get("precision") == "single" else 0.0
    jump, sinks, first = (_shares(distributed, parameters.get(x)) for x in ("personalization", "dangling", "nstart"))
    others = {"sinks": sinks, "first": first if rounds else None}
    if any(x is not None for x in others.values()) and not isinstance(distributed.prover, HostProver):
        return None  # GPUs spread the rank of sinks as jumps, and start from equal ranks
    steps = distributed.prover.prove_ranks(claimed, alpha, jump, bool(unit))
    mass = Rule("ranks are shares", "vertex {v} has pagerank {x}")
    decide(distributed, Violations(mass, steps.mass, lambda u, v: {"x": distributed.read(claimed, v)}))
    drift, off = 2 * slack * adding_up, 2 * unit * (steps.most_arriving + 4 + weighted) * adding_up
    if abs(steps.total - 1) > drift + off:
        text = "the ranks of all vertices sum to {total}, which is off 1 by more than {bound:.3g}"
        raise Rule("ranks sum to 1", text).broken({"total": steps.total, "bound": drift + off})
    chances = Rule("no weight is negative", "arc {u} → {v} has weight {w}")
    decide(distributed, Violations(chances, steps.chances, partial(_weight, distributed), arc=True))
    steps.start(uniform=bool(rounds))
    if isinstance(distributed.prover, HostProver):
        steps.change_from(**others)
    if rounds:
        off = unit
        for _ in range(rounds):
            off = alpha * off + unit * steps.iterate()
        bound = drift + 2 * off
        _near(distributed, steps, bound, f"{rounds} iterations", f"{rounds} iterations give {{y}}")
        return [f"all {rounds} iterations, made again", "sum 1"]
    bound = alpha * (tol + unit) + 2 * (slack + unit * steps.iterate())
    change = _near(distributed, steps, bound, "the residual", "one more iteration gives {y}")
    return [f"one more iteration changes {change:.3g} of at most {bound:.3g} (L1)", "sum 1"]


def _weight(distributed, u, v) -> dict[str, np.generic]:
    """Return the value of the message about an arc's weight."""
    if u is None:
        return {}
    return {"w": distributed.prover.weight(u, v, distributed.block.weight_type, True)}


def _near(distributed, steps, bound, name, gives) -> float:
    """Return the L1 difference; raise if it exceeds the bound, with the vertex of the largest difference."""
    change = steps.change()
    if change <= bound:
        return change
    text = f"the whole vector is off by {change:.3g} in L1, more than {bound:.3g}; most at {{v}}: it has {{x}}, {gives}"
    gid, claimed, expected = steps.worst()
    there = (1, gid) if gid >= 0 else NOWHERE
    decide(distributed, Violations(Rule(name, text), there, lambda u, v: {"x": claimed, "y": expected}))
    return change


def _shares(distributed, named) -> np.ndarray | None:
    """Return this rank's part of a vector that sums to 1 over all ranks; None: the parameter has its default."""
    if named is None:
        return None
    weights = named if isinstance(named, dict) else dict.fromkeys(map(int, named), 1.0)
    gids = distributed.block.ids.to_gid(np.array(list(weights), np.int64), distributed.comm)
    values = np.array(list(weights.values()), np.float64)
    rows = gids - distributed.block.first
    mine = (rows >= 0) & (rows < distributed.block.rows)
    shares = np.zeros(distributed.block.rows)
    shares[rows[mine]] = values[mine] / values.sum()
    return shares
