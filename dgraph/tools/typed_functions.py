"""Write what ``dgraph`` offers from the register of algorithms: ``python -m dgraph.tools.typed_functions``.

``dgraph/__init__.pyi`` has the declarations that type checkers and editors read, ``dgraph/_support/function_names.py``
the names that ``import dgraph`` must know without importing an algorithm. ``tests/engine/test_api.py`` compares both
with the register.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, Signature
from pathlib import Path

from dgraph._support.public_names import HOMES
from dgraph.algorithms import ALGORITHMS
from dgraph.algorithms.signatures import signature

PACKAGE = Path(__file__).parents[1]
STUB, NAMES = PACKAGE / "__init__.pyi", PACKAGE / "_support/function_names.py"
WRITTEN = "written by python -m dgraph.tools.typed_functions"

HEAD = f"""# Declarations for type checkers and editors, {WRITTEN}.
# ruff: noqa
# fmt: off

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

"""
TYPES = """
GraphLike: TypeAlias = str | PathLike | Graph | Any
Vertices: TypeAlias = Sequence[int | str] | Mapping[int | str, float]

__version__: str
HOMES: dict[str, str]
FUNCTIONS: tuple[str, ...]
ALIASES: dict[str, str]

"""


def names() -> str:
    """Return the text of the module with the names of functions and their aliases."""
    functions = _lines(f'"{name}",' for name in sorted(ALGORITHMS))
    aliases = _lines(f'"{alias}": "{name}",' for alias, name in sorted(ALGORITHMS.aliases.items()))
    return (
        f'"""Names of the functions of ``dgraph``; {WRITTEN}."""\n\n'
        f'FUNCTIONS = (\n{functions})\n"""Algorithms that are functions of ``dgraph``."""\n\n'
        f"ALIASES = {{\n{aliases}}}\n"
        '"""Other names of these functions, such as NetworkX\'s and cuGraph\'s → their names."""\n'
    )


def stub() -> str:
    """Return the text of the declarations of all public names; ``as`` marks an import as public."""
    homes: dict[str, list[str]] = {}
    for name, home in HOMES.items():
        homes.setdefault(home, []).append(name)
    imports = [
        f"from {home} import {', '.join(f'{name} as {name}' for name in sorted(homes[home]))}\n"
        for home in sorted(homes)
    ]
    functions = [declaration(name, signature(ALGORITHMS[name])) for name in sorted(ALGORITHMS)]
    aliases = [f"{alias} = {name}\n" for alias, name in sorted(ALGORITHMS.aliases.items())]
    return "".join([HEAD, *imports, TYPES, *functions, *aliases])


def declaration(name: str, described: Signature) -> str:
    """Return the declaration of a function, one line for each argument."""
    lines, keywords = [], False
    for argument in described.parameters.values():
        if argument.kind is Parameter.KEYWORD_ONLY and not keywords:
            lines.append("*,")
            keywords = True
        default = "" if argument.default is Parameter.empty else f" = {argument.default!r}"
        lines.append(f"{argument.name}: {argument.annotation}{default},".replace("'", '"'))
    return f"def {name}(\n{_lines(lines)}) -> {described.return_annotation}: ...\n"


def _lines(parts: Iterable[str]) -> str:
    """Return one indented line for each part."""
    return "".join(f"    {part}\n" for part in parts)


def main() -> None:
    """Write both files."""
    STUB.write_text(stub())
    NAMES.write_text(names())


if __name__ == "__main__":
    main()
