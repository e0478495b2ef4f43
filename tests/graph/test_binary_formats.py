"""Formats of fixed-size records and adjacency lists, against files written from their descriptions (``models.py``)."""

import struct

import igraph
import networkx
import numpy as np
import pyarrow
import pytest
from loading import cleaned, figures, loaded, written
from models import both_ways, galois, gapbs, metis, packed, random_edges, rows, wide
from pyarrow import feather, parquet

from dgraph.errors import DataError, UsageError
from dgraph.graph.formats.packed import zstd_library

N = 40
EDGES = random_edges(N, 200)
ONCE = [(u, v, w) for u, v, w in random_edges(N, 150, seed=2) if u <= v]
UNIT = [(u, v, 1) for u, v, _ in EDGES]
RANKS = (1, 2, 3, 5)


def check_read(path, edges, goes_one_way, n=N, base=0, **options):
    """Assert that a file loads as the clean graph of these edges, on any number of ranks, with and without loops."""
    shown = [(u + base, v + base, w) for u, v, w in edges]
    for ranks in RANKS:
        for loops in (False, True):
            graph = loaded(path, ranks, keep_loops=loops, **options)
            assert figures(graph) == cleaned(shown, goes_one_way, vertices=range(base, n + base), keep_loops=loops)
            assert graph.directed == goes_one_way


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_gapbs(directed, weighted, tmp_path):
    listed = EDGES if directed else both_ways(ONCE)
    path = written(tmp_path, "a.wsg" if weighted else "a.sg", gapbs(N, listed, directed, weighted))
    edges = EDGES if directed else ONCE
    check_read(path, edges if weighted else [(u, v, 1) for u, v, _ in edges], directed)


@pytest.mark.parametrize("least", [-30, 0])
def test_gapbs_with_float_weights_is_refused_from_its_first_bytes(least, tmp_path):
    """Check the other build of GAPBS: its weights are 32 bits wide, too, and the file does not say that they differ."""
    weights = np.linspace(least, 70, len(EDGES), dtype=np.float32)
    bits_of = {(u, v): bits for (u, v, _), bits in zip(EDGES, weights.view(np.int32).tolist(), strict=True)}
    listed = sorted(bits_of.items())
    path = written(tmp_path, "a.wsg", gapbs(N, [(*ends, bits) for ends, bits in listed], True, True))
    with pytest.raises(DataError, match="look like float32"):
        loaded(path, 3)
    arcs = [(*ends, float(np.int32(bits).view(np.float32))) for ends, bits in listed if ends[0] != ends[1]]
    assert loaded(path, 2, edge_data="float32").arcs == arcs
    assert {w for *_, w in loaded(path, 2, edge_data="int32").arcs} == {bits for (u, v), bits in listed if u != v}
    assert loaded(path, 2, weights="unit").weights is None
    with pytest.raises(UsageError, match="int32 or float32"):
        loaded(path, 2, edge_data="int64")


def test_rows_in_any_order_with_repetitions_are_put_right(tmp_path):
    listed = list(reversed(EDGES)) + [(u, v, w + 1) for u, v, w in EDGES[::3]]
    check_read(written(tmp_path, "a.wsg", gapbs(N, listed, True, True)), listed, True)
    both = both_ways(ONCE) + both_ways(ONCE[::4])
    check_read(written(tmp_path, "b.wsg", gapbs(N, both, False, True)), [*ONCE, *ONCE[::4]], False)


def test_rows_take_the_direction_and_the_vertices_that_are_asked_for(tmp_path):
    path = written(tmp_path, "a.wsg", gapbs(N, EDGES, True, True))
    check_read(path, EDGES, False, directed=False)
    both = loaded(written(tmp_path, "b.wsg", gapbs(N, both_ways(ONCE), False, True)), 2, directed=True)
    assert (both.directed, both.arcs) == (True, loaded(tmp_path / "b.wsg").arcs)
    lonely = [(3, 5, 1), (9, 3, 2)]
    graph = loaded(written(tmp_path, "c.wsg", gapbs(N, lonely, True, True)), 3, sparse_ids=True)
    assert figures(graph) == cleaned(lonely, True)
    twice = written(tmp_path, "d.wsg", gapbs(N, [*lonely, (3, 5, 7)], True, True))
    assert loaded(twice, 2, keep_parallel=True).arcs == [(3, 5, 1), (3, 5, 7), (9, 3, 2)]


