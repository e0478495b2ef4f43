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

import numpy as np

from dgraph.validate.arc_sums import arriving, departing, near, slack
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("hits")
def hits(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
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
    rounding, moved = slack(distributed), "hubs are off by"
    near(distributed, hubs, _hubs(distributed, authorities), rounding, "hubs follow from authorities", moved)
    tol = parameters["tol"]
    again = _hubs(distributed, _scaled(distributed, arriving(distributed, hubs)))
    change = near(distributed, hubs, again, 2 * tol + rounding, "the residual", moved)
    return ["hubs follow from authorities", f"one more iteration changes {change:.3g} of at most {2 * tol:.3g} (L1)"]


def _is_unit(distributed, authorities: np.ndarray, hubs: np.ndarray) -> None:
    """Raise if authorities have not the Euclidean norm 1, or hubs are not the sums of authorities."""
    rounding = slack(distributed)
    sums = departing(distributed, authorities)
    norm = distributed.sum(authorities * authorities) ** 0.5
    if norm and not abs(norm - 1) <= rounding:
        raise Rule("authorities have the norm 1", "their norm is {x}").broken({"x": norm})
    apart = Rule("hubs are sums of authorities", "vertex {v} has {x}, and the sum is {y}")
    apart.test(~(np.abs(hubs - sums) <= rounding * sums), {"v": distributed.gids}, {"x": hubs, "y": sums})
    distributed.judge(apart)


def _hubs(distributed, authorities: np.ndarray) -> np.ndarray:
    """Return the hubs of these authorities; collective."""
    return _scaled(distributed, departing(distributed, authorities))


def _scaled(distributed, sums: np.ndarray) -> np.ndarray:
    whole = distributed.sum(sums)
    return sums / whole if whole else sums
