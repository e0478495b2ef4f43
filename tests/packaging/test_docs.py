"""README, CONTRIBUTING, CHANGELOG and ``docs/`` against the code.

Command lines parse, Python runs, links and anchors exist, quoted constants are those of the code, and registers are
documented in full. ``test_worked_examples.py`` compares the programs of the guide with oracles.
Blocks of ``docs/start/`` run when the site is built.
"""

import importlib
import re
import shlex
import shutil
import tomllib
from dataclasses import fields

import networkx
import pytest
import report_fields
from children import ROOT
from pages import DOCS, PAGES, TEXTS, anchors, name, slug

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.backend.schedule_options import ROUNDS
from dgraph.backend.transport_names import TRANSPORTS
from dgraph.cli import partition as partitioning_command
from dgraph.cli.commands import COMMANDS
from dgraph.cli.parser import parse
from dgraph.graph.formats import FORMATS
from dgraph.graph.generate import GENERATORS
from dgraph.result.files.graph_writers import GRAPH_WRITERS
from partitioning import POLICIES

SERVICE = ROOT / "docs" / "guide" / "service.md"
ELSEWHERE = {SERVICE, *(DOCS / "start").glob("*.md")}
"""Pages whose Python runs with a service, or when the site is built."""
FOLDERS = ("benchmarks", "dgraph", "docs", "examples", "launch", "partitioning", "tests")
LINKED = [*sorted(ROOT.glob("*.md")), *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.md")))]
"""Pages whose links must lead somewhere: all of the checkout."""

MOST_OF_A_PAGE = 1_200
"""Limit of words in a page of the guide or the internals; the tutorial may have more."""

MOST_OF_THE_TUTORIAL = 1_900

MOST_OF_AN_ALGORITHM = 300
"""Limit of words in the page of an algorithm."""

README_LINES = 110

COMMAND = re.compile(r"python -m dgraph ((?:'[^'\n]*'|[^'`|>&;#\n])*)")
PARTITIONING = re.compile(r"python -m partitioning ([^`|>&;#\n]*)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"([\d][\d,.]*)( ?%)?<!--([^>]*?)-->", re.DOTALL)
ANOTHERS = re.compile(
    r"(?<![\w./-])dgraph\\*\[\w[\w,\s]*\\*\](?=[\s'\"]|$)"  # a requirement with extras
    r"|\binstall(?:[ \t]|\\\n)[^\n`#;&|]*?(?<![\w./=-])dgraph(?![\w./-])"
    r"|\b(?:version|distribution|metadata|requires|files)\([\"']dgraph[\"']\)"
)
"""Installation or look-up of PyPI's distribution ``dgraph``, which is another project."""


def uses(pattern, paths=TEXTS):
    return [pytest.param(hit, id=f"{path.stem}: {hit}") for path in paths for hit in pattern.findall(path.read_text())]


@pytest.mark.quick
@pytest.mark.parametrize("line", [param for param in uses(COMMAND) if not re.search("…|NAME|MODULE", param.values[0])])
def test_command_lines_parse(line, tmp_path, monkeypatch):
    """Check that options and names are known; files may be missing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources.txt").write_text("1\n")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    command, *words = shlex.split(line.rstrip("\\"))
    if command in ("serve", "mcp"):  # no tasks of ranks
        module = importlib.import_module(f"dgraph.cli.{command}")
        (module.serve_parser if command == "serve" else module._parser)().parsed(words)
    else:
        parse([command, *words], ALGORITHMS)


@pytest.mark.quick
@pytest.mark.parametrize("line", [param for param in uses(PARTITIONING) if not re.search("…|GRAPH", param.values[0])])
def test_partitioning_command_lines_parse(line):
    partitioning_command._parser().parsed(shlex.split(line))


@pytest.mark.quick
@pytest.mark.parametrize("path", LINKED, ids=name)
def test_links_and_anchors_exist(path):
    missing = []
    for link in ("".join(pair) for pair in LINK.findall(path.read_text())):
        if link.startswith(("http:", "https:")):
            continue
        target, _, anchor = link.partition("#")
        file = path.parent / target if target else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            missing.append(link)
    assert missing == []


def with_python():
    """Yield the pages whose Python runs; the programs that the tutorial defines are compiled."""
    for path in TEXTS:
        if path not in ELSEWHERE and PYTHON.search(path.read_text()):
            mark = pytest.mark.compiled if path.stem == "write-a-program" else pytest.mark.interpreted
            yield pytest.param(path, marks=mark, id=name(path))


@pytest.mark.parametrize("path", list(with_python()))
def test_python_runs(path, tmp_path, monkeypatch):
    """Run the blocks of one page in turn, in one namespace."""
    monkeypatch.chdir(tmp_path)
    run_blocks(path)


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_python_of_the_service_runs(live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with dgraph.connect(live.unix) as client:
        web = client.load("web", "rmat:8")
        dgraph.pagerank(web, max_iter=1000)  # compiled now, because the page's run has a time limit
    run_blocks(SERVICE, {"unix:/home/me/.local/state/dgraph/service.sock": live.unix})


def run_blocks(path, replaced=()):
    """Execute the Python of a page, with some texts replaced; return its namespace. Registers are restored."""
    registers = [(register, dict(register)) for register in (POLICIES, ALGORITHMS)]
    namespace = {"__name__": "page"}
    try:
        for block in PYTHON.findall(path.read_text()):
            for old, new in dict(replaced).items():
                block = block.replace(old, new)
            exec(compile(block, name(path), "exec"), namespace)
    finally:
        for register, before in registers:
            register.clear()
            register.update(before)
    return namespace


def quoted(path):
    return [hit for hit in QUOTED.findall(path.read_text()) if hit[2]]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("number", "percent", "where"),
    [pytest.param(*hit, id=f"{path.stem}: {hit[0]} {hit[2]}") for path in TEXTS[3:] for hit in quoted(path)],
)
def test_quoted_constants_are_those_of_the_code(number, percent, where):
    """Check quoted constants.

    ``1,024<!--module:NAME-->`` is a constant of a module, ``64<!--path/file.cuh:text-->`` part of a file's text.
    """
    place, _, what = " ".join(where.split()).partition(":")
    value = float(number.rstrip(".,").replace(",", "")) / (100 if percent else 1)
    if "/" in place:
        digits = re.sub(r"(?<=\d)[,_](?=\d{3})", "", what)
        assert what in (ROOT / place).read_text()
        assert f"{value:g}" in re.findall(r"\d+(?:\.\d+)?", digits)
    else:
        assert value == getattr(importlib.import_module(place), what)


def test_there_are_quoted_constants():
    assert sum(len(quoted(path)) for path in PAGES) > 20


FIELDS = re.compile(re.escape(report_fields.HEAD) + r"(\|.*\n)*")
"""Table of the guide that grows with the fields of reports."""


def test_size_and_place_of_pages():
    words = {path: len(FIELDS.sub("", path.read_text()).split()) for path in PAGES}
    algorithms = [words.pop(path) for path in PAGES if path.parent.name == "algorithms"]
    assert words.pop(DOCS / "guide" / "write-a-program.md") <= MOST_OF_THE_TUTORIAL
    assert {name(path): count for path, count in words.items() if count > MOST_OF_A_PAGE} == {}
    assert max(algorithms) <= MOST_OF_AN_ALGORITHM
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES
    folders = {path.parent.name for path in PAGES}
    assert folders == {"docs", "start", "guide", "algorithms", "reference", "internals", "papers"}


def test_pages_say_that_benchmarks_need_a_checkout():
    """Check pages of the site: the wheel has no ``benchmarks``."""
    naming = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "python -m benchmarks" in path.read_text()]
    assert naming
    assert [path.name for path in naming if "in a checkout" not in path.read_text().lower()] == []


@pytest.mark.quick
@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_says_for_whom_it_is(path):
    title, gap, first = path.read_text().split("\n")[:3]
    assert title.startswith("# ")
    assert gap == ""
    assert first.startswith("**For** ")
    assert "After this page you " in " ".join(path.read_text().split("\n\n")[1].split())


def public(cls):
    names = {member for base in cls.__mro__ if base is not object for member in vars(base)}
    return {member for member in names if not member.startswith("_")}


def variants(algorithm):
    return algorithm.parameters["variant"].choices if "variant" in algorithm.parameters else ()


OPERATORS = {"cond", "apply", "priority", "live", "step"}
"""Methods of a program that the base class does not define."""


@pytest.mark.quick
@pytest.mark.parametrize(
    ("pages", "names"),
    [
        ("guide/write-a-program.md", public(dgraph.Program) | OPERATORS | {"parameters", "fields", "globals"}),
        ("guide/write-a-program.md", {field.name for kind in (dgraph.Field, dgraph.Global) for field in fields(kind)}),
        ("guide/python.md", {field.name for field in fields(dgraph.Options)}),
        ("guide/first-steps.md algorithms/*.md", set(ALGORITHMS)),
        ("*/algorithms.md algorithms/*.md", {word for row in ALGORITHMS.values() for word in variants(row)}),
        ("guide/*.md", set(FORMATS) | set(GENERATORS)),
        ("guide/write-a-policy.md", set(POLICIES)),
        ("guide/gpus.md", set(TRANSPORTS) | {word.split("=")[0] for word in ROUNDS}),
        ("../CHANGELOG.md", set(COMMANDS)),
    ],
)  # fmt: skip
def test_registers_are_documented_in_full(pages, names):
    """Check that every member is named in code font, also as part of an expression, as in ``rmat:SCALE``.

    An algorithm may have a page of its own in ``docs/algorithms/``, a format one in ``docs/guide/``.
    """
    text = "".join(page.read_text() for pattern in pages.split() for page in DOCS.glob(pattern))
    spans = " ".join(re.findall(r"`([^`\n]+)`", text)) + " "
    words = set(re.findall(r"[\w.-]+", spans))
    assert sorted(names - words) == [], f"name them in `code font` in docs/{pages.replace(' ', ' or docs/')}"


def test_formats_that_are_written_are_documented():
    text = (DOCS / "guide" / "data.md").read_text()
    (sentence,) = re.findall(r"`convert` writes .*?Others are refused", text, re.DOTALL)
    assert set(re.findall(r"\.\w+", sentence)) == set(GRAPH_WRITERS), "name them in docs/guide/data.md"


def test_rules_of_loops_and_parallel_edges_are_documented():
    """Check the rows of kept-edges.md; an algorithm may have its row in its own page."""
    page = (DOCS / "algorithms" / "kept-edges.md").read_text()
    pages = "".join(path.read_text() for path in (DOCS / "algorithms").glob("*.md"))
    rows = re.findall(r"^\|`(\w+)`\|(\w+)\|(\w+)\|(?:`(\w+)`(?:, refuses)?|none)\|$", pages, re.MULTILINE)
    rules = {name: (work.edge_rule.loops, work.edge_rule.parallel) for name, work in ALGORITHMS.items()}
    assert {name: tuple(rule) for name, *rule, _ in rows} == rules, "add a row |`NAME`|loops|parallel|`FUNCTION`|"
    copied = re.findall(r"`(\w+)`", page.partition("**Cost.**")[2].partition(" run on a copy")[0])
    assert copied == sorted(
        name for name, work in ALGORITHMS.items() if work.edge_rule.stripped and f"|`{name}`" in page
    )
    functions = [function for *_, function in rows if function]
    assert all(hasattr(networkx, name) or hasattr(networkx.community, name) for name in functions)


def test_measured_rows_are_those_of_the_results():
    """Check the rows and commands of the comparison page and of README against the tables that they link to."""
    page = (DOCS / "comparison.md").read_text().partition("## Measured")[2].partition("\n## ")[0]
    rows = 0
    for block in re.split(r"\n(?=\[)", page):
        link, command = re.search(r"\]\(\.\./([^)]+)\)", block), re.search(r"`(python -m benchmarks [^`]+)`", block)
        if command:
            table, lines = (ROOT / link[1]).read_text(), re.findall(r"^\|.+\|$", block, re.MULTILINE)
            assert f"`{command[1]}`" in table
            assert [line for line in lines if line not in table] == []
            rows += len(lines) - 2
    assert rows == 12
    measured = (ROOT / "README.md").read_text().partition("## How fast")[2].partition("\n## ")[0]
    lines = re.findall(r"^\|.+\|$", measured, re.MULTILINE)
    table = (ROOT / "benchmarks" / "results" / "calls.md").read_text()
    assert len(lines) > 2
    assert [line for line in lines if line not in table] == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("The watchdog", "the-watchdog"),
        ("`--format`", "--format"),
        ("MPI, containers and Slurm", "mpi-containers-and-slurm"),
    ],
)
def test_anchors_are_those_of_github(heading, anchor):
    assert slug(heading) == anchor


def test_nothing_installs_another_projects_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert project == "dgraph-analytics"
    folders = ("dgraph", "partitioning", "launch", "docker", "docs", "examples", "benchmarks", "tests", ".ci")
    files = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    texts = [path for path in files if path.is_file() and b"\0" not in path.read_bytes()[:4096]]
    assert {"Dockerfile", "dgraph.def", "README.md", "device.py", "many_nodes.sbatch"} <= {p.name for p in texts}
    hits = [
        (str(p.relative_to(ROOT)), hit[0]) for p in texts for hit in ANOTHERS.finditer(p.read_text(errors="replace"))
    ]
    assert hits == []


@pytest.mark.parametrize(
    ("text", "refused"),
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
def test_another_projects_distribution_is_found(text, refused):
    assert bool(ANOTHERS.search(text.format("dgraph"))) == refused
