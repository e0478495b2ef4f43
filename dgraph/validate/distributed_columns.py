"""Data access of the certificates: result columns aligned with the graph's rows, and values at the targets of arcs.

Rank r holds the rows of gids ``starts[r] .. starts[r + 1] - 1``, those of its :class:`EdgeBlock`. That is the graph as
it was loaded, independent of the partition of the run. A *column* has one entry for each row of this rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import ValidationFailed
from dgraph.graph.block import EdgeBlock
from dgraph.validate.rule import Rule
from partitioning.arrays import arcs


@dataclass(frozen=True)
class ArcPiece:
    """Arcs ``start .. stop`` of this rank's block.

    Attributes:
        start: first arc.
        stop: end of the arcs.
        rows: rows of the sources, int64.
        src: gids of the sources, in the dtype of ``block.targets``.
        dst: gids of the targets.
        there: values of the requested columns at ``dst``.
    """

    start: int
    stop: int
    rows: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    there: list[np.ndarray]


class DistributedColumns:
    """Block of rows on each rank, and exchanges of row values between ranks; every method is collective.

    Attributes:
        block: this rank's rows, or a prover that stands for them.
        prover: counts violations for our own certificates: ``host_prover.py``, or a backend's.
        starts: first gid of every rank, then n.
        matrix: this rank's rows of distances between all pairs, where the answer has some.
        predecessors: rows of predecessors between all pairs, where the answer has some.
        edges: values of edges on this rank, where the answer has some.
        walks: walks of this rank, where the answer has some.
    """

    matrix: np.ndarray | None = None
    predecessors: np.ndarray | None = None
    edges: Any = None
    walks: Any = None

    def __init__(self, block: EdgeBlock | Any, comm: Comm, prover: Any = None):
        self.block, self.comm, self.prover = block, comm, prover
        rows_by_rank = comm.allgather(np.array([block.rows], np.int64))[:, 0]
        self.starts = np.concatenate([[0], np.cumsum(rows_by_rank)])

    @cached_property
    def gids(self) -> np.ndarray:
        """Gids of this rank's rows, int64."""
        return np.arange(self.block.first, self.block.first + self.block.rows, dtype=np.int64)

    def align(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Move a result's columns, whose rows may lie on any rank, to the owners of the rows; drop ``vertex``.

        Raises:
            ValidationFailed: an id is not a vertex, or a vertex has no row or several.
        """
        vertex = columns["vertex"]
        with self.comm.together():
            for name, values in columns.items():
                if values.shape != vertex.shape:
                    raise ValidationFailed(
                        f"the answer is wrong: on rank {self.comm.rank} column {name} has shape {values.shape}, "
                        f"and vertex {vertex.shape}"
                    )
        gids = self.block.ids.to_gid(vertex, self.comm)
        valid = Rule("rows are of vertices", "the result has a row of {id}, which is not a vertex of the graph")
        self.judge(valid.test(gids < 0, {}, {"id": vertex}))
        if not self.comm.total(not self._in_place(gids)):
            return {name: values for name, values in columns.items() if name != "vertex"}
        order = np.argsort(gids, kind="stable")
        names = [name for name in columns if name != "vertex"]
        rows, *moved = self.send(gids[order], *(columns[name][order] for name in names))
        counts = np.bincount(rows, minlength=self.block.rows)
        once = Rule("every vertex has one row", "vertex {v} has {count} rows in the result")
        self.judge(once.test(counts != 1, {"v": self.gids}, {"count": counts}))
        aligned = {}
        for name, values in zip(names, moved, strict=True):
            aligned[name] = np.empty_like(values)
            aligned[name][rows] = values
        return aligned

    def edge_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gids of both ends of each of the answer's edges on this rank.

        Raises:
            ValidationFailed: an end is not a vertex.
        """
        vertices = Rule("edges are of vertices", "the answer has an edge of {id}, which is not a vertex of the graph")
        ends = []
        for ids in (self.edges.source, self.edges.target):
            ends.append(self.block.ids.to_gid(ids, self.comm))
            vertices.test(ends[-1] < 0, {}, {"id": ids})
        self.judge(vertices)
        return ends[0], ends[1]

    def moved(self, algorithm: str, columns: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
        """Return a result's columns where the prover reads them; None if it cannot check this answer.

        Raises:
            ValidationFailed: as :meth:`align`.
        """
        if not self.prover.able(algorithm):
            return None
        put, vertex = getattr(self.prover, "put", None), columns["vertex"]
        if put is None:
            moved = self.align(columns)
        elif self.comm.size > 1:
            moved = self.prover.gathered(columns)
            if moved is None:
                moved = {name: self.prover.spread(put(values)) for name, values in self.align(columns).items()}
        elif self._in_place(self.block.ids.to_gid(vertex, self.comm)):
            fetch = getattr(columns, "on_device", columns.__getitem__)
            moved = {name: put(fetch(name)) for name in columns if name != "vertex"}
            if any(values.shape != vertex.shape for values in moved.values()):
                moved = self.align(columns)
        else:
            moved = {name: put(values) for name, values in self.align(columns).items()}
        return moved if self.prover.takes({name: values.dtype for name, values in moved.items()}) else None

    def _in_place(self, gids: np.ndarray) -> bool:
        """Return True if ``gids`` are this rank's rows, each once and in order."""
        step, ends = 1 << 16, (self.block.first, self.block.first + self.block.rows)
        return gids.size == self.block.rows and all(
            np.array_equal(gids[low : low + step], np.arange(ends[0] + low, min(ends[0] + low + step, ends[1])))
            for low in range(0, gids.size, step)
        )

    def pieces(self, *columns: np.ndarray) -> Iterator[ArcPiece]:
        """Yield all arcs of this rank in pieces, with ``columns`` at their targets; all ranks must exhaust it.

        Arcs ascend by source and target, so parallel ones are side by side, but a piece may end between them. Loops and
        parallel edges are there if the graph keeps them.
        """
        for number in range(arcs.rounds(self.block, self.comm)):
            start, stop = arcs.span(self.block, number)
            src, dst = arcs.ends(self.block, start, stop)
            yield ArcPiece(start, stop, src.astype(np.int64) - self.block.first, src, dst, self.fetch(dst, *columns))

    def fetch(self, gids: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
        """Return each column at ``gids`` (of any rank, in any order); each gid is requested from its owner once."""
        if self.comm.size == 1 or not columns:
            return [column[gids] for column in columns]
        wanted, back = self.numbered(gids)
        requested = self.comm.alltoallv(self._parts(wanted, wanted))
        rows = [part.astype(np.int64) - self.block.first for part in requested]
        return [np.concatenate(self.comm.alltoallv([column[part] for part in rows]))[back] for column in columns]

    def ask(self, gids: np.ndarray, values: np.ndarray, answer: Callable) -> np.ndarray:
        """Return ``answer(rows, values)``, evaluated by the owners of ``gids`` (in any order)."""
        order = np.argsort(gids, kind="stable")
        owned = gids[order]
        rows = [part.astype(np.int64) - self.block.first for part in self.comm.alltoallv(self._parts(owned, owned))]
        received = self.comm.alltoallv(self._parts(owned, values[order]))
        replies = self.comm.alltoallv([answer(*pair) for pair in zip(rows, received, strict=True)])
        answers = np.empty(len(gids), replies[0].dtype)
        answers[order] = np.concatenate(replies)
        return answers

    def send(self, gids: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
        """Send ``gids`` (ascending) and their values to the owners; return rows of this rank and their values."""
        moved = [np.concatenate(self.comm.alltoallv(self._parts(gids, values))) for values in (gids, *columns)]
        return [moved[0].astype(np.int64) - self.block.first, *moved[1:]]

    def mark(self, gids: np.ndarray, column: np.ndarray) -> None:
        """Set a bool column to True at ``gids``, on the ranks that own them."""
        column[self.send(distinct(gids))[0]] = True

    def add(self, gids: np.ndarray, amounts: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Add ``amounts`` (float64) to a column at ``gids``, on their owners; return the rows changed on this rank."""
        wanted, places = self.numbered(gids)
        sums = np.bincount(places, amounts, wanted.size).astype(column.dtype)
        rows, received = self.send(wanted, sums)
        np.add.at(column, rows, received)
        return self.numbered(rows)[0]

    def sum(self, values: np.ndarray) -> float:
        """Return the sum of a float column over all ranks, bitwise equal on every rank."""
        return float(self.comm.allgather(np.array([values.sum()], np.float64)).sum())

    def gid(self, original: int) -> int:
        """Return the gid of an original id, or -1 if there is none."""
        return int(self.block.ids.to_gid(np.array([original], np.int64), self.comm)[0])

    def to_gid(self, originals: Any) -> Any:
        """Return the gids of a column of original ids, where the column is; -1 for ids of no vertex."""
        there = getattr(self.prover, "to_gid", None)
        return self.block.ids.to_gid(originals, self.comm) if there is None else there(originals)

    def read(self, column: Any, gid: int | None) -> np.generic:
        """Return a column's value at a gid of any rank; None: 0, for ranks that read nothing."""
        there = getattr(self.prover, "value", None)
        if there is not None:
            return column.dtype.type(0) if gid is None else there(column, gid)
        wanted = np.array([] if gid is None else [gid], np.int64)
        return np.append(self.fetch(wanted, column)[0], column.dtype.type(0))[0]

    def judge(self, *rules: Rule) -> None:
        """Raise for the first rule that is broken on any rank, with the violation of the smallest ids.

        Rows, and arcs with them, ascend by original id from rank to rank. So the first violation on the lowest rank
        that has one is the one of the smallest ids.

        Raises:
            ValidationFailed: on every rank, with the same message.
        """
        totals = self.comm.allreduce(np.array([rule.count for rule in rules], np.int64))
        for rule, total in zip(rules, totals.tolist(), strict=True):
            if total:
                places = self.comm.allgather_json([rule.gids, rule.values] if rule.count else None)
                gids, values = next(place for place in places if place)
                originals = self.block.ids.to_original(np.array(list(gids.values()), np.int64), self.comm)
                raise rule.broken(dict(zip(gids, originals.tolist(), strict=True)) | values, total)

    def numbered(self, gids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct gids, ascending, and the place of each of ``gids`` among them."""
        if 8 * gids.size < self.block.n:
            wanted = distinct(gids)
            return wanted, np.searchsorted(wanted, gids)
        marks = np.zeros(self.block.n, np.bool_)
        marks[gids] = True
        wanted = np.flatnonzero(marks).astype(gids.dtype)
        places = np.empty(self.block.n, gids.dtype)
        places[wanted] = np.arange(wanted.size)
        return wanted, places[gids]

    def _parts(self, gids: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
        """Split ``values``, which belong to ascending ``gids``, by owner."""
        return np.split(values, np.searchsorted(gids, self.starts[1:-1]))


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the distinct values, ascending; np.unique hashes integers, which is slower here."""
    values = np.sort(values)
    return values[np.concatenate([values[:1] == values[:1], values[1:] != values[:-1]])]
