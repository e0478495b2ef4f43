"""Certificate of a vertex colouring: neighbours have different colours, and 0 … the largest all occur.

That is what a colouring is; how few colours there could be is nobody's claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


def color(
    ground: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Colours.

    Raises:
        UsageError: the graph is directed.
    """
    if ground.block.directed:
        raise UsageError("colours are of undirected graphs; pass the block of graph.undirected()")
    found = columns["color"]
    given = Rule("every vertex has a color", "vertex {v} has color {c}")
    given.test(found < 0, {"v": ground.gids}, {"c": found})
    ground.judge(given)
    differ = Rule("neighbours differ", "{u} and {v} are joined, and both have color {c}")
    for piece in ground.pieces(found):
        here, (there,) = found[piece.rows], piece.there
        differ.test((here == there) & (piece.src != piece.dst), {"u": piece.src, "v": piece.dst}, {"c": here})
    ground.judge(differ)
    used = np.unique(np.concatenate(ground.comm.allgatherv(np.unique(found))))
    missing = int(np.argmax(np.append(used, -1) != np.arange(used.size + 1)))
    beyond = Rule("no color is left out", f"no vertex has color {missing}, but vertex {{v}} has color {{c}}")
    beyond.test(found > missing, {"v": ground.gids}, {"c": found})
    ground.judge(beyond)
    return ["neighbours have different colours", f"colours 0 to {used.size - 1} all occur"]
