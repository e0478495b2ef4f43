"""Columns of all vertices on the GPU of every rank, and how values move between rows and vertices.

Rank r checks the vertices of gids ``n r / P … n (r + 1) / P``, whichever rank owns them. An arc is checked where its
row is, with the values of both ends: each GPU has all values of a column, by gid, so no mirror of a run is read. Sums
and bits of arcs are reduced over ranks. Entry: :class:`SharedColumns`; on one rank nothing moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.transports.bulk_moves import BulkMoves, Leaving
from dgraph.comm import Comm


class SharedColumns:
    """Values by gid; every method is collective where there are several ranks.

    Attributes:
        n: vertices of the graph.
        low, high: gids of the vertices that this rank checks.
        alone: True on one rank.
    """

    def __init__(self, device: Any, comm: Comm, n: int, moves: BulkMoves | None):
        self.device, self.comm, self.n, self.moves, self.alone = device, comm, n, moves, moves is None
        self.cuts = [n * rank // comm.size for rank in range(comm.size + 1)]
        self.low, self.high = self.cuts[comm.rank : comm.rank + 2]

    def mine(self, column: Any) -> Any:
        """Return the values of the vertices that this rank checks, of a column by gid; not collective."""
        return column[self.low : self.high]

    def gathered(self, gids: Any, columns: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return columns by gid on every GPU; None if not every vertex has one row.

        Args:
            gids: of this rank's rows of the columns, int64 on the device; -1, or n and more, for no vertex.
            columns: name → values on the device.
        """
        xp, size = self.device.xp, self.high - self.low
        with self.comm.together():
            fits = all(values.shape == gids.shape for values in columns.values())
            valid = not len(gids) or bool(((gids >= 0) & (gids < self.n)).all())
        if self.comm.total(int(not (fits and valid))):
            return None
        with self.comm.together():
            order = None if not len(gids) or bool((gids[1:] > gids[:-1]).all()) else xp.argsort(gids)
            gids = gids if order is None else gids[order]
            cuts = self.device.get(xp.searchsorted(gids, xp.asarray(self.cuts))).tolist()
            places: dict[int, list] = {}
        times = xp.zeros(size, np.uint8)

        def arrived(peer: int, first: int, piece: Any) -> None:
            rows = piece - self.low
            times[rows] += np.uint8(1)
            places.setdefault(peer, []).append((first, rows))

        def parts(values: Any) -> dict[int, Leaving]:
            return {rank: Leaving.of(values[cuts[rank] : cuts[rank + 1]]) for rank in range(self.comm.size)}

        self.moves.move(np.int64, parts(gids), arrived)  # type: ignore[union-attr]
        total = self.comm.total(len(gids))
        if total != self.n or self.comm.total(int(size > 0 and int(times.min()) != 1)):
            return None
        whole = {}
        for name, values in columns.items():
            with self.comm.together():
                ordered = values if order is None else values[order]
                whole[name] = column = xp.empty(self.n, values.dtype)
            rows = {peer: _joined(xp, pieces) for peer, pieces in places.items()}
            self._place(parts(ordered), rows, self.mine(column))
            self.moves.spread(column)  # type: ignore[union-attr]
        return whole

    def _place(self, leaving: Mapping[int, Leaving], rows: Mapping[int, Any], column: Any) -> None:
        def placed(peer: int, first: int, piece: Any) -> None:
            column[rows[peer][first : first + len(piece)]] = piece

        self.moves.move(column.dtype, leaving, placed)  # type: ignore[union-attr]

    def summed(self, by_row: Any, gids: Any, whole: bool = False) -> Any:
        """Return sums of values by row, by gid: of the vertices that this rank checks, or of the ``whole`` graph.

        Args:
            by_row: values of this rank's rows.
            gids: of the rows, distinct; None: gids are the rows.
            whole: return the sums of all vertices.
        """
        if self.alone:
            return by_row
        with self.comm.together():
            column = by_row
            if gids is not None:
                column = self.device.xp.zeros(self.n, by_row.dtype)
                column[gids] = by_row
        reduced = self.moves.allreduce if whole else self.moves.reduce  # type: ignore[union-attr]
        reduced(column, self.device.xp.add)
        return column if whole else self.mine(column)

    def united(self, words: Any) -> None:
        """Unite bits that all ranks set."""
        if not self.alone:
            self.moves.allreduce(words, self.device.xp.bitwise_or)  # type: ignore[union-attr]

    def spread(self, mine: Any) -> Any:
        """Return the values of all vertices, from those of the vertices that each rank checks."""
        if self.alone:
            return mine
        with self.comm.together():
            column = self.device.xp.empty(self.n, mine.dtype)
            self.mine(column)[:] = mine
        self.moves.spread(column)  # type: ignore[union-attr]
        return column

    def sum(self, value: float) -> float:
        """Return the sum of a number over ranks, the same on each."""
        return float(self.comm.allgather(np.array([value], np.float64)).sum())


def _joined(xp: Any, pieces: list) -> Any:
    rows = [rows for _, rows in sorted(pieces, key=lambda piece: piece[0])]
    return rows[0] if len(rows) == 1 else xp.concatenate(rows)
