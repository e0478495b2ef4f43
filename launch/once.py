"""argparse options that are given at most once: ``--source 1 --source 2`` is refused, in place of keeping the last.

:func:`once` changes a parser so; the command lines of dgraph, partitioning and launch all use it. It needs a parser
whose ``argument_default`` is ``argparse.SUPPRESS``: a value that is present was given.
"""

from __future__ import annotations

import argparse
from typing import Any


class Once(argparse.Action):
    """Store the value of an option; refuse a second one."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        _refuse(self, namespace, option, f"and {values!r}")
        setattr(namespace, self.dest, values)


class Switch(argparse.BooleanOptionalAction):
    """``--name`` and ``--no-name``, of which the same may be given again."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        value = not str(option).startswith("--no-")
        if getattr(namespace, self.dest, value) != value:
            _refuse(self, namespace, option, f"by {option}")
        setattr(namespace, self.dest, value)


def once(parser: argparse.ArgumentParser) -> None:
    """Let the options of ``parser`` that take a value, in groups and subcommands too, be given at most once."""
    for name in (None, "store"):
        parser.register("action", name, Once)


def _refuse(action: argparse.Action, namespace: Any, option: str | None, again: str) -> None:
    if option is not None and hasattr(namespace, action.dest):
        given = getattr(namespace, action.dest)
        raise argparse.ArgumentError(action, f"it is given twice, as {str(given)!r} {again}; give it once")
