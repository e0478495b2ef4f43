"""How a program's rounds are to be walked, where an algorithm has a say in it: a variant of a paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dgraph.errors import UsageError

EVERY = 2**62
"""More edges than any round has."""


@dataclass(frozen=True)
class Traversal:
    """One way to walk. What is asked for on the command line goes before ``schedule`` and ``options``.

    Attributes:
        name: for messages.
        direction: "auto", "push" or "pull".
        schedule: of a GPU; "auto": as asked for.
        options: of the schedule.
        sweeps: whether a push looks at every vertex of a bitmap, in place of a queue of active ones.
        pours: rounds with fewer edges hand on a list of edges: a vertex that joins adds its own at once.
        culling: how proposals to one vertex are thinned out before its status is asked for: "warp", "hash".
        features: of ``schedule`` "bfs-4k": those that are on.
        anywhere: whether it means something on a CPU.
    """

    name: str
    direction: str = "auto"
    schedule: str = "auto"
    options: Mapping[str, object] = field(default_factory=dict)
    sweeps: bool = False
    pours: int = 0
    culling: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    anywhere: bool = False

    def refuse_without_gpu(self) -> None:
        """Raise a :class:`UsageError` where it means nothing on a CPU."""
        if not self.anywhere:
            raise UsageError(
                f"{self.name} says how a GPU walks edges, and this run has none; use --backend cuda, or another variant"
            )
