"""Where a program's rounds stand, in arrays that any backend can take up on any number of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.program import Traced


@dataclass(frozen=True)
class Snapshot:
    """What a machine gives between two rounds (``machine.portable()``) and takes (``machine.restore(portable)``).

    Hand-written rounds give and take what the program's own rounds would, so that each goes on where the other
    stopped. Where ``portable()`` is None it is asked for again after the next round. Mirrors are not in it: after
    ``restore`` the first broadcast tells them everything.

    Attributes:
        fields: name → values of masters, shape (masters,); a field that is left out has its identity everywhere.
        active: uint8 (masters,): who is in the next frontier; all 0 where a program works on all vertices.
        waiting: uint8 (masters,): who waits in the far bucket.
        shared: JSON-able, the same on every rank: ``integers`` and ``floats`` (globals, in their order in both; floats
            as hexadecimal text), ``round``, ``pull`` (the next direction), ``active`` and ``edges`` (totals of the next
            frontier), ``unexplored``, ``bucket``, ``width``, ``whole``, ``done``.
    """

    fields: dict[str, np.ndarray]
    active: np.ndarray
    waiting: np.ndarray
    shared: dict[str, Any]


def between_rounds(
    traced: Traced, round: int, active: int, edges: int, arcs: int, values: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """:attr:`Portable.shared` of rounds that push, have no buckets and are not through.

    Args:
        active, edges: totals of the next frontier; none: the next round looks at every vertex.
        arcs: of the whole graph.
        values: integer globals by name; the others are 0.
    """
    integers = [int((values or {}).get(name, 0)) for name in traced.globals] or [0]
    return {
        "integers": integers, "floats": [0.0.hex()] * len(integers), "round": round, "pull": 0, "active": active,
        "edges": edges, "unexplored": arcs, "bucket": 0, "width": int(traced.program.widens), "whole": int(active == 0),
        "done": 0,
    }  # fmt: skip
