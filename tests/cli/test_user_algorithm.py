"""``python -m dgraph MODULE:CLASS``: programs and algorithms of the user, alone and on two ranks."""

import sys
import tomllib

import pytest
from children import ROOT, run

from dgraph.algorithms import ALGORITHMS
from dgraph.cli import main
from dgraph.cli.parser import parse

pytestmark = pytest.mark.mpi_skip

PROGRAMS = '''
from __future__ import annotations

from typing import ClassVar, Literal

import dgraph
from dgraph import MIN, Field, Program, where


class Hops(Program):
    """Hops from ``source`` over edges of at most ``heaviest``.

    Args:
        source: where it begins
        heaviest: largest weight of an edge
            that counts.
        scale: length of a hop
    """

    CEILING: ClassVar[int] = 7
    source: int | None = None
    heaviest: float = 9.5
    scale: int
    strict: bool = False
    kind: Literal[1, 2] = 1

    hops = Field("int64", reduce=MIN)

    def init(self, v, g):
        here = v.id == self.source
        return {"hops": where(here, 0, 2**40), "active": here}

    def edge(self, u, e, v):
        return {"hops": where(e.weight <= self.heaviest, u.hops + self.scale, 2**40)}


class Everywhere(Program):
    """Its own id, at every vertex."""

    own = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"own": v.id, "active": True}

    def edge(self, u, e, v):
        return {"own": v.id}


class Wanting(Program):
    """A program with a parameter that is not a number."""

    table: dict = {}


class Clash(Program):
    """A program with a parameter of the name of an option."""

    policy: int = 3


class Numbers(dgraph.Algorithm):
    """The number of vertices."""

    def run(self, ctx):
        return dgraph.Answer({}, {"n": ctx.local.n})


def function():
    pass
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Working folder that holds ``mine.py``, ``pair.wel`` and modules that cannot be imported."""
    (tmp_path / "mine.py").write_text(PROGRAMS)
    (tmp_path / "pair.wel").write_text("0 1 1\n1 2 99\n0 3 9\n3 2 1\n")
    (tmp_path / "broken.py").write_text("import dgraph\nx = 1 +\n")
    (tmp_path / "raises.py").write_text("import dgraph\n\nraise ValueError('not today')\n")
    (tmp_path / "needs.py").write_text("import no_such_module_of_anyone\n")
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("mine", "raises", "needs", "broken", "ends"):
        sys.modules.pop(name, None)


def ask(line):
    return parse(line.split(), ALGORITHMS)


@pytest.mark.parametrize("place", ["mine", "mine.py", "./mine.py"])
def test_parameters_are_options(folder, place):
    request = ask(f"{place}:Hops grid:3x3 --source 4,5 --heaviest 2 --scale 3 --strict --kind 2 --policy cvc")
    assert request.algorithm == "hops"
    assert request.parameters == {"heaviest": 2.0, "scale": 3, "strict": True, "kind": 2}
    assert (request.sources, request.graph, request.run) == ([4, 5], "grid:3x3", {"policy": "cvc"})
    assert request.command[3] == f"{place}:Hops"
    algorithm = request.definition(**request.parameters, source=4)
    assert algorithm.settings() == {
        "source": 4,
        "heaviest": 2.0,
        "scale": 3,
        "strict": True,
        "kind": 2,
    }


def test_help_has_types_defaults_and_texts(folder):
    text = " ".join(ask("mine.py:Hops --help").split())
    for part in (
        "Hops from source over edges of at most heaviest.",
        "--source ID",
        "vertex with most out-edges",
        "--heaviest X largest weight of an edge that counts (default 9.5)",
        "--scale N length of a hop",
        "--strict, --no-strict",
        "--kind {1,2} parameter of Hops (default 1)",
        "most used options:",
    ):
        assert part in text
    assert "ceiling" not in text.lower()
    assert "--source" not in ask("mine.py:Everywhere --help")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nothere:Hops", "no module nothere: it is neither in {folder} nor installed"),
        ("nothere.py:Hops", "no such file nothere.py"),
        ("some/place:Hops", "some/place is not a Python file, whose name ends in .py"),
        ("mine.py", "got mine.py without a class; write python -m dgraph mine.py:CLASS"),
        ("mine.py:Hop", "unknown class of mine.py 'Hop': did you mean 'Hops'? known are Clash, Everywhere, Hops"),
        ("mine:function", "mine:function is a function, not a subclass of dgraph.Program or dgraph.Algorithm"),
        ("mine:Field", "mine:Field is a class, not a subclass of dgraph.Program"),
        ("mine:Program", "mine:Program is a base class"),
        ("mine:Wanting", "Wanting: the parameter table is not a number, as parameters of programs are"),
        ("mine:Clash", "mine:Clash: a parameter has the name of an option of dgraph"),
        (
            "mine:Hops --scale 2 --haviest 1",
            "unknown option --haviest: mine:Hops has no option of that name; did you mean",
        ),
        ("mine:Hops --scale two", "--scale: invalid int value: 'two'"),
        ("mine:Hops --kind 3 --scale 1", "invalid choice: 3"),
        ("mine:Hops grid:3x3", "--scale is missing, and its parameter has no default"),
        ("mine:Everywhere --source 1", "unknown option --source"),
        ("broken.py:Hops", "the import of broken.py failed at {folder}/broken.py:2: SyntaxError"),
        ("raises:Hops", "the import of raises failed at {folder}/raises.py:3: ValueError: not today"),
        ("needs:Hops", "ModuleNotFoundError: No module named 'no_such_module_of_anyone'"),
        ("ends.py:Hops", "the import of ends.py failed at {folder}/ends.py:2: it ends Python (sys.exit)"),
        (":Hops", "got :Hops without a module; write MODULE:CLASS or path/to/file.py:CLASS"),
        ("mine:", "unknown class of mine ''"),
    ],
)
def test_mistakes_are_named(folder, line, why, capsys):
    assert main(line.split()) == 2
    told = capsys.readouterr().err
    assert told.startswith("dgraph: error: ")
    assert why.format(folder=folder) in told
    assert len(told.splitlines()) == 1


def rows(path):
    return {int(vertex): int(value) for vertex, value in map(str.split, path.read_text().splitlines())}


FOUND = {0: 0, 1: 2, 2: 4, 3: 2}


def test_a_program_runs_from_the_default_source(folder):
    """Check that the source is vertex 0, which has most out-edges, and that the edge of weight 99 is not used."""
    assert main(["mine:Hops", "pair.wel", "--scale", "2", "-o", "out.txt", "-q"]) == 0
    assert rows(folder / "out.txt") == FOUND


def test_several_sources_are_several_runs(folder):
    assert main(["mine.py:Hops", "pair.wel", "--scale", "1", "--source", "0,3", "-o", "out.txt", "-q"]) == 0
    assert rows(folder / "out.3.txt")[2] == 1
    assert rows(folder / "out.0.txt")[2] == 2


def test_a_source_that_is_not_a_vertex_is_refused(folder, capsys):
    assert main(["mine.py:Hops", "pair.wel", "--scale", "1", "--source", "9", "-q"]) == 2
    assert "source 9 is not a vertex" in capsys.readouterr().err


@pytest.mark.interpreted
@pytest.mark.exhaustive
def test_names_of_vertices_are_sources(folder):
    (folder / "named.txt").write_text("a b\nb c\n")
    assert main(["mine:Hops", "named.txt", "--ids=string", "--scale=1", "--source", "b", "-o", "out.txt", "-q"]) == 0
    lines = dict(line.split() for line in (folder / "out.txt").read_text().splitlines())
    assert (lines["b"], lines["c"]) == ("0", "1")


@pytest.mark.interpreted
@pytest.mark.exhaustive
def test_the_class_gives_the_default_source(folder, capsys):
    assert main([f"{ROOT}/examples/widest_path.py:WidestPath", "path:4", "-o", "out.txt", "-q"]) == 0
    assert rows(folder / "out.txt")[0] == 2**62


def test_an_algorithm_class_runs(folder, capsys):
    assert main(["mine.py:Numbers", "path:7", "--format", "json"]) == 0
    assert '"n": 7' in capsys.readouterr().out


@pytest.mark.starts_children
def test_two_ranks_run_a_program(folder):
    words = "mine:Hops pair.wel --scale 2 --policy hash -o out.txt -q"
    ran = run([sys.executable, "-m", "dgraph", *words.split()], folder / "ranks", 100, ranks=2, cwd=folder)
    assert (ran.code, ran.codes(), ran.text) == (0, [0, 0], ""), ran.story()
    assert rows(folder / "out.txt") == FOUND


ONE_RANK = "import os\nif '1' in (os.environ.get('PMI_RANK'), os.environ.get('OMPI_COMM_WORLD_RANK')):\n    1 / 0\n"


@pytest.mark.starts_children
def test_an_import_that_fails_on_one_rank_stops_both(folder):
    (folder / "half.py").write_text(ONE_RANK + PROGRAMS.replace("from __future__ import annotations\n", ""))
    argv = [sys.executable, "-m", "dgraph", "half.py:Everywhere", "path:9"]
    ran = run(argv, folder / "ranks", 60, ranks=2, cwd=folder)
    assert (ran.code, ran.codes()) == (2, [2, 2]), ran.story()
    assert ran.text.count("dgraph: error: ") == 1
    assert "the import of half.py failed" in ran.text
    assert "ZeroDivisionError: division by zero" in ran.text


CONSOLE = """
import sys
from importlib import import_module
sys.argv[0] = "/opt/bin/dgraph"
sys.path[:] = [path for path in sys.path if path not in ("", {folder!r})]
module, function = {entry!r}.split(":")
sys.exit(getattr(import_module(module), function)())
"""


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_the_console_command_is_the_module(folder):
    """Check that the command ``dgraph`` behaves like the module.

    It finds modules in the working folder, and keeps Numba from importing scipy.linalg.
    """
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["dgraph"]
    code = CONSOLE.format(entry=entry, folder=str(folder))
    for words in ("", "bfs --help", "mine:Everywhere path:3 -o out.txt -q", "bfs --threads"):
        ran = [
            run([sys.executable, *start, *words.split()], folder / f"run{i}", 60, cwd=folder)
            for i, start in enumerate((["-c", code], ["-m", "dgraph"]))
        ]
        assert ran[0].code == ran[1].code, ran[0].story()
        assert ran[0].text == ran[1].text.replace("python -m dgraph", "dgraph")
    assert rows(folder / "out.txt") == {0: 0, 1: 1, 2: 2}
    check = "import gc, sys; from dgraph import cli; cli.main = lambda: 0; cli.console(); "
    check += "print(gc.get_threshold()[0], sys.modules['scipy.linalg.cython_blas'])"
    assert run([sys.executable, "-c", check], folder / "threshold", 60).text == "500000 None\n"
