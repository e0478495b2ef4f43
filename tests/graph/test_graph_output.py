"""Graphs written in every format: equal byte by byte to the format's description, and unchanged when read back."""

import errno
import gzip
import itertools
import json
import os
import resource
import threading

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from loading import agreed, cleaned, figures, joined, loaded, share
from models import both_ways, galois, gapbs, random_edges
from pyarrow import parquet
from simulated import on_ranks

from dgraph.cli import main
from dgraph.comm import SerialComm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.formats.edge_list import read_edge_list
from dgraph.graph.stored_graph import Graph
from dgraph.result.files.graph_writers import GRAPH_WRITERS, save_graph

N = 43
EDGES = [(u, v, w) for u, v, w in random_edges(N - 3, 210) if u != v]
ONCE = [(u, v, w) for u, v, w in random_edges(N - 3, 170, seed=2) if u < v]
RANKS = (1, 2, 3, 5)
WEIGHTS = {
    "none": None,
    "int32": np.array([w for *_, w in EDGES], np.int32),
    "int64": np.array([w << 33 for *_, w in EDGES], np.int64),
    "float32": np.array([w / 10 for *_, w in EDGES], np.float32),
    "float64": np.array([-w / 10 for *_, w in EDGES], np.float64),
}
HOLDS = {
    ".el": ["none"], ".sg": ["none"], ".wsg": ["int32"],
    ".gr": ["int32", "int64", "float64"], ".wel": ["int32", "int64", "float64"],
}  # fmt: skip
"""Weight types that the format preserves; every other format preserves all."""


def saved(path, ranks, edges, weights=None, directed=True, n=N, to=None, **options):
    """Write the graph of these edges, distributed over the ranks; return the graph and the notes."""

    def work(comm):
        mine = slice(comm.rank, None, comm.size)
        columns = np.array([edge[:2] for edge in edges], np.int64).reshape(-1, 2)[mine].T
        part = None if weights is None else weights[: len(edges)][mine]
        graph = Graph.from_edges(*columns, part, n=n, directed=directed, comm=comm, **options)
        return share(graph.block, comm), save_graph(path, graph.block, comm, to)

    results = agreed(on_ranks(ranks, work))
    return joined([part for part, _ in results]), results[0][1]


@pytest.mark.parametrize(
    ("suffix", "kind"), [(suffix, kind) for suffix in GRAPH_WRITERS for kind in HOLDS.get(suffix, WEIGHTS)]
)
def test_what_is_written_is_read_back(suffix, kind, tmp_path):
    wide = {"float32": np.float64} if suffix in (".txt", ".csv", ".mtx") else {}
    for ranks in RANKS:
        for directed, edges in ((True, EDGES), (False, ONCE)):
            path = tmp_path / f"g{ranks}{directed}{suffix}"
            wrote, notes = saved(path, ranks, edges, WEIGHTS[kind], directed)
            options = {} if directed or suffix in (".mtx", ".parquet", ".sg", ".wsg") else {"directed": False}
            again = loaded(path, 2, **options)
            base = 1 if suffix in (".mtx", ".gr") else 0
            assert again.arcs == [(u + base, v + base, w) for u, v, w in wrote.arcs]
            assert again.directed == directed
            assert again.facts.scanned_lines == 0
            assert (again.weights is None) == (kind == "none")
            assert again.weights == wide.get(kind, wrote.weights)
            lost = [note for note in notes if "are not in it" in note]
            assert again.n == N - (int(lost[0].split()[0]) if lost else 0)
            assert bool(lost) == (suffix in (".csv", ".el", ".parquet", ".txt", ".wel"))


