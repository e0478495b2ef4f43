"""Certificate of degrees.

A vertex's out-degree is the length of its row, its in-degree the number of arcs that lead to it. An undirected edge
lies in the rows of both its ends, and a loop once in one row, so a row is as long as the degree but for its loops.
Counts must be equal; sums of k weights may be off by 2 k 2^-53 of the sum of their absolute values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.validate.certificate_register import certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("degrees")
def degrees(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check all columns; collective.

    Raises:
        ValidationFailed: a count is wrong, or a sum by more than rounding.
    """
    block = distributed.block
    leaving = np.zeros((3, block.rows))  # edges, weights, their absolute values
    entering = np.zeros((3, block.rows))
    for piece in distributed.pieces():
        weights = np.ones(len(piece.rows))
        if block.weights is not None:
            weights = np.asarray(block.weights[piece.start : piece.stop], np.float64)
        for sums, values in zip(range(3), (np.ones(len(weights)), weights, np.abs(weights)), strict=True):
            leaving[sums] += np.bincount(piece.rows, values, block.rows)
            once = values if block.directed else np.where(piece.src == piece.dst, values, 0.0)
            distributed.add(piece.dst, once, entering[sums])
    number, weight, bound = leaving + entering
    counted = {"degree": number, "in_degree": number, "out_degree": number}
    if block.directed:
        counted |= {"in_degree": entering[0], "out_degree": leaving[0]}
    for name, counts in counted.items():
        equal = Rule("degrees are counts of edges", f"vertex {{v}} has {name} {{x}}, and {{y}} was counted")
        equal.test(columns[name] != counts, {"v": distributed.gids}, {"x": columns[name], "y": counts.astype(np.int64)})
        distributed.judge(equal)
    claimed = columns["weighted_degree"]
    near = Rule("weighted degrees are sums of weights", "vertex {v} has weighted_degree {x}, and the sum is {y}")
    off = ~(np.abs(claimed - weight) <= 2 * number * 2.0**-53 * bound)
    near.test(off, {"v": distributed.gids}, {"x": claimed, "y": weight})
    distributed.judge(near)
    return ["edges of every vertex were counted again", "weights added up again"]
