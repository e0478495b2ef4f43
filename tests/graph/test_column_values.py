"""Values of ids and weights of any library: read as they are, or refused by the name of their column and row."""

import datetime
import decimal
import fractions

import duckdb
import networkx as nx
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, DgraphError, UsageError
from dgraph.graph.build.array_input import DECIMALS, ROUNDED
from dgraph.graph.stored_graph import Graph

D = decimal.Decimal


def weights_of(weights, make=Graph.from_edges):
    """The weights of a path of edges, and the notes on them."""
    count = len(weights)
    graph = make(np.arange(count), np.arange(1, count + 1), weights, comm=SerialComm())
    return graph.block.weights.tolist(), graph.facts.notes


def masked(values, *rows):
    values = np.array(values)
    mask = np.zeros(values.shape, bool)
    mask[list(rows)] = True
    return np.ma.array(values, mask=mask)


GRAPH = Graph.from_edges([0, 1], [1, 2], [1, 2], comm=SerialComm())
MASKED = {
    "src": lambda: Graph.from_edges(masked([0, 1], 1), [1, 2]),
    "dst": lambda: Graph.from_edges([0, 1], masked([1, 2], 1)),
    "weights": lambda: Graph.from_edges([0, 1], [1, 2], masked([0.5, 1], 1)),
    "weights of a list": lambda: Graph.from_edges([0, 1], [1, 2], [1, np.ma.masked]),
    "vertices": lambda: Graph.from_edges([0, 1], [1, 2], vertices=masked([0, 1], 1)),
    "src of names": lambda: Graph.from_edges(masked(["a", "b"], 1), ["b", "c"]),
    "offsets": lambda: Graph.from_csr(masked([0, 1, 1], 1), [1]),
    "targets": lambda: Graph.from_csr([0, 1, 2], masked([1, 1], 1)),
    "weights of from_csr": lambda: Graph.from_csr([0, 1, 2], [1, 0], masked([1, 1], 1)),
    "add": lambda: GRAPH.with_edges(masked([[0, 1], [0, 2]], 1), weights=[1, 1]),
    "remove": lambda: GRAPH.with_edges(remove=masked([[0, 1], [1, 2]], 1)),
    "weights of with_edges": lambda: GRAPH.with_edges([[0, 1], [0, 2]], weights=masked([1, 1], 1)),
    "level": lambda: GRAPH.with_columns(level=masked([1, 2, 3], 1)),
    "vertices of induced": lambda: GRAPH.induced(masked([0, 1], 1)),
    "center": lambda: GRAPH.ego(masked([0, 1], 1)),
    "the predicate's answer": lambda: GRAPH.filter_edges(lambda e: np.ma.array(e.weight > 0, mask=e.weight > 1)),
    "sources": lambda: dgraph.multi_source_bfs(GRAPH, sources=masked([0, 1], 1)),
    "personalization": lambda: dgraph.pagerank(GRAPH, personalization=masked([0, 1], 1)),
}


@pytest.mark.parametrize("case", MASKED)
def test_masked_values_are_refused(case):
    name = case.partition(" of ")[0]
    with pytest.raises(DgraphError, match=rf"{name}\[1\]|{name}: None|{name}.*masked"):
        MASKED[case]()


def test_arrays_without_a_masked_value_are_read():
    assert weights_of(masked([2, 3])) == ([2, 3], [])
    assert Graph.from_edges(masked([0, 1]), masked([1, 2]), comm=SerialComm()).m == 2


