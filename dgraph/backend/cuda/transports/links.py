"""Result of the choice of transports: which one joins this rank to each of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.backend.transport_names import TRANSPORTS
from dgraph.comm import Comm

MOST_PAIRS, MOST_REASONS = 16, 3
"""Pairs, and reasons, that the line of the report names at most."""


@dataclass
class Links:
    """Transports of one run.

    Attributes:
        chosen: every other rank → the name of the transport to it; ``why``: the reason.
        not_direct: the reason why kernels of all ranks must not wait for each other; "" if they may.
        messages: a communicator of its own, so that its messages match no others.
        group: the NCCL communicator of all ranks, if one was needed.
        table: (a, b) with a < b → name, for every pair of ranks; the same on every rank.
        against: pair → reasons why it does not use other transports; the same on every rank.
        figures: transport → (2, P, P): seconds of a message of 64 bytes from row to column, and bytes a second of a
            large one; NaN if not measured.
        broken: transports that delivered wrong bytes: (name, a, b, fault).
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
        """True if kernels of all ranks may wait for each other without the host."""
        return not self.not_direct

    @property
    def any_p2p(self) -> bool:
        """True if any two ranks use p2p; the same on every rank."""
        return "p2p" in {*self.table.values(), *self.chosen.values()}

    def names(self) -> str:
        """Return the names of the transports in use between any ranks, the fastest first."""
        return ", ".join(name for name in TRANSPORTS if name in self.table.values())

    def measured(self, name: str, pair: tuple[int, int]) -> tuple[float, float]:
        """Return seconds of a small message and bytes a second of a large one, the worse of both directions."""
        a, b = pair
        latency, bandwidth = self.figures[name][:, [a, b], [b, a]]
        return float(latency.max()), float(bandwidth.min())

    def summary(self) -> str:
        """Return a line for the report: the pairs of each transport, its figures, and why no faster one is used."""
        return "; ".join(self._part(name) for name in TRANSPORTS if name in self.table.values())

    def _part(self, name: str) -> str:
        pairs = [pair for pair, taken in self.table.items() if taken == name]
        latencies, bandwidths = np.array([self.measured(name, pair) for pair in pairs]).T
        named = [f"{a}-{b}" for a, b in pairs[:MOST_PAIRS]] + ["..."] * (len(pairs) > MOST_PAIRS)
        where = "all ranks" if len(pairs) == len(self.table) else " ".join(named)
        against = list(dict.fromkeys(reason for pair in pairs for reason in self.against.get(pair, ())))
        figures = f"contents checked, {_range(bandwidths / 1e9)} GB/s, {_range(latencies * 1e6)} µs"
        return f"{name} between {where}: {figures}" + (f" ({'; '.join(against[:MOST_REASONS])})" if against else "")


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low} to {high}"
