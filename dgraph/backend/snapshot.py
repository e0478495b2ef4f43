"""Snapshot: the state of a program between two rounds, in a form that any backend and rank count can resume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.program import Traced


@dataclass(frozen=True)
class Snapshot:
    """State of a program between two rounds: the result of ``machine.snapshot()``, the input of ``machine.restore()``.

    Hand-written kernels produce and accept the state that the program's own rounds would have, so that one can resume
    the other. Mirrors are not part of it: after ``restore`` the first broadcast sends all values. A machine that cannot
    stop at this point returns None, and is asked again after the next round.

    Attributes:
        fields: name → values of masters, shape (masters,); a missing field has its identity everywhere.
        active: uint8 (masters,), 1 for vertices of the next frontier; all 0 for programs with ``domain = ALL``.
        waiting: uint8 (masters,), 1 for vertices in the far bucket.
        shared: JSON-serialisable, equal on every rank: ``integers`` and ``floats`` (one entry per global in both, in
            declaration order; floats as hexadecimal text), ``round``, ``pull`` (next direction), ``active`` and
            ``edges`` (totals of the next frontier), ``unexplored``, ``bucket``, ``width``, ``whole``, ``done``.
    """

    fields: dict[str, np.ndarray]
    active: np.ndarray
    waiting: np.ndarray
    shared: dict[str, Any]


def between_rounds(traced: Traced, round: int, active: int, edges: int, arcs: int) -> dict[str, Any]:
    """Return :attr:`Snapshot.shared` for an unfinished program that pushes and has no buckets.

    Args:
        traced: the program.
        round: rounds finished.
        active: vertices in the next frontier, over all ranks; 0: the next round visits every vertex.
        edges: their out-edges.
        arcs: arcs of the whole graph.
    """
    count = max(len(traced.globals), 1)
    return {
        "integers": [0] * count, "floats": [0.0.hex()] * count, "round": round, "pull": 0, "active": active,
        "edges": edges, "unexplored": arcs, "bucket": 0, "width": int(traced.program.widens), "whole": int(active == 0),
        "done": 0,
    }  # fmt: skip