@pytest.mark.parametrize(
    ("weights", "want", "note"),
    [
        ([D("1.5"), 2], [1.5, 2], DECIMALS),
        ([fractions.Fraction(1, 4), True], [0.25, 1], DECIMALS),
        ([True, 3], [1, 3], None),
        ([1, 2.5], [1, 2.5], None),
        ([np.float32(0.5), 1], [0.5, 1], None),
        ([2**53 + 1, 0.5], [2.0**53, 0.5], ROUNDED),
        ([2**53, -0.5, True], [2.0**53, -0.5, 1], None),
        (pandas.Series([-(2**53) - 1, 0.5], dtype=object), [-(2.0**53), 0.5], ROUNDED),
        ([2**70, 1], [2.0**70, 1], ROUNDED),
        (pandas.Series([2**64, 1], dtype=object), [2.0**64, 1], ROUNDED),
        (pandas.Series([D("0.5"), D(1)]), [0.5, 1], DECIMALS),
        (pandas.Series([1, 2], dtype="category"), [1, 2], None),
        (pandas.Series(pandas.arrays.SparseArray([0, 1.5])), [0, 1.5], None),
        (polars.Series([D("0.5"), D(1)]), [0.5, 1], DECIMALS),
        (polars.Series([1, 2], dtype=polars.Int128), [1, 2], None),
        (polars.Series([2**70, 2], dtype=polars.Int128), [2.0**70, 2], ROUNDED),
        (pyarrow.array([D("0.5"), D(1)], pyarrow.decimal256(60, 1)), [0.5, 1], DECIMALS),
        (pyarrow.array([1, 2]).dictionary_encode(), [1, 2], None),
    ],
    ids=str,
)
def test_weights_of_any_kind_of_numbers(weights, want, note):
    values, notes = weights_of(weights)
    assert values == want
    assert notes == ([note] if note else [])


def test_decimals_of_tables_are_read_as_floats(tmp_path):
    relation = duckdb.sql("select 0 source, 1 target, 1.25::decimal(9, 2) weight")
    relation.write_parquet(str(tmp_path / "a.parquet"))
    for graph in (Graph.from_arrow(relation, comm=SerialComm()), Graph.load(tmp_path / "a.parquet", comm=SerialComm())):
        assert graph.block.weights.tolist() == [1.25]
        assert DECIMALS in graph.facts.notes
    with pytest.raises(UsageError, match="source: got a column of decimal"):
        Graph.from_arrow(duckdb.sql("select 0::hugeint source, 1::hugeint target"), comm=SerialComm())


