"""The wheel contains every file that the packages need: it is built, installed in an empty folder, and used there.

Tests in the checkout would find a file that the wheel lacks.
"""

import json
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from children import ROOT, run

PACKAGES = ("dgraph", "partitioning")

READ = """
import json, sys
from hashlib import sha256
from pathlib import Path
import dgraph, partitioning
place = Path(sys.argv[1])
found = [Path(package.__file__).parents[1] for package in (dgraph, partitioning)]
assert found == [place, place], f"imported from {found}, and the wheel is installed in {place}"
files = [place / name for name in json.loads(Path(sys.argv[2]).read_text())]
print(json.dumps([sha256(file.read_bytes()).hexdigest() if file.exists() else None for file in files]))
"""

TEXT = """
from dgraph.algorithms.bfs_programs import Levels
from dgraph.backend.cuda.codegen.module_text import ModuleFlags, edges, round_kernels
from dgraph.program import trace
traced = trace(Levels(source=0), None)
print(round_kernels(traced, ModuleFlags(fused=False)), edges(traced, ModuleFlags(), "twc"))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Folder with only this checkout's wheel installed."""
    folder = tmp_path_factory.mktemp("wheel")
    copy, place = folder / "checkout", folder / "installed"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in (*PACKAGES, "launch"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps"]
    done = run([*pip, "--no-build-isolation", "--no-compile", "--target", place, copy], folder / "pip", timeout=100)
    assert done.code == 0, done.story()
    return place


def data_files():
    """Return the packages' files that are not Python."""
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("[!.]*") if file.is_file())
    return [file for file in files if file.suffix not in (".py", ".md") and file.parent.name != "__pycache__"]


def used(installed, folder, *argv):
    """Return the output of a Python that imports the installed packages, not this checkout's."""
    done = run([sys.executable, *argv], folder, timeout=60, extra={"PYTHONPATH": str(installed)})
    assert done.code == 0, done.story()
    return done.logs()[0]


@pytest.mark.starts_children
def test_every_data_file_is_in_the_wheel_and_is_read_from_there(installed, tmp_path):
    wanted = {str(file.relative_to(ROOT)): sha256(file.read_bytes()).hexdigest() for file in data_files()}
    assert {Path(name).suffix for name in wanted} >= {".cuh", ".js", ".css", ".html", ".json"}
    (tmp_path / "names").write_text(json.dumps([*wanted]))
    read = json.loads(used(installed, tmp_path / "read", "-c", READ, installed, tmp_path / "names"))
    lacking = [name for name, digest in zip(wanted, read, strict=True) if wanted[name] != digest]
    if lacking:
        pytest.fail(f"not in the wheel: {lacking}; see [tool.setuptools.package-data] in pyproject.toml")


@pytest.mark.starts_children
def test_the_wheel_has_the_unit_of_systemd(installed, tmp_path):
    unit = used(installed, tmp_path / "unit", "-m", "launch", "unit")
    assert unit == (ROOT / "launch/service/dgraph.service").read_text().replace(
        "/opt/dgraph/bin/python", sys.executable
    )
    assert f"ExecStart={sys.executable} -m dgraph serve " in unit


@pytest.mark.starts_children
def test_the_wheel_makes_the_text_of_kernels_and_lists_what_it_has(installed, tmp_path):
    assert "__global__" in used(installed, tmp_path / "text", "-c", TEXT)
    told = used(installed, tmp_path / "list", "-m", "dgraph", "list")
    assert "pagerank" in told
    assert "oec" in told
