"""Grammar of ``NAME:SIZE[,key=value|flag …]``, and the declarations of generators that it needs.

:func:`parse` reads a spec against the register in ``generate.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from dgraph.errors import UsageError, unknown
from dgraph.graph.generators.recipe import Recipe

MAX_SCALE = 40
"""Generated graphs have at most ``2**MAX_SCALE`` vertices."""

Extent = int | tuple[int, int]
"""Parsed size: a scale, a number of vertices, or rows and columns."""


@dataclass(frozen=True)
class Option:
    """Option ``key=value``; a value has the type of the default. A bool may also be a bare ``key``: a flag."""

    default: bool | int | float
    help: str
    low: float = 0
    high: float = (1 << 63) - 1

    @property
    def form(self) -> str:
        """Description of valid values, for messages."""
        if isinstance(self.default, bool):
            return "0 or 1"
        kind = "an integer" if isinstance(self.default, int) else "a number"
        return f"{kind} from {self.low} to {self.high}"

    def parse(self, text: str) -> bool | int | float:
        """Convert ``text`` to a value; raise ValueError if it is invalid."""
        if isinstance(self.default, bool):
            return {"0": False, "1": True}[text] if text in ("0", "1") else _refuse()
        value = _natural(text) if isinstance(self.default, int) else _decimal(text)
        return value if self.low <= value <= self.high else _refuse()


@dataclass(frozen=True)
class Size:
    """Text after the colon: its form, its meaning for messages, and its parser."""

    form: str
    meaning: str
    parse: Callable[[str], Extent]


@dataclass(frozen=True)
class Generator:
    """One row of the register. ``make(size, **options) -> Recipe``."""

    name: str
    make: Callable[..., Recipe]
    size: Size
    help: str
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def form(self) -> str:
        """Syntax with the defaults: ``uniform:SCALE[,edge_factor=16][,seed=1][,symmetric]``."""
        return f"{self.name}:{self.size.form}" + "".join(
            f"[,{key}]" if option.default is False else f"[,{key}={_spell(option.default)}]"
            for key, option in self.options.items()
        )

    def spell(self, size: Extent, options: Mapping[str, bool | int | float]) -> str:
        """Return the spec of this generator with every option written out, except flags that are off by default."""
        extent = "x".join(map(str, size)) if isinstance(size, tuple) else str(size)
        written = [
            key if value is True and self.options[key].default is False else f"{key}={_spell(value)}"
            for key, value in options.items()
            if value or self.options[key].default
        ]
        return ",".join([f"{self.name}:{extent}", *written])


def parse(spec: str, register: Mapping[str, Generator]) -> tuple[Generator, Extent, dict[str, bool | int | float]]:
    """Parse a spec into its generator, size and every option.

    Raises:
        UsageError: an unknown name or option (the message lists the known ones), or an invalid value (it gives the
            form).
    """
    name, _, rest = spec.partition(":")
    if name not in register:
        raise unknown("generator", name, register)
    generator = register[name]
    size_text, *option_texts = rest.split(",")
    write = f"write {generator.form}"
    try:
        size = generator.size.parse(size_text)
    except ValueError:
        size_words = f"the size {size_text!r}" if size_text else "no size"
        raise UsageError(f"{spec}: {size_words}, where {generator.size.meaning} belongs; {write}") from None
    values: dict[str, bool | int | float] = {}
    for text in option_texts:
        key, equals, value = text.partition("=")
        if not key:
            raise UsageError(f"{spec}: {text!r} is not an option; {write}")
        if key not in generator.options:
            cause = str(unknown("option", key, generator.options)) if generator.options else f"{name} has no options"
            raise UsageError(f"{spec}: {cause}; {write}")
        if key in values:
            raise UsageError(f"{spec}: {key} is given twice; give it once")
        option = generator.options[key]
        try:
            values[key] = True if isinstance(option.default, bool) and not equals else option.parse(value)
        except ValueError:
            raise UsageError(f"{spec}: {text}, where {key} takes {option.form}; {write}") from None
    return generator, size, {key: values.get(key, option.default) for key, option in generator.options.items()}


def _spell(value) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _refuse() -> NoReturn:
    raise ValueError


def _natural(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,19}", text) else _refuse()


def _decimal(text: str) -> float:
    return float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?", text) else _refuse()


def _scale(text: str) -> int:
    scale = _natural(text)
    return scale if scale <= MAX_SCALE else _refuse()


def _count(text: str) -> int:
    count = _natural(text)
    return count if 1 <= count <= 1 << MAX_SCALE else _refuse()


def _rows_by_columns(text: str) -> tuple[int, int]:
    sides = tuple(_count(side) for side in text.split("x"))
    return sides if len(sides) == 2 and sides[0] * sides[1] <= 1 << MAX_SCALE else _refuse()


SCALE = Size("SCALE", f"an integer from 0 to {MAX_SCALE} (for 2**SCALE vertices)", _scale)
COUNT = Size("N", f"a number of vertices from 1 to 2**{MAX_SCALE}", _count)
SIDES = Size("ROWSxCOLS", f"two integers from 1, such as 512x512 (at most 2**{MAX_SCALE} vertices),", _rows_by_columns)