@pytest.mark.parametrize("count", [len(EDGES), len(EDGES) - 1])
@pytest.mark.parametrize(("version", "pad"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("data", ["", "i", "f", "q", "d"])
def test_galois(version, pad, data, count, tmp_path):
    edges = EDGES[:count]
    path = written(tmp_path, "a.gr", galois(N, edges, version, data, pad))
    kinds = {"i": "int32", "f": "float32", "q": "int64", "d": "float64"}
    options = {"edge_data": kinds[data]} if data in ("f", "d") else {}
    check_read(path, edges if data else [(u, v, 1) for u, v, _ in edges], True, **options)
    if data:
        assert loaded(path, 2, **options).weights == np.dtype(kinds[data])


@pytest.mark.parametrize(("fmt", "ncon"), [("", 0), ("1", 0), ("001", 0), ("11", 0), ("10", 3), ("100", 0), ("111", 2)])
@pytest.mark.parametrize("packing", ["plain", "zstd"])
def test_metis(fmt, ncon, packing, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 64)
    edges = [(u, v, w) for u, v, w in ONCE if u != v]
    text = metis(N, edges, fmt, ncon).replace("\n", "\n% in between\n", 3)
    path = written(tmp_path, "a.graph", text if packing == "plain" else zstd_library().compress(text.encode()))
    check_read(path, edges if fmt.zfill(3)[2] == "1" else [(u, v, 1) for u, v, _ in edges], False, base=1)


def test_metis_lines_without_neighbours(tmp_path):
    path = written(tmp_path, "a.graph", "4 1\n\n3\n2\n\n")
    check_read(path, [(1, 2, 1)], False, n=4, base=1)


@pytest.mark.parametrize("name", ["a.g500", "a.g500w"])
def test_graph500_edges(name, tmp_path):
    largest = max(max(u, v) for u, v, _ in EDGES) + 1
    path = written(tmp_path, name, (packed if name == "a.g500" else wide)(EDGES))
    check_read(path, UNIT, False, n=largest)
    written(tmp_path, name + ".weights", struct.pack(f"<{len(EDGES)}f", *(w / 128 for *_, w in EDGES)))
    check_read(path, [(u, v, w / 128) for u, v, w in EDGES], False, n=largest)


def test_graph500_ids_beyond_32_bits(tmp_path):
    edges = [((1 << 40) + 5, 7, 1), (3, 1 << 46, 1)]
    graph = loaded(written(tmp_path, "a.g500", packed(edges)), 2, sparse_ids=True)
    assert figures(graph) == cleaned(edges, False)


@pytest.mark.parametrize("wide", [0, 3])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_threads_store_batches_of_any_width(suffix, wide, tmp_path, monkeypatch):
    """Ids beyond 32 bits and weights beyond 63 stand in the first batch or in a later one, and batches cut a group."""
    monkeypatch.setattr("dgraph.graph.formats.parquet.ROWS", 5)
    monkeypatch.setattr("dgraph.graph.formats.parquet.rank_threads", lambda comm: 3)
    random = np.random.default_rng(wide)
    src, dst = random.integers(0, 30, (2, 40))
    weights = random.integers(1, 9, 40).astype(np.uint64)
    src[10 * wide] = 2**40
    weights[10 * wide + 1] = 2**63 + 2**20
    table = pyarrow.table({"source": src, "target": dst, "weight": weights})
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path, row_group_size=11)
    else:
        feather.write_feather(table, str(path), chunksize=11)
    edges = list(zip(src.tolist(), dst.tolist(), weights.astype(np.float64).tolist(), strict=True))
    for ranks in (1, 3):
        assert figures(loaded(str(path), ranks)) == cleaned(edges, True)


def test_a_table_beyond_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"source": [0], "target": [1]}), path)

    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr("dgraph.graph.formats.parquet._Part._put_narrow", refuse)
    with pytest.raises(DataError, match="do not fit in memory"):
        loaded(str(path), 2)


@pytest.mark.parametrize("names", [("src", "dst", "weight"), ("WEIGHT", "To", "FROM"), ("a", "b", "Weight")])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_tables(names, suffix, tmp_path):
    kinds = {"WEIGHT": 2, "To": 1, "FROM": 0}
    table = pyarrow.table(
        {name: [edge[kinds.get(name, column)] for edge in EDGES] for column, name in enumerate(names)}
    )
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path, row_group_size=37)
    else:
        feather.write_feather(table, path, chunksize=37)
    for ranks in RANKS:
        assert figures(loaded(path, ranks)) == cleaned(EDGES, True)
    if names[0] == "src":
        assert figures(loaded(path, 2, columns="2,1")) == cleaned([(v, u, 1) for u, v, _ in EDGES], True)


