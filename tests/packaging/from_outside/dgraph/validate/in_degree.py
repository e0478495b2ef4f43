"""Certificate of in-degrees: the sum over all rows of the entries that name a vertex is its in-degree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.validate.certificate_register import certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("in_degree")
def in_degree(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check column ``in_degree``; collective.

    Raises:
        ValidationFailed: a vertex has another number of in-edges.
    """
    sums = np.zeros(distributed.block.rows, np.int64)
    for piece in distributed.pieces():
        distributed.add(piece.dst, np.ones(len(piece.dst), np.int64), sums)
    same = Rule("in-degrees are those of the rows", "vertex {v} has {x} in-edges, and rows name it {y} times")
    same.test(columns["in_degree"] != sums, {"v": distributed.gids}, {"x": columns["in_degree"], "y": sums})
    distributed.judge(same)
    return ["in-degrees are those of the rows"]