@pytest.mark.parametrize("suffix", GRAPH_WRITERS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("keeping", [{}, {"keep_parallel": True}, {"keep_parallel": True, "keep_loops": True}])
def test_parallel_edges_and_loops_are_read_back_or_refused(suffix, directed, keeping, tmp_path):
    """Every edge of the file comes back as often as it was, in both arcs; a format without a way to do so says why."""
    edges = [(0, 1), (0, 1), (1, 2), (2, 3), (3, 1), (3, 1), (3, 1), (2, 2), (2, 2), (5, 0)]
    path, weights = tmp_path / f"g{suffix}", np.array([3, 4, 5, 5, 7, 7, 9, 1, 2, 6], np.int32)
    weights = None if suffix in (".el", ".sg") else weights
    if keeping and not directed and suffix in (".gr", ".npz"):
        with pytest.raises(UsageError, match=r"both arcs of an undirected edge, which a reader cannot tell"):
            saved(path, 2, edges, weights, directed, n=6, **keeping)
        saved(path, 2, edges[3:5], weights, directed, n=6, **keeping)  # there is nothing to lose
        return
    for ranks in (1, 2):
        wrote, _ = saved(path, ranks, edges, weights, directed, n=6, **keeping)
        says = directed or suffix in (".mtx", ".parquet", ".sg", ".wsg")
        again = loaded(path, ranks, **keeping, **({} if says else {"directed": False}))
        base = suffix in (".mtx", ".gr")
        assert sorted((u - base, v - base, w) for u, v, w in again.arcs) == sorted(wrote.arcs)
        assert again.directed == directed


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_gapbs_files_are_as_described(directed, weighted, tmp_path):
    edges, path = EDGES if directed else ONCE, tmp_path / ("a.wsg" if weighted else "a.sg")
    expected = gapbs(N, sorted(edges if directed else both_ways(edges)), directed, weighted)
    for ranks in RANKS:
        saved(path, ranks, edges, np.array([w for *_, w in edges], np.int32) if weighted else None, directed)
        assert path.read_bytes() == expected


def test_a_disk_that_is_full_while_the_reverse_is_made(tmp_path, monkeypatch):
    usual = os.pwrite

    def full(*written):
        if threading.current_thread() is not threading.main_thread():
            raise OSError(errno.ENOSPC, "No space left on device")
        return usual(*written)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OutputError, match="No space left"):
        saved(tmp_path / "g.wsg", 1, EDGES, WEIGHTS["int32"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", GRAPH_WRITERS)
def test_a_disk_without_room_is_named(suffix, tmp_path):
    """The limit of a file's size, which the system refuses to exceed as it does a full disk."""
    weights = WEIGHTS[HOLDS.get(suffix, ["int64"])[0]]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OutputError, match="File too large; nothing was left"):
            saved(tmp_path / f"g{suffix}", 1, EDGES, weights)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("code", "dtype"), [("", None), ("i", np.int32), ("q", np.int64), ("f", "f4"), ("d", "f8")])
@pytest.mark.parametrize("count", [len(EDGES), len(EDGES) - 1])
def test_galois_files_are_as_described(code, dtype, count, tmp_path):
    edges = EDGES[:count]
    for ranks in RANKS:
        weights = None if dtype is None else np.array([w for *_, w in edges], dtype)
        saved(tmp_path / "a.gr", ranks, edges, weights, to="galois")
        assert (tmp_path / "a.gr").read_bytes() == galois(N, edges, 1, code)


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")
def test_other_libraries_read_them(tmp_path):
    expected = scipy.sparse.coo_array(
        (np.array([w for *_, w in EDGES]), ([u for u, *_ in EDGES], [v for _, v, _ in EDGES])), shape=(N, N)
    ).toarray()
    weights = WEIGHTS["int32"]
    saved(tmp_path / "a.npz", 3, EDGES, weights)
    assert np.array_equal(scipy.sparse.load_npz(tmp_path / "a.npz").toarray(), expected)
    saved(tmp_path / "a.mtx", 3, EDGES, weights)
    assert np.array_equal(scipy.io.mmread(tmp_path / "a.mtx").toarray(), expected)
    saved(tmp_path / "b.mtx", 2, ONCE, None, False)
    assert (abs(scipy.io.mmread(tmp_path / "b.mtx").toarray()).sum()) == 2 * len(ONCE)
    saved(tmp_path / "a.parquet", 3, EDGES, weights)
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert sorted(zip(table["source"], table["target"], table["weight"], strict=True)) == EDGES
    saved(tmp_path / "a.txt", 2, EDGES, WEIGHTS["float64"])
    graph = networkx.read_weighted_edgelist(tmp_path / "a.txt", create_using=networkx.DiGraph, nodetype=int)
    assert sorted(graph.edges(data="weight")) == [(u, v, -w / 10) for u, v, w in EDGES]


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".parquet", ".wel", ".npz"])
def test_sparse_ids_are_kept_or_said_to_be_renumbered(suffix, tmp_path):
    far = [((u + 1) << 35, (v + 1) << 35, w) for u, v, w in EDGES]
    kept = suffix in (".txt", ".csv", ".parquet")
    for ranks in RANKS:
        _, notes = saved(tmp_path / f"a{suffix}", ranks, far, WEIGHTS["int32"], n=None, sparse_ids=True)
        again = loaded(tmp_path / f"a{suffix}", 2)
        assert figures(again)[:2] == cleaned(far if kept else EDGES, True, vertices=None if kept else range(N - 3))[:2]
        assert any("numbered 0 .. 39 in the order of their ids" in note for note in notes) != kept


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ranks", [1, 3])
def test_names_are_written_and_read_back(suffix, directed, ranks, tmp_path):
    words = ["ann", "Bob, jr.", 'says "no"', "Zoë", "x y", " ann", "ann ", "'t Hooft", "\tann"]
    edges = pd.DataFrame(
        [(u, v, i + 1) for i, (u, v) in enumerate(itertools.permutations(words, 2))],
        columns=["source", "target", "weight"],
    )
    whole = Graph.from_pandas(edges, directed=directed, merge="sum")

    def convert(comm):
        graph = Graph.from_pandas(edges if comm.rank == 0 else edges[:0], directed=directed, merge="sum", comm=comm)
        return save_graph(tmp_path / f"named{suffix}", graph.block, comm)

    notes = on_ranks(ranks, convert)[0]
    assert any("--ids string" in note for note in notes) == (suffix == ".csv")
    again = Graph.load(tmp_path / f"named{suffix}", ids="string", directed=directed)
    pd.testing.assert_frame_equal(again.to_pandas(), whole.to_pandas(), check_dtype=False)
    with pytest.raises(UsageError, match="cannot hold"):
        save_graph(tmp_path / "named.txt", whole.block, SerialComm())
    assert not (tmp_path / "named.txt").exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_names_that_lines_cannot_hold_are_counted(suffix, ranks, tmp_path):
    words = ["a", "b\nc", "d\re", "\ufefff", "g\ufeff", "h\n"]
    edges = pd.DataFrame({"source": words, "target": words[::-1]})

    def convert(comm):
        graph = Graph.from_pandas(edges if comm.rank == 0 else edges[:0], comm=comm)
        return save_graph(tmp_path / f"a{suffix}", graph.block, comm)

    notes = on_ranks(ranks, convert)
    assert [any("4 names with line breaks" in note for note in own) for own in notes] == [suffix == ".csv"] * ranks
    if suffix == ".parquet":
        assert Graph.load(tmp_path / "a.parquet", ids="string").to_pandas()["source"].isin(words).all()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("ranks", [1, 3])
