"""Certificate of label propagation: all rounds repeated by counting, since no local property proves them.

A vertex with a loop is its own neighbour, and parallel edges join one neighbour. With ``count="arcs"`` rows have an
edge in both directions twice, and it counts as two neighbours. With ``weighted`` the weights of a label's edges count.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.errors import UsageError
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("cdlp")
def cdlp(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``labels``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a vertex has another label after ``rounds`` rounds.
    """
    block, comm = distributed.block, distributed.comm
    if block.directed:
        raise UsageError("labels are propagated in undirected graphs; pass the block of graph.undirected()")
    rows, every = distributed.prover.rows, parameters.get("count") == "arcs"
    votes = block.weights.astype(np.int64) if parameters.get("weighted") and block.weights is not None else None
    graph = block.offsets, block.targets, np.zeros(0, np.int64) if votes is None else votes
    label, names = _numbered(distributed)
    label = label.astype(np.int32 if block.n < 1 << 31 else np.int64)
    short = votes is None and len(block.targets) < 1 << 31
    counts = [np.zeros(block.n, np.int32 if short else np.int64) for _ in range(rows.threads)]
    news = np.ones(block.n, np.bool_)

    def work(_: int, low: int, high: int) -> None:
        times = counts.pop()
        _most_frequent(low, high, *graph, every, times, labels, news, label)
        counts.append(times)

    for _ in range(int(parameters["max_iter"])):
        before, labels, label = label, rows.by_gid(label), label.copy()
        rows.run(work)
        changed = label != before
        if not comm.total(int(np.count_nonzero(changed))):
            break
        news = rows.by_gid(changed)
    label = block.ids.to_original(label, comm) if names is None else names[label]
    same = Rule("labels are those of all rounds", "vertex {v} has label {x}, and all rounds give {y}")
    same.test(columns["labels"] != label, {"v": distributed.gids}, {"x": columns["labels"], "y": label})
    distributed.judge(same)
    return [f"labels are those of at most {int(parameters['max_iter'])} rounds, repeated by counting"]


def _numbered(distributed: DistributedColumns) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the place of each row's id among all ids, and these; None: the places are gids. Collective."""
    ids, comm = distributed.block.ids, distributed.comm
    if ids.ascending:
        return distributed.gids, None
    own = ids.to_original(distributed.gids, comm)
    names = np.sort(np.concatenate(comm.allgatherv(own)))
    return np.searchsorted(names, own), names


@njit(cache=True, nogil=True)
def _most_frequent(low, high, offsets, targets, votes, every, times, labels, news, chosen):
    """Write to ``chosen`` the smallest of the labels of most votes around each row; rows without any keep theirs.

    ``votes``: by arc, none negative; empty: 1 each. ``every``: parallel arcs vote each, else the first of them.
    ``times``: zeros by label, before and after. ``labels``: by gid. ``news``: by gid, True if the last round changed
    the label; rows next to none keep theirs.
    """
    longest = 0
    for row in range(low, high):
        longest = max(longest, offsets[row + 1] - offsets[row])
    around = np.empty(longest, labels.dtype)
    for row in range(low, high):
        start, stop = offsets[row], offsets[row + 1]
        for i in range(start, stop):
            if news[targets[i]]:
                break
        else:
            continue
        size = 0
        for i in range(start, stop):
            if every or i == start or targets[i] != targets[i - 1]:
                label = labels[targets[i]]
                around[size] = label
                size += times[label] == 0
                times[label] += votes[i] if votes.size else 1
        best, most = chosen[row], np.int64(-1)
        for i in range(size):
            label = around[i]
            count = np.int64(times[label])
            times[label] = 0
            if count > most or (count == most and label < best):
                best, most = label, count
        chosen[row] = best
