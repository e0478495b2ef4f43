"""Graphs of arrays, names, tables, NetworkX graphs and matrices hold what pandas, NetworkX and SciPy hold."""

import builtins
from collections import Counter

import networkx as nx
import numpy as np
import pandas
import pyarrow
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import agreed, share
from simulated import on_ranks

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import as_ids
from dgraph.graph.formats.word_table import WordTable
from dgraph.graph.stored_graph import Graph

polars = pytest.importorskip("polars")

duckdb = pytest.importorskip("duckdb")

CALLS = pandas.DataFrame(
    {
        "minutes": [3, 4, 5, 1],
        "who": ["ann", "bob", "ann", "zoë"],
        "whom": ["bob", "ann", "a name longer than eight bytes", "ann"],
    }
)


def listed(graph, comm=None):
    """This rank's arcs by original ids or names, and its vertices."""
    comm = comm or graph.comm
    _, rows, src, dst = share(graph.block, comm)
    if graph.ids.names is not None:
        rows, src, dst = (
            graph.ids.names.of(np.array(numbers, np.int64), comm).tolist() for numbers in (rows, src, dst)
        )
    weights = [1] * len(src) if graph.block.weights is None else graph.block.weights.tolist()
    return list(zip(src, dst, weights, strict=True)), rows


def arcs(graph):
    return sorted(listed(graph)[0])


def vertices(graph):
    return sorted(listed(graph)[1])


WANTED = sorted(CALLS[["who", "whom", "minutes"]].itertuples(index=False, name=None))
RELATION = duckdb.sql("select minutes, who, whom from CALLS")
TABLES = {
    "pandas": (Graph.from_pandas, CALLS),
    "objects": (Graph.from_pandas, CALLS.astype(object)),
    "categories": (Graph.from_pandas, CALLS.astype({"who": "category", "whom": "category"})),
    "large strings": (Graph.from_pandas, CALLS.astype({"who": pandas.ArrowDtype(pyarrow.large_string())})),
    "polars": (Graph.from_polars, polars.from_pandas(CALLS)),
    "lazy": (Graph.from_polars, polars.from_pandas(CALLS).lazy()),
    "arrow": (Graph.from_arrow, pyarrow.Table.from_pandas(CALLS)),
    "batch": (Graph.from_arrow, pyarrow.RecordBatch.from_pandas(CALLS)),
    "chunks": (
        Graph.from_arrow,
        pyarrow.concat_tables([pyarrow.Table.from_pandas(CALLS[:1]), pyarrow.Table.from_pandas(CALLS[1:])]),
    ),
    "dictionaries": (
        Graph.from_arrow,
        pyarrow.table(
            {
                name: pyarrow.array(CALLS[name]).dictionary_encode() if name != "minutes" else CALLS[name]
                for name in CALLS
            }
        ),
    ),
    "duckdb": (Graph.from_arrow, RELATION),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_names(kind):
    make, table = TABLES[kind]
    for columns in (("who", "whom", "minutes"), (1, 2, 0)):
        graph = make(table, *columns, comm=SerialComm())
        assert arcs(graph) == WANTED
        assert vertices(graph) == sorted({*CALLS.who, *CALLS.whom})
    assert all(weight == 1 for *_, weight in arcs(make(table, "who", "whom", comm=SerialComm())))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64", "Int64", "int64[pyarrow]"])
def test_tables_of_integers(dtype):
    frame = pandas.DataFrame({"source": [100, 7], "target": [7, 100], "w": [2.5, 1]}).astype({"source": dtype})
    tables = [(Graph.from_pandas, frame), (Graph.from_arrow, pyarrow.Table.from_pandas(frame))]
    for make, table in [*tables, (Graph.from_polars, polars.from_pandas(frame))]:
        graph = make(table, weight="w", comm=SerialComm())
        assert arcs(graph) == [(7, 100, 1.0), (100, 7, 2.5)]
        assert vertices(graph) == [7, 100]


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 9)), min_size=1, max_size=20), st.integers(1, 3), st.booleans())
def test_names_are_those_of_the_rows(edges, ranks, arrow):
    src, dst, weights = zip(*edges, strict=True)

    def work(comm):
        mine = slice(comm.rank, None, comm.size)
        ends = [list(end[mine]) for end in (src, dst)]
        if arrow:
            ends = [pyarrow.array(end, pyarrow.string()) for end in ends]
        graph = Graph.from_edges(
            *ends, np.array(weights[mine], int), vertices=["one more"], comm=comm, keep_parallel=True, keep_loops=True
        )
        return listed(graph, comm)

    parts = agreed(on_ranks(ranks, work))
    assert Counter(arc for part, _ in parts for arc in part) == Counter(edges)
    order = sorted({*src, *dst, "one more"}, key=str.encode)
    assert [name for _, names in parts for name in names] == order


