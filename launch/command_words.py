"""Check of the words behind ``--``: dgraph refuses them in a process of its own, before a job is queued."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path

DGRAPH = Path(__file__).parent.parent / "dgraph"
SOURCES = {"_support/function_names.py": ("FUNCTIONS", "ALIASES"), "cli/commands.py": ("COMMANDS",)}
"""File → its constants that hold names."""

REFUSED = (2, 65)
"""Exit codes of dgraph for words that cannot be run, and for a list of sources that is none."""


@cache
def first_words() -> frozenset[str]:
    """Return the first words that a command line may have; empty where dgraph is not beside this package.

    They are read from dgraph's sources without an import.
    """
    names: set[str] = set()
    for file, constants in SOURCES.items():
        if (DGRAPH / file).exists():
            for node in ast.parse((DGRAPH / file).read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in constants:
                    names |= set(ast.literal_eval(node.value))
    return frozenset(names)


def check(words: Sequence[str]) -> str | None:
    """Refuse a command line of dgraph that its parser refuses.

    Only the first word is checked where this Python cannot import dgraph, as on a bare login node, or a user's class.

    Returns:
        Why only the first word was checked; None if all words were.

    Raises:
        ValueError: dgraph refuses the words; the text is its own.
    """
    if not words:
        return None
    _check_first(words[0])
    command = [sys.executable, "-m", "dgraph.cli.checked_words", *words]
    checked = subprocess.run(command, capture_output=True, text=True)
    if checked.returncode in REFUSED:
        raise ValueError(checked.stdout.strip())
    if checked.returncode:
        why = (checked.stderr.strip().splitlines() or [f"{sys.executable} ended with {checked.returncode}"])[-1]
        return f"the options of {words[0]} were not checked here: {why}"
    return None


def _check_first(word: str) -> None:
    if not first_words() or ":" in word or word in first_words():
        return
    near = get_close_matches(word, sorted(first_words()), 3) or sorted(first_words())
    raise ValueError(
        f"{word!r} is not an algorithm or a command of dgraph; near are {', '.join(near)} (python -m dgraph list)"
    )
