"""Rows of all vertices on the GPU of every rank: scope "all" of ``dgraph.graph.halo``, without weights.

Each rank sends the rows of its part, in numbers of one order of all vertices; those of a vertex may come from several
ranks. Entry: :func:`gathered_rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.backend.cuda.gathered.numbering import Numbering
from dgraph.backend.cuda.gathered.row_assembly import RowAssembly, sort_rows
from dgraph.backend.cuda.transports.bulk_moves import BulkMoves, Leaving


@dataclass
class GatheredRows:
    """Rows of all vertices; arrays lie on the device.

    Attributes:
        place: number of each master, by position, uint32; the count of rows for a master without one.
        offsets: int64 (rows + 1,).
        targets: numbers, uint32 (arcs,), ascending in each row.
        values: sums over ranks of values of rows, by number; None: there are none.
    """

    place: Any
    offsets: Any
    targets: Any
    values: Any

    def returned(self, moves: BulkMoves, values: Any, fold: Callable[..., Any]) -> Any:
        """Return the fold over ranks of values by number, by this rank's masters; ``values`` is replaced; collective.

        Args:
            moves: mailboxes between all ranks.
            values: of every number, on each rank.
            fold: such as ``xp.add``.
        """
        moves.allreduce(values, fold)
        with moves.comm.together():
            return values[self.place]


def gathered_rows(
    numbering: Numbering, place: Any, count: int, numbers: Any, lengths: Any, arcs: Leaving, values: Any = None,
    ordered: bool = False,
) -> GatheredRows:  # fmt: skip
    """Send the rows of this rank's part to all ranks; collective.

    Args:
        numbering: of the part.
        place: number of each master.
        count: numbers of the rows on all ranks are below it.
        numbers: of the rows of this rank, each once, uint32.
        lengths: how many arcs each has, uint32.
        arcs: targets of the rows, numbers.
        values: one for each row, or for the first ones, of the same dtype on all ranks; None on all: there are none.
        ordered: each row comes from one rank, in ascending order.
    """
    moves, comm, xp = numbering.moves, numbering.moves.comm, numbering.part.device.xp
    rows, counts = (numbering.collected(np.uint32, column) for column in (numbers, lengths))

    def added(dtype: Any, columns: dict[int, Any]) -> Any:
        sums = xp.zeros(count, dtype)
        for peer in list(columns):
            column = columns.pop(peer)
            sums[rows[peer][: len(column)]] += column
        return sums

    with comm.together():
        assembly = RowAssembly(numbering.part.device, added(np.int64, dict(counts)))
    for sender in range(comm.size):
        with comm.together():
            if sender in rows:
                assembly.begin(rows[sender], counts.pop(sender))
        leaving = dict.fromkeys(range(comm.size), arcs) if comm.rank == sender else {}
        moves.move(np.uint32, leaving, lambda _, first, piece: assembly.fill(first, piece))
    columns = {} if values is None else numbering.collected(values.dtype, values)
    with comm.together():
        assembly.end()
        if not ordered:
            sort_rows(numbering.part.device, assembly.starts, assembly.targets)
        sums = None if values is None else added(values.dtype, columns)
        return GatheredRows(place, assembly.starts, assembly.targets, sums)
