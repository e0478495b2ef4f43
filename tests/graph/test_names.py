"""Edge lists of words: numbers follow the order of the words, results use words, on any number of ranks."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from flat_run import flat_run
from loading import agreed, cleaned, figures, joined, share, written
from simulated import on_ranks

import dgraph
from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.names import decode_names
from dgraph.graph.stored_graph import Graph

WORDS = ["anna", "Zoë", "b", "bb", "x-1", "17", "http://a.b/c?d=e", "end"]
EDGES = [("anna", "Zoë", 5), ("b", "bb", 7), ("bb", "anna", 1), ("17", "end", 2), ("x-1", "17", 3),
         ("http://a.b/c?d=e", "b", 4), ("anna", "anna", 9)]  # fmt: skip
ORDER = sorted(WORDS, key=str.encode)
NUMBERED = [(ORDER.index(u), ORDER.index(v), w) for u, v, w in EDGES]


def named(path, ranks, **options):
    """Return the graph by number, and every vertex's name."""

    def work(comm):
        block = load(str(path), comm, LoadOptions(ids="string", **options))
        assert block.ids.names.find(WORDS[:3], comm) == [ORDER.index(word) for word in WORDS[:3]]
        return share(block, comm), block.ids.names.of(np.array([-1, *range(block.n)]), comm).tolist()

    results = agreed(on_ranks(ranks, work))
    for _, names in results:
        assert names == [None, *ORDER]
    return joined([part for part, _ in results])


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize(
    ("name", "separator", "options"),
    [("a.txt", "\t", {}), ("a.csv", ",", {}), ("a.txt", " | ", {"separator": "|"}), ("a.tsv", "\t", {"header": True})],
)
def test_words_are_numbered_in_their_order(ranks, packing, name, separator, options, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 40)
    lines = [separator.join(map(str, edge)) for edge in EDGES]
    text = "\n".join(["# a comment", *(["u\tv\tweight"] if "header" in options else []), *lines[:3], "", *lines[3:]])
    content = gzip.compress(text.encode()) if packing == "gzip" else text.encode()
    graph = named(written(tmp_path, name, content), ranks, **options)
    assert figures(graph) == cleaned(NUMBERED, True, vertices=range(len(WORDS)))


