"""Optional statistics of rounds and kernels, which a backend collects for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class RoundStats:
    """Statistics of consecutive rounds with one schedule on one rank (``machine.notes()``).

    Attributes:
        schedule: schedule that assigned their edges to threads.
        edges: of a single round, kernel → edges visited by each thread, int64 (blocks, threads per block); empty if
            they were not recorded.
        rounds: number of rounds.
    """

    schedule: str
    edges: Mapping[str, np.ndarray] = field(default_factory=dict)
    rounds: int = 1


class Spent(NamedTuple):
    """Launches of one kernel (``machine.spent()``).

    Attributes:
        schedule: schedule that the kernel belongs to; "" for a kernel of all schedules.
        kernel: name of the kernel.
        walks: True if it visits edges; other kernels are the overhead of the schedule.
        launches: number of launches.
        seconds: total time on the GPU.
    """

    schedule: str
    kernel: str
    walks: bool
    launches: int
    seconds: float
