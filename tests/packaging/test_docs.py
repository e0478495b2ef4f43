"""What README and docs tell people to type: command lines that are understood, Python that runs, files that exist."""

import ast
import io
import re
import shlex
import tokenize
import tomllib
from pathlib import Path

import pytest
from children import ROOT

from dgraph.algorithms import ALGORITHMS
from dgraph.cli.parser import parse
from partitioning import POLICIES

TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"python -m dgraph ([^`|>&;#\n]*)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
ANOTHERS = re.compile(
    r"(?<![\w./-])dgraph\\*\[\w[\w,\s]*\\*\](?=[\s'\"]|$)"  # a requirement with extras
    r"|\binstall(?:[ \t]|\\\n)[^\n`#;&|]*?(?<![\w./=-])dgraph(?![\w./-])"
    r"|\b(?:version|distribution|metadata|requires|files)\([\"']dgraph[\"']\)"
)
"""The distribution that PyPI calls ``dgraph``, which is another project's, installed or looked up."""

SOURCES = (".py", ".cuh", ".md")
MENTION = re.compile(r"(?<![\w*{}./-])((?:[\w.-]+/)*\w+\.(?:py|cuh))(?!\w)")
FOLDER = re.compile(r"`(?:\.\./)*((?:\w+/)+|(?:dgraph|partitioning)(?:/\w+)+)`")
ANYBODYS = {"__init__.py", "NAME.cuh", "dgraph/backend/cuda/schedules/NAME.cuh", "script.py"}
"""Names that stand for any file, and a user's own."""


def found(pattern):
    return [pytest.param(hit, id=f"{path.stem}: {hit}") for path in TEXTS for hit in pattern.findall(path.read_text())]


@pytest.mark.parametrize("line", [param for param in found(COMMAND) if not re.search("…|NAME", param.values[0])])
def test_command_lines_are_understood(line, tmp_path, monkeypatch):
    """Names of files and several sources (@FILE) may be anything; options and names must be known."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources.txt").write_text("1\n")
    parse(shlex.split(line.rstrip("\\")), ALGORITHMS)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    assert [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("text", found(PYTHON), ids=lambda text: text.splitlines()[0])
def test_python_runs(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = dict(POLICIES)
    try:
        exec(compile(text, "docs", "exec"), {})
    finally:
        POLICIES.clear()
        POLICIES.update(known)


def notes(path):
    """The comments and docstrings of a source file, and all of a page."""
    text = path.read_text()
    if path.suffix == ".md":
        return text
    if path.suffix == ".cuh":
        return "\n".join(hit[0] for hit in re.finditer(r"//[^\n]*|/\*.*?\*/", text, re.DOTALL))
    comments = [
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT
    ]
    alone = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    return "\n".join(
        [*comments, *(node.value for node in alone if isinstance(node, ast.Constant) and node.value is not ...)]
    )


def unknown_files(text, home, tree):
    """The files and folders that a text names and a tree lacks, or files that it has several of.

    A path is that of a file or folder, or the end of one. A bare name is that of one file, or of a file in ``home``,
    the folder of the text.
    """
    beside = {path.name for path in tree if path.parent == home}
    files = [f"/{path.as_posix()}" for path in tree]
    folders = {f"/{folder.as_posix()}" for path in tree for folder in path.parents}
    named = set(MENTION.findall(text)) - beside - ANYBODYS
    wrong = [name for name in named if sum(file.endswith(f"/{name.removeprefix('../')}") for file in files) != 1]
    named = {name.rstrip("/") for name in FOLDER.findall(text)}
    wrong += [name for name in named if not any(folder.endswith(f"/{name}") for folder in folders)]
    return sorted(wrong)


def checkout():
    tops = ("dgraph", "partitioning", "launch", "tests", "benchmarks", "examples", "docs", "docker")
    found = (path for top in tops for path in (ROOT / top).rglob("*") if path.is_file())
    return [path.relative_to(ROOT) for path in found if "__pycache__" not in path.parts]


def sources():
    return [path for top in ("dgraph", "partitioning") for end in SOURCES for path in (ROOT / top).rglob(f"*{end}")]


def test_files_that_texts_name_are_there():
    tree = checkout()
    wrong = {
        str(path.relative_to(ROOT)): names
        for path in [*TEXTS, *sources()]
        if (names := unknown_files(notes(path), path.parent.relative_to(ROOT), tree))
    }
    assert wrong == {}


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
def test_a_file_that_is_gone_is_seen(text, wrong):
    paths = ("a/b/one.py", "a/two.py", "b/two.py", "home/here.py", "a/here.py", "dgraph/sub/c.py")
    assert unknown_files(text, Path("home"), [Path(path) for path in paths]) == wrong


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.py", '"""one.py"""\nx = "two.py"  # three.py\ndef f():\n    """four.py"""\n', {"one", "three", "four"}),
        ("a.cuh", "int x; // one.py\n/* two.py\n three.py */ f(four.py);\n", {"one", "two", "three"}),
    ],
)
def test_notes_are_comments_and_docstrings(name, text, read, tmp_path):
    (tmp_path / name).write_text(text)
    assert {hit.removesuffix(".py") for hit in MENTION.findall(notes(tmp_path / name))} == read


def test_nothing_installs_another_projects_distribution():
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert name == "dgraph-analytics"
    folders = ("dgraph", "partitioning", "launch", "docker", "docs", "examples", "benchmarks", "tests", ".ci")
    files = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    texts = [path for path in files if path.is_file() and b"\0" not in path.read_bytes()[:4096]]
    assert {"Dockerfile", "dgraph.def", "README.md", "device.py", "many_nodes.sbatch"} <= {p.name for p in texts}
    hits = [
        (str(p.relative_to(ROOT)), hit[0]) for p in texts for hit in ANOTHERS.finditer(p.read_text(errors="replace"))
    ]
    assert hits == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pip install '{}[cuda13]'", True),
        ("pip install {} into this environment", True),
        ("/opt/x/bin/pip install --no-cache-dir {}", True),
        (r"match='{}\[fetch\]'", True),
        ("version('{}')", True),
        ("pip install '{}-analytics[mpi]'", False),
        ("pip install . && python -m {}", False),
    ],
)
def test_another_projects_distribution_is_seen(text, found):
    assert bool(ANOTHERS.search(text.format("dgraph"))) == found
