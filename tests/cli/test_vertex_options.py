"""Options that take vertices: ids, names with any character in them, files of either, and names that no vertex has."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas
import pytest

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.cli import main
from dgraph.cli.parser import parse
from dgraph.cli.sources import Vertices
from dgraph.comm import world
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.names import number_names

PEOPLE = ["Anna Smith", "Lee, Jo", "@home", "-x", "--y", "a=b", "x=1", "C#", " b ", "7", "1,2", "Zoë"]
"""Names that a shell, a list, a file's mark, an option or a weight could be taken for: a path in this order."""


def read(*arguments, named=False, **form):
    return Vertices.of("--these", arguments, **form).read(named)


@pytest.mark.parametrize(
    ("text", "vertices"),
    [
        ("7", [7]),
        ("1,2", [1, 2]),
        ("1 2", [1, 2]),
        ("007", [7]),
        ("1=0.5,2=2", {1: 0.5, 2: 2.0}),
        ("3=1e-3", {3: 0.001}),
    ],
)
def test_ids(text, vertices):
    assert read(text, weights=True) == vertices


@pytest.mark.parametrize("text", ["1=x", "a=1", "1,2=3", "=", "1=1_0", "1=", "", ",", "1.5", "-1", "１", "9" * 5000])
def test_words_that_are_not_ids(text):
    with pytest.raises(UsageError, match="--these: "):
        read(text, weights=True)


def test_a_vertex_with_two_weights():
    with pytest.raises(UsageError, match="vertex 1 has two weights, 2 and 3"):
        read("1=2,1=3", weights=True)
    with pytest.raises(UsageError, match="vertex a=b has two weights, 2 and 3"):
        read("a=b=2", "a=b=3", weights=True, named=True)


@pytest.mark.parametrize("name", [name for name in PEOPLE if name[0] != "@"])
def test_an_argument_is_one_name(name):
    assert read(name, named=True) == [name]
    assert read(name, "b", named=True) == [name, "b"]
    assert read(name, named=True, one=True) == name
    assert read(f"{name}=0.5", "b=2", named=True, weights=True) == {name: 0.5, "b": 2.0}


def test_an_equals_sign_without_a_number_belongs_to_the_name():
    assert read("a=b", "c", "d=1_0", named=True, weights=True) == ["a=b", "c", "d=1_0"]
    assert read("x=1", named=True, weights=True) == {"x": 1.0}
    assert read("x=1", named=True) == ["x=1"]
    with pytest.raises(UsageError, match="--these: got 'a=b'; write name=weight for every vertex, or names alone"):
        read("c=2", "a=b", named=True, weights=True)


@pytest.mark.parametrize("arguments", [("a", ""), ("",)])
def test_an_empty_name_is_refused(arguments):
    with pytest.raises(UsageError, match="names no vertex"):
        read(*arguments, named=True)


def test_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ids").write_text("3 # the first\r\n\r\n5, 8\n")
    assert read("@ids") == [3, 5, 8]
    Path("names").write_bytes("\ufeffAnna Smith\r\nC# 1, 2\n\n@home\r caf".encode() + b"\xe9")
    assert read("@names", "@@home", named=True) == ["Anna Smith", "C# 1, 2", "@home", " caf\udce9", "@home"]
    Path("weights").write_text("Lee, Jo=2\na=b=0.5\n")
    assert read("@weights", named=True, weights=True) == {"Lee, Jo": 2.0, "a=b": 0.5}
    Path("ids").write_text("3\nfour\n")
    with pytest.raises(DataError, match="ids:2: got 'four'"):
        read("@ids")


@pytest.mark.parametrize(
    ("content", "error", "text"),
    [
        (b"", DataError, "names no vertex"),
        (b"# none\n", DataError, "names no vertex"),
        ("7\n".encode("utf-16"), DataError, "not UTF-8"),
        (None, OutputError, "cannot be read: No such file .*begins with @ is written @@"),
    ],
)
def test_files_that_list_nothing(content, error, text, tmp_path):
    if content is not None:
        (tmp_path / "list").write_bytes(content)
    with pytest.raises(error, match=text):
        read(f"@{tmp_path / 'list'}")


@pytest.mark.parametrize("option", ["--source", "--target", "--root"])
def test_ids_take_one_option(option):
    line = f"bfs grid:3x3 --source 1 {option} 2 {option} 3"
    with pytest.raises(UsageError, match=r"it is given twice, as '.' and '.'; give it once"):
        parse(line.split(), ALGORITHMS)
    with pytest.raises(UsageError, match="got --target 1,2, but it is one vertex"):
        parse(["bfs", "grid:3x3", "--target", "1,2"], ALGORITHMS)


VERTEX_OPTIONS = [
    (name, parameter.name.replace("_", "-"))
    for name, algorithm in ALGORITHMS.items()
    for parameter in algorithm.parameters.values()
    if parameter.holds_vertices
]


