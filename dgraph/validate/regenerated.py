"""The certificate of ``tree.py`` where a graph is drawn, and not held: what is broken is counted edge by edge
elsewhere, and judged here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import printed
from dgraph.validate.tree_rules import tree_rules

Columns = Mapping[str, np.ndarray]

GROUPS = (("source", "negative", "beyond"), ("root", "out", "none"), ("lost",), ("short",))
"""Rules in the order in which they are judged, before those of the tree."""


def bfs(ground: DistributedColumns, columns: Columns, parameters: Mapping[str, Any]) -> list[str] | None:
    """Levels, and predecessors where the result has them; None: see :func:`_tree`."""
    return _tree("levels", ground, columns, parameters["source"], parameters.get("depth_limit"), False)


def sssp(ground: DistributedColumns, columns: Columns, parameters: Mapping[str, Any]) -> list[str] | None:
    """Distances, and predecessors where the result has them; None: see :func:`_tree`."""
    weighted = ground.block.weight_type is not None
    return _tree("distances", ground, columns, parameters["source"], parameters.get("cutoff"), weighted)


DRAWN: dict[str, Callable[[DistributedColumns, Columns, Mapping[str, Any]], list[str] | None]] = {
    "bfs": bfs,
    "sssp": sssp,
}
"""By the name of the algorithm."""


def _tree(what: str, ground, columns: Columns, source: int, cutoff: float | None, weighted: bool) -> list[str] | None:
    """What has been proved; None where it takes the rows: a path through equal distances must be followed. Collective.

    Raises:
        ValidationFailed: on every rank; where the answer is wrong first.
    """
    distance, predecessor, drawn = columns["distance"], columns.get("predecessor"), ground.block
    if not drawn.able(distance.dtype):
        return None
    found = drawn.prove_tree(distance, predecessor, ground.gid(source), cutoff, weighted)
    rules = tree_rules(cutoff)
    short = _short_cut(ground, distance, found["short"], weighted)
    before = _before(ground, distance, predecessor, found["tight"])

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
        ground.judge(*(rules[name] for name in names))

    for names in GROUPS:
        judge(*names)
    plateaus = ground.comm.total(found["plateaus"][0])
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


def _before(ground, distance: np.ndarray, predecessor: np.ndarray | None, found: tuple[int, int]) -> np.generic:
    """The distance of the predecessor where this rank's first arc is not tight; collective."""
    count, place = found
    asked = np.zeros(0, np.int64)
    if count and predecessor is not None:
        asked = predecessor[[place - ground.block.first]]
        asked = asked[(asked >= 0) & (asked < ground.block.n)]
    return np.append(ground.fetch(asked, distance)[0], distance.dtype.type(0))[0]


def _short_cut(
    ground, distance: np.ndarray, found: tuple[int, int], weighted: bool
) -> tuple[dict[str, int], dict[str, str]]:
    """What is printed of this rank's first short cut, if there is one; collective."""
    count, place = found
    u, v = place >> 32, place & (1 << 32) - 1
    before = ground.fetch(np.array([u] if count else [], np.int64), distance)[0]
    if not count:
        return {}, {}
    weight = ground.block.weight(u, v, distance.dtype, weighted)
    values = {"w": weight, "du": before[0], "most": before[0] + weight, "dv": distance[v - ground.block.first]}
    return {"u": u, "v": v}, {name: printed(value) for name, value in values.items()}
