"""What a user may choose about the GPU backend."""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.errors import UsageError, unknown

DISTRIBUTIONS = ("cyclic", "blocked")


@dataclass(frozen=True)
class Options:
    """Choices of one run.

    Attributes:
        schedule: "auto", "persistent", or a key of ``SCHEDULES``.
        alb_threshold: degree above which ``alb`` puts a vertex aside: a number, "threads" (as many as are launched,
            the paper's rule), or "auto" (more than a block's share of the round's edges).
        alb_distribution: how ``lb`` deals out edges: "cyclic" or "blocked".
        small: frontier vertices and edges up to which rounds stay in the persistent kernel.
        record: count the edges that each thread visits.
        renumber: number vertices by falling degree; None: where degrees are skewed.
    """

    schedule: str = "auto"
    alb_threshold: str | int = "auto"
    alb_distribution: str = "cyclic"
    small: int = 1 << 18
    record: bool = False
    renumber: bool | None = None

    def __post_init__(self):
        known = ("auto", "persistent", *SCHEDULES)
        if self.schedule not in known:
            raise unknown("schedule", self.schedule, known)
        if self.alb_distribution not in DISTRIBUTIONS:
            raise unknown("alb distribution", self.alb_distribution, DISTRIBUTIONS)
        if self.alb_threshold not in ("auto", "threads"):
            text = str(self.alb_threshold)
            if not text.isdigit():
                raise UsageError(f"alb threshold {text!r} is no degree; give a number, auto or threads")
            object.__setattr__(self, "alb_threshold", int(text))