@pytest.mark.parametrize("ids", ["string", None])
@pytest.mark.parametrize(("algorithm", "option"), VERTEX_OPTIONS)
def test_every_option_of_vertices_takes_names(algorithm, option, ids):
    parameter = ALGORITHMS[algorithm].parameters[option.replace("-", "_")]
    one = parameter.type == "vertex"
    names = ["Lee, Jo"] if one else ["Lee, Jo", "-x"]
    words = [algorithm, "a.parquet", *(f"--{option}={name}" for name in names), *(["--ids", ids] if ids else [])]
    request = parse(words, ALGORITHMS).resolved(lambda vertices: vertices.read(named=True))
    vertices = request.sources if option == "source" else request.parameters[option]
    assert vertices == (names[0] if one else [[name] for name in names] if parameter.groups else names)


@pytest.fixture
def people(tmp_path):
    """Folder with a path through ``PEOPLE`` as text and as a table; one folder for all ranks."""
    comm = world()
    folder = Path(comm.bcast_json(str(tmp_path)))
    with comm.together():
        if comm.rank == 0:
            pairs = list(pairwise(PEOPLE))
            (folder / "people.tsv").write_text("".join(f"{u}\t{v}\n" for u, v in pairs))
            pyarrow = pytest.importorskip("pyarrow")
            from pyarrow import parquet

            ends = [list(end) for end in zip(*pairs, strict=True)]
            parquet.write_table(pyarrow.table(ends, names=["source", "target"]), folder / "people.parquet")
    return folder


@pytest.mark.mpi
@pytest.mark.parametrize("name", PEOPLE[:-1])
def test_searches_from_names(name, people):
    """Each name, also of a table that is not said to have names, is a source and a target."""
    argument = f"@{name}" if name[0] == "@" else name
    out = people / "out.npz"
    words = ["bfs", str(people / "people.parquet"), f"--source={argument}", "--target=Zoë", "-q", "-o", str(out)]
    assert main(words) == 0
    if world().rank == 0:
        saved = np.load(out)
        assert saved["distance"][saved["vertex"] == name].tolist() == [0]
    world().barrier()


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["anna smith"],
            "--source: 'anna smith' is not a vertex of the graph; the nearest of its 12 names is 'Anna Smith'",
        ),
        (["Zoe"], "the nearest of its 12 names is 'Zoë'"),
        (["Zoë", "Anna Smith,Zoë"], "'Anna Smith'; one argument is one name: repeat --source for several"),
        (["@LIST"], "list:2: 'C# # the last' is not a vertex of .*; a file of names has one a line, and no comments"),
        (["q"], "it has 12 names, and none that was compared is like it"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(arguments, text, people, capfd):
    with world().together():
        (people / "list").write_text("7\nC# # the last\n")
    table = str(people / "people.parquet")
    words = [f"--source={argument.replace('LIST', str(people / 'list'))}" for argument in arguments]
    assert main(["bfs", table, *words, "-q"]) == 2
    if world().rank == 0:
        assert re.search(text, capfd.readouterr().err)
    world().barrier()


@pytest.mark.mpi_skip
def test_weights_of_names(people, capsys):
    words = ["pagerank", str(people / "people.parquet"), "-q"]
    assert main([*words, "--personalization=a=b=2", "--personalization=Lee, Jo=1"]) == 0
    assert main([*words, "--personalization=a=b"]) == 0
    assert main([*words, "--personalization=x=1"]) == 2
    assert "'x' is not a vertex of the graph" in (said := capsys.readouterr().err)
    assert "write x=1=1 for the vertex 'x=1'" in said


@pytest.mark.mpi
def test_the_nearest_names_are_those_of_all_ranks(monkeypatch):
    comm = world()
    words = np.unique(np.char.add(f"user{comm.rank}", np.arange(3000).astype("U4")).astype("S"))
    names, _ = number_names(words, comm)
    last = comm.size - 1
    assert names.nearest(f"USER{last}2999", comm)[0] == f"user{last}2999"
    assert names.nearest("x" * 100, comm) == []
    monkeypatch.setattr("dgraph.graph.names.COMPARED", 1)
    assert names.nearest(f"user{last}2999", comm) == []


@pytest.mark.mpi_skip
def test_the_command_line_takes_an_option_for_each_walk(tmp_path):
    edges, table, names = tmp_path / "g.txt", tmp_path / "ranks.csv", tmp_path / "home.txt"
    edges.write_text("ann bob\nbob cy\ncy ann\ncy dee\n")
    names.write_text("ann=3\ncy=1\n")
    words = ["multi_source_pagerank", str(edges), "--ids", "string", "--directed", "--validate", "-q"]
    walks = ["--personalizations", f"@{names}", "--personalizations", "dee"]
    assert main([*words, *walks, "--output", str(table)]) == 0
    graph = dgraph.Graph.load(str(edges), ids="string", directed=True)
    wanted = dgraph.multi_source_pagerank(graph, personalizations=[{"ann": 3, "cy": 1}, ["dee"]]).to_pandas()
    np.testing.assert_allclose(pandas.read_csv(table)[wanted.columns[1:]], wanted[wanted.columns[1:]], rtol=1e-12)
    words = ["multi_source_pagerank", "rmat:4", "-q", "--personalizations", "3=2,5=1"]
    assert main([*words, "--personalizations", "7"]) == 0
    assert main([*words, "--personalizations", "3=2,x=1"]) == 2
