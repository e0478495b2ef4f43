"""Orders of vertices on a GPU: by descending degree among masters and in each group of mirrors, and by original id."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.graph.local import Mirrors


def by_descending_degree(degrees, cuts: list[int], xp):
    """Return the positions sorted by descending degree within each range of ``cuts``; stable, uint32."""
    order = xp.empty(len(degrees), np.uint32)
    for first, stop in filter(lambda cut: cut[0] < cut[1], pairwise(cuts)):
        order[first:stop] = xp.argsort(-degrees[first:stop], kind="stable")
        order[first:stop] += np.uint32(first)
    return order


def cuts_of(part: Any) -> list[int]:
    """Return the bounds of masters and of each group of mirrors; of a :class:`LocalGraph` or similar."""
    sides = [mirrors for _, mirrors in sorted(part.own_mirrors.items())]
    return [0, part.masters, *(side.first + cut for side in sides for cut in groups_of(side))]


def groups_of(side: Mirrors) -> list[int]:
    """Return the bounds of each group of mirrors, in positions."""
    return [0, side.rows, side.columns, side.count]


def row_cut(neighbours, first: int, last: int, xp) -> int:
    """Return the end of a piece of one long row, so that parallel arcs, which are adjacent, lie in one piece.

    Args:
        neighbours: of the rows; equal ones are adjacent.
        first: begin of the piece.
        last: most that its end may be; the row goes on there.
        xp: NumPy or CuPy.

    Returns:
        At most ``last``, which it is if all arcs of the piece and the next one are parallel.
    """
    others = xp.flatnonzero(xp.not_equal(neighbours[first:last], neighbours[last : last + 1]))
    return first + int(others[-1]) + 1 if len(others) else last


class IdPlaces:
    """Places by id of a :class:`DeviceGraph`, made when an algorithm first needs them."""

    if TYPE_CHECKING:
        device: Any
        marks: Any
        local: Any
        order: Any
        original: Any

    @cached_property
    def id_places(self) -> tuple[Any, Any]:
        """Place of each position in the order of original ids, and position at each place; None twice if equal."""
        if self.order is None and self.local.ascending == self.local.size:
            return None, None
        return self.marks.places(self.device, self.original)