WRONG_WEIGHTS = [
    ["1_000", 1], [datetime.date(2026, 1, 1)], [None], [1j], [float("nan")], [D("nan")], [D("snan")], [10**400],
    [D("1e400")], [[1, 2]], [bytearray(b"x")], [object()], ["\ud800"], np.array([1 + 2j]), np.array(["2020"], "M8[D]"),
    pandas.Series(["a"]), pandas.DataFrame({"a": [1], "b": [2]}), pandas.Timestamp("2020-01-01"), pandas.NA,
    polars.DataFrame({"a": [1]}), polars.col("x"), pyarrow.table({"a": [1]}), pyarrow.array(["a"]),
    scipy.sparse.coo_array(np.eye(1)), np.ones((1, 2)), "abc", 5, {1: 2}, NotImplemented, np.ones(1, "f16"),
    pandas.Series(pandas.arrays.SparseArray([np.nan])), pyarrow.array([D("1.5")]).dictionary_encode().cast("string"),
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", WRONG_WEIGHTS, ids=lambda value: f"{type(value).__name__} {value!r:.20}")
def test_weights_that_are_not_numbers_are_refused_by_name(weights):
    with pytest.raises(DgraphError, match="weights"):
        Graph.from_edges([0], [1], weights, comm=SerialComm())


WRONG_IDS = [
    [2**70], [np.uint64(2**63)], [-1], [1, "a"], ["a", 1], [True, 1], [1.5], [D(1)], [None], [[1], [2, 3]],
    [b"\xff", 1], pandas.Series([2**70, 2], dtype=object), polars.Series([2**70], dtype=polars.Int128),
    polars.Series([2**100], dtype=polars.UInt128), pandas.DataFrame({"a": [1]}), pandas.NA, pandas.NaT,
    polars.col("x"), pyarrow.table({"a": [1]}), pyarrow.scalar(1), pandas.Series([pandas.Timestamp("2020-01-01")]),
    pandas.Series([1, "a"]), pandas.Series([(1, 2)]), pyarrow.array([D(1)]), pyarrow.array([[1]]), [NotImplemented],
    [memoryview(b"x")], [np.zeros(2), np.zeros(3)], "ab", 3, {1}, object(), ["\ud800"], ["\udc80x"],
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ids", WRONG_IDS, ids=lambda value: f"{type(value).__name__} {value!r:.20}")
@pytest.mark.parametrize("name", ["src", "dst", "vertices"])
def test_ids_that_are_not_ids_are_refused_by_name(name, ids):
    size = len(ids) if hasattr(ids, "__len__") else 1
    columns = {"src": [0] * size, "dst": [1] * size, name: ids}
    with pytest.raises(DgraphError, match=name):
        Graph.from_edges(**columns, comm=SerialComm())


@pytest.mark.parametrize("kind", ["int128", "uint128"])
def test_wide_integers_of_polars_are_ids_where_they_fit(kind):
    wide = {"int128": polars.Int128, "uint128": polars.UInt128}[kind]
    frame = polars.DataFrame({"source": [0, 2**62], "target": [1, 0]}).cast(wide)
    assert Graph.from_polars(frame, comm=SerialComm()).vertices().tolist() == [0, 1, 2**62]


EDGE_WEIGHTS = ["1_000", datetime.date(2026, 1, 1), None, 1j, [1], np.ma.masked, float("nan"), D("snan"), 10**400]


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
@pytest.mark.parametrize("weight", EDGE_WEIGHTS, ids=str)
def test_networkx_weights_that_are_not_numbers_are_refused_by_edge(kind, weight):
    graph = kind([(0, 1, {"weight": 2}), (1, 2, {}), (1, 3, {"weight": weight})])
    with pytest.raises(UsageError, match=r"weight='weight': edge 1 → 3 has"):
        Graph.from_networkx(graph, comm=SerialComm())
    assert Graph.from_networkx(graph, None, comm=SerialComm()).block.weights is None


def test_networkx_weights_that_are_numbers():
    for weight, note in ((True, None), (D("0.5"), DECIMALS), (fractions.Fraction(1, 2), DECIMALS), (2**70, ROUNDED)):
        graph = Graph.from_networkx(nx.DiGraph([(0, 1, {"weight": weight}), (1, 2)]), comm=SerialComm())
        assert graph.block.weights.tolist() == [float(weight), 1]
        assert graph.facts.notes == ([note] if note else [])
    with pytest.raises(UsageError, match="weight ="):
        Graph.from_networkx(nx.Graph([(0, 1)]), [1], comm=SerialComm())


def test_tables_hold_names_of_utf8_only(tmp_path):
    (tmp_path / "latin.csv").write_bytes("b,caf\xe9\nb,c\n".encode("latin-1"))
    graph = Graph.load(tmp_path / "latin.csv", ids="string", comm=SerialComm())
    for call in (graph.to_pandas, graph.to_arrow):
        with pytest.raises(DataError, match=r"the vertex 'caf.udce9' has a name that is not UTF-8"):
            call()


@pytest.mark.parametrize("n", [2**63, 10**30, float("inf"), "5", [1], 1.5, True, D(1), fractions.Fraction(2), 0, -1])
def test_n_is_a_number_of_vertices(n):
    for call in (
        lambda: Graph.from_edges([0], [1], n=n, comm=SerialComm()),
        lambda: Graph.from_pandas(pandas.DataFrame({"source": [0], "target": [1]}), n=n, comm=SerialComm()),
    ):
        with pytest.raises(UsageError, match=r"\bn (= |is )"):
            call()


def test_more_vertices_than_memory_are_refused():
    with pytest.raises(UsageError, match="n = 9,007,199,254,740,993 vertices take"):
        Graph.from_edges([0], [1], n=2**53 + 1, comm=SerialComm())
    with pytest.raises(UsageError, match=r"n = .* vertices take"):
        Graph.from_scipy(scipy.sparse.coo_array((2**53, 2**53)), comm=SerialComm())
    assert Graph.from_edges([0], [1], n=np.int64(5), comm=SerialComm()).n == 5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("flag", [np.zeros(0), np.arange(3), pandas.Series([1, 2]), polars.col("x"), "x", None, 1])
def test_flags_are_true_or_false(flag):
    frame = pandas.DataFrame({"source": [0], "target": [1]})
    for call in (
        lambda: Graph.from_edges([0], [1], directed=flag),
        lambda: Graph.from_pandas(frame, directed=flag),
        lambda: Graph.from_table(frame, directed=flag),
        lambda: Graph.from_csr([0, 1, 1], [1], directed=flag),
        lambda: Graph.from_scipy(scipy.sparse.eye_array(2), directed=flag),
    ):
        with pytest.raises(UsageError, match="directed ="):
            call()
    with pytest.raises(UsageError, match="sparse_ids ="):
        Graph.from_edges([0], [1], sparse_ids=flag)


TABLES = [pandas.Series([1]), polars.Series([1]), pyarrow.array([0, 1]), pyarrow.chunked_array([[1]]), polars.col("x")]


@pytest.mark.parametrize("table", [*TABLES, {}, [1], object()], ids=lambda value: type(value).__name__)
def test_what_is_not_a_table_is_refused(table):
    for make in (Graph.from_pandas, Graph.from_polars, Graph.from_arrow, Graph.from_table):
        with pytest.raises(UsageError, match=r"not a table|a table is a data frame"):
            make(table, comm=SerialComm())
    with pytest.raises(UsageError, match="not a graph"):
        dgraph.cc(table)


def test_columns_of_a_file_as_a_list(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('who,"to, whom",minutes\n1,2,7\n')
    for columns in ([1, 2, 3], (1, np.int64(2), 3), ["who", "to, whom", "minutes"], 'who,"to, whom",minutes'):
        assert Graph.load(path, columns=columns, header=True, comm=SerialComm()).block.weights.tolist() == [7]
    for columns in ([1.0, 2], {1: 2}, [1, "whom"], 12, [[1], [2]], [1], []):
        with pytest.raises(UsageError, match="columns"):
            Graph.load(path, columns=columns, comm=SerialComm())


@pytest.mark.mpi
def test_a_masked_id_on_one_rank_is_refused_on_all():
    comm = world()
    last = comm.rank == comm.size - 1
    with pytest.raises(DataError, match=r"src\[0\] is masked"):
        Graph.from_edges(masked([comm.rank], 0) if last else [comm.rank], [1])
    graph = Graph.from_edges([comm.rank], [comm.rank + 1], [D("0.5") if last else 1])
    assert DECIMALS in graph.facts.notes


@pytest.mark.parametrize(
    "names",
    [
        pyarrow.array(["z", "a", "b" * 20], pyarrow.string_view())[1:],
        pyarrow.chunked_array([["a"], ["b" * 20]], pyarrow.string_view()),
    ],
    ids=str,
)
def test_views_of_strings_are_names(names):
    targets = ["b" * 20, "a"]
    for graph in (
        Graph.from_edges(names, targets, comm=SerialComm()),
        Graph.from_arrow(pyarrow.table({"source": names, "target": targets}), comm=SerialComm()),
    ):
        assert graph.to_pandas().to_numpy().tolist() == [["a", "b" * 20], ["b" * 20, "a"]]


@pytest.mark.parametrize("convert", [np.array, list, lambda names: np.char.encode(names), pyarrow.array], ids=str)
def test_names_with_a_zero_byte_inside_are_refused(convert):
    """None of the libraries cuts a long name short, so that two names become one."""
    with pytest.raises(DataError, match=r"src\[1\] holds a zero byte \('a\\x00b'\)"):
        Graph.from_edges(convert(["a", "a\0b", "a\0c"]), convert(["b", "c", "d"]), comm=SerialComm())


def test_names_that_are_all_empty_are_refused():
    with pytest.raises(DataError, match=r"src\[0\] is empty"):
        Graph.from_edges(pyarrow.array(["", ""]), pyarrow.array(["a", "b"]), comm=SerialComm())


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_types_of_a_table_are_judged_before_its_rows(suffix, tmp_path):
    """An error names a wrong type before a missing value, however the rows are read; a float is not a name."""
    path, ends = tmp_path / f"a{suffix}", pyarrow.array([1, 2, 3])
    write = pyarrow.parquet.write_table if suffix == ".parquet" else pyarrow.feather.write_feather
    names = {"ids": "string"}
    for column, values, options, words in (
        ("target", ["a", "b", None], {}, "target holds string; both ends"),
        ("target", [1e15, None, 2], {}, "target holds double; both ends"),
        ("target", [1e15, 2, 2], names, "target holds double; names are text"),
        ("target", [True, False, None], names, "target holds bool; names are text"),
        ("target", [D("1.0"), D(2), D(3)], names, "target holds decimal.*; names are text"),
        ("weight", ["1", "2", None], {}, "weight holds string; weights are real numbers"),
        ("weight", [None, None, None], {}, "weight"),
    ):
        write(pyarrow.table({"source": ends, "target": ends} | {column: pyarrow.array(values)}), path)
        with pytest.raises(DataError, match=rf"a{suffix}: {words}"):
            Graph.load(path, comm=SerialComm(), **options)
    write(pyarrow.table({"source": ends, "target": pyarrow.array(["1", "2", "2"])}), path)
    assert Graph.load(path, comm=SerialComm(), keep_loops=True, **names).block.m == 3


WIDE = 2**53 + 1
"""An integer that float64 does not hold."""


@pytest.mark.parametrize(
    "column",
    [
        [WIDE, None, 3],
        [WIDE, 0.5, 3],
        [2**64, 1, 2],
        pandas.array([3, -WIDE, None], "Int64"),
        pyarrow.array([1, None, 2**64 - 1], pyarrow.uint64()),
        pyarrow.array([WIDE, None, 3]).dictionary_encode(),
    ],
    ids=str,
)
def test_integers_that_a_float_would_round_are_refused(column):
    with pytest.raises((DataError, UsageError), match="keep x"):
        Graph.from_edges([0, 1, 2], [1, 2, 0], keep={"x": column})


def test_integers_of_a_file_are_rounded_in_no_column(tmp_path):
    """A column of text is as it stands where no type of numbers holds its values."""
    path = tmp_path / "a.csv"
    for values, want in (
        ((WIDE, 3), [WIDE, 3]),
        ((WIDE, 0.5), [str(WIDE), "0.5"]),
        ((2**63, 3), [str(2**63), "3"]),
        (("1e400", 0.5), ["1e400", "0.5"]),
        (("inf", "1e300"), [np.inf, 1e300]),
        ((2**53 - 1, 0.5), [2.0**53 - 1, 0.5]),
    ):
        path.write_text("source,target,x\n0,1,{}\n1,2,{}\n".format(*values))
        assert Graph.load(path, keep="x").to_pandas().x.tolist() == want, values
    path.write_text(f"source,target,x\n0,1,{WIDE}\n1,2,\n")
    with pytest.raises(DataError, match=rf"a.csv: x\[0\] is {WIDE}, and float64 would round it"):
        Graph.load(path, keep="x")
    path.write_text("source;target;x\n0;1;1.000\n1;2;2,5\n")
    assert Graph.load(path, keep="x", decimal=",").to_pandas().x.tolist() == ["1.000", "2,5"]
