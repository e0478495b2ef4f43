"""Certificate of label propagation: all rounds repeated by sorting, since no local property proves them.

A vertex with a loop is its own neighbour, and parallel edges join one neighbour. With ``count="arcs"`` rows have an
edge in both directions twice, and it counts as two neighbours. With ``weighted`` the weights of a label's edges count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.validate.certificate_register import certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("cdlp")
def cdlp(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check column ``labels``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a vertex has another label after ``rounds`` rounds.
    """
    block, comm = distributed.block, distributed.comm
    if block.directed:
        raise UsageError("labels are propagated in undirected graphs; pass the block of graph.undirected()")
    own = block.ids.to_original(distributed.gids, comm)
    label, counted = own, np.ones(block.targets.size, bool)
    if parameters.get("count") != "arcs":
        counted[1:] = block.targets[1:] != block.targets[:-1]
        counted[block.offsets[:-1][np.diff(block.offsets) > 0]] = True  # the first arc of a row repeats none
    weights = block.weights if parameters.get("weighted") else None
    votes = np.ones(block.targets.size, np.int64) if weights is None else weights.astype(np.int64)
    for _ in range(int(parameters["max_iter"])):
        rows, there = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for piece in distributed.pieces(label):
            counts = counted[piece.start : piece.stop]
            rows.append(piece.rows[counts])
            there.append(piece.there[0][counts])
        before, label = label, _most_frequent(np.concatenate(rows), np.concatenate(there), votes[counted], label)
        if not comm.total(int((label != before).sum())):
            break
    same = Rule("labels are those of all rounds", "vertex {v} has label {x}, and all rounds give {y}")
    same.test(columns["labels"] != label, {"v": distributed.gids}, {"x": columns["labels"], "y": label})
    distributed.judge(same)
    return [f"labels are those of at most {int(parameters['max_iter'])} rounds, repeated by sorting"]


def _most_frequent(rows: np.ndarray, labels: np.ndarray, votes: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return the smallest of each row's labels of most votes; ``label`` of rows without any."""
    order = np.lexsort((labels, rows))
    rows, labels, votes = rows[order], labels[order], votes[order]
    first = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])][: rows.size])
    times = np.add.reduceat(votes, first) if first.size else votes
    best = np.lexsort((labels[first], -times, rows[first]))
    heads = first[best]
    heads = heads[np.r_[True, rows[heads][1:] != rows[heads][:-1]][: heads.size]]
    out = label.copy()
    out[rows[heads]] = labels[heads]
    return out
