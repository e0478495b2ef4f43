"""Files, folders and pages that sources, comments and documentation name exist."""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest
from children import ROOT
from pages import TEXTS, anchors, name

SOURCES = (".py", ".cuh", ".md")
MENTION = re.compile(r"(?<![\w*{}./-])((?:[\w.-]+/)*\w+\.(?:py|cuh))(?!\w)")
FOLDER = re.compile(r"`(?:\.\./)*((?:\w+/)+|(?:dgraph|partitioning)(?:/\w+)+)`")
PLACEHOLDERS = {
    "__init__.py", "NAME.cuh", "dgraph/backend/cuda/schedules/NAME.cuh", "script.py", "path/to/file.py", "FILE.py",
}  # fmt: skip
"""Names that stand for any file, or for a user's file."""


def comments(path):
    """Return the comments and docstrings of a source file, or all of a page."""
    text = path.read_text()
    if path.suffix == ".md":
        return text.replace("<!--", " ")
    if path.suffix == ".cuh":
        return "\n".join(hit[0] for hit in re.finditer(r"//[^\n]*|/\*.*?\*/", text, re.DOTALL))
    lines = [
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT
    ]
    alone = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    return "\n".join(
        [*lines, *(node.value for node in alone if isinstance(node, ast.Constant) and node.value is not ...)]
    )


def unknown_files(text, home, tree):
    """Return the files and folders that a text names and that do not exist, or are ambiguous.

    A path names a file or folder of ``tree`` by its end. A bare name is unique, or in ``home``, the text's folder.
    """
    files, folders, names = places(tuple(tree))
    beside = names.get(home, set())
    named = set(MENTION.findall(text)) - beside - PLACEHOLDERS
    wrong = [path for path in named if sum(file.endswith(f"/{path.removeprefix('../')}") for file in files) != 1]
    named = {folder.rstrip("/") for folder in FOLDER.findall(text)}
    wrong += [path for path in named if not any(folder.endswith(f"/{path}") for folder in folders)]
    return sorted(wrong)


@cache
def places(tree):
    """Return the paths of files, those of folders, and folder → names of its files."""
    names = {}
    for path in tree:
        names.setdefault(path.parent, set()).add(path.name)
    return [f"/{path.as_posix()}" for path in tree], {f"/{folder.as_posix()}" for folder in _folders(names)}, names


def _folders(names):
    return {folder for home in names for folder in (home, *home.parents)}


def checkout():
    tops = ("dgraph", "partitioning", "launch", "tests", "benchmarks", "examples", "docs", "docker")
    paths = (path for top in tops for path in (ROOT / top).rglob("*") if path.is_file())
    return [path.relative_to(ROOT) for path in paths if "__pycache__" not in path.parts]


def sources():
    return [path for top in ("dgraph", "partitioning") for end in SOURCES for path in (ROOT / top).rglob(f"*{end}")]


def test_named_files_exist():
    tree = checkout()
    wrong = {
        str(path.relative_to(ROOT)): names
        for path in [*TEXTS, *sources()]
        if (names := unknown_files(comments(path), path.parent.relative_to(ROOT), tree))
    }
    assert wrong == {}


PAGE = re.compile(r"docs/[\w/-]+\.(?:md|png)(?:#[\w-]+)?")


def test_named_pages_exist():
    """Check that pages of ``docs/`` named in sources, tests and settings exist, with the named headings."""
    tops = ("dgraph", "partitioning", "launch", "tests", "benchmarks", "examples", "docker")
    files = [*ROOT.glob("*.*"), *(path for top in tops for path in (ROOT / top).rglob("*"))]
    wrong = []
    for path in files:
        if path.suffix in (".py", ".cuh", ".md", ".toml", ".sbatch", ".def", ".js") and "results" not in path.parts:
            for hit in PAGE.findall(path.read_text()):
                page, _, anchor = hit.partition("#")
                if not (ROOT / page).exists() or (anchor and anchor not in anchors(ROOT / page)):
                    wrong.append((name(path), hit))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("see ``one.py`` and a/b/one.py", []),
        ("`b/one.py` of `a/`, `../b/`", []),
        ("``dgraph/none``, `none/`", ["dgraph/none", "none"]),
        ("``gone.py``", ["gone.py"]),
        ("a/gone.cuh:", ["a/gone.cuh"]),
        ("``two.py``: there are two", ["two.py"]),
        ("``here.py``: there are two, and one is beside the text", []),
        ("`dgraph/gone/` and ``dgraph/sub``", ["dgraph/gone"]),
    ],
)
def test_a_missing_file_is_found(text, wrong):
    paths = ("a/b/one.py", "a/two.py", "b/two.py", "home/here.py", "a/here.py", "dgraph/sub/c.py")
    assert unknown_files(text, Path("home"), [Path(path) for path in paths]) == wrong


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.py", '"""one.py"""\nx = "two.py"  # three.py\ndef f():\n    """four.py"""\n', {"one", "three", "four"}),
        ("a.cuh", "int x; // one.py\n/* two.py\n three.py */ f(four.py);\n", {"one", "two", "three"}),
    ],
)
def test_comments_include_docstrings(name, text, read, tmp_path):
    (tmp_path / name).write_text(text)
    assert {hit.removesuffix(".py") for hit in MENTION.findall(comments(tmp_path / name))} == read
