"""What a user may choose about schedules: one row an option. ``--help``, ``list`` and :func:`dgraph.run` read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dgraph.errors import UsageError


@dataclass(frozen=True)
class Choice:
    """One option of some schedules.

    Attributes:
        name: a keyword of :func:`dgraph.run`; on the command line with dashes.
        schedules: those that have it.
        help: what it says, in one line.
        default: what holds where it is not given.
        words: words that it may be.
        least, most: numbers that it may be, where it may be a number.
        power: whether a number must be a power of two.
    """

    name: str
    schedules: tuple[str, ...]
    help: str
    default: str | int
    words: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    power: bool = False

    @property
    def flag(self) -> str:
        """As the command line has it."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def form(self) -> str:
        """What it may be."""
        return "|".join([*self.words, *([] if self.least is None else [self._numbers()])])

    def _numbers(self) -> str:
        if self.most is None:
            return "N" if self.least in (0, 1) else f"N≥{self.least}"
        return f"{self.least}…{self.most}"

    def checked(self, value: object) -> str | int:
        """The value as a word or a number.

        Raises:
            UsageError: it is neither that it may be.
        """
        text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
        if text in self.words:
            return text
        if self.least is not None and text.isdecimal():
            number, most = int(text), 2**40 - 1 if self.most is None else self.most
            if self.least <= number <= most and not (self.power and number & (number - 1)):
                return number
        kind = ", a power of two" if self.power else ""
        raise UsageError(f"{self.flag} {text!r} is none of {self.form}{kind}; give one of them, or leave it out")


HOST, DEVICE = "host", "device"
BUILDS = {
    "auto": HOST,
    HOST: "ranks read or draw edges on CPUs, exchange them, and bring their parts to GPUs",
    DEVICE: "each GPU draws the edges of a generated graph and keeps those that lie on it (docs/partitioning.md)",
}
"""Where a graph is built: name → what that means."""

ROUNDS = {
    "local_rounds": "GPUs run rounds of their own between exchanges: for roads; the same answers",
    "host_rounds": "hosts agree on the ends of broad rounds, even where GPUs reach each other and do without",
    "overlap": "messages of broad rounds that push travel while edges inside ranks are walked",
    "across_limit": "vertices and edges a rank of the rounds that run in one kernel of all GPUs (default 1,048,576)",
}
"""How rounds of several GPUs run: keywords of :func:`dgraph.run` → what they mean."""

CHOICES = {
    row.name: row
    for row in (
        Choice(
            "alb_threshold", ("alb",),
            "degree above which a vertex is huge: auto (a block's share of a round), threads (as many as are launched)",
            "auto", ("auto", "threads"), 0,
        ),
        Choice(
            "alb_distribution", ("alb", "lb"), "how edges are dealt out to threads", "cyclic", ("cyclic", "blocked")
        ),
        Choice(
            "edge_chunk", ("edge",), "one reservation in the list of edges a vertex, in place of one an edge",
            "on", ("on", "off"),
        ),
        Choice(
            "mdt", ("split", "hierarchical"),
            "edges of a vertex that a thread takes at most; auto: from the histogram of degrees", "auto", ("auto",), 1,
        ),
        Choice("warp_size", ("virtual_warp",), "lanes that share a vertex", 8, least=2, most=32, power=True),
        Choice(
            "grid_threshold", ("dynamic_parallelism",), "degree above which a vertex gets a grid of its own",
            4096, least=0,
        ),
        Choice(
            "merge_by", ("merge_path",), "where a thread's share goes: through its registers, or a list in memory that "
            "a second kernel gathers", "registers", ("registers", "memory"),
        ),
        Choice(
            "expand_factor", ("expand_hybrid",),
            "edges a vertex from which on redistribution is balanced, and not gathering", 10, least=0,
        ),
    )
}  # fmt: skip
"""Name → option."""


def checked(schedule: str, given: Mapping[str, object]) -> dict[str, str | int]:
    """Every option's value under a schedule: as given, else its default.

    Raises:
        UsageError: an option of another schedule, or a value that it cannot have.
    """
    for name, value in given.items():
        row = CHOICES[name]
        row.checked(value)
        if schedule not in row.schedules:
            owners = " or ".join(row.schedules)
            raise UsageError(
                f"{row.flag} is an option of the schedule {owners}, and the schedule is {schedule}; "
                f"give --schedule {row.schedules[0]}, or leave the option out"
            )
    return {name: row.checked(given[name]) if name in given else row.default for name, row in CHOICES.items()}
