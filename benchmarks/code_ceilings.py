"""Ceilings by package: code lines of the product, and uses of vague names.

``python -m benchmarks.code_ceilings > tests/packaging/ceilings.toml`` writes the table of the working tree. A ceiling
of code lines is 10 % above the count, one of names is the count. Files that a program writes do not count.
"""

from __future__ import annotations

import tomllib

from benchmarks import code, code_structure

FILE = code.ROOT / "tests" / "packaging" / "ceilings.toml"
HEADROOM = 10
"""Per cent."""

WRITTEN = ("dgraph/__init__.pyi", "dgraph/_support/function_names.py")
"""Written by ``dgraph.tools.typed_functions``: a new algorithm adds its lines there."""

HEAD = """\
# Most code lines (without docstrings, comments and blank lines), and most uses of vague names, by package.
# A feature that needs more raises one row, in a commit of its own that names the feature. Names only go down.
# python -m benchmarks.code_ceilings > tests/packaging/ceilings.toml
"""


def counts() -> dict[str, dict[str, int]]:
    """Return table → package → count in the working tree."""
    files = code.here()
    lines = {path: code.code_lines(path, text) for path, text in code.product(files).items() if path not in WRITTEN}
    return {
        "code_lines": code_structure.by_package(lines),
        "names_of_what_happened": code_structure.vague_names(files, code_structure.HAPPENED),
        "names_that_say_nothing": code_structure.vague_names(files, code_structure.EMPTY),
    }


def written(tables: dict[str, dict[str, int]]) -> str:
    """Return the text of the file with ceilings for these counts."""
    parts = [HEAD]
    for table, rows in tables.items():
        share = 100 + (HEADROOM if table == "code_lines" else 0)
        parts += [f"\n[{table}]\n", *(f'"{package}" = {-(-count * share // 100)}\n' for package, count in rows.items())]
    return "".join(parts)


def above(tables: dict[str, dict[str, int]], text: str) -> list[str]:
    """Return a message for each count above its ceiling, and for each package without a row.

    Args:
        tables: table → package → count.
        text: of the file with ceilings.
    """
    ceilings = tomllib.loads(text)
    return [
        f"{package}: {count:,} {table.replace('_', ' ')}, at most {ceilings[table].get(package, 0):,}: "
        + ("raise its row in a commit of its own" if table == "code_lines" else "name each value by what it is")
        for table, rows in tables.items()
        for package, count in rows.items()
        if count > ceilings[table].get(package, 0)
    ]


if __name__ == "__main__":
    print(written(counts()), end="")
