"""Names of dgraph's algorithms and commands, read from its sources without an import."""

from __future__ import annotations

import ast
from difflib import get_close_matches
from functools import cache
from pathlib import Path

DGRAPH = Path(__file__).parent.parent / "dgraph"
SOURCES = {"_support/function_names.py": ("FUNCTIONS", "ALIASES"), "cli/commands.py": ("COMMANDS",)}
"""File → its constants that hold names."""


@cache
def first_words() -> frozenset[str]:
    """Return the first words that a command line may have; empty where dgraph is not beside this package."""
    names: set[str] = set()
    for file, constants in SOURCES.items():
        if (DGRAPH / file).exists():
            for node in ast.parse((DGRAPH / file).read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in constants:
                    names |= set(ast.literal_eval(node.value))
    return frozenset(names)


def check(words: tuple[str, ...]) -> None:
    """Refuse a command line of dgraph whose first word is no algorithm, command or ``MODULE:CLASS``.

    Raises:
        ValueError: such a word; the text names the nearest ones.
    """
    if not words or not first_words() or ":" in words[0] or words[0] in first_words():
        return
    near = get_close_matches(words[0], sorted(first_words()), 3) or sorted(first_words())
    raise ValueError(
        f"{words[0]!r} is not an algorithm or a command of dgraph; near are {', '.join(near)} (python -m dgraph list)"
    )