def test_tables_that_are_none(tmp_path):
    def refused(error, message, **columns):
        parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
        for ranks in (1, 3):
            with pytest.raises(error, match=message):
                loaded(tmp_path / "a.parquet", ranks)

    refused(DataError, r"src\[1\] is null", src=[1, None, 3], dst=[1, 2, 3])
    refused(DataError, "src holds double; both ends are integers, or both names", src=[1.0, 2.0], dst=[1, 2])
    refused(DataError, r"dst\[1\] is -2", src=[1, 2], dst=[1, -2])
    refused(DataError, r"weight\[0\] is nan", src=[1, 2], dst=[1, 2], weight=[float("nan"), 1.0])
    refused(DataError, "weight holds string; weights are real", src=[1, 2], dst=[1, 2], weight=["a", "b"])
    refused(DataError, "which are the ends of an edge", a=[1], b=[1], c=[1], d=[1])
    refused(DataError, "no edge", src=pyarrow.array([], pyarrow.int64()), dst=pyarrow.array([], pyarrow.int64()))
    with pytest.raises(DataError, match="pyarrow cannot read this table"):
        loaded(written(tmp_path, "b.parquet", b"1 2\n" * 30), 2)
    with pytest.raises(DataError, match="pyarrow cannot read this table"):
        loaded(written(tmp_path, "b.arrow", b"1 2\n" * 30), 2)


@pytest.mark.parametrize("ranks", [1, 3])
def test_rows_that_lack_reverses_are_read_as_directed_where_that_is_asked_for(ranks, tmp_path):
    arcs = [(0, 1, 5), (0, 1, 5), (1, 2, 5)]
    path = written(tmp_path, "a.sg", gapbs(3, arcs, False, False))
    graph = loaded(path, ranks, directed=True)
    assert figures(graph) == cleaned([(u, v, 1) for u, v, _ in arcs], True, vertices=range(3))
    for options in ({}, {"sparse_ids": True}, {"directed": False}):
        with pytest.raises(DataError, match=r"some arc lacks its reverse.*--directed"):
            loaded(path, ranks, **options)


