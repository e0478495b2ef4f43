"""Certificate of a vertex colouring: neighbours have different colours, and colours 0 to the largest all occur.

This proves a proper colouring. It does not bound the number of colours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


def color(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check column ``color``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: the colouring is wrong.
    """
    if distributed.block.directed:
        raise UsageError("colours are of undirected graphs; pass the block of graph.undirected()")
    found = columns["color"]
    given = Rule("every vertex has a color", "vertex {v} has color {c}")
    given.test(found < 0, {"v": distributed.gids}, {"c": found})
    distributed.judge(given)
    differ = Rule("neighbours differ", "{u} and {v} are joined, and both have color {c}")
    for piece in distributed.pieces(found):
        here, (there,) = found[piece.rows], piece.there
        differ.test((here == there) & (piece.src != piece.dst), {"u": piece.src, "v": piece.dst}, {"c": here})
    distributed.judge(differ)
    used = np.unique(np.concatenate(distributed.comm.allgatherv(np.unique(found))))
    missing = int(np.argmax(np.append(used, -1) != np.arange(used.size + 1)))
    beyond = Rule("no color is left out", f"no vertex has color {missing}, but vertex {{v}} has color {{c}}")
    beyond.test(found > missing, {"v": distributed.gids}, {"c": found})
    distributed.judge(beyond)
    return ["neighbours have different colours", f"colours 0 to {used.size - 1} all occur"]
