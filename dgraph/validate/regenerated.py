"""Certificate of ``tree.py`` for a graph whose edges are generated again instead of stored.

The block counts the violations of each rule edge by edge (``prove_tree``); this module decides and reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import printed
from dgraph.validate.tree_rules import tree_rules

Columns = Mapping[str, np.ndarray]

GROUPS = (("source", "negative", "beyond"), ("root", "out", "none"), ("lost",), ("short",))
"""Rules in the order in which they are decided, before those of the predecessors."""


def bfs(distributed: DistributedColumns, columns: Columns, parameters: Mapping[str, Any]) -> list[str] | None:
    """Check levels, and predecessors if the result has them; None: see :func:`_tree`."""
    return _tree("levels", distributed, columns, parameters["source"], parameters.get("depth_limit"), False)


def sssp(distributed: DistributedColumns, columns: Columns, parameters: Mapping[str, Any]) -> list[str] | None:
    """Check distances, and predecessors if the result has them; None: see :func:`_tree`."""
    weighted = distributed.block.weight_type is not None
    return _tree("distances", distributed, columns, parameters["source"], parameters.get("cutoff"), weighted)


REGENERATED: dict[str, Callable[[DistributedColumns, Columns, Mapping[str, Any]], list[str] | None]] = {
    "bfs": bfs,
    "sssp": sssp,
}
"""Algorithm → certificate."""


def _tree(
    what: str, distributed, columns: Columns, source: int, cutoff: float | None, weighted: bool
) -> list[str] | None:
    """Return the properties proved; None if the rows are needed to follow a path of equal distances. Collective.

    Raises:
        ValidationFailed: on every rank, with the first violation.
    """
    distance, predecessor, drawn = columns["distance"], columns.get("predecessor"), distributed.block
    if not drawn.able(distance.dtype):
        return None
    found = drawn.prove_tree(distance, predecessor, distributed.gid(source), cutoff, weighted)
    rules = tree_rules(cutoff)
    short = _short_cut(distributed, distance, found["short"], weighted)
    before = _predecessor_distance(distributed, distance, predecessor, found["tight"])

    def judge(*names: str) -> None:
        for name in names:
            rule, (rule.count, place) = rules[name], found[name]
            if not rule.count:
                continue
            if name == "short":
                rule.gids, rule.values = short
                continue
            row = place - drawn.first
            values = {"d": distance[row], "dv": distance[row], "dp": before}
            if predecessor is not None:
                values["p"] = predecessor[row]
            rule.gids, rule.values = {"v": place}, {name: printed(value) for name, value in values.items()}
        distributed.judge(*(rules[name] for name in names))

    for names in GROUPS:
        judge(*names)
    plateaus = distributed.comm.total(found["plateaus"][0])
    if predecessor is not None:
        judge("arc", "tight")
        return (
            None
            if plateaus
            else [what, "no arc is a short cut", "predecessors are a tree of tight arcs from the source"]
        )
    if plateaus:
        return None
    judge("alone")
    return [what, "no arc is a short cut", "every vertex is reached from a nearer one"]


def _predecessor_distance(
    distributed, distance: np.ndarray, predecessor: np.ndarray | None, found: tuple[int, int]
) -> np.generic:
    """Return the distance of the predecessor of this rank's first vertex whose tree arc is not tight; collective."""
    count, place = found
    vertex = np.zeros(0, np.int64)
    if count and predecessor is not None:
        vertex = predecessor[[place - distributed.block.first]]
        vertex = vertex[(vertex >= 0) & (vertex < distributed.block.n)]
    return np.append(distributed.fetch(vertex, distance)[0], distance.dtype.type(0))[0]


def _short_cut(
    distributed, distance: np.ndarray, found: tuple[int, int], weighted: bool
) -> tuple[dict[str, int], dict[str, str]]:
    """Return the gids and values that describe this rank's first short cut; empty if it has none. Collective."""
    count, place = found
    u, v = place >> 32, place & (1 << 32) - 1
    before = distributed.fetch(np.array([u] if count else [], np.int64), distance)[0]
    if not count:
        return {}, {}
    weight = distributed.block.weight(u, v, distance.dtype, weighted)
    values = {"w": weight, "du": before[0], "most": before[0] + weight, "dv": distance[v - distributed.block.first]}
    return {"u": u, "v": v}, {name: printed(value) for name, value in values.items()}