SG = gapbs(3, [(0, 1, 5), (2, 1, 7)], True, False)
GALOIS = galois(3, [(0, 1, 5), (2, 1, 7)], 1, "i")
HEAD = struct.pack
REFUSED = [
    ("a.sg", SG[:-1], "bytes, but 2 directed arcs of 3 vertices need 97; was it cut short"),
    ("a.sg", SG + b"\0", "is it of the other kind"),
    ("a.wsg", SG, "bytes, but 2 directed arcs"),
    ("a.sg", SG[:10], "10 bytes, fewer than the header has"),
    ("a.sg", b"\2" + SG[1:], "says directed 2"),
    ("a.sg", HEAD("<Bqq", 0, -1, 3), "says directed 0, -1 arcs"),
    ("a.sg", HEAD("<Bqq", 0, 0, 1 << 50), "this is not a GAPBS graph"),
    ("a.sg", gapbs(3, [(0, 1, 5)], False, False), "some arc lacks its reverse"),
    (
        "a.sg",
        SG[:49] + struct.pack("<i", 3) + SG[53:],
        r"target\[0\] is 3; it must be within 0 \.\. 2",
    ),
    ("a.sg", SG[:17] + struct.pack("<4q", 0, 2, 1, 2) + SG[49:], "offsets of its 3 rows do not ascend"),
    ("a.sg", SG[:17] + struct.pack("<4q", 1, 1, 1, 2) + SG[49:], "offsets of its 3 rows do not ascend"),
    ("a.sg", SG[:17] + struct.pack("<4q", 0, 1, 1, 1) + SG[49:], "offsets of its 3 rows do not ascend"),
    ("a.sg", SG[:17] + struct.pack("<4q", 0, 1 << 40, 2, 2) + SG[49:], "offsets of its 3 rows do not ascend"),
    ("a.gr", GALOIS[:-1], "2 arcs of 3 vertices, 4 bytes of data each, take 72; was it cut short"),
    ("a.gr", GALOIS + b"\0", "was something appended"),
    ("a.gr", GALOIS[:20], "20 bytes, fewer than the header has"),
    ("a.gr", galois(3, [(0, 3, 1)], 1), r"target\[0\] is 3"),
    ("a.gr", HEAD("<QQQQ", 1, 0, 1 << 60, 1 << 60), "was it cut short"),
    ("a.gr", HEAD("<QQQQ", 1, 7, 1, 1), "edge data of 7 bytes"),
    ("a.gr", HEAD("<QQQQ", 1, 0, 0, 0), "no vertex"),
    ("a.gr", HEAD("<QQQQQQQ", 2, 0, 2, 1, 1 << 63, 1, 0), "do not ascend"),
    ("a.g500", b"\0" * 13, "not a whole number of edges of 12 bytes"),
    ("a.g500", b"", "not a whole number of edges"),
    ("a.g500", struct.pack("<IIhh", 1, 1, -1, 0), r"source\[0\] is -"),
    ("a.graph", "3 1\n2\n1\n", "2 lines of neighbours, but the header .line 1. says 3 vertices"),
    ("a.graph", "2 1\n2\n1\n1\n", "lines? of neighbours"),
    ("a.graph", "2 3\n2\n1\n", "2 neighbours, but the header .line 1., counting each edge twice, says 6"),
    ("a.graph", "2 2\n2\n1\n", "2 neighbours for the 2 edges of the header .line 1.: the file lists each edge once"),
    ("a.graph", "3 2\n2 3\n\n\n", "say --directed .directed=True. .* or --undirected"),
    ("a.graph", "3 2 100\n2\n1 3\n2\n", r"1 neighbours, .* says 4; .*the format 100 in the header says .*line 1"),
    ("a.graph", "3 2 100\n2\n\n2\n", r"a\.graph:3: the line ends before .*the format 100 in the header"),
    ("a.graph", "3 2 110 2\n2\n1 3\n2\n", r"the format 110 .* first 3 numbers .* size of the vertex and its weights"),
    ("a.graph", "2 1\n2\n3\n", r"a\.graph:3: got neighbour '3'; ids are 1 \.\. 2"),
    ("a.graph", "2 1\n2\n0\n", r"a\.graph:3: got neighbour '0'"),
    ("a.graph", "% c\n2 1\n2\n1x\n", r"a\.graph:4: got '1x'; neighbours and weights are whole numbers"),
    ("a.graph", "2 1\n2\n-1\n", r"a\.graph:3: got '-1'"),
    ("a.graph", "2 1 1\n2 5\n1\n", r"a\.graph:3: the line ends before its numbers do"),
    ("a.graph", "2 1 1\n2 5\n1 6\n", "some arc lacks its reverse of the same weight"),
    ("a.graph", "2 1 2\n2\n1\n", "a format of up to three binary digits"),
    ("a.graph", "2\n", "the first line that is not a comment says"),
    ("a.graph", "2 1 1 2\n", "2 weights a vertex, but the format 001 has none"),
    ("a.graph", "2000000 1\n", "ids go up to 2000000 vertices"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED)
@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_no_such_file_is_refused(name, content, message, ranks, tmp_path):
    with pytest.raises(DataError, match=message):
        loaded(written(tmp_path, name, content), ranks)


def test_edge_data_that_may_be_either_are_asked_about(tmp_path):
    path = written(tmp_path, "a.gr", galois(3, [(0, 1, 0.5), (2, 1, 0.25)], 1, "f"))
    for ranks in (1, 3):
        with pytest.raises(UsageError, match=r"may be int32 .up to 1056964608. or float32.*--edge-data"):
            loaded(path, ranks)
    zeros = written(tmp_path, "zeros.gr", galois(3, [(0, 1, 0.5), (2, 1, -0.0)], 1, "d"))  # -0.0 has the bits of -2^63
    with pytest.raises(UsageError, match=r"may be int64 .* or float64"):
        loaded(zeros)
    with pytest.raises(UsageError, match="of 4 bytes they are int32 or float32"):
        loaded(path, edge_data="float64")
    with pytest.raises(UsageError, match="it has none"):
        loaded(written(tmp_path, "b.gr", galois(3, [(0, 1, 0.5)], 1)), edge_data="float64")
    with pytest.raises(DataError, match=r"weight\[0\] is nan"):
        loaded(written(tmp_path, "c.gr", galois(3, [(0, 1, float("nan"))], 1, "f")), 2, edge_data="float32")


def test_graphs_that_other_libraries_wrote(tmp_path):
    """Matrix Market files and edge lists written by networkx and igraph load as these libraries read them back."""
    graph = networkx.gnm_random_graph(N, 100, seed=3)
    networkx.write_edgelist(graph, tmp_path / "a.txt", data=False)
    assert {(u, v) for u, v, _ in loaded(tmp_path / "a.txt", 2, directed=False).arcs} == {
        pair for u, v in graph.edges for pair in ((u, v), (v, u))
    }
    other = igraph.Graph(n=N, edges=[(u, v) for u, v, _ in EDGES], directed=True)
    other.write_edgelist(str(tmp_path / "b.el"))
    assert [(u, v) for u, v, _ in loaded(tmp_path / "b.el", 3, keep_loops=True).arcs] == sorted(
        edge.tuple for edge in other.es
    )


def test_the_models_themselves():
    assert rows(3, [(0, 1, 5), (2, 1, 7)]) == [[(1, 5)], [], [(1, 7)]]
    assert len(SG) == 17 + 2 * (8 * 4 + 4 * 2)
