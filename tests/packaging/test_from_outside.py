"""Extensions from outside: new files, and at most one row elsewhere for each, pass the tests of the tree.

``from_outside/`` has the new files, as a stranger would lay them into the tree: an algorithm with its certificate, a
file format, a schedule and a partitioning policy. The tests run on a copy of the tree with all of them.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from children import ROOT, environment

from benchmarks.code import listed

pytestmark = [pytest.mark.mpi_skip, pytest.mark.exhaustive, pytest.mark.interpreted]

OUTSIDE = Path(__file__).parent / "from_outside"

ROWS = {
    "a file format": (
        "dgraph/graph/file_formats.py", "ROWS = {\n", '    ".arcs": FileFormat("arcs_file:read_arcs"),\n'
    ),
    "a schedule": (
        "dgraph/backend/cuda/schedules/register.py",
        '        Schedule("vertex", ',
        '        Schedule("last_first", "one thread for each vertex, the last of the list first", "a stranger"),\n',
    ),
    "a policy": (
        "docs/guide/write-a-policy.md", "|`auto`|", "|`apart`|remainder of the vertex number|owner of `u`|outgoing|\n"
    ),
}  # fmt: skip
"""Extension → file, the text that the row is put before or behind, and the row."""

RUNS = {
    "layout and documentation": [
        "tests/packaging/test_layout.py", "tests/packaging/test_docs.py", "tests/packaging/test_named_files.py",
        "-k", "not python_runs and not command_lines",
    ],
    "registers": [
        "-m", "not exhaustive and not mpi",
        "-k", "in_degree or a.arcs or apart or every_format or certificate or no_two_models or of_the_register "
        "or all_algorithms or every_schedule",
        "tests/engine/test_api.py", "tests/graph/test_formats.py", "tests/graph/test_other_names.py",
        "tests/validate/test_validate.py", "tests/gpu/test_cuda_schedules.py", "tests/gpu/test_paper_models.py",
        "tests/algorithms/test_kept_edges.py",
    ],
    "certificates": [
        "--with-mpi", "-m", "mpi", "-k", "in_degree", "tests/validate/test_validate.py",
        "tests/algorithms/test_kept_edges.py",
    ],
    "smoke": ["-m", "tiny", "tests/algorithms/test_tiny.py", "-k", "in_degree or every_algorithm"],
}  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a copy of the tree with all extensions."""
    copy = tmp_path_factory.mktemp("tree")
    for name in listed():
        if "from_outside" not in name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    shutil.copytree(OUTSIDE, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name, place, row in ROWS.values():
        text = (copy / name).read_text()
        assert text.count(place) == 1, (name, place)
        (copy / name).write_text(text.replace(place, place + row if place.endswith("\n") else row + place))
    started(copy, "-m", "dgraph.tools.typed_functions")
    return copy


def started(copy, *words):
    """Run Python in the copy, and show its output if it fails."""
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, env=environment({"PYTHONPATH": str(copy)}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize("tests", RUNS)
def test_extensions_pass_the_tests_of_the_tree(tests, tree):
    started(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *RUNS[tests])
