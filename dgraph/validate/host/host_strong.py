"""Searches of the certificate of strong components on CPU ranks.

A rank searches its own rows to the end before it exchanges the marks of ghosts, so the number of exchanges is that of
the crossings between ranks on a path, and not of its arcs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.rows import count_rows, place_rows
from dgraph.validate.host.host_rows import HostRows, local
from partitioning.arrays import arcs


class HostClasses:
    """Classes of vertices, each named by the gid ``root`` of one; methods are collective."""

    def __init__(self, distributed: Any, rows: HostRows, root: np.ndarray):
        self._distributed, self._rows, self._root = distributed, rows, root
        self._extended = rows.extended(root)
        block = rows.block
        self._graph = block.offsets, block.targets, rows.table, self._extended

    def behind(self) -> np.ndarray:
        """Return True for each row to which arcs inside its class lead from the vertex that names it."""
        rows = self._rows
        reached, stack = self._begin(), np.empty(self._rows.size, np.int64)
        new = np.flatnonzero(reached)
        while True:
            crossed = _search_arcs(*self._graph, reached, stack, new)
            if not rows.comm.total(int(crossed)):
                return reached[: len(self._root)]
            before = reached[: len(self._root)].copy()
            rows.returned(reached, np.logical_or)
            new = np.flatnonzero(reached[: len(self._root)] & ~before)

    def before(self) -> np.ndarray:
        """Return True for each row from which arcs inside its class lead to the vertex that names it."""
        rows = self._rows
        reached, stack = rows.extended(self._begin()[: len(self._root)]), np.empty(rows.size, np.int64)
        offsets, sources = _reversed_inside(*self._graph)
        new = np.flatnonzero(reached)
        while True:
            crossed = _search_rows(offsets, sources, reached, stack, new)
            if not rows.comm.total(int(crossed)):
                return reached[: len(self._root)]
            marks = rows.extended(reached[: len(self._root)])
            new = np.flatnonzero(marks & ~reached)
            reached = marks

    def _begin(self) -> np.ndarray:
        reached = np.zeros(self._rows.size, np.bool_)
        reached[: len(self._root)] = self._root == self._distributed.gids
        return reached

    def on_cycles(self) -> np.ndarray:
        """Return True for each row that names a class on a cycle of classes, or behind one."""
        distributed = self._distributed
        source, target = _between(*self._graph)
        if not self._rows.block.directed:  # an arc between classes and its reverse are a cycle
            cyclic = np.zeros(len(self._root), np.bool_)
            distributed.mark(target, cyclic)
            return cyclic
        order = np.lexsort((target, source))
        source, target = source[order], target[order]
        first = np.append(True, (source[1:] != source[:-1]) | (target[1:] != target[:-1]))[: len(source)]
        return _left(distributed, source[first], target[first]) > 0


def _left(distributed: Any, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Remove the vertices that no arc enters, with their arcs, again and again; return the arcs into those that remain.

    Args:
        distributed: the rows.
        source: gids of the arcs' sources, in any order, on any rank; int64.
        target: gids of their targets.
    """
    comm, first, rows = distributed.comm, distributed.block.first, distributed.block.rows
    offsets, target = _send_arcs(distributed, source, target)
    lacking = np.zeros(rows, np.int64)
    distributed.add(target, np.ones(target.size), lacking)
    reached = lacking == 0
    new = np.flatnonzero(reached)
    stack, outbox = np.empty(rows, np.int64), np.empty(np.count_nonzero(_elsewhere(target, first, rows)), np.int64)
    while True:
        stack[: new.size] = new
        sent = _remove(offsets, target, first, lacking, reached, stack, new.size, outbox)
        if not comm.total(sent):
            return lacking
        changed = distributed.add(outbox[:sent], np.full(sent, -1.0), lacking)
        new = changed[(lacking[changed] <= 0) & ~reached[changed]]
        reached[new] = True


def _send_arcs(distributed: Any, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


@njit(cache=True, nogil=True)
def _search_arcs(offsets, targets, table, root, reached, stack, new):
    """Search from the rows ``new`` along arcs inside classes; return True if a ghost was reached."""
    rows, top, crossed = offsets.size - 1, new.size, False
    stack[:top] = new
    while top:
        top -= 1
        row = stack[top]
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            if reached[v] or root[v] != root[row]:
                continue
            reached[v] = True
            if v < rows:
                stack[top] = v
                top += 1
            else:
                crossed = True
    return crossed


@njit(cache=True, nogil=True)
def _search_rows(offsets, sources, reached, stack, new):
    """Search from rows and ghosts ``new`` against arcs inside classes; return True if a row was reached."""
    top, crossed = new.size, False
    stack[:top] = new
    while top:
        top -= 1
        v = stack[top]
        for i in range(offsets[v], offsets[v + 1]):
            row = sources[i]
            if not reached[row]:
                reached[row] = crossed = True
                stack[top] = row
                top += 1
    return crossed


@njit(cache=True, nogil=True)
def _reversed_inside(offsets, targets, table, root):
    """Return the offsets of rows and ghosts, and the rows that have an arc inside their class to each."""
    rows = offsets.size - 1
    starts = np.zeros(root.size + 2, np.int64)
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            starts[v + 2] += root[v] == root[row]
    for v in range(root.size):
        starts[v + 1] += starts[v]
    starts[root.size + 1] += starts[root.size]
    sources = np.empty(starts[root.size + 1], np.int64)
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            if root[v] == root[row]:
                sources[starts[v + 1]] = row
                starts[v + 1] += 1
    return starts[:-1], sources


@njit(cache=True, nogil=True)
def _between(offsets, targets, table, root):
    """Return the classes that each arc between two of them joins: gids of both."""
    rows, count = offsets.size - 1, 0
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            count += root[local(targets[i], table)] != root[row]
    source, target = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            other = root[local(targets[i], table)]
            if other != root[row]:
                source[count], target[count] = root[row], other
                count += 1
    return source, target


@njit(cache=True)
def _remove(offsets, target, first, lacking, reached, stack, top, outbox):
    """Remove the rows ``stack[:top]``, and the rows of this rank that no arc enters then.

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