def test_kept_columns_are_written_and_read_back(suffix, named, ranks, tmp_path):
    days = pd.to_datetime(["2024-03-01T00:00:00", "2024-03-02T10:11:12", None, "2024-05-01T00:00:00"])
    edges = pd.DataFrame(
        {
            "source": [3, 1, 7, 3], "target": [1, 7, 3, 7], "weight": [2.5, 1.0, 4.0, 8.5], "day": days,
            "text": ['a "b"', None, "c, d", "Zoë"], "share": [0.5, np.nan, -1.0, 1e300], "count": [4, -5, 6, 7],
            "late": [True, False, False, True],
        }
    )  # fmt: skip
    if named:
        edges[["source", "target"]] = edges[["source", "target"]].map({1: "ann", 3: "Bob, jr.", 7: "Zoë"}.get)
    keep = ["day", "text", "share", "count", "late"]

    def convert(comm):
        mine = edges if comm.rank == comm.size - 1 else edges[:0]
        graph = Graph.from_pandas(mine, keep=keep, directed=False, comm=comm)
        save_graph(tmp_path / f"kept{suffix}", graph.block, comm)

    on_ranks(ranks, convert)
    whole = Graph.from_pandas(edges, keep=keep, directed=False).to_pandas()
    options = {"ids": "string"} if named else {}
    again = Graph.load(tmp_path / f"kept{suffix}", keep=",".join(keep), directed=False, **options)
    pd.testing.assert_frame_equal(again.to_pandas(), whole, check_dtype=False)
    assert again.edge_attributes["late"].kind == "b"
    if suffix == ".parquet":
        assert not Graph.load(tmp_path / "kept.parquet").directed
        assert pd.read_parquet(tmp_path / "kept.parquet")["text"].isna().sum() == 1
    with pytest.raises(UsageError, match=r"\.wel has no place for kept columns"):
        save_graph(tmp_path / "kept.wel", Graph.from_pandas(edges, keep=keep).block, SerialComm())


