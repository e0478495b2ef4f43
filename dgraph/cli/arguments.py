"""argparse that raises: it never prints and never exits, so that all ranks can end together."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import Any, NoReturn

from dgraph.errors import UsageError
from launch.once import once


class HelpRequested(Exception):
    """The text that was asked for in place of work: help, a version."""


class Parser(argparse.ArgumentParser):
    """Options that are absent from what was parsed unless they were given; one that takes a value is given once.

    ``error`` raises a :class:`UsageError`, ``--help`` :class:`Said`.

    Args:
        surplus: what is said of a word too many.
    """

    def __init__(self, surplus: str = "one word too many", **options: Any):
        self.surplus = surplus
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, argument_default=argparse.SUPPRESS, **options)
        once(self)

    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):
            message += " (one that begins with - is written behind =, such as --weights=-5..5)"
        raise UsageError(f"{message}; see {self.prog} --help")

    def print_help(self, file: Any = None) -> NoReturn:
        raise HelpRequested(self.format_help().rstrip())

    def parsed(self, words: Sequence[str]) -> dict[str, Any]:
        """What ``words`` hold; nothing that no option knows."""
        found, rest = self.parse_known_intermixed_args(words)
        options = [word for word in rest if word.startswith("-")]
        if options:
            name = options[0].partition("=")[0]
            known = {option.lstrip("-"): option for option in self._option_string_actions}
            close = difflib.get_close_matches(name.lstrip("-"), known, 1)
            self.error(f"unknown option {name}" + (f": did you mean {known[close[0]]}?" if close else ""))
        if rest:
            self.error(f"got {rest[0]!r}, {self.surplus}")
        return vars(found)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30, width=100)


def flag(value: bool = True, of: str | None = None) -> dict[str, Any]:
    """An option without an argument that is absent from what was parsed unless it was given."""
    action = {"action": "store_const", "const": value, "default": argparse.SUPPRESS}
    return action | ({"dest": of} if of else {})


def summary(member: object) -> str:
    """The first line of its docstring."""
    return (member.__doc__ or "").strip().partition("\n")[0]
