"""Counts of what a change of structure lowers: vague names, stand-ins, lazy loaders, imports upwards, exceptions."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter

HAPPENED = {"found", "each", "made", "known", "given", "held", "at"}
"""Names that say what happened to a value."""

EMPTY = {"got", "res", "out", "tmp", "data", "val", "obj", "item", "current", "thing"}
"""Names that say nothing of a value."""

TOPS = ("dgraph", "partitioning", "launch", "benchmarks", "tests", "examples")


TEXTS = re.compile(
    r"""\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*""", re.DOTALL
)
"""Strings and comments of Python."""


def package(path: str) -> str:
    """Return the package of a file: two parts of its path, three in ``dgraph/backend``, one outside ``dgraph``."""
    *folders, _ = path.split("/")
    if folders[:1] != ["dgraph"]:
        return folders[0]
    return "/".join(folders[: 3 if folders[1:2] == ["backend"] else 2])


def by_package(figures: dict[str, int]) -> dict[str, int]:
    """Return package → sum, of figures by path."""
    sums: Counter[str] = Counter()
    for path, figure in figures.items():
        sums[package(path)] += figure
    return dict(sorted(sums.items()))


def vague_names(files: dict[str, str], names: set[str]) -> dict[str, int]:
    """Return package → uses of these names in Python; those of NumPy's ``ufunc.at`` do not count."""
    uses = re.compile(rf"\b(?<!\.)(?:{'|'.join(names)})\b|(?<=\.)(?:{'|'.join(names - {'at'})})\b")
    return by_package(
        {path: len(uses.findall(TEXTS.sub("", text))) for path, text in files.items() if path.endswith(".py")}
    )


def stand_ins(files: dict[str, str]) -> int:
    """Return the number of rows of kernels that name a class with which ``estimate`` runs an algorithm."""
    texts = (text for path, text in files.items() if path.startswith("dgraph/algorithms/") and path.endswith(".py"))
    calls = (node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return sum(
        any(word.arg == "planned" for word in call.keywords)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id.endswith("Kernel")
    )


def loaders(files: dict[str, str]) -> int:
    """Return the number of functions in ``dgraph/algorithms`` that import one name and return it."""
    return sum(
        isinstance(node, ast.FunctionDef) and _imports_and_returns(node)
        for path, text in files.items()
        if path.startswith("dgraph/algorithms/") and path.endswith(".py")
        for node in ast.walk(ast.parse(text))
    )


def _imports_and_returns(function: ast.FunctionDef) -> bool:
    match function:
        case ast.FunctionDef(args=ast.arguments(args=[]), body=[ast.ImportFrom(), ast.Return(value=value)]):
            return isinstance(value, ast.Name | ast.Attribute)
    return False


def contracts_with_exceptions(settings: str) -> int:
    """Return the number of import contracts in pyproject.toml that ignore some import."""
    return sum("ignore_imports" in contract for contract in _contracts(settings))


def imports_upwards(files: dict[str, str], settings: str) -> list[tuple[str, str]]:
    """Return (module, imported module) where the importing package lies lower.

    The order is that of the contracts in pyproject.toml: of the packages of ``dgraph`` the first one's, and
    ``dgraph/__init__.py`` lies above them all, ``partitioning`` below, and ``launch`` below that; the entry point
    ``partitioning/__main__.py`` lies above all of ``dgraph``. Imports inside functions and for types count.
    """
    place = _places(settings)
    modules = {_dotted(path): path for path in files if path.endswith(".py")}
    return sorted(
        (name, imported)
        for name, path in modules.items()
        for imported in _imported(name, path, files[path], modules)
        if place[_top(imported, place)] > place[_top(name, place)]
    )


def _contracts(settings: str) -> list[dict]:
    return tomllib.loads(settings)["tool"]["importlinter"]["contracts"]


def _places(settings: str) -> dict[str, float]:
    """Return package → height, of the layers of ``dgraph`` and the packages beside it."""
    layers = next(row["layers"] for row in _contracts(settings) if row.get("containers") == ["dgraph"])
    place: dict[str, float] = {
        f"dgraph.{name.strip()}": height for height, row in enumerate(layers[::-1]) for name in row.split("|")
    }
    ends = {"dgraph": len(layers), "partitioning": -1, "launch": -2}
    return place | ends | {"partitioning.__main__": len(layers) + 1}


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _top(module: str, place: dict[str, float]) -> str:
    """Return the package that a module's height is that of."""
    two = ".".join(module.split(".")[:2])
    return two if two in place else module.partition(".")[0]


def _imported(name: str, path: str, text: str, modules: dict[str, str]) -> set[str]:
    """Return the modules of the product that a file imports, anywhere in it."""
    home = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
    dotted: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            dotted += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = home.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(filter(None, (above, node.module)))
            dotted += [f"{base}.{alias.name}" for alias in node.names]
    imported = set()
    for target in dotted:
        while target and target not in modules:
            target = target.rpartition(".")[0]
        imported.add(target)
    return imported - {"", name}


def classes_of_names(files: dict[str, str]) -> dict[str, str]:
    """Return label → ``total: package count, …`` of both groups of names."""
    rows = {"names for what happened": HAPPENED, "names that say nothing": EMPTY}
    return {label: _listed(vague_names(files, names)) for label, names in rows.items()}


def _listed(counts: dict[str, int]) -> str:
    parts = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    return f"{sum(counts.values()):,}" + (f": {parts}" if parts else "")