@pytest.mark.parametrize(
    "convert",
    [list, np.array, lambda names: np.array(names, object), lambda names: np.array(names, "S"), pandas.Series,
     polars.Series, pandas.Categorical, lambda names: pandas.Series(names, dtype="string"),
     lambda names: np.array(names, np.dtypes.StringDType())],
)  # fmt: skip
def test_names_of_any_array(convert):
    graph = Graph.from_edges(convert(["b", "a"]), convert(["c", "b"]), comm=SerialComm())
    assert arcs(graph) == [("a", "b", 1), ("b", "c", 1)]


def without_pyarrow(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_without_pyarrow(monkeypatch):
    plain = CALLS.astype(object)
    without_pyarrow(monkeypatch)
    for frame in (plain, CALLS):
        assert arcs(Graph.from_pandas(frame, "who", "whom", "minutes", comm=SerialComm())) == WANTED
    with pytest.raises(UsageError, match=r"needs pyarrow: pip install 'dgraph-analytics\[tables\]'"):
        Graph.from_arrow(TABLES["polars"][1], "who", "whom", comm=SerialComm())
    with pytest.raises(DataError, match=r"src\[1\] is missing"):
        Graph.from_edges(np.array(["a", None], object), ["b", "c"], comm=SerialComm())


class Tensor:
    """An array of another library: DLPack and nothing else."""

    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class OnGpu:
    """An array as CuPy's: refuses to become NumPy's but by ``get``."""

    __cuda_array_interface__ = {}  # noqa: RUF012

    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self):
        return self.values


@pytest.mark.parametrize("kind", [Tensor, OnGpu])
def test_arrays_of_other_libraries(kind):
    graph = Graph.from_edges(kind([0, 1]), kind([1, 2]), kind([0.5, 2]), comm=SerialComm())
    assert arcs(graph) == [(0, 1, 0.5), (1, 2, 2.0)]
    rows = Graph.from_csr(kind([0, 1, 2, 2]), kind([1, 2]), kind([0.5, 2]), comm=SerialComm())
    assert arcs(rows) == arcs(graph)


def test_dlpack_is_not_copied():
    tensor = Tensor(np.arange(5))
    assert np.shares_memory(as_ids(tensor, "src"), tensor.values)


WRONG = [
    (([0, 1.0], [1, 2]), UsageError, "src: got values of float, int; ids are integers"),
    (([0, np.nan], [1, 2]), DataError, r"src\[1\] is missing"),
    ((["a", ""], ["b", "c"]), DataError, r"src\[1\] is empty"),
    ((["a", "b"], ["b", "x" * 256]), DataError, r"dst\[1\] has 256 bytes"),
    ((["a", "b\0c"], ["b", "c"]), DataError, r"src\[1\] holds a zero byte"),
    ((["a", "b"], [1, 2]), UsageError, "src holds strings, dst integers"),
    ((["a", 3], ["b", "c"]), UsageError, "src: got values of int, str"),
    ((pandas.Series(["a", None]), ["b", "c"]), DataError, r"src\[1\] is missing"),
    ((polars.Series([1, None]), [1, 2]), DataError, r"src\[1\] is missing"),
    ((pyarrow.chunked_array([[1], [2, None]]), [1, 2, 3]), DataError, r"src\[2\] is missing"),
    ((pandas.Series(pandas.to_datetime(["2020-01-01"])), [1]), UsageError, "src: got an array of datetime"),
    ((pyarrow.array([True]), [1]), UsageError, "src: got a column of bool"),
    (([-1], [1]), DataError, r"src\[0\] is -1"),
    (([0, 1], [1, 2], [1.0, np.nan]), DataError, r"weights\[1\] is nan"),
    (([0, 1], [1, 2], pandas.Series([1, None], dtype="Int64")), DataError, r"weights\[1\] is missing"),
    (([0, 1], [1, 2], ["x", "y"]), UsageError, "weights"),
    (([0, 1], [1]), UsageError, "dst has 1 values, src 2"),
    ((["a"], ["b"], [1], 2), UsageError, "n is for integer ids"),
]


@pytest.mark.parametrize(("given_", "error", "message"), WRONG)
def test_wrong_columns_are_refused(given_, error, message):
    *columns, n = given_ if len(given_) == 4 else (*given_, None)
    with pytest.raises(error, match=message):
        Graph.from_edges(*columns, n=n, comm=SerialComm())


