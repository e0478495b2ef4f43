"""Order of vertices on a GPU: by descending degree among masters, and in each group of mirrors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

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