@pytest.mark.parametrize("ranks", [1, 3])
def test_durations_are_refused_in_csv_and_read_back_from_parquet(ranks, tmp_path):
    """A file of text has no form of durations that is read back: the column is named."""
    edges = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3]})
    edges["took"] = pd.to_timedelta([1, 2_000_000_000, None], unit="ns")

    def convert(comm):
        graph = Graph.from_pandas(edges if comm.rank == 0 else edges[:0], keep=["took"], comm=comm)
        save_graph(tmp_path / "a.parquet", graph.block, comm)
        with pytest.raises(UsageError, match=r"a.csv: column took holds durations"):
            save_graph(tmp_path / "a.csv", graph.block, comm)

    on_ranks(ranks, convert)
    assert not (tmp_path / "a.csv").exists()
    again = Graph.load(tmp_path / "a.parquet", keep="took").to_pandas()
    pd.testing.assert_frame_equal(again, edges, check_dtype=False)


@pytest.mark.parametrize("ranks", [1, 3])
def test_times_to_the_nanosecond_and_line_breaks_of_kept_text_in_csv(ranks, tmp_path):
    """Times come back with their nanoseconds. A line break is written, noted, and refused by line where it is read."""
    edges = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3], "text": ["a", "b\n5,6,7", "c"]})
    edges["time"] = pd.to_datetime([1, 1_700_000_000_000_000_001, None], unit="ns")
    for keep, broken in (("time", False), ("text", True)):
        path = tmp_path / f"{keep}.csv"

        def convert(comm, keep=keep, path=path):
            graph = Graph.from_pandas(edges if comm.rank == comm.size - 1 else edges[:0], keep=[keep], comm=comm)
            return save_graph(path, graph.block, comm)

        notes = on_ranks(ranks, convert)
        assert [any("text of text has line breaks" in note for note in own) for own in notes] == [broken] * ranks
        pd.testing.assert_series_equal(pd.read_csv(path, parse_dates=["time"][: not broken])[keep], edges[keep])
    again = Graph.load(tmp_path / "time.csv", keep="time").to_pandas()
    pd.testing.assert_series_equal(again["time"], edges["time"])
    with pytest.raises(DataError, match=r"text.csv:3: got '1,2,\"b'; a quotation mark is not closed on its line"):
        Graph.load(tmp_path / "text.csv", keep="text")


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    for name, kind, said in (
        ("a.el", "int32", "has no place for weights: write .wel"),
        ("a.sg", "int32", "has no place for weights: write .wsg"),
        ("a.wsg", "float64", "32-bit integer weights, and these are float64"),
        ("a.wsg", "int64", "these are int64"),
        ("a.xyz", "none", "unknown graph format '.xyz'"),
        ("a.gexf", "none", r"unknown graph format '.gexf'.*networkx\.write_gexf\("),
    ):
        with pytest.raises(UsageError, match=said):
            saved(tmp_path / name, 2, EDGES, WEIGHTS[kind])
    with pytest.raises(UsageError, match=r"--to galois writes files that end in \.gr"):
        saved(tmp_path / "a.el", 2, EDGES, to="galois")
    with pytest.raises(OutputError, match="there is no folder"):
        saved(tmp_path / "no" / "a.el", 2, EDGES)
    assert not list(tmp_path.iterdir())


def test_what_the_first_lines_show_is_refused_before_the_rest_is_read(tmp_path, monkeypatch, capsys):
    """Check that ``convert`` does not load a graph whose weights the output cannot hold."""

    def load(*_, **__):
        raise AssertionError("the graph was read")

    Graph.from_edges([0, 1], [1, 2], [0.5, 1.0]).save_store(tmp_path / "a.store")
    monkeypatch.setattr(Graph, "load", load)
    fractions = {
        "a.wel": "0 1 2\n1 2 1.5\n", "a.csv": "who,whom,much\n7,8,2.5\n", "a.gr": "p sp 3 2\na 1 2 4\na 2 3 0.5\n",
        "a.mtx": "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1e3\n2 3 1\n",
    }  # fmt: skip
    for name, text in fractions.items():
        (tmp_path / name).write_text(text)
    with gzip.open(tmp_path / "a.wel.gz", "wt") as file:
        file.write(fractions["a.wel"])
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_matrix(np.array([[0, 1.5], [2, 0]])))
    for name in (*fractions, "a.wel.gz", "a.npz"):
        columns = ["--columns", "who,whom,much"] if name == "a.csv" else []
        assert main(["convert", str(tmp_path / name), str(tmp_path / "b.wsg"), *columns]) == 2, name
        assert "these are float64" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "a.store"), str(tmp_path / "b.wsg")]) == 2
    assert "these are float64" in capsys.readouterr().err
    table = pd.DataFrame({"who": [7, 8], "whom": [8, 9], "much": [2.5, 3.0], "days": np.array([1, 2], np.int32)})
    for name in ("a.parquet", "a.arrow"):
        path = str(tmp_path / name)
        (table.to_parquet if name == "a.parquet" else table.to_feather)(path)
        for column, refusal in (("much", "these are float64"), ("days", "the graph was read")):
            code = main(["convert", path, str(tmp_path / "b.wsg"), "--columns", f"who,whom,{column}"])
            assert (code, refusal in capsys.readouterr().err) == (2 if column == "much" else 70, True)
    for words in (["rmat:9", "b.wsg", "--weights", "0.5..1"], ["rmat:9", "b.sg", "--weights", "hash"]):
        assert main(["convert", *words]) == 2
    assert main(["convert", str(tmp_path / "a.csv"), "b.txt", "--ids", "string"]) == 2
    for words in (["a.wel", "b.wel"], ["a.gr", "b.wsg", "--weights", "1..9"]):
        assert main(["convert", *(str(tmp_path / word) if word[0] in "ab" else word for word in words)]) == 70
        assert "the graph was read" in capsys.readouterr().err


