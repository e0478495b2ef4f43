"""The source tree: sizes of folders, READMEs, names of files and classes, no import cycles.

Imports are read from the syntax tree, including those inside functions, those under ``TYPE_CHECKING``, and
``import_module`` of a literal. The ``__init__.py`` of parent packages, which an import also runs, is ignored.
"""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
PRODUCT = ("dgraph", "partitioning", "launch")
MOST_AT_THE_TOP, MOST_SOURCES, FEW_FILES, README_LINES = 20, 25, 10, 15
REGISTERS = {
    "dgraph/algorithms", "dgraph/backend/cuda/schedules", "dgraph/graph/formats", "dgraph/networkx_backend",
    "dgraph/result/files", "dgraph/validate", "partitioning/policies",
}  # fmt: skip
"""Folders that an extension adds its file to."""
FOUND_BY_FOLDER = {"__init__.py", "__main__.py", "base.py", "register.py"}


def files(root, *names):
    """Return the files of packages, without caches."""
    paths = (path for top in names for path in sorted((root / top).rglob("*")) if path.is_file())
    return [path for path in paths if "__pycache__" not in path.parts]


def by_folder(root, *names):
    """Return folder → its files."""
    grouped = defaultdict(list)
    for path in files(root, *names):
        grouped[path.parent].append(path)
    return grouped


def modules(root, *names):
    """Return dotted name → file of every module."""
    by_name = {}
    for top in names:
        for path in (root / top).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            by_name[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return by_name


def imports(name, by_name):
    """Return the known modules that a module imports, anywhere in its file."""
    path = by_name[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    dotted = []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                dotted += [alias.name for alias in node.names]
            case ast.ImportFrom():
                above = package.rsplit(".", node.level - 1)[0] if node.level else ""
                base = ".".join(part for part in (above, node.module) if part)
                dotted += [f"{base}.{alias.name}" for alias in node.names]
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(target)), *_],
            ):
                dotted.append(package + target if target.startswith(".") else target)
    return {module for imported in dotted if (module := nearest(imported, by_name))} - {name}


def nearest(dotted, names):
    """Return the known module that a dotted name names or lies in, or ""."""
    while dotted and dotted not in names:
        dotted = dotted.rpartition(".")[0]
    return dotted


def graph_of_imports(root, *names):
    by_name = modules(root, *names)
    return {name: imports(name, by_name) for name in by_name}


def reachable(graph, start):
    """Return the modules that ``start`` imports directly or indirectly; itself only if it is on a cycle."""
    reached, waiting = set(), [start]
    while waiting:
        for module in graph[waiting.pop()] - reached:
            reached.add(module)
            waiting.append(module)
    return reached


def cycles(graph):
    """Return the strongly connected components of more than one module, each as a sorted list."""
    after = {name: reachable(graph, name) for name in graph}
    components = {tuple(sorted(m for m in after[name] if name in after[m])) for name in graph if name in after[name]}
    return sorted(map(list, components))


def test_entries_at_the_top():
    entries = {path.relative_to(ROOT / "dgraph").parts[0] for path in files(ROOT, "dgraph")}
    entries -= {"README.md", "__init__.pyi"}
    assert {"__init__.py", "run.py", "graph"} <= entries
    assert len(entries) <= MOST_AT_THE_TOP, sorted(entries)


def test_sources_in_a_folder():
    counts = {
        str(folder.relative_to(ROOT)): sum(path.suffix in (".py", ".cuh") for path in paths)
        for folder, paths in by_folder(ROOT, "dgraph").items()
    }
    assert max(counts.values()) > FEW_FILES
    full = {folder: count for folder, count in counts.items() if count > MOST_SOURCES and folder not in REGISTERS}
    assert full == {}
    assert all((ROOT / folder).is_dir() for folder in REGISTERS)


def test_large_folders_have_a_readme():
    lacking, long = [], {}
    for folder, paths in by_folder(ROOT, *PRODUCT).items():
        page = folder / "README.md"
        if len(set(paths) - {page}) > FEW_FILES and page not in paths:
            lacking.append(str(folder.relative_to(ROOT)))
        if page in paths and (lines := len(page.read_text().splitlines())) > README_LINES:
            long[str(page.relative_to(ROOT))] = lines
    assert (lacking, long) == ([], {})


