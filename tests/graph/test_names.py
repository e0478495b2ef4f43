"""Edge lists of words: numbered by the order of the words, every answer by word, on any number of ranks."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from loading import agreed, cleaned, figures, joined, share, written
from simulated import on_ranks

import dgraph
from dgraph.cli import main
from dgraph.comm import world
from dgraph.errors import DataError, UsageError
from dgraph.graph.handle import Graph
from dgraph.graph.load import load
from dgraph.graph.options import LoadOptions

WORDS = ["anna", "Zoë", "b", "bb", "x-1", "17", "http://a.b/c?d=e", "end"]
EDGES = [("anna", "Zoë", 5), ("b", "bb", 7), ("bb", "anna", 1), ("17", "end", 2), ("x-1", "17", 3),
         ("http://a.b/c?d=e", "b", 4), ("anna", "anna", 9)]  # fmt: skip
ORDER = sorted(WORDS, key=str.encode)
NUMBERED = [(ORDER.index(u), ORDER.index(v), w) for u, v, w in EDGES]


def named(path, ranks, **options):
    """The graph by number, and every vertex's name."""

    def work(comm):
        block = load(str(path), comm, LoadOptions(ids="string", **options))
        assert block.ids.names.find(WORDS[:3], comm) == [ORDER.index(word) for word in WORDS[:3]]
        return share(block, comm), block.ids.names.of(np.array([-1, *range(block.n)]), comm).tolist()

    results = agreed(on_ranks(ranks, work))
    for _, names in results:
        assert [name.decode() for name in names] == ["-1", *ORDER]
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
    text = "\n".join(["# a comment", *(["u\tv\tw"] if "header" in options else []), *lines[:3], "", *lines[3:]])
    content = gzip.compress(text.encode()) if packing == "gzip" else text.encode()
    graph = named(written(tmp_path, name, content), ranks, **options)
    assert figures(graph) == cleaned(NUMBERED, True, vertices=range(len(WORDS)))


def test_names_with_blanks_where_another_character_separates(tmp_path):
    path = written(tmp_path, "a.csv", "New York,Los Angeles,2.5\nLos Angeles, Rome ,1\r\n")
    block = load(str(path), world_of_one(), LoadOptions(ids="string"))
    assert block.ids.names.of(np.arange(3), world_of_one()).tolist() == [b"Los Angeles", b"New York", b"Rome"]
    assert block.weights.tolist() == [1.0, 2.5]


def world_of_one():
    from dgraph.comm import SerialComm

    return SerialComm()


REFUSED = [
    ("a b\nc\n", "a.txt:2: got 'c'; a column is missing"),
    ("a b\nc d e\n", "a.txt:2: got 'c d e'; it goes on after the last column"),
    ("a b 1\nc d x\n", "a.txt:2: got 'c d x'; the weight is no finite number"),
    ("a b 1\nc d 1e999\n", "does not fit a double"),
    ('a b\n"c" d\n', "a.txt:2: .*quotation"),
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
    path = written(tmp_path, "a.txt", "a b 1\nc\nb c 2\nd e f\nx y 1e999\n")
    block = load(str(path), world_of_one(), LoadOptions(ids="string", lenient=True))
    assert (block.n, block.m, block.facts.lines_dropped) == (3, 2, 3)


def test_what_has_no_names(tmp_path):
    for spec in ("path:4", str(written(tmp_path, "a.el", "0 1\n"))):
        with pytest.raises(UsageError, match="names of vertices are read from edge lists"):
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
    source = graph.ids.names.find(["x-1"], comm)[0]
    result = dgraph.run("bfs", graph, source=source, validate=True)
    result.save(folder / "bfs.txt")
    result.save(folder / "bfs.npz")
    whole, top = result.gather(), result.top(1)
    assert top["vertex"].tolist() == [b"end"]
    components = dgraph.run("cc", graph).gather()
    with pytest.raises(UsageError, match="'nobody' is no vertex"):
        graph.ids.names.find(["nobody"], comm)
    if comm.rank == 0:
        lines = dict(line.rsplit(" ", 1) for line in (folder / "bfs.txt").read_text().splitlines())
        assert list(lines) == ORDER
        assert {word: int(far) for word, far in lines.items() if int(far) < 9} == {"x-1": 0, "17": 1, "end": 2}
        saved = np.load(folder / "bfs.npz")
        assert [name.decode() for name in saved["vertex"].tolist()] == ORDER
        assert saved["predecessor"].tolist()[ORDER.index("end")] == b"17"
        assert saved["predecessor"].tolist()[ORDER.index("anna")] == b"-1"
        assert whole["vertex"].tolist() == saved["vertex"].tolist()
        labels = dict(zip(components["vertex"].tolist(), components["labels"].tolist(), strict=True))
        assert labels[b"x-1"] == b"17"
        assert labels[b"anna"] == labels[b"bb"] == "Zoë".encode()


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
    result = dgraph.run("bfs", path, ids="string", source="bob")
    found = result.gather()
    if world().rank == 0:
        assert dict(zip(found["vertex"].tolist(), found["distance"].tolist(), strict=True))[b"carol"] == 1
    with pytest.raises(UsageError, match="'eve' is no vertex of the graph"):
        dgraph.run("bfs", path, ids="string", source="eve")


@pytest.mark.parametrize("wanted", ["bob", "bob=2", "bob=2,carol=6"])
def test_words_personalise_on_the_command_line(wanted, tmp_path, monkeypatch):
    """As numbers of the same vertices do in Python."""
    monkeypatch.chdir(tmp_path)
    Path("people.txt").write_text("alice bob\nbob carol\ncarol alice\n")
    line = ["pagerank", "people.txt", "--ids", "string", "--personalization", wanted, "-q", "-o", "ranks.npz"]
    assert main(line) == 0
    found = np.load("ranks.npz")
    numbers = {1: 1.0, 2: 3.0} if "carol" in wanted else [1]
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], comm=world_of_one())
    want = dgraph.run("pagerank", graph, personalization=numbers)
    assert found["vertex"].tolist() == [b"alice", b"bob", b"carol"]
    np.testing.assert_allclose(found["pagerank"], want.columns["pagerank"])
    assert main([*line[:5], "eve=1"]) == 2
