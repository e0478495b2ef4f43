"""What README and docs tell people to type: command lines that are understood, Python that runs, files that exist."""

import re
import shlex
from pathlib import Path

import pytest

from dgraph.algorithms import ALGORITHMS
from dgraph.cli.parser import parse
from partitioning import POLICIES

ROOT = Path(__file__).parent.parent
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"python -m dgraph ([^`|>&;#\n]*)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


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
