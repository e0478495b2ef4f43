"""Traversal: the edge-traversal strategy that an algorithm variant prescribes, as its paper describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dgraph.errors import UsageError, option

EVERY = 2**62
"""Edge count above that of any round."""


@dataclass(frozen=True)
class Traversal:
    """Traversal strategy of a program. A schedule that the user chooses overrides ``schedule`` and ``options``.

    Attributes:
        name: name in error messages, such as "variant queue of bfs".
        direction: "auto", "push" or "pull".
        schedule: GPU schedule; "auto" leaves the choice to the run.
        options: options of the schedule, name → value.
        sweeps: True if a push scans a bitmap of all vertices (topology-driven) instead of a queue of active ones.
        emit_limit: rounds with fewer edges than this keep an edge frontier: a new vertex appends its edges at once.
        culling: filters for duplicate proposals before the status lookup: "warp", "hash".
        features: enabled features of the schedule "bfs-4k".
        on_cpu: True if the strategy is also defined on a CPU.
    """

    name: str
    direction: str = "auto"
    schedule: str = "auto"
    options: Mapping[str, object] = field(default_factory=dict, hash=False)
    sweeps: bool = False
    emit_limit: int = 0
    culling: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    on_cpu: bool = False

    def refuse_without_gpu(self) -> None:
        """Raise a :class:`UsageError` if the strategy exists on GPUs only."""
        if not self.on_cpu:
            raise UsageError(
                f"{self.name} says how a GPU walks edges, and this run has none; use {option('backend', 'cuda')}, or "
                "another variant"
            )