def empty(root, *names):
    """Return the folders without a file, at any depth, other than ``__init__.py`` and READMEs."""
    full = set()
    for path in files(root, *names):
        if path.name not in ("__init__.py", "README.md"):
            full.update(path.parents)
    return sorted(set(by_folder(root, *names)) - full)


def test_no_folder_is_empty():
    assert empty(ROOT, *PRODUCT) == []


def test_an_empty_folder_is_seen(tmp_path):
    for path in ("pkg/a/code.py", "pkg/a/__init__.py", "pkg/b/__init__.py", "pkg/c/__pycache__/d.pyc"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert empty(tmp_path, "pkg") == [tmp_path / "pkg/b"]


def test_no_import_cycle():
    assert cycles(graph_of_imports(ROOT, *PRODUCT)) == []


@pytest.mark.parametrize(
    "back",
    [
        "from pkg import a",
        "from pkg.a import name",
        "import pkg.a",
        "from .. import a",
        "from ..a import name",
        "def f():\n    import pkg.a as other",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.a import Name",
        "import importlib\ndef f():\n    return importlib.import_module('pkg.a')",
        "from importlib import import_module\nx = import_module('pkg.a')",
    ],
)
def test_a_cycle_is_seen(back, tmp_path):
    (tmp_path / "pkg/sub").mkdir(parents=True)
    (tmp_path / "pkg/__init__.py").touch()
    (tmp_path / "pkg/sub/__init__.py").write_text("from pkg.sub.b import x\n")
    (tmp_path / "pkg/a.py").write_text("import json\nfrom pkg import sub\n")
    (tmp_path / "pkg/sub/b.py").write_text("import os\n")
    assert cycles(graph_of_imports(tmp_path, "pkg")) == []
    (tmp_path / "pkg/sub/b.py").write_text(back + "\n")
    assert cycles(graph_of_imports(tmp_path, "pkg")) == [["pkg.a", "pkg.sub", "pkg.sub.b"]]


def test_backends_import_no_algorithm():
    graph = graph_of_imports(ROOT, *PRODUCT)
    backends = [name for name in graph if name.startswith("dgraph.backend")]
    assert {"dgraph.backend.kernel_register", "dgraph.backend.cuda.backend"} <= set(backends)
    hits = {(name, m) for name in backends for m in graph[name] if f"{m}.".startswith("dgraph.algorithms.")}
    assert hits == set()


def told_apart(paths):
    """Return True if the layout's rules allow these files of one name in their folders."""
    tops = sorted("/".join(path.parts[: 3 if path.parts[1] == "backend" else 2]) for path in paths)
    return tops in (["dgraph/backend/cpu", "dgraph/backend/cuda"], ["dgraph/algorithms", "dgraph/validate"])


def test_names_of_files_are_unique():
    by_name = defaultdict(list)
    for path in files(ROOT, "dgraph"):
        if path.suffix in (".py", ".cuh") and path.name not in FOUND_BY_FOLDER:
            by_name[path.name].append(path.relative_to(ROOT))
    assert {"machine.py", "bfs.py", "lb.cuh"} <= set(by_name)
    clashes = [paths for paths in by_name.values() if len(paths) > 1 and not told_apart(paths)]
    assert [" ".join(map(str, paths)) for paths in clashes] == []


def classes_of_one_name(root, *names):
    """Return the names that two or more classes have, also nested ones, with their files."""
    by_name = defaultdict(list)
    for path in files(root, *names):
        if path.suffix == ".py":
            nodes = ast.walk(ast.parse(path.read_text()))
            for node in nodes:
                if isinstance(node, ast.ClassDef):
                    by_name[node.name].append(str(path.relative_to(root)))
    return {name: paths for name, paths in by_name.items() if len(paths) > 1}


def test_names_of_classes_are_unique():
    assert classes_of_one_name(ROOT, "dgraph") == {}


def test_classes_of_one_name_are_seen(tmp_path):
    (tmp_path / "pkg/sub").mkdir(parents=True)
    (tmp_path / "pkg/a.py").write_text("class Rows: pass\nclass Other: pass\n")
    (tmp_path / "pkg/sub/b.py").write_text("def f():\n    class Rows: pass\n")
    assert classes_of_one_name(tmp_path, "pkg") == {"Rows": ["pkg/a.py", "pkg/sub/b.py"]}
