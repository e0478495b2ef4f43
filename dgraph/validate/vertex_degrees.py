"""Certificates of degrees and of the average degrees of neighbours.

A vertex's out-degree is the length of its row, its in-degree the number of arcs that lead to it. An undirected edge
lies in the rows of both its ends, and a loop once in one row, so a row is as long as the degree but for its loops.
Counts must be equal; sums of k weights may be off by 2 k 2^-53 of the sum of their absolute values.
"""

from __future__ import annotations

import numpy as np

from dgraph.validate.arc_sums import arriving, departing, largest, weights_of
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("degrees")
def degrees(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check all columns; collective.

    Raises:
        ValidationFailed: a count is wrong, or a sum by more than rounding.
    """
    leaving, entering, (number, weight, bound) = _counted(distributed)
    counted = {"degree": number, "in_degree": number, "out_degree": number}
    if distributed.block.directed:
        counted |= {"in_degree": entering[0], "out_degree": leaving[0]}
    for name, counts in counted.items():
        equal = Rule("degrees are counts of edges", f"vertex {{v}} has {name} {{x}}, and {{y}} was counted")
        equal.test(columns[name] != counts, {"v": distributed.gids}, {"x": columns[name], "y": counts.astype(np.int64)})
        distributed.judge(equal)
    claimed = columns["weighted_degree"]
    near = Rule("weighted degrees are sums of weights", "vertex {v} has weighted_degree {x}, and the sum is {y}")
    off = ~(np.abs(claimed - weight) <= 2 * number * 2.0**-53 * bound)
    distributed.judge(near.test(off, {"v": distributed.gids}, {"x": claimed, "y": weight}))
    return ["edges of every vertex were counted again", "weights added up again"]


@certifies("neighbor_degree")
def neighbor_degree(
    distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int
) -> list[str]:
    """Check column ``neighbor_degree``; collective.

    Raises:
        ValidationFailed: an average is wrong by more than rounding.
    """
    leaving, entering, every = _counted(distributed)
    sides = {"out": leaving, "in": entering} if distributed.block.directed else {"out": every}
    numbers = np.asarray(sum(sides[side][0] for side in parameters["degree"].split("+")), np.float64)
    chosen = parameters["neighbors"].split("+")
    sums = sum((departing if side == "out" else arriving)(distributed, numbers) for side in chosen)
    number, weight, bound = np.sum([sides[side] for side in chosen], axis=0)
    divisor = np.where(weight != 0, weight, 1.0)
    wanted = np.where(weight != 0, sums / divisor, 0.0)
    claimed = columns["neighbor_degree"]
    near = Rule("averages are of neighbours' degrees", "vertex {v} has {x}, and the average is {y}")
    spread = np.where(weight != 0, bound / np.abs(divisor), 0.0)
    most = largest(distributed, numbers)
    off = ~(np.abs(claimed - wanted) <= 8 * (number + 1) * 2.0**-53 * (np.abs(wanted) + most) * spread)
    distributed.judge(near.test(off, {"v": distributed.gids}, {"x": claimed, "y": wanted}))
    return ["degrees of the neighbours of every vertex were added up again"]


def _counted(distributed: DistributedColumns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges, weights and absolute weights (three rows) that leave, that enter, and of both; collective.

    In an undirected graph only loops enter, since other edges leave both their ends.
    """
    block, plain = distributed.block, distributed.block.weights is None
    leaving, entering = np.zeros((3, block.rows)), np.zeros((3, block.rows))
    for piece in distributed.pieces():
        weights = weights_of(block, piece)
        enters = slice(None) if block.directed else piece.src == piece.dst
        for row, values in enumerate((weights,) if plain else (np.ones(len(weights)), weights, np.abs(weights))):
            if not plain:
                leaving[row] += np.bincount(piece.rows, values, block.rows)
            distributed.add(piece.dst[enters], values[enters], entering[row])
    if plain:
        leaving[:], entering[1:] = np.diff(block.offsets), entering[0]
    return leaving, entering, leaving + entering
