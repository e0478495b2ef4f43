"""Every format against an independent reader, and small real graphs against their published counts."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from children import ROOT
from format_cases import rows, undirected
from loading import cleaned, figures, joined, loaded, share, written

from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError
from dgraph.graph.formats import FORMATS, suffix_of
from dgraph.graph.formats.packed import zstd_library
from dgraph.graph.load import describe, load
from dgraph.graph.load_options import LoadOptions

DATA = ROOT / "tests" / "data"

TRIANGLE = [(1, 2, 5), (2, 3, 7), (3, 1, 1)]

FILES = rows("FILES") | {
    "general.mtx": "%%MatrixMarket matrix coordinate integer general\n% c\n4 4 3\n1 2 5\n2 3 7\n3 1 1\n",
    "symmetric.mtx": "%%MatrixMarket Matrix Coordinate REAL Symmetric\n4 4 3\n2 1 5\n3 2 7.0\n3 1 1e0\n",
    "pattern.mtx": "%%MatrixMarket matrix coordinate pattern general\n%\n\n4 4 3\n1 2\n2 3\n3 1\n",
    "a.txt": "# FromNodeId\tToNodeId\n1\t2\n2\t3\n3\t1\n",
    "weighted.txt": "% konect\n1 2 5\n2 3 7\n3 1 1\n",
    "a.snap": "1 2\n2 3\n3 1",
    "a.edges": "  1   2 \n\t2 3\n3 1\n",
    "a.csv": "source,target,weight\n1,2,5\n2 , 3 , 7\n3,1,1\n",
    "plain.csv": "1;2;5\n2;3;7\n3;1;1\n",
    "a.tsv": "source\ttarget\n1\t2\n2\t3\n3\t1\n",
    "a.cedge": "0 1 2 5\n1 2 3 7\n2 3 1 1\n",
    "a.el": "1 2\n2 3\n3 1\n",
    "a.wel": "1 2 5\n2 3 7\n3 1 1\n",
    "a.e": "1 2 5\n2 3 7\n3 1 1\n",
}
UNDIRECTED = undirected() | {"symmetric.mtx"}
ALL_IDS = rows("IDS") | {".mtx": range(1, 5), ".el": range(4), ".wel": range(4)}
PACKED = {"gzip": (".gz", gzip.compress), "zstd": (".zst", zstd_library().compress)}
"""Suffixes and compressors; the content is compressed as two concatenated members or frames."""


@pytest.mark.parametrize("dressed", ["plain", "CRLF", "BOM", "both", "unfinished", "gzip", "zstd"])
@pytest.mark.parametrize("name", FILES)
def test_a_triangle_in_every_format(name, dressed, tmp_path):
    content = FILES[name]
    if dressed in ("CRLF", "both"):
        content = content.replace("\n", "\r\n")
    if dressed in ("BOM", "both"):
        content = "\ufeff" + content
    if dressed == "unfinished":
        content = content.rstrip("\n")
    weighted = "5" in content
    if dressed in PACKED:
        name += PACKED[dressed][0]
        content = PACKED[dressed][1](content[:40].encode()) + PACKED[dressed][1](content[40:].encode())
    path = written(tmp_path, name, content)
    edges = TRIANGLE if weighted else [(u, v, 1) for u, v, _ in TRIANGLE]
    directed = name.removesuffix(path.suffix if dressed in PACKED else "") not in UNDIRECTED
    for ranks in (1, 2, 4):
        graph = loaded(path, ranks)
        assert graph.directed == directed
        assert (graph.weights is not None) == weighted
        assert figures(graph) == cleaned(edges, directed, vertices=ALL_IDS.get(suffix_of(name)))
        assert graph.facts.name == name
        assert graph.facts.lines_dropped == 0


def test_the_direction_that_is_asked_for_holds(tmp_path):
    listed = written(tmp_path, "a.txt", "1 2\n2 1\n2 3\n")
    assert cleaned([(1, 2, 1), (2, 1, 1), (2, 3, 1)], False) == figures(loaded(listed, directed=False))
    assert "undirected: asked for" in loaded(listed, directed=False).facts.notes
    both = loaded(written(tmp_path, "s.mtx", FILES["symmetric.mtx"]), 2, directed=True)
    assert (both.directed, both.m) == (True, 6)
    assert both.arcs == cleaned(TRIANGLE, False)[1]
    assert "undirected: the .mtx header says symmetric" in loaded(tmp_path / "s.mtx").facts.notes


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.txt", "1|2|5\n2 | 3|7\n3|1|1\n", {"separator": "|"}),
        ("a.txt", "//\n1 2 5\n2 3 7\n/ c\n3 1 1\n", {"comment": "/"}),
        ("a.txt", "from to weight\n1 2 5\n2 3 7\n3 1 1\n", {"header": True}),
        ("a.csv", "1,2,5\n2,3,7\n3,1,1\n", {"header": False}),
        ("a.csv", "cost,x,to,from\n5,?,2,1\n7,,3,2\n1,-,1,3\n", {"columns": "4,3,1"}),
        ("a.tsv", "a\t1\t2\t5\tz\nb\t2\t3\t7\nc\t3\t1\t1\n", {"columns": "2,3,4", "separator": "\t"}),
    ],
)
def test_edge_lists_in_the_form_that_the_user_says(name, content, options, tmp_path):
    graph = loaded(written(tmp_path, name, content), 2, **options)
    assert figures(graph) == cleaned(TRIANGLE, True)


def test_compressed_text_is_dealt_out_in_rounds(tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 50)
    edges = [(u, (7 * u) % 500, u % 9 - 4) for u in range(500)]
    path = written(tmp_path, "a.wel.gz", gzip.compress("".join(f"{u} {v} {w}\n" for u, v, w in edges).encode()))
    for ranks in (1, 3):
        assert figures(loaded(path, ranks)) == cleaned(edges, True, vertices=range(500))


def test_ldbc_files_may_be_compressed(tmp_path):
    written(tmp_path, "g.v.gz", gzip.compress(b"5\n9\n7\n"))
    written(tmp_path, "g.e.gz", gzip.compress(b"5 9 0.5\n"))
    expected = cleaned([(5, 9, 0.5)], True, vertices=[5, 7, 9])
    assert figures(loaded(tmp_path / "g.e.gz", 2)) == expected
    written(tmp_path, "g.properties", "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\n")
    assert figures(loaded(tmp_path / "g.properties", 2)) == expected


HEADERS = [
    ("a.csv", "source,target,weight\n1,2,5\n2,3,7\n3,1,1\n"),
    ("a.txt", "From To Weight\n1 2 5\n2 3 7\n3 1 1\n"),
    ("a.tsv", "from node\tto node\tweight\n1\t2\t5\n2\t3\t7\n3\t1\t1\n"),
    ("a.snap", "# c\n\nperson,friend,weight\n1 2 5\n2 3 7\n3 1 1\n"),
    ("a.wel", "source target weight\n1 2 5\n2 3 7\n3 1 1\n"),
    ("a.cedge", "id source target length\n0 1 2 5\n1 2 3 7\n2 3 1 1\n"),
]


@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(("name", "content"), HEADERS)
def test_a_line_of_names_is_a_header_that_is_shown(name, content, ranks, packing, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 8)
    path = written(tmp_path, name, gzip.compress(content.encode()) if packing == "gzip" else content)
    graph = loaded(path, ranks)
    assert figures(graph) == cleaned(TRIANGLE, True, vertices=ALL_IDS.get(path.suffix))
    number, line = next((at, line) for at, line in enumerate(content.splitlines(), 1) if line and line[0] != "#")
    told = f"line {number} is a header, not an edge: {' '.join(line.replace(',', ' ').split())}"
    assert [note for note in graph.facts.notes if "header" in note] == [told]
    assert not graph.facts.warnings
    with pytest.raises(DataError, match=r"is not a whole number.*say --header"):
        loaded(path, ranks, header=False)


COUNTS = [
    ("a.txt", "4 3\n", "0 1 5\n1 2 7\n2 3 9\n"),
    ("a.txt", "# c\n4 3\n", "0 1\n1 2\n2 3\n"),
    ("a.csv", "4,3\n", "1,2\n2,3\n3,4\n"),
    ("a.txt", "4 3 9\n", "0 1 5\n1 2 7\n2 3 9\n"),
    ("a.txt", "4 4 3\n", "1 2\n2 3\n3 4\n"),
    ("a.txt", "2 1\n", "0 1 5\n"),
    ("a.txt", "9 2\n", "0 1\n0 2\n"),
    ("a.txt", "21 20\n", "".join(f"{u} {u + 1}\n" for u in range(20))),
    ("a.txt", "5000 4000\n", "".join(f"{u} {7 * u % 5000}\n" for u in range(4000))),
    ("a.wel", "4 3\n", "0 1 5\n1 2 7\n2 3 9\n"),
    ("a.el", "4 3\n", "0 1\n1 2\n2 3\n"),
]
NO_COUNTS = [
    ("a.txt", "4 3\n", "0 1\n1 2\n2 5\n"),
    ("a.txt", "4 2\n", "0 1\n1 2\n2 3\n"),
    ("a.txt", "4 3\n", "0 1\n1 2\n2 4\n"),
    ("a.txt", "3 9 3\n", "0 1 5\n1 2 7\n3 4 9\n"),
    ("a.txt", "4 0\n", ""),
    ("a.el", "20 20\n", "".join(f"{u} {u + 1}\n" for u in range(20))),
]


@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(("name", "first", "rest"), COUNTS)
def test_a_line_of_counts_is_no_edge(name, first, rest, lenient, ranks, packing, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 8 if len(rest) < 99 else 999)
    content = first + rest
    path = written(tmp_path, name, gzip.compress(content.encode()) if packing == "gzip" else content)
    words = [line.replace(",", " ").split() for line in rest.splitlines()]
    edges = [(int(u), int(v), int(*w) if w else 1) for u, v, *w in words]
    graph = loaded(path, ranks, lenient=lenient, keep_loops=True)
    vertices = range(max(max(u, v) for u, v, _ in edges) + 1) if path.suffix in (".el", ".wel") else None
    assert figures(graph) == cleaned(edges, True, vertices=vertices, keep_loops=True)
    assert graph.facts.lines_dropped == 0
    line = 2 if first[0] == "#" else 1
    assert [w.split(", was")[0] for w in graph.facts.warnings] == [f"line {line}, {first.splitlines()[-1]!r}"]
    counts = first.splitlines()[-1].replace(",", " ").split()
    if len(counts) == len(words[0]):
        listed = loaded(path, ranks, header=False, keep_loops=True)
        assert listed.m == len({(u, v) for u, v, _ in edges} | {(int(counts[0]), int(counts[1]))})
        assert not listed.facts.warnings
    else:
        with pytest.raises(DataError, match=rf"{name}.*:{line}: .*say --header" if len(edges) > 1 else "column 2"):
            loaded(path, ranks, header=False)
    assert figures(loaded(path, ranks, header=True, keep_loops=True)) == figures(graph)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(("name", "first", "rest"), NO_COUNTS)
def test_a_line_of_numbers_that_do_not_agree_with_the_file_is_an_edge(name, first, rest, ranks, tmp_path):
    graph = loaded(written(tmp_path, name, first + rest), ranks, keep_loops=True)
    assert (graph.m, graph.facts.warnings) == (len((first + rest).splitlines()), [])


@pytest.mark.mpi_skip
@pytest.mark.parametrize("command", ["cc", "info", "convert"])
def test_a_line_of_counts_is_warned_about_even_where_all_is_quiet(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "a.txt", "4 3\n0 1\n1 2\n2 3\n")
    quiet = {"cc": ["-q", "--report", "r.json"], "info": ["--quick"], "convert": ["b.el", "-q"]}[command]
    assert main([command, "a.txt", *quiet]) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(warned) == 1
    assert warned[0].startswith("dgraph: warning: a.txt: line 1, '4 3', was taken as counts of vertices and edges")
    if command == "cc":
        report = json.loads(Path("r.json").read_text())
        assert report["graph"]["n"] == 4
        assert any("line 1, '4 3', was taken as counts" in text for text in report["warnings"])
        assert any("line 1, '4 3', was taken as counts" in text for text in report["graph"]["notes"])
    assert main([command, "a.txt", *quiet, "--no-header"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_columns_are_those_of_most_lines(tmp_path):
    graph = loaded(written(tmp_path, "a.txt", "5 6\n0 1 5\n1 2 7\n2 3\n3 4 9\n"), 2, lenient=True)
    assert (graph.arcs, graph.facts.lines_dropped) == ([(0, 1, 5), (1, 2, 7), (3, 4, 9)], 2)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_metis_file_that_lists_each_edge_once_is_read_as_asked(ranks, tmp_path):
    path = written(tmp_path, "a.graph", "4 3 1\n2 5 3 7\n\n4 1\n\n")
    arcs = [(1, 2, 5), (1, 3, 7), (3, 4, 1)]
    assert figures(loaded(path, ranks, directed=True)) == cleaned(arcs, True, vertices=range(1, 5))
    graph = loaded(path, ranks, directed=False)
    assert figures(graph) == cleaned(arcs, False, vertices=range(1, 5))
    assert {"undirected: asked for", "each edge is listed once"} <= set(graph.facts.notes)
    path = written(tmp_path, "b.graph", "3 2\n2 2\n3\n1\n")
    graph = loaded(path, ranks, directed=True)
    assert figures(graph) == cleaned([(1, 2, 1), (1, 2, 1), (2, 3, 1), (3, 1, 1)], True, vertices=range(1, 4))
    with pytest.raises(DataError, match=r"some arc lacks its reverse.*--directed"):
        loaded(path, ranks)


def test_ldbc_vertices_and_properties(tmp_path):
    written(tmp_path, "g.v", "5 1\n9 2\n1099511627776 3\n7 4\n")
    written(tmp_path, "g.e", "5 9 0.5\n1099511627776 5 0.25\n")
    edges = [(5, 9, 0.5), (1 << 40, 5, 0.25)]
    for ranks in (1, 3):
        assert figures(loaded(tmp_path / "g.e", ranks)) == cleaned(edges, True, vertices=[5, 7, 9, 1 << 40])
    assert "only the first column of g.v is read" in loaded(tmp_path / "g.v").facts.notes
    written(
        tmp_path,
        "g.properties",
        "# a comment\r\ngraph.g.vertex-file = g.v\r\ngraph.g.edge-file = g.e\r\ngraph.g.directed = false\r\n"
        "graph.g.meta.vertices = 4\r\ngraph.g.meta.edges = 2\r\ngraph.g.edge-properties.names = weight\r\n"
        "graph.g.bfs.source-vertex = 9\r\ngraph.g.pr.damping-factor = 0.85\r\ngraph.g.pr.num-iterations = 10\r\n",
    )
    for name in ("g.e", "g.v", "g.properties"):
        graph = loaded(tmp_path / name, 2)
        assert figures(graph) == cleaned(edges, False, vertices=[5, 7, 9, 1 << 40])
        assert graph.facts.defaults == {"bfs": {"source": 9}, "pagerank": {"alpha": 0.85, "max_iter": 10, "tol": 0.0}}
    (tmp_path / "g.v").unlink()
    assert loaded(tmp_path / "g.e").vertices == [5, 9, 1 << 40]
    written(tmp_path, "h.v", "3\n1\n")
    written(tmp_path, "h.e", "")
    assert figures(loaded(tmp_path / "h.v", 2)) == ([1, 3], [], 0, 0, 0, 2)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [True, False])
def test_npz_as_scipy_writes_it(kind, compressed, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.scipy_npz.STEP", 3)
    matrix = scipy.sparse.random(9, 9, 0.4, format=kind, rng=np.random.default_rng(3))
    path = tmp_path / "a.npz"
    scipy.sparse.save_npz(path, matrix, compressed=compressed)
    entries = scipy.sparse.coo_array(matrix)
    edges = list(zip(*(column.tolist() for column in (*entries.coords, entries.data)), strict=True))
    for ranks in (1, 2, 4):
        assert figures(loaded(path, ranks, keep_loops=True)) == cleaned(edges, True, vertices=range(9), keep_loops=True)
    scipy.sparse.save_npz(path, matrix.astype(bool), compressed=compressed)
    assert loaded(path, 2).weights is None


COUNTS = {
    "rome99.gr": (3353, 8859, 0, 11),
    "california_road.cedge": (21048, 21693, 0, 0),
    "facebook_combined.txt": (4039, 88234, 0, 0),
    "CA-GrQc.txt": (5242, 14484, 12, 14484),
    "myciel3.col": (11, 20, 0, 0),
    "queen5_5.col": (25, 160, 0, 160),
    "le450_15b.col": (450, 8169, 0, 0),
    "miles1000.col": (128, 3216, 0, 3216),
    "karate.mtx": (34, 78, 0, 0),
    "chesapeake.mtx": (39, 170, 0, 0),
    "netscience.mtx": (1589, 2742, 0, 0),
    "ldbc_example/example-directed.e": (10, 17, 0, 0),
    "ldbc_example/example-undirected.properties": (9, 12, 0, 0),
}


def asked(name):
    """California, facebook and CA-GrQc are undirected; their formats cannot express that."""
    return LoadOptions(directed=False if name.endswith((".txt", ".cedge")) else None)


@pytest.mark.mpi
@pytest.mark.parametrize("name", COUNTS)
def test_real_files_have_the_known_counts_and_are_the_same_on_any_ranks(name):
    comm = world()
    part = share(load(str(DATA / name), comm, asked(name)), comm)
    block = part[0]
    facts = block.facts
    assert (block.n, block.m, facts.loops, facts.duplicates) == COUNTS[name]
    alone = share(load(str(DATA / name), SerialComm(), asked(name)), SerialComm())
    rows = slice(block.first, block.first + block.rows)
    arcs = slice(int(alone[0].offsets[rows.start]), int(alone[0].offsets[rows.stop]))
    assert part[1] == alone[1][rows]
    assert part[2:] == (alone[2][arcs], alone[3][arcs])
    if block.weights is not None:
        assert block.weights.dtype == alone[0].weights.dtype
        assert np.array_equal(block.weights, alone[0].weights[arcs])
    assert facts == alone[0].facts
    assert describe(block) == describe(alone[0])


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")
@pytest.mark.parametrize("name", ["karate.mtx", "chesapeake.mtx", "netscience.mtx"])
def test_matrices_are_as_scipy_reads_them(name):
    matrix = scipy.sparse.csr_array(scipy.io.mmread(DATA / name))
    graph = loaded(DATA / name)
    assert [(u - 1, v - 1, w) for u, v, w in graph.arcs] == [
        (u, int(v), w)
        for u in range(matrix.shape[0])
        for v, w in sorted(zip(matrix[[u]].indices, matrix[[u]].data, strict=True))
    ]


@pytest.mark.parametrize(
    ("name", "mark", "columns"),
    [("rome99.gr", "a", (1, 2, 3)), ("california_road.cedge", "", (1, 2, 3)), ("CA-GrQc.txt", "", (0, 1))],
)
def test_text_is_as_plain_python_reads_it(name, mark, columns):
    lines = [line.split() for line in (DATA / name).read_text().splitlines()]
    edges = [tuple(map(float, (words[at] for at in columns))) for words in lines if not mark or words[0] == mark]
    edges = [(int(u), int(v), *w) if w else (int(u), int(v), 1) for u, v, *w in edges]
    directed = name == "rome99.gr"
    vertices = range(1, 3354) if directed else None
    assert figures(loaded(DATA / name, directed=directed)) == cleaned(edges, directed, vertices=vertices)


def test_sparse_ids_cure_a_dense_format(tmp_path):
    path = written(tmp_path, "a.el", "0 1\n5 1000000000000\n")
    assert figures(loaded(path, 2, sparse_ids=True)) == cleaned([(0, 1, 1), (5, 10**12, 1)], True)


def test_weights_by_rule_replace_those_of_the_file():
    alone = loaded(DATA / "rome99.gr", weights="1..9")
    assert loaded(DATA / "rome99.gr", 3, weights="1..9").arcs == alone.arcs
    assert {w for *_, w in alone.arcs} == set(range(1, 10))
    assert loaded(DATA / "rome99.gr", 2, weights="unit").weights is None
    both = {(u, v): w for u, v, w in loaded(DATA / "karate.mtx", 2, weights="hash").arcs}
    assert all(both[v, u] == w for (u, v), w in both.items())


def test_the_load_line_says_it_all():
    block = load(str(DATA / "CA-GrQc.txt"), SerialComm(), LoadOptions(directed=False))
    assert describe(block) == (
        "CA-GrQc.txt: 5,242 vertices · 14,484 edges, undirected, unweighted · 12 self-loops dropped · "
        "14,484 parallel edges merged · 1 isolated · largest degree 81 · sparse ids remapped · "
        "undirected: asked for"
    )


def test_every_format_is_covered_here():
    elsewhere = {".sg", ".wsg", ".g500", ".g500w", ".graph", ".parquet", ".arrow", ".feather"}  # test_binary_formats
    tested = {Path(name).suffix for name in [*FILES, *COUNTS]} | {".npz", ".v"} | elsewhere
    assert sorted(set(FORMATS) - tested) == [], "add a module to tests/support/format_cases"
    assert tested <= set(FORMATS)


def test_joined_blocks_follow_each_other():
    """The test helper fails on overlapping blocks."""
    part = share(load(str(DATA / "karate.mtx"), SerialComm()), SerialComm())
    with pytest.raises(AssertionError):
        joined([part, part])
