"""Certificate of strongly connected components.

Theorem. Let l map vertices to vertices, and call the vertices of one value a class. If

1. l(l(v)) = l(v) and l(v) ≤ v for every v;
2. arcs inside v's class lead from l(v) to v, and from v to l(v), for every v;
3. the classes can be removed one after another so that no arc leads to each from a remaining one,

then l(v) is the smallest vertex of v's strongly connected component. Proof: by 2 a class is strongly connected. By 3 no
cycle joins two classes, so no component has vertices of two. By 1 the vertex l(v) is the smallest one of v's class.

Two searches over the arcs inside classes prove 2, and one over the arcs between them proves 3, which removes a class
once its last incoming arc is gone. Each rank searches its own rows to the end before it sends vertices to other ranks,
so the number of exchanges is that of the crossings between ranks on a path, and not of its arcs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.rows import count_rows, place_rows
from dgraph.validate.certificate_register import certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from partitioning.arrays import arcs


@certifies("scc")
def scc(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check column ``labels``; collective.

    Raises:
        ValidationFailed: a label is wrong.
    """
    claimed, gids = columns["labels"], distributed.gids
    root = distributed.to_gid(claimed)
    vertex = Rule("labels are vertices", "vertex {v} has label {l}, which is not a vertex")
    vertex.test(root < 0, {"v": gids}, {"l": claimed})
    distributed.judge(vertex)
    own = Rule("a label's vertex carries it", "vertex {v} has label {l}, but vertex {l} has another")
    own.test(distributed.fetch(root, root)[0] != root, {"v": gids}, {"l": claimed})
    larger = Rule("labels are the smallest", "vertex {v} has the larger label {l}")
    larger.test(root > gids, {"v": gids}, {"l": claimed})
    distributed.judge(own, larger)
    inside, between = _arcs(distributed, root)
    source, target = inside
    behind = Rule("arcs lead from a label's vertex", "vertex {v} has label {l}, and no arcs inside lead from {l} to it")
    behind.test(_left(distributed, source, target, root != gids) > 0, {"v": gids}, {"l": claimed})
    before = Rule("arcs lead to a label's vertex", "vertex {v} has label {l}, and no arcs inside lead from it to {l}")
    before.test(_left(distributed, target, source, root != gids) > 0, {"v": gids}, {"l": claimed})
    distributed.judge(behind, before)
    source, target = between
    entering = np.zeros(gids.size, np.int64)
    distributed.add(target, np.ones(target.size), entering)
    apart = Rule("no cycle joins components", "the component of vertex {v} is on a cycle of components, or behind one")
    apart.test(_left(distributed, source, target, entering) > 0, {"v": gids}, {})
    distributed.judge(apart)
    return ["arcs inside each component lead from its label to every vertex, and back", "no cycle joins components"]


def _arcs(distributed: DistributedColumns, root: np.ndarray) -> tuple[tuple, tuple]:
    """Return sources and targets of this rank's arcs inside classes, and of arcs between the roots of classes."""
    inside, between = [np.empty((2, 0), np.int64)], [np.empty((2, 0), np.int64)]
    for piece in distributed.pieces(root):
        here, there = root[piece.rows], piece.there[0]
        same = here == there
        inside.append(np.array([piece.src[same], piece.dst[same]], np.int64))
        between.append(np.array([here[~same], there[~same]], np.int64))
    return tuple(np.concatenate(inside, axis=1)), tuple(np.concatenate(between, axis=1))


def _left(distributed: DistributedColumns, source: np.ndarray, target: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """Search from the rows that need no arc; a row is found once as many arcs from found rows enter it as it needs.

    Args:
        distributed: the rows.
        source: gids of the arcs' sources, in any order, on any rank; int64.
        target: gids of their targets.
        needed: arcs that each row needs.

    Returns:
        Arcs that each row lacks: int64, positive for rows that are not found.
    """
    comm, first, rows = distributed.comm, distributed.block.first, distributed.block.rows
    offsets, target = _send_arcs(distributed, source, target)
    lacking = needed.astype(np.int64)
    reached = lacking == 0
    new = np.flatnonzero(reached)
    stack, outbox = np.empty(rows, np.int64), np.empty(np.count_nonzero(_elsewhere(target, first, rows)), np.int64)
    while True:
        stack[: new.size] = new
        sent = _search(offsets, target, first, lacking, reached, stack, new.size, outbox)
        if not comm.total(sent):
            return lacking
        changed = distributed.add(outbox[:sent], np.full(sent, -1.0), lacking)
        new = changed[(lacking[changed] <= 0) & ~reached[changed]]
        reached[new] = True


def _send_arcs(
    distributed: DistributedColumns, source: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Send arcs to the owners of their sources; return offsets and targets of this rank's rows, int64; collective."""
    comm, first, rows = distributed.comm, distributed.block.first, distributed.block.rows
    if comm.size > 1:
        owners = np.searchsorted(distributed.starts, source, side="right") - 1
        groups = arcs.group_by_owner(owners, comm.size)
        source, target = (np.concatenate(comm.alltoallv(arcs.grouped(column, *groups))) for column in (source, target))
    offsets = np.zeros(rows + 1, np.int64)
    count_rows(source, first, offsets)
    np.cumsum(offsets, out=offsets)
    placed = np.empty(target.size, np.int64)
    place_rows((source, target, None), first, offsets[:-1].copy(), placed, None)
    return offsets, placed


def _elsewhere(gids: np.ndarray, first: int, rows: int) -> np.ndarray:
    return (gids < first) | (gids >= first + rows)


@njit(cache=True)
def _search(offsets, target, first, lacking, reached, stack, top, outbox):
    """Search from the rows ``stack[:top]`` to the end of this rank's rows.

    Decreases ``lacking``, sets ``reached``, and writes targets on other ranks to ``outbox``; returns their number.
    """
    rows, sent = offsets.size - 1, 0
    while top:
        top -= 1
        row = stack[top]
        for i in range(offsets[row], offsets[row + 1]):
            v = target[i] - first
            if not 0 <= v < rows:
                outbox[sent] = target[i]
                sent += 1
                continue
            lacking[v] -= 1
            if lacking[v] <= 0 and not reached[v]:
                reached[v] = True
                stack[top] = v
                top += 1
    return sent
