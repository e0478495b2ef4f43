"""argparse options that may be given once: ``--source 1 --source 2`` is an error, where argparse keeps the last value.

:func:`once` changes a parser accordingly; the command lines of dgraph, partitioning and launch use it. The parser's
``argument_default`` must be ``argparse.SUPPRESS``, so that a value is present only if it was given.
"""

from __future__ import annotations

import argparse
from typing import Any


class Once(argparse.Action):
    """Action that stores the value of an option and refuses a second one."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        """Store ``values``.

        Raises:
            ArgumentError: the option was given before.
        """
        _refuse(self, namespace, option, f"and {values!r}")
        setattr(namespace, self.dest, values)


class Switch(argparse.BooleanOptionalAction):
    """Action for ``--name`` and ``--no-name``: repeating one is accepted, giving both is refused."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        """Store True or False.

        Raises:
            ArgumentError: the opposite was given before.
        """
        value = not str(option).startswith("--no-")
        if getattr(namespace, self.dest, value) != value:
            _refuse(self, namespace, option, f"by {option}")
        setattr(namespace, self.dest, value)


def once(parser: argparse.ArgumentParser) -> None:
    """Make options of ``parser`` that take a value, also in groups and subcommands, refuse a second occurrence."""
    for name in (None, "store"):
        parser.register("action", name, Once)


def _refuse(action: argparse.Action, namespace: Any, option: str | None, again: str) -> None:
    if option is not None and hasattr(namespace, action.dest):
        earlier = getattr(namespace, action.dest)
        raise argparse.ArgumentError(action, f"it is given twice, as {str(earlier)!r} {again}; give it once")
