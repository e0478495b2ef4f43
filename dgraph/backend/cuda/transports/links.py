"""What joins this rank to each of the others, once it has been chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.comm import Comm

AUTO = "auto"
TRANSPORTS = ("p2p", "nccl", "mpi-device", "mpi-host")
"""The fastest first."""


@dataclass
class Links:
    """The transports of one run.

    Attributes:
        chosen: every other rank → the name of the transport to it; ``why``: and the reason.
        not_direct: why kernels of all ranks must not wait for each other; "" where they may.
        messages: a communicator whose messages meet no others.
        group: the NCCL communicator of all ranks, where one was needed.
        table: (a, b), a < b → name, for every pair of ranks, and ``reasons``; the same on every rank.
        figures: transport → (2, P, P): seconds of a message of 64 bytes from row to column, and bytes a second of a
            large one; NaN where it was not measured.
        broken: transports that brought wrong bytes: (name, a, b, what was wrong).
    """

    messages: Comm
    chosen: dict[int, str]
    why: dict[int, str] = field(default_factory=dict)
    not_direct: str = ""
    group: Any = None
    table: dict[tuple[int, int], str] = field(default_factory=dict)
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)
    figures: dict[str, np.ndarray] = field(default_factory=dict)
    broken: list[tuple[str, int, int, str]] = field(default_factory=list)

    @property
    def direct(self) -> bool:
        """Whether kernels of all ranks may wait for each other, without a host between them."""
        return not self.not_direct

    def names(self) -> str:
        """The transports in use between any ranks, the fastest first."""
        return ", ".join(name for name in TRANSPORTS if name in self.table.values())