def test_wrong_tables_are_refused():
    with pytest.raises(UsageError, match=r"unknown column for source 'wo': did you mean 'who'.*give source="):
        Graph.from_pandas(CALLS, "wo", "whom", comm=SerialComm())
    with pytest.raises(UsageError, match="source = 3 is not valid: no column has this label, nor this position"):
        Graph.from_pandas(CALLS, 3, "whom", comm=SerialComm())
    with pytest.raises(UsageError, match="got ndarray"):
        Graph.from_pandas(np.zeros((2, 2)), comm=SerialComm())
    with pytest.raises(DataError, match=r"whom\[0\] is missing"):
        Graph.from_pandas(pandas.DataFrame({"who": ["a"], "whom": [None]}), "who", "whom", comm=SerialComm())
    with pytest.raises(DataError, match="which are the ends of an edge"):
        dgraph.cc(CALLS.assign(more=1))


def test_many_names_of_one_column():
    """Names of one to 40 bytes with long common beginnings, more than a dict codes."""
    random = np.random.default_rng(5)
    ends = [["x" * random.integers(0, 33) + str(number) for number in random.integers(0, 200, 999)] for _ in range(2)]
    graph = Graph.from_edges(*ends, keep_parallel=True, keep_loops=True, comm=SerialComm())
    assert Counter(arcs(graph)) == Counter((u, v, 1) for u, v in zip(*ends, strict=True))
    assert listed(graph)[1] == sorted({*ends[0], *ends[1]})


def test_a_dictionary_of_many_chunks_is_numbered_once(monkeypatch):
    """Chunks of an Arrow table share a dictionary, of which some words do not occur."""
    words, coded, real = pyarrow.array(["c", "unused", "a", "b"]), [], WordTable.codes
    chunks = [pyarrow.DictionaryArray.from_arrays(pyarrow.array(rows), words) for rows in ([0, 2], [3], [2, 0])]
    ends = pyarrow.chunked_array(chunks)
    monkeypatch.setattr(WordTable, "codes", lambda *args: coded.append(len(args[2])) or real(*args))
    graph = Graph.from_arrow(pyarrow.table({"source": ends, "target": ends[::-1]}), keep_loops=True, comm=SerialComm())
    assert Counter(arcs(graph)) == Counter([("c", "c", 1), ("a", "a", 1), ("b", "b", 1)])
    assert sum(coded) == len(words)


def test_further_vertices():
    assert vertices(Graph.from_edges([5], [7], vertices=[9, 5], comm=SerialComm())) == list(range(10))
    assert vertices(Graph.from_edges([5], [7], vertices=[9, 5], sparse_ids=True, comm=SerialComm())) == [5, 7, 9]
    assert vertices(Graph.from_edges([], [], vertices=["x"], comm=SerialComm())) == ["x"]
    with pytest.raises(DataError, match=r"vertices\[0\] is 9"):
        Graph.from_edges([5], [7], n=8, vertices=[9], comm=SerialComm())


def from_networkx(graph):
    """Arcs and nodes as NetworkX lists them."""
    arcs_of_graph = [(u, v, 1 if w is None else w) for u, v, w in graph.edges(data="weight")]
    if not graph.is_directed():
        arcs_of_graph += [(v, u, w) for u, v, w in arcs_of_graph if u != v]
    return sorted(arcs_of_graph), sorted(graph)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("name", [int, str, lambda number: 10 * number])
@pytest.mark.parametrize("weights", ["none", "some", "floats"])
def test_networkx_graphs(kind, name, weights):
    random = np.random.default_rng(7)
    graph = kind()
    graph.add_nodes_from(map(name, range(12)))
    for u, v in random.integers(0, 9, (40, 2)).tolist():
        graph.add_edge(
            name(u), name(v), **({} if weights == "none" or u == 3 else {"weight": u if weights == "some" else u / 4})
        )
    graph_of_nx = Graph.from_networkx(graph, comm=SerialComm())
    assert (arcs(graph_of_nx), vertices(graph_of_nx)) == from_networkx(graph)
    assert graph_of_nx.directed == graph.is_directed()
    assert graph_of_nx.m == graph.number_of_edges()
    assert (
        graph_of_nx.block.weights is None
        if weights == "none"
        else graph_of_nx.block.weights.dtype.kind == ("f" if weights == "floats" else "i")
    )
    assert Graph.from_networkx(graph, weight=None, comm=SerialComm()).block.weights is None


