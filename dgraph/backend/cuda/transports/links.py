"""What joins this rank to each of the others, once it has been chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.backend.transport_names import TRANSPORTS
from dgraph.comm import Comm

MOST_PAIRS, MOST_REASONS = 16, 3
"""Named in the line of the report."""


@dataclass
class Links:
    """The transports of one run.

    Attributes:
        chosen: every other rank → the name of the transport to it; ``why``: and the reason.
        not_direct: why kernels of all ranks must not wait for each other; "" where they may.
        messages: a communicator whose messages meet no others.
        group: the NCCL communicator of all ranks, where one was needed.
        table: (a, b), a < b → name, for every pair of ranks, and what speaks ``against`` the others;
            the same on every rank.
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
    against: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    figures: dict[str, np.ndarray] = field(default_factory=dict)
    broken: list[tuple[str, int, int, str]] = field(default_factory=list)

    @property
    def direct(self) -> bool:
        """Whether kernels of all ranks may wait for each other, without a host between them."""
        return not self.not_direct

    @property
    def any_p2p(self) -> bool:
        """Whether some two ranks are joined by p2p, these or others: the same on every rank."""
        return "p2p" in {*self.table.values(), *self.chosen.values()}

    def names(self) -> str:
        """The transports in use between any ranks, the fastest first."""
        return ", ".join(name for name in TRANSPORTS if name in self.table.values())

    def measured(self, name: str, pair: tuple[int, int]) -> tuple[float, float]:
        """Seconds of a small message and bytes a second of a large one, the worse of both directions."""
        a, b = pair
        latency, bandwidth = self.figures[name][:, [a, b], [b, a]]
        return float(latency.max()), float(bandwidth.min())

    def summary(self) -> str:
        """Which pairs have which transport, what was measured, and why nothing faster: a line of the report."""
        return "; ".join(self._part(name) for name in TRANSPORTS if name in self.table.values())

    def _part(self, name: str) -> str:
        pairs = [pair for pair, taken in self.table.items() if taken == name]
        latencies, bandwidths = np.array([self.measured(name, pair) for pair in pairs]).T
        named = [f"{a}-{b}" for a, b in pairs[:MOST_PAIRS]] + ["..."] * (len(pairs) > MOST_PAIRS)
        where = "all ranks" if len(pairs) == len(self.table) else " ".join(named)
        against = list(dict.fromkeys(told for pair in pairs for told in self.against.get(pair, ())))
        told = f"contents checked, {_range(bandwidths / 1e9)} GB/s, {_range(latencies * 1e6)} µs"
        return f"{name} between {where}: {told}" + (f" ({'; '.join(against[:MOST_REASONS])})" if against else "")


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low} to {high}"
