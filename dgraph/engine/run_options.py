"""``Options``: settings of the rounds of one run, such as direction and schedule; none of them changes the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dgraph._support.arguments import choice, integer, text
from dgraph.backend.schedule_options import RESIDUAL, parse_record, parse_rounds, parse_schedule, record_words
from dgraph.comm.watchdog import LIMIT, allowed


@dataclass(frozen=True)
class Options:
    """Settings of the rounds of a run. The answer is the same under all of them.

    Attributes:
        direction: "push", "pull", or "auto": chosen each round from the frontier.
        schedule: how a GPU spreads a round's edges over threads: ``NAME[,option=value…]``, such as
            "alb,threshold=threads"; "auto": chosen each round.
        rounds: rounds of several GPUs: words of :data:`~dgraph.backend.schedule_options.ROUNDS` with commas between
            them, such as "local" or "host,limit=4096".
        max_rounds: rounds after which the run stops; the result then says that it did not converge. None: no limit.
        sync: "full" exchanges every mirror every round; "auto": what the program and the partition need.
        record: additional records of the run, with commas between them: "residual" (of each round, by algorithms that
            iterate to a tolerance: each round then returns to the host); and of GPUs "load" (edges by thread), "time"
            (seconds by kernel), "ranges" (names of rounds for a profiler).
        watchdog: seconds that a rank waits for another one in rounds and validation. Then the rank prints which one it
            waits for, and the job ends with exit code 124. "off", 0 or None: ranks wait without a limit.

    Raises:
        UsageError: a value that a field cannot have.
    """

    direction: str = "auto"
    schedule: str = "auto"
    rounds: str = "auto"
    max_rounds: int | None = None
    sync: str = "auto"
    record: str | None = None
    watchdog: float | str | None = LIMIT

    DIRECTIONS: ClassVar[Sequence[str]] = ("auto", "push", "pull")
    SYNCS: ClassVar[Sequence[str]] = ("auto", "full")

    def __post_init__(self) -> None:
        choice("direction", self.direction, self.DIRECTIONS)
        choice("sync", self.sync, self.SYNCS, "sync mode")
        if self.max_rounds is not None:
            integer("max_rounds", self.max_rounds, 1, more=", or None")
        if self.record is not None:
            record_words(text("record", self.record, more=", or None"))
        parse_schedule(text("schedule", self.schedule))
        parse_rounds(text("rounds", self.rounds))
        allowed(self.watchdog)

    def gpu_keywords(self) -> dict[str, Any]:
        """Return the keywords of the GPU backend that differ from its defaults."""
        return parse_schedule(self.schedule) | parse_rounds(self.rounds) | parse_record(self.record)

    def named(self) -> dict[str, str]:
        """Return the GPU options that were given, by the name of the field."""
        record = ",".join(word for word in record_words(self.record) if word != RESIDUAL)
        chosen = {"schedule": self.schedule, "rounds": self.rounds, "record": record or None}
        return {name: value for name, value in chosen.items() if value not in (None, "auto")}

    @property
    def residuals(self) -> bool:
        """True if rounds record their residual."""
        return self.record is not None and RESIDUAL in record_words(self.record)


DEFAULTS = Options()
"""Settings of a run whose call names none."""