def test_networkx_views_merge_and_refusals():
    graph = nx.MultiGraph([("a", "b", {"weight": 2}), ("b", "a", {"weight": 2}), ("b", "c", {"weight": 1})])
    assert arcs(Graph.from_networkx(graph, merge="sum", comm=SerialComm()))[0] == ("a", "b", 4)
    view = nx.subgraph_view(graph, filter_node=lambda node: node != "c")
    assert vertices(Graph.from_networkx(view, comm=SerialComm())) == ["a", "b"]
    for bad in (nx.Graph([(1, "a")]), nx.Graph([((1, 2), (3, 4))]), nx.Graph([(1.5, 2.5)]), nx.Graph([(-1, 2)])):
        with pytest.raises(UsageError, match="convert_node_labels_to_integers"):
            Graph.from_networkx(bad, comm=SerialComm())
    with pytest.raises(UsageError, match="edge 1 → 2 has 'heavy'"):
        Graph.from_networkx(nx.Graph([(1, 2, {"weight": "heavy"})]), comm=SerialComm())
    assert not Graph.from_networkx(graph, comm=SerialComm()).facts.warnings
    unweighted = Graph.from_networkx(graph, weight="cost", comm=SerialComm())
    assert unweighted.facts.warnings == ["no edge has the attribute 'cost': every edge weighs 1"]
    with pytest.raises(UsageError, match="no vertex"):
        Graph.from_networkx(nx.Graph(), comm=SerialComm())


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("directed", [True, False])
def test_matrices(form, directed):
    dense = np.triu(np.random.default_rng(3).integers(0, 3, (6, 6)), 1)
    dense = dense if directed else dense + dense.T
    graph = Graph.from_scipy(scipy.sparse.coo_array(dense).asformat(form), directed=directed, comm=SerialComm())
    assert arcs(graph) == sorted(
        (*map(int, entry), int(dense[entry])) for entry in zip(*np.nonzero(dense), strict=True)
    )
    assert graph.n == 6
    assert Graph.from_scipy(scipy.sparse.csr_array(dense > 0), comm=SerialComm()).block.weights is None


def test_bad_matrices_are_refused():
    with pytest.raises(DataError, match="lacks its reverse"):
        Graph.from_scipy(scipy.sparse.coo_array([[0, 1], [0, 0]]), directed=False, comm=SerialComm())
    for bad in (scipy.sparse.csr_array((2, 3)), np.zeros((2, 2)), scipy.sparse.csr_array([[1j]])):
        with pytest.raises(UsageError):
            Graph.from_scipy(bad, comm=SerialComm())


@pytest.mark.mpi_skip
def test_run_takes_tables_graphs_and_matrices():
    renamed = CALLS.rename(columns={"who": "from", "whom": "to"})
    karate = nx.karate_club_graph()
    for value, parts in ((renamed, 1), (pyarrow.Table.from_pandas(renamed), 1), (karate, 1)):
        assert dgraph.cc(value).summary["components"] == parts
    assert dgraph.run("cc", scipy.sparse.csr_array(np.eye(3, k=1)), validate=True).summary["components"] == 1
    wanted = nx.single_source_dijkstra_path_length(karate, 0)
    columns = dgraph.sssp(karate, 0).columns
    assert dict(zip(columns["vertex"].tolist(), columns["distance"].tolist(), strict=True)) == wanted
    assert dgraph.cc(pandas.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})).columns["labels"].tolist() == ["x"] * 3


@pytest.mark.mpi
def test_parts_on_ranks_or_all_on_one():
    comm = world()
    rows = CALLS.iloc[comm.rank :: comm.size]
    for frame in (rows, CALLS if comm.rank == 0 else None, CALLS if comm.rank == comm.size - 1 else CALLS[:0]):
        graph = Graph.from_pandas(frame, "who", "whom", "minutes", merge="sum")
        parts = comm.allgather_json(listed(graph)[0])
        assert sorted(tuple(arc) for part in parts for arc in part) == WANTED
    graph = nx.MultiGraph([(1, 2), (1, 2), (3, 3), (2, 30)])
    graph_of_nx = Graph.from_networkx(graph if comm.rank == 0 else None)
    assert (graph_of_nx.n, graph_of_nx.m, graph_of_nx.directed) == (4, 4, False)
    matrix = scipy.sparse.coo_array(([1, 2], ([0, 1], [1, 2])), (3, 3))
    assert Graph.from_scipy(matrix if comm.rank == 0 else None).m == 2
    assert dgraph.cc(CALLS[["who", "whom"]] if comm.rank == 0 else None).summary["components"] == 1
    if comm.size > 1:
        with pytest.raises(UsageError, match="holds"):
            Graph.from_edges(["a"] if comm.rank == 0 else [1], ["b"] if comm.rank == 0 else [2])
        with pytest.raises(UsageError, match="others undirected"):
            Graph.from_networkx(nx.Graph([(1, 2)]) if comm.rank == 0 else nx.DiGraph([(1, 2)]))
