"""What a backend may tell of a round beside its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class RoundStats:
    """Rounds in a row, on one rank (``machine.notes()``).

    Attributes:
        schedule: what spread their edges over threads.
        edges: of one round, kernel → edges that each thread visited, int64 (blocks, threads of a block); empty where
            nobody counted.
        rounds: how many.
    """

    schedule: str
    edges: Mapping[str, np.ndarray] = field(default_factory=dict)
    rounds: int = 1


class Spent(NamedTuple):
    """One kernel's launches (``machine.spent()``).

    Attributes:
        schedule: whose kernel it is; "" where it serves all of them.
        kernel: its name.
        walks: whether it visits edges; the others are what a schedule costs beside that.
        launches: how many.
        seconds: from before to after each, on the GPU, added up.
    """

    schedule: str
    kernel: str
    walks: bool
    launches: int
    seconds: float
