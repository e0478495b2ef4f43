"""Where a program's rounds stand, in arrays that any backend can take up on any number of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Portable:
    """What a machine gives between two rounds (``machine.portable()``) and takes (``machine.restore(portable)``).

    A machine names the ``form`` of what it gives, and takes no other; None: its rounds are few, and a run goes on by
    beginning them again. ``portable()`` may be None where it cannot stop yet, on all ranks alike; then it is asked
    after the next round. Mirrors are not in it: after ``restore`` the first broadcast tells them everything.

    Attributes, those of ``shared`` for the form "rounds":
        fields: name → values of masters, shape (masters,).
        active: uint8 (masters,): who is in the next frontier; all 0 where a program works on all vertices.
        waiting: uint8 (masters,): who waits in the far pile.
        shared: JSON-able, the same on every rank: ``integers`` and ``floats`` (globals; floats as hexadecimal text),
            ``round``, ``pull`` (the next direction), ``active`` and ``edges`` (totals of the next frontier),
            ``unexplored``, ``pile``, ``width``, ``whole``, ``done``.
    """

    fields: dict[str, np.ndarray]
    active: np.ndarray
    waiting: np.ndarray
    shared: dict[str, Any]