@pytest.mark.parametrize("columns", ["3,1", "3,2,1", "1,3", "2,3"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_target_may_stand_before_its_source(columns, ranks, tmp_path):
    rows = [("3", "Zoë Miller", "bob"), ("1", "x", "annabel"), ("2", "bob", "x")]
    path = written(tmp_path, "a.csv", "\n".join(map(",".join, rows)))
    blocks = on_ranks(ranks, lambda comm: _listed(Graph.load(path, comm=comm, ids="string", columns=columns)))
    u, v = (int(place) - 1 for place in columns.split(",")[:2])
    assert sorted(pair for block in blocks for pair in block) == sorted((row[u], row[v]) for row in rows)


def test_names_with_blanks_where_another_character_separates(tmp_path):
    path = written(tmp_path, "a.csv", "New York,Los Angeles,2.5\nLos Angeles, Rome ,1\r\n")
    block = load(str(path), world_of_one(), LoadOptions(ids="string"))
    assert block.ids.names.of(np.arange(3), world_of_one()).tolist() == ["Los Angeles", "New York", "Rome"]
    assert block.weights.tolist() == [1.0, 2.5]


def world_of_one():
    from dgraph.comm import SerialComm

    return SerialComm()


REFUSED = [
    ("a b\nc\n", "a.txt:2: got 'c'; a column is missing"),
    ("a b\nc d e\n", "a.txt:2: got 'c d e'; it goes on after the last column"),
    ("a b 1\nc d x\n", "a.txt:2: got 'c d x'; the weight 'x' is not a number"),
    ("a b 1\nc d 1e999\n", "does not fit a double"),
    ("a b\n'c' d\n", "a.txt:2: .*quotation"),
    ('a b\n"c d\n', "a.txt:2: .*not closed"),
    ('a b\n"c"d e\n', "a.txt:2: .*goes on after"),
    ('a b\n"" e\n', "a.txt:2: .*a name is empty"),
    ("a b\n" + "c" * 256 + " d\n", "a.txt:2: .*more than 255 bytes"),
    ("a b c d\n", "a.txt:1: got 4 columns"),
    ("# a\n", "got 0 columns"),
    ("a\vb c\nd\n", "a.txt:2: got 'd'; a column is missing"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
@pytest.mark.parametrize("ranks", [1, 3])
def test_lines_that_are_refused(content, message, ranks, tmp_path):
    path = written(tmp_path, "a.txt", content)
    with pytest.raises(DataError, match=message):
        agreed(on_ranks(ranks, lambda comm: load(str(path), comm, LoadOptions(ids="string"))))


def test_lenient_reading_counts(tmp_path):
    path = written(tmp_path, "a.txt", "a b 1\nc\nb c 2\nc a 3\nd e f\nx y 1e999\n")
    block = load(str(path), world_of_one(), LoadOptions(ids="string", lenient=True))
    assert (block.n, block.m, block.facts.lines_dropped) == (3, 3, 3)
    path = written(tmp_path, "b.txt", "a b 1\nc\nd e f\nx y 1e999\n")
    with pytest.raises(DataError, match=r"b\.txt: 3 of 4 lines would be dropped"):
        load(str(path), world_of_one(), LoadOptions(ids="string", lenient=True))


NAMED = [
    ("a.csv", "from,to\nanna,ben\nben,carl\n", True),
    ("a.csv", '"Source","Target"\nanna,ben\nben,carl\n', True),
    ("a.csv", "FromNodeId,ToNodeId\nanna,ben\nben,carl\n", True),
    ("a.tsv", "source node\ttarget node\tcost\nanna\tben\t1\nben\tcarl\t2\n", True),
    ("a.txt", "# who knows whom\nu v\nanna ben\nben carl\n", True),
    ("a.txt", "node1 node2\nanna ben\nben carl\n", True),
    ("a.csv", "person,friend,years\nanna,ben,1\nben,carl,2\n", True),
    ("a.txt", "3 2\nanna ben\nben carl\n", True),
    ("a.txt", "3 2\nanna ben 1\nben carl 2\n", True),
    ("a.txt", "4 2\nanna ben\nben carl\n", False),
    ("a.txt", "5 3\nanna ben\nben carl\n", False),
    ("a.csv", "person,friend\nanna,ben\nben,carl\n", False),
]


@pytest.mark.parametrize(("name", "content", "header"), NAMED)
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("packing", ["plain", "gzip"])
def test_a_header_before_words(name, content, header, ranks, packing, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 8)
    path = written(tmp_path, name, gzip.compress(content.encode()) if packing == "gzip" else content)

    def names(**options):
        def work(comm):
            block = load(str(path), comm, LoadOptions(ids="string", **options))
            return share(block, comm), block.ids.names.of(np.arange(block.n), comm).tolist()

        results = agreed(on_ranks(ranks, work))
        return results[0][1], joined([part for part, _ in results])

    names_of_file, graph = names()
    people = ["anna", "ben", "carl"]
    assert (graph.m, names_of_file == people) == (2 + (not header), header)
    notes = [note for note in [*graph.facts.notes, *graph.facts.warnings] if note.startswith("line ")]
    line = 2 if content[0] == "#" else 1
    expected = "header" if header and "3" not in content.split("\n")[0] else "counts" if header else "taken as an edge"
    assert len(notes) == 1
    assert f"line {line}" in notes[0]
    assert expected in notes[0]
    assert names(header=True)[0] == people
    if '"' not in content and "years" not in content and "cost" not in content and "1\n" not in content:
        assert len(names(header=False)[0]) == 5


AMBIGUOUS = [
    ("from to\nanna ben\nben to\n", r"a\.txt:1: got 'from to', which reads like names .*--header .* or --no-header"),
    ("anna ben years\nanna carl 1\nben carl 2\n", r"a\.txt:1: got 'anna ben years', which reads like names .*--header"),
    ("anna ben carl\nben carl\ncarl ben\n", r"a\.txt:1: .*it goes on after .*say --header"),
]


@pytest.mark.parametrize(("content", "message"), AMBIGUOUS)
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_first_line_of_words_that_may_be_either_is_refused(content, message, ranks, tmp_path):
    path = written(tmp_path, "a.txt", content)
    with pytest.raises(DataError, match=message):
        agreed(on_ranks(ranks, lambda comm: load(str(path), comm, LoadOptions(ids="string"))))


def test_what_has_no_names(tmp_path):
    for spec in ("path:4", str(written(tmp_path, "a.el", "0 1\n"))):
        with pytest.raises(UsageError, match="names of vertices are read only from edge lists"):
            Graph.load(spec, ids="string")
    with pytest.raises(UsageError, match="unknown kind of ids 'word'"):
        Graph.load("path:4", ids="word")


@pytest.mark.mpi
@pytest.mark.parametrize("order", ["original", "degree"])
def test_answers_are_by_word(order, tmp_path_factory):
    comm = world()
    folder = Path(comm.bcast_json(str(tmp_path_factory.mktemp("names")) if comm.rank == 0 else None))
    if comm.rank == 0:
        written(folder, "a.txt", "".join(f"{u} {v} {w}\n" for u, v, w in EDGES))
    comm.barrier()
    graph = Graph.load(str(folder / "a.txt"), comm=comm, ids="string", order=order)
    result = dgraph.run("bfs", graph, source="x-1", validate=True)
    result.save(folder / "bfs.txt")
    result.save(folder / "bfs.npz")
    whole, top = result.gather(), result.top(1)
    assert top["vertex"].tolist() == ["end"]
    components = dgraph.run("cc", graph).gather()
    with pytest.raises(UsageError, match="'nobody' is not a vertex"):
        graph.ids.names.find(["nobody"], comm)
    if comm.rank == 0:
        lines = dict(line.rsplit(" ", 1) for line in (folder / "bfs.txt").read_text().splitlines())
        assert list(lines) == ORDER
        assert {word: int(far) for word, far in lines.items() if int(far) < 9} == {"x-1": 0, "17": 1, "end": 2}
        saved = np.load(folder / "bfs.npz")
        assert saved["vertex"].tolist() == whole["vertex"].tolist() == ORDER
        assert saved["predecessor"].tolist()[ORDER.index("end")] == "17"
        assert saved["predecessor"].tolist()[ORDER.index("anna")] == ""
        labels = dict(zip(components["vertex"].tolist(), components["labels"].tolist(), strict=True))
        assert labels["x-1"] == "17"
        assert labels["anna"] == labels["bb"] == "Zoë"


@pytest.mark.mpi_skip
def test_on_the_command_line(tmp_path):
    path = written(tmp_path, "a.txt", "".join(f"{u} {v} {w}\n" for u, v, w in EDGES))
    out = tmp_path / "out.txt"
    words = ["sssp", str(path), "--ids", "string", "--source", "bb", "-o", str(out), "-q"]
    assert main(words) == 0
    assert "anna 1\n" in out.read_text()
    assert "Zoë 6\n" in out.read_text()
    assert "end Infinity\n" in out.read_text()
    assert main([*words[:5], "nobody", "-q"]) == 2


@pytest.mark.mpi
def test_a_source_in_words_is_a_word_in_python_too(tmp_path):
    path = world().bcast_json(str(tmp_path / "people.txt"))
    with world().together():
        if world().rank == 0:
            Path(path).write_text("alice bob\nbob carol\n")
    result = flat_run("bfs", path, ids="string", source="bob")
    columns = result.gather()
    if world().rank == 0:
        assert dict(zip(columns["vertex"].tolist(), columns["distance"].tolist(), strict=True))["carol"] == 1
    with pytest.raises(UsageError, match="'eve' is not a vertex of the graph"):
        flat_run("bfs", path, ids="string", source="eve")


@pytest.mark.mpi_skip
@pytest.mark.parametrize("wanted", [["bob"], ["bob=2"], ["bob=2", "carol=6"]])
def test_words_personalise_on_the_command_line(wanted, tmp_path, monkeypatch):
    """Words in personalisation give the result of the vertices' numbers in Python."""
    monkeypatch.chdir(tmp_path)
    Path("people.txt").write_text("alice bob\nbob carol\ncarol alice\n")
    line = ["pagerank", "people.txt", "--ids", "string", "-q", "-o", "ranks.npz"]
    assert main([*line, *(f"--personalization={word}" for word in wanted)]) == 0
    columns = np.load("ranks.npz")
    numbers = {1: 1.0, 2: 3.0} if len(wanted) == 2 else [1]
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], comm=world_of_one())
    want = dgraph.run("pagerank", graph, personalization=numbers)
    assert columns["vertex"].tolist() == ["alice", "bob", "carol"]
    np.testing.assert_allclose(columns["pagerank"], want.columns["pagerank"])
    assert main([*line, "--personalization", "eve=1"]) == 2


def test_names_of_many_vertices_come_in_pieces(monkeypatch):
    monkeypatch.setattr("dgraph.graph.names.CHUNK", 3)
    words = [b"a", b"", b"bb", "Zoë".encode(), b"", b"ccccc", b"d"]
    assert decode_names(np.array(words)).tolist() == ["a", None, "bb", "Zoë", None, "ccccc", "d"]
    assert decode_names(np.empty(0, "S5")).tolist() == []


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_tables_of_names(suffix, kind, ranks, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    edges = [("anna", "ben", 3), ("ben", "é", 5), ("anna", "x" * 40, 4), ("é", "ben", 1)]
    columns = {
        key: pyarrow.array(column)
        for key, column in zip(("who", "whom", "weight"), zip(*edges, strict=True), strict=True)
    }
    for key in ("who", "whom"):
        columns[key] = columns[key].dictionary_encode() if kind == "dictionary" else columns[key].cast(kind)
    path = tmp_path / f"a{suffix}"
    (parquet.write_table if suffix == ".parquet" else feather.write_feather)(pyarrow.table(columns), str(path))

    def work(comm):
        graph = Graph.load(path, comm=comm)
        return graph.to_arrow(), graph.weight_type, Graph.load(path, ids="string", comm=comm).fingerprint()

    tables, kinds, prints = zip(*on_ranks(ranks, work), strict=True)
    assert sorted(zip(*tables[0].to_pydict().values(), strict=True)) == sorted(edges)
    assert set(kinds) == {np.dtype(np.int64)}
    oracle = Graph.from_edges(*zip(*edges, strict=True), comm=SerialComm())
    assert set(prints) == {oracle.fingerprint()}


def test_tables_of_names_that_cannot_be_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    for bad in ("", "x" * 256, "a\0b"):
        parquet.write_table(pyarrow.table({"source": ["a", bad], "target": ["c", "d"]}), path)
        with pytest.raises(DataError, match="a name of a vertex is empty"):
            Graph.load(path, comm=SerialComm())
    parquet.write_table(pyarrow.table({"source": ["a", "b"], "target": [1, 2]}), path)
    with pytest.raises(DataError, match="--ids string"):
        Graph.load(path, comm=SerialComm())
    assert Graph.load(path, ids="string", comm=SerialComm()).vertices().tolist() == ["1", "2", "a", "b"]


TITLED = (
    ("from,to,amount\nann,bob,5\nbob,cat,3\n", {}),
    ("when,dst,src\n1,bob,ann\n2,cat,bob\n", {"columns": "src,dst"}),
    ("FromNodeId\tToNodeId\nann\tbob\nbob\tcat\n", {}),
    ("payer;payee;7\nann;bob;1\nbob;cat;2\n", {"columns": "payer,payee"}),
    ("amount,payer,payee\n1,ann,bob\n2,bob,cat\n", {"columns": "payer,payee,amount"}),
    ('source,target\n"ann","bob"\n"bob","cat"\n', {}),
)
NOT_TITLED = (
    ("account,country\nann,bob\nbob,cat\n", {}),
    ("account,country\nann,bob\nbob,cat\n", {"columns": "1,2"}),
    ("ann,bob\nbob,cat\n", {}),
    ("from,to\nann,1\nbob,cat\n", {}),
    ("from,to\nann,bob\nbob,+49 30\n", {}),
    ("from,to,amount\nann,bob,5\nbob,cat,3\n", {"ids": "integer"}),
    ("from,to\nann,bob\nbob,cat\n", {"header": False}),
)


@pytest.mark.parametrize(("content", "options"), TITLED)
def test_words_below_named_ends_are_names(content, options, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(content)
    for ranks in (1, 3):
        notes = on_ranks(ranks, lambda comm: Graph.load(path, comm=comm, **options).facts.notes)
        assert all(any("vertices have names (--ids string" in note for note in rank) for rank in notes)
        blocks = on_ranks(ranks, lambda comm: _listed(Graph.load(path, comm=comm, **options)))
        assert [pair for block in blocks for pair in block] == [("ann", "bob"), ("bob", "cat")]


@pytest.mark.parametrize(("content", "options"), NOT_TITLED)
def test_words_are_not_taken_as_names_where_the_ends_may_be_others(content, options, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(DataError, match="names of vertices need --ids string"):
        Graph.load(path, comm=SerialComm(), **options)


def test_integers_below_named_ends_stay_integers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("from,to\n7,1\n1,3\n")
    assert Graph.load(path, comm=SerialComm()).ids.names is None


def _listed(graph):
    """This rank's edges, by the names of their ends."""
    block = graph.block
    ends = [graph.ids.names.of(gids.astype(np.int64), graph.comm).tolist() for gids in (block.sources(), block.targets)]
    return list(zip(*ends, strict=True))
