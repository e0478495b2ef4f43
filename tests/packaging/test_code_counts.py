"""Counts of ``python -m benchmarks code`` on small texts."""

import tomllib

import pytest

from benchmarks import code, code_structure

pytestmark = [pytest.mark.mpi_skip, pytest.mark.quick]

PYTHON = '''"""Module."""

# a comment
def f():
    """Docstring,
    of two lines."""
    x = """a value
    of two lines"""
    return x
'''
KERNELS = """// a comment
#define DERIVED (FLAG && OTHER)
#define TWICE (DERIVED + 1)
KERNEL rounds(i64 limit) { // opens
    if (TWICE) {
        c[ROUND] = 1; /* and
        closes */
        step(next);
    }
}
DEVICE int one() { return 1; }
"""
GENERATOR = 'def _head():\n    known = {"FLAG": 1}\n    return f"#define OTHER {1}#define SCHEDULE twc"\n'


def test_docstrings_comments_and_blank_lines_are_no_code():
    assert code.code_lines("a.py", PYTHON) == 4
    assert code.code_lines("a.cuh", KERNELS) == 9


def test_figures_of_a_small_backend():
    folder = "dgraph/backend/cuda"
    files = {f"{folder}/codegen/module_text.py": GENERATOR, f"{folder}/a.cuh": KERNELS, "partitioning/b.py": PYTHON}
    figures = code.count(files)
    assert code.flags(files) == {"FLAG", "OTHER"}
    assert figures["flags of the CUDA text"] == 2
    assert figures["macros derived from flags"] == 2
    assert figures["code lines of the backend"] + 4 == figures["code lines of the whole"]
    assert figures["files that end a round on GPUs"] == 1
    assert figures["uses of the round's state by position"] == 1
    assert figures["longest function in CUDA"] == f"6 ({folder}/a.cuh:rounds)"
    assert figures["longest function in Python"] == "4 (partitioning/b.py:f)"
    assert figures["files above 400 lines"] == 0


SETTINGS = """
[[tool.importlinter.contracts]]
containers = ["dgraph"]
layers = ["cli", "algorithms | other", "graph", "comm"]
[[tool.importlinter.contracts]]
ignore_imports = ["a -> b"]
"""


def test_imports_upwards():
    files = {
        "dgraph/__init__.py": "from dgraph.cli import a",
        "dgraph/cli/__init__.py": "import json\nfrom partitioning import plan",
        "dgraph/algorithms/bc.py": "def f():\n    from dgraph.graph import x",
        "dgraph/graph/__init__.py": "from ..algorithms.bc import Bc\nimport partitioning",
        "dgraph/comm/__init__.py": "import dgraph.graph.none\nimport dgraph, partitioning",
        "partitioning/__init__.py": "from dgraph.graph import y\nfrom dgraph.comm import z",
        "partitioning/__main__.py": "from dgraph.cli import a",
        "dgraph/cli/partition.py": "import partitioning.__main__",
    }
    assert code_structure.imports_upwards(files, SETTINGS) == [
        ("dgraph.cli.partition", "partitioning.__main__"),
        ("dgraph.comm", "dgraph"),
        ("dgraph.comm", "dgraph.graph"),
        ("dgraph.graph", "dgraph.algorithms.bc"),
        ("partitioning", "dgraph.comm"),
        ("partitioning", "dgraph.graph"),
    ]
    assert code_structure.contracts_with_exceptions(SETTINGS) == 1


def test_the_tree_has_no_imports_upwards_and_its_contracts_no_exceptions():
    files = code.here()
    settings = files[code.SETTINGS]
    assert not code_structure.imports_upwards(code.product(files), settings)
    assert code_structure.contracts_with_exceptions(settings) == 0
    contracts = tomllib.loads(settings)["tool"]["importlinter"]["contracts"]
    (library,) = (row["source_modules"] for row in contracts if row.get("forbidden_modules") == ["dgraph"])
    parts = {path.split("/")[1].removesuffix(".py") for path in files if path.startswith("partitioning/")}
    parts = {part for part in parts if "." not in part}
    assert set(library) == {f"partitioning.{part}" for part in parts - {"__init__", "__main__"}}


KERNELS_OF_ROWS = """
def _one():
    from a import One

    return One

def _two(x):
    from a import One

    return One

ROWS["a"] = RowKernel(cpu=_one, planned=lambda: NoRows)
ROWS["b"] = RowKernel(cpu=_one)
other(planned=3)
"""


def test_stand_ins_and_loaders():
    files = {"dgraph/algorithms/kernels/__init__.py": KERNELS_OF_ROWS, "dgraph/graph/a.py": KERNELS_OF_ROWS}
    assert code_structure.stand_ins(files) == 1
    assert code_structure.loaders(files) == 1


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.pyi", '"""Module."""\n\nclass A:\n    """Docstring."""\n    def f(self) -> int: ...  # one\n', 2),
        ("a.js", "// one\nfunction f() {\n  /* two\n  */\n\n  return 1;\n}\n", 3),
        ("a.css", "/* one */\na { color: red }\n", 1),
        ("a.html", "<!-- one\n two -->\n<p>\n", 1),
    ],
)
def test_code_lines_of_other_languages(name, text, lines):
    assert code.code_lines(name, text) == lines
