"""Candidates of a comparison: schedules, each with every combination of the values given for its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product

from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.schedule_options import CHOICES, Choice, options_of
from dgraph.errors import UsageError, unknown

SWEEP = "sweep"
"""Placeholder for the values 0, 1, 2, 4 … up to the largest degree."""

WHOLE = ("auto", "persistent")
"""Names that ``--schedule`` accepts beside those of the register."""

IN_ROUNDS = ("vertex", "warp_shares", "twc")
"""Schedules that the persistent kernel contains."""


@dataclass(frozen=True)
class Candidate:
    """Schedule with values for its options."""

    schedule: str
    options: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Schedule and options, such as ``alb threshold=4096``."""
        options = [f"{CHOICES[name].option}={value}" for name, value in self.options.items()]
        return " ".join([self.schedule, *options])

    @property
    def lines(self) -> int | None:
        """Lines of its template and of the templates it includes, without comments and blank lines; None for auto."""
        if self.schedule == "auto":
            return None
        if self.schedule == "persistent":
            return _lines("round_kernels", "persistent_rounds") + sum(_lines("schedules", name) for name in IN_ROUNDS)
        row = SCHEDULES[self.schedule]
        return sum(_lines("schedules", name) for name in dict.fromkeys((*row.needs, row.name)))


def candidates(schedules: str, largest: int) -> list[Candidate]:
    """Return the schedules to compare, each with every combination of the values of its options.

    Args:
        schedules: ``NAME[,option=value…]`` of each schedule, separated by commas, such as "twc,alb,threshold=sweep",
            or "all". A name may occur again with other options.
        largest: largest degree of the graph, where a sweep ends.

    Raises:
        UsageError: an unknown name or value, or an option without a schedule that has it.
    """
    registered = (*WHOLE, *SCHEDULES)
    named: list[tuple[str, dict[str, Sequence[str | int]]]] = []
    for word in registered if schedules == "all" else filter(None, map(str.strip, schedules.split(","))):
        name, equals, text = word.partition("=")
        if not equals:
            if name not in registered:
                raise unknown("schedule", name, registered)
            named.append((name, {}))
            continue
        if not named:
            raise UsageError(f"--schedule {schedules}: {word} has no schedule before it; write NAME,{word}")
        schedule, values = named[-1]
        choices = options_of(schedule)
        if name not in choices:
            raise unknown(f"option of the schedule {schedule}", name, choices)
        choice = choices[name]
        if choice.name in values:
            raise UsageError(f"--schedule {schedules}: {schedule} has {name} twice; write {schedule},{word} apart")
        values[choice.name] = _values(choice, text, largest)
    listed: list[Candidate] = []
    for name, values in named:
        combinations = (dict(zip(values, combination, strict=True)) for combination in product(*values.values()))
        listed += [c for c in (Candidate(name, options) for options in combinations) if c not in listed]
    return listed


def _values(choice: Choice, text: str, largest: int) -> Sequence[str | int]:
    if text != SWEEP:
        return [choice.checked(text)]
    if choice.least is None:
        raise UsageError(f"{choice.flag}sweep: it is one of {choice.form}, and not a number; name the values")
    most = largest if choice.most is None else choice.most
    doubled = [1 << k for k in range(most.bit_length() + 1)]
    return [value for value in (0, *doubled) if choice.least <= value <= (choice.most or 2 * most)]


@cache
def _lines(folder: str, name: str) -> int:
    text = (files("dgraph.backend.cuda") / folder / f"{name}.cuh").read_text(encoding="utf-8")
    return sum(bool(line.strip()) and not line.lstrip().startswith("//") for line in text.splitlines())
