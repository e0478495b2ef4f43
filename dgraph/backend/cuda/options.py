"""What a user may choose about the GPU backend."""

from __future__ import annotations

from dgraph.backend.choices import checked
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.errors import unknown


class Options:
    """Choices of one run.

    Args:
        schedule: "auto", "persistent", or a key of ``SCHEDULES``.
        small: frontier vertices and edges up to which rounds stay in the persistent kernel.
        record: count the edges that each thread visits.
        renumber: number vertices by falling degree; None: where degrees are skewed.
        blocks: blocks of every launch whose number a choice is of; None: as many as run at once.
        given: options of the schedule, see ``dgraph.backend.choices``; ``options[name]`` is what holds.

    Raises:
        UsageError: a name or value that is not known, an option of another schedule.
    """

    def __init__(
        self,
        schedule: str = "auto",
        *,
        small: int = 1 << 18,
        record: bool = False,
        renumber: bool | None = None,
        blocks: int | None = None,
        **given: object,
    ):
        known = ("auto", "persistent", *SCHEDULES)
        if schedule not in known:
            raise unknown("schedule", schedule, known)
        self.schedule, self.small, self.record, self.renumber, self.blocks = schedule, small, record, renumber, blocks
        self.values = checked(schedule, given)

    def __getitem__(self, name: str) -> str | int:
        return self.values[name]
