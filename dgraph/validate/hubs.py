"""Certificate of hubs and authorities.

One iteration is a = Aᵀh, h' = Aa, each divided by its sum; no weight is negative. A run that stopped has h equal to Aa
within rounding, and the last change of h in L1 was below tol. The certificate computes Aa again, and runs one more
iteration, which may change h by 2 tol: near its end the change shrinks by the square of the ratio of the two largest
singular values in each iteration. This proves a fixed point within tol, not that it is the one of the largest singular
value: that holds if the start is not orthogonal to it, which positive starts never are.

Rounding. A sum of k numbers ≥ 0 has a relative error of at most (k - 1) 2^-53, so each vector is right within
(n + arcs + 16) 2^-53 in L1, four times over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.validate.arc_sums import arriving, departing
from dgraph.validate.certificate_register import certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("hits")
def hits(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check columns ``authorities`` and ``hubs``; collective.

    Raises:
        ValidationFailed: a score is negative, hubs do not follow from authorities, or are no fixed point.
    """
    authorities, hubs = columns["authorities"], columns["hubs"]
    if not parameters["normalized"]:
        _is_unit(distributed, authorities, hubs)
        authorities, hubs = _scaled(distributed, authorities), _scaled(distributed, hubs)
    columns = {"authorities": authorities, "hubs": hubs}
    for name in columns:
        shares = Rule("scores are shares", f"vertex {{v}} has {name} {{x}}")
        shares.test(~((columns[name] >= 0) & (columns[name] <= 1)), {"v": distributed.gids}, {"x": columns[name]})
        distributed.judge(shares)
    slack = 4 * (distributed.block.n + distributed.block.arcs + 16) * 2.0**-53
    _near(distributed, hubs, _hubs(distributed, authorities), slack, "hubs follow from authorities")
    tol = parameters["tol"]
    again = _hubs(distributed, arriving(distributed, hubs))
    change = _near(distributed, hubs, again, 2 * tol + slack, "the residual")
    return ["hubs follow from authorities", f"one more iteration changes {change:.3g} of at most {2 * tol:.3g} (L1)"]


def _is_unit(distributed, authorities: np.ndarray, hubs: np.ndarray) -> None:
    """Raise if authorities have not the Euclidean norm 1, or hubs are not the sums of authorities."""
    slack = 4 * (distributed.block.n + distributed.block.arcs + 16) * 2.0**-53
    sums = departing(distributed, authorities)
    norm = distributed.sum(authorities * authorities) ** 0.5
    if norm and not abs(norm - 1) <= slack:
        raise Rule("authorities have the norm 1", "their norm is {x}").broken({"x": norm})
    apart = Rule("hubs are sums of authorities", "vertex {v} has {x}, and the sum is {y}")
    apart.test(~(np.abs(hubs - sums) <= slack * sums), {"v": distributed.gids}, {"x": hubs, "y": sums})
    distributed.judge(apart)


def _near(distributed, claimed: np.ndarray, wanted: np.ndarray, bound: float, name: str) -> float:
    """Return the L1 difference; raise if it exceeds the bound."""
    apart = np.abs(claimed - wanted)
    change = distributed.sum(apart)
    if not change <= bound:
        text = f"hubs are off by {change:.3g} in L1, more than {bound:.3g}; {{v}} has {{x}}, and {{y}} was computed"
        rule, most = Rule(name, text), distributed.comm.allgather(np.array([apart.max(initial=-1.0)])).max()
        rule.test(apart == most, {"v": distributed.gids}, {"x": claimed, "y": wanted})
        distributed.judge(rule)
    return change


def _hubs(distributed, authorities: np.ndarray) -> np.ndarray:
    """Return the hubs of these authorities; collective."""
    return _scaled(distributed, departing(distributed, authorities))


def _scaled(distributed, sums: np.ndarray) -> np.ndarray:
    whole = distributed.sum(sums)
    return sums / whole if whole else sums