def test_graphs_without_an_edge(tmp_path):
    for suffix in (".sg", ".wsg", ".mtx", ".gr", ".npz"):
        saved(tmp_path / f"a{suffix}", 3, [], n=5)
        assert (loaded(tmp_path / f"a{suffix}", 2).n, loaded(tmp_path / f"a{suffix}").m) == (5, 0)


def test_convert_and_info(tmp_path, capsys):
    a, b = str(tmp_path / "a.wel"), str(tmp_path / "b.gr")
    assert main(["convert", "grid:3x4", a, "--weights", "2..7"]) == 0
    said = capsys.readouterr().out
    assert "12 vertices" in said
    assert "note: each edge is listed once: read it with --undirected" in said
    assert main(["convert", a, b, "--to", "galois", "--undirected", "-q"]) == 0
    assert capsys.readouterr().out == ""
    assert loaded(b, directed=False).arcs == loaded(a, directed=False).arcs
    assert main(["convert", a, str(tmp_path / "a.xyz")]) == 2
    assert main(["info", b, "--undirected", "--representations", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["degrees"] == {"smallest": 2, "largest": 4, "mean": 2.833, "histogram": [0, 0, 10, 2]}
    assert told["components"]["components"] == 1
    assert told["diameter_at_least"] == 5
    assert told["bytes"] == (tmp_path / "b.gr").stat().st_size
    costs = {row["name"]: row for row in told["representations"]}
    assert costs["adjacency matrix"]["memory"] == 12 * 12 * 4
    assert costs["bitmap"]["memory"] == 12 * 2 + 34 * 4
    assert costs["CSR"]["memory"] == 13 * 8 + 34 * 8
    assert costs["COO arrays"]["memory"] == 34 * 12
    assert all(row["lookup"] > 0 for row in costs.values())
    assert main(["info", "path:9", "--quick"]) == 0
    assert "  2 .. 3  7 vertices" in capsys.readouterr().out
    assert read_edge_list.__doc__.split("\n")[0].replace("``", "").rstrip(".") in _info(tmp_path, capsys)


def _info(tmp_path, capsys):
    (tmp_path / "c.txt").write_text("1 2\n")
    assert main(["info", str(tmp_path / "c.txt")]) == 0
    return capsys.readouterr().out


def test_representations_answer_alike():
    """The timed kernels compute the same sums in every representation: row, look-up and sweep."""
    from dgraph.graph.build import representations as r

    block = Graph.load("rmat:6,seed=4").block
    rows = np.arange(block.n)
    other = np.roll(rows, 5)
    coo = block.sources(), block.targets
    bits, matrix = r._bitmap(block), r._matrix(block)
    pairs = np.stack(coo, axis=1)
    forms = {
        "matrix": ((matrix,), (r._matrix_row, r._matrix_has, r._matrix_sweep)),
        "bits": ((bits,), (r._bits_row, r._bits_has, r._bits_sweep)),
        "csr": ((block.offsets, block.targets), r._ROWS),
        "csc": (r._columns(block), r._COLUMNS),
        "arrays": (coo, r._ARRAYS),
        "pairs": ((pairs,), r._PAIRS),
    }
    total = int(block.targets.astype(np.int64).sum())
    arcs = set(zip(*(column.tolist() for column in coo), strict=True))
    hits = sum((int(u), int(v)) in arcs for u, v in zip(rows, other, strict=True))
    for name, (arrays, (row, has, sweep)) in forms.items():
        assert row(*arrays, rows) == total, name
        assert has(*arrays, rows, other) == hits, name
        assert sweep(*arrays) in (total, total + int(coo[0].astype(np.int64).sum()), int(coo[0].astype(np.int64).sum()))
