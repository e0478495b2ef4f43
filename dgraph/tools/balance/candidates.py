"""What is compared: schedules, each with every combination of the values that were named for its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product

from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.schedule_options import CHOICES, Choice
from dgraph.errors import UsageError, unknown

SWEEP = "sweep"
"""In place of values: 0, 1, 2, 4 … until no vertex has so many edges."""

WHOLE = ("auto", "persistent")
"""Names that ``--schedule`` knows beside those of the register."""

IN_ROUNDS = ("vertex", "warp_search", "twc")
"""Schedules that the persistent kernel has in it."""


@dataclass(frozen=True)
class Candidate:
    """A schedule, and the options that it was given."""

    schedule: str
    options: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The schedule, and what of its name says which option."""
        told = [f"{name.removeprefix(f'{self.schedule}_')}={value}" for name, value in self.options.items()]
        return " ".join([self.schedule, *told])

    @property
    def lines(self) -> int | None:
        """Lines of its template, and of those that it builds on, comments and blank lines left out; None for auto."""
        if self.schedule == "auto":
            return None
        if self.schedule == "persistent":
            return _lines("round_kernels", "persistent_rounds") + sum(_lines("schedules", name) for name in IN_ROUNDS)
        row = SCHEDULES[self.schedule]
        return sum(_lines("schedules", name) for name in dict.fromkeys((*row.needs, row.name)))


def candidates(schedules: str, options: Mapping[str, str], largest: int) -> list[Candidate]:
    """What to compare.

    Args:
        schedules: names with commas between them, or "all".
        options: option → values with commas between them, or "sweep"; every schedule gets those of its own.
        largest: degree of the graph, where a sweep ends.

    Raises:
        UsageError: a name or value that is not known, or an option that none of these schedules has.
    """
    known = (*WHOLE, *SCHEDULES)
    names = [*known] if schedules == "all" else [name.strip() for name in schedules.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise unknown("schedule", name, known)
    given = {name: _values(CHOICES[name], text, largest) for name, text in options.items()}
    for name in given:
        if not set(CHOICES[name].schedules) & {*names}:
            owners = ", ".join(CHOICES[name].schedules)
            raise UsageError(f"{CHOICES[name].flag} is of {owners}, and none of them is compared; add it to --schedule")
    found = []
    for name in dict.fromkeys(names):
        own = {option: values for option, values in given.items() if name in CHOICES[option].schedules}
        found += [Candidate(name, dict(zip(own, values, strict=True))) for values in product(*own.values())]
    return found


def _values(choice: Choice, text: str, largest: int) -> Sequence[str | int]:
    if text != SWEEP:
        return [choice.checked(one.strip()) for one in text.split(",")]
    if choice.least is None:
        raise UsageError(f"{choice.flag} sweep: it is one of {choice.form}, and no number; name the values")
    most = largest if choice.most is None else choice.most
    doubled = [1 << k for k in range(most.bit_length() + 1)]
    return [value for value in (0, *doubled) if choice.least <= value <= (choice.most or 2 * most)]


@cache
def _lines(folder: str, name: str) -> int:
    text = (files("dgraph.backend.cuda") / folder / f"{name}.cuh").read_text(encoding="utf-8")
    return sum(bool(line.strip()) and not line.lstrip().startswith("//") for line in text.splitlines())
