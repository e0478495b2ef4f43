"""argparse whose help and errors are exceptions, so that all ranks of a job end together.

:class:`Parser` reads the words of every command of dgraph and of ``python -m partitioning``. It never prints and never
exits.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dgraph.errors import OTHER_PARAMETERS, UsageError
from launch.once import once

PROGRAM = "python -m dgraph"
"""The command as help texts write it; :func:`program` is what the user typed."""

CONSOLE = "dgraph"
"""Console command that ``pyproject.toml`` installs."""


def program() -> str:
    """Return the command that started this process: ``dgraph`` or ``python -m dgraph``."""
    return CONSOLE if Path(sys.argv[0]).name in (CONSOLE, f"{CONSOLE}.exe") else PROGRAM


def search_working_folder() -> None:
    """Let Python find modules in the working directory, behind all others, if it does not yet.

    ``python -m dgraph`` finds them; the console command does not by itself.
    """
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


HELP_COLUMN, HELP_WIDTH = 30, 100


class HelpRequested(Exception):
    """Request for a text in place of work: help, or the version. ``str`` of it is the text."""


class Parser(argparse.ArgumentParser):
    """Parser whose result holds only what was given; an option that takes a value is given at most once.

    Abbreviated and unknown options are refused by name.

    Args:
        surplus: end of the error about a word too many.
        short_help: function that returns the text of ``--help``; the full text is then that of ``--help-all``.
        options: keywords of ``argparse.ArgumentParser``.
    """

    def __init__(
        self, surplus: str = "one word too many", short_help: Callable[[Parser], str] | None = None, **options: Any
    ):
        self.surplus, self.short_help = surplus, short_help
        options["prog"] = options["prog"].replace(PROGRAM, program())
        super().__init__(
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
            argument_default=argparse.SUPPRESS,
            **options,
        )
        once(self)
        self.add_argument(
            "-h", "--help", action=_Help, help="show the most used options" if short_help else "show this help"
        )
        if short_help:
            self.add_argument("--help-all", action=_Help, help="show every option")

    @property
    def name(self) -> str:
        """Last word of the command: the algorithm's or the command's name."""
        return self.prog.split()[-1]

    def error(self, message: str) -> NoReturn:
        """Raise a :class:`UsageError` that ends with the command whose help lists the options."""
        if message.endswith("expected one argument"):
            message += " (one that begins with - is written behind =, such as --weights=-5..5)"
        see = " See" if message.endswith("?") else "; see"
        raise UsageError(f"{message}{see} {self.prog} --help{'-all' if self.short_help else ''}")

    def help_text(self, full: bool = True) -> str:
        """Return the help, with the command that the user typed in its examples; short where not ``full``."""
        text = self.format_help() if full or self.short_help is None else self.short_help(self)
        return text.rstrip().replace(PROGRAM, program())

    def parsed(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the value of each option and argument in ``words``, by its destination.

        Raises:
            UsageError: an unknown, abbreviated or repeated option, a wrong value, a word too many or too few.
            HelpRequested: the words ask for help.
        """
        self._refuse_unknown(words)
        namespace, rest = self.parse_known_intermixed_args(words)
        for word in rest:
            if word.startswith("-") and word != "-":
                self.error(self._unknown(word))
        if rest:
            self.error(f"got {rest[0]!r}, {self.surplus}")
        return vars(namespace)

    def _refuse_unknown(self, words: Sequence[str]) -> None:
        """Refuse the first unknown option, before argparse complains of anything else."""
        for word in words:
            if word == "--":
                return
            name = word.partition("=")[0]
            if word.startswith("--") and name not in self._option_string_actions:
                self.error(self._unknown(name))

    def _unknown(self, name: str) -> str:
        options = [option for option in self._option_string_actions if option.startswith("--")]
        longer = [option for option in options if len(name) > 3 and option.startswith(name)]
        if longer:
            return f"unknown option {name}: options are written in full; give {' or '.join(longer)}"
        here = OTHER_PARAMETERS.get(name.lstrip("-").replace("-", "_"), "").replace("_", "-")
        if f"--{here}" in options:
            return f"unknown option {name}: it is called --{here}"
        close = difflib.get_close_matches(name.lstrip("-"), [option.lstrip("-") for option in options], 1)
        hint = f"; did you mean --{close[0]}?" if close else ""
        return f"unknown option {name}: {self.name} has no option of that name{hint}"


class _Help(argparse.Action):
    """``--help`` or ``--help-all``."""

    def __init__(self, option_strings: Sequence[str], dest: str, default: Any = None, help: str | None = None):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> NoReturn:
        raise HelpRequested(parser.help_text(full=option == "--help-all"))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help of 100 columns, the texts from column 30 on."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=HELP_COLUMN, width=HELP_WIDTH)


def flag(value: bool = True, of: str | None = None) -> dict[str, Any]:
    """Return the keywords of ``add_argument`` for an option without a value; if absent, so is its destination."""
    action = {"action": "store_const", "const": value, "default": argparse.SUPPRESS}
    return action | ({"dest": of} if of else {})


def summary(member: object) -> str:
    """Return the first line of an object's docstring."""
    return (member.__doc__ or "").strip().partition("\n")[0]
