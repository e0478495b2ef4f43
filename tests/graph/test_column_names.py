"""Columns are source, target and weight by one rule, in files and in tables in memory."""

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError
from dgraph.graph.formats.column_names import IN_TABLES, edge_columns, unused_columns
from dgraph.graph.stored_graph import Graph

EDGES = pandas.DataFrame({"source": [0, 1], "target": [1, 2], "third": [7, 8]})


def loaded(name, folder, frame):
    """Return the graph of a frame, through one of the kinds of tables."""
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    if name == "parquet":
        frame.to_parquet(folder / "edges.parquet")
        return Graph.load(folder / "edges.parquet", comm=SerialComm())
    if name == "arrow file":
        frame.to_feather(folder / "edges.arrow", compression="uncompressed")
        return Graph.load(folder / "edges.arrow", comm=SerialComm())
    if name == "duckdb":
        return Graph.from_arrow(duckdb.from_arrow(table), comm=SerialComm())
    makers = {
        "from_pandas": (Graph.from_pandas, frame),
        "from_polars": (Graph.from_polars, polars.from_pandas(frame)),
        "from_arrow": (Graph.from_arrow, table),
        "from_table": (Graph.from_table, frame),
    }
    make, value = makers[name]
    return make(value, comm=SerialComm())


KINDS = ("parquet", "arrow file", "from_pandas", "from_polars", "from_arrow", "from_table", "duckdb")


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_column_named_weight_is_the_weight(kind, tmp_path):
    for name, read, warned in (
        ("weight", True, False),
        ("WEIGHT", True, False),
        ("timestamp", False, False),
        ("w", False, True),
        ("Weights", False, True),
        ("amount", False, True),
        ("cost", False, True),
        ("value", False, True),
    ):
        graph = loaded(kind, tmp_path, EDGES.rename(columns={"third": name}))
        assert (graph.block.weights is not None) == read, name
        assert any(f"columns not used: {name}" in note for note in graph.facts.notes) != read, name
        assert any(repr(name) in text and "like a weight" in text for text in graph.facts.warnings) == warned, name


@pytest.mark.parametrize("kind", KINDS)
def test_the_place_of_the_weight_does_not_matter(kind, tmp_path):
    graph = loaded(kind, tmp_path, EDGES.rename(columns={"third": "Weight"})[["Weight", "target", "source"]])
    assert graph.to_pandas().to_numpy().tolist() == [[0, 1, 7], [1, 2, 8]]


def test_a_named_weight_is_read_and_none_reads_no_weight():
    frame = EDGES.rename(columns={"third": "amount"}).assign(weight=[1, 2])
    graph = Graph.from_pandas(frame, weight="amount", comm=SerialComm())
    assert graph.block.weights.tolist() == [7, 8]
    assert not graph.facts.warnings
    graph = Graph.from_pandas(frame, weight=None, comm=SerialComm())
    assert graph.block.weights is None
    assert not graph.facts.warnings
    assert "columns not used: amount, weight" in graph.facts.notes


def test_a_table_without_the_default_labels_is_read_by_its_names():
    frame = EDGES.set_axis(["amount", "To", "from"], axis=1).assign(time=[5, 6])
    graph = Graph.from_pandas(frame, weight="amount", comm=SerialComm())
    wanted = Graph.from_pandas(frame, "from", "To", "amount", comm=SerialComm())
    assert graph.fingerprint() == wanted.fingerprint()
    assert graph.weight_type is not None
    people = pandas.DataFrame({"account": [1, 2, 3], "age": [30, 31, 32]})
    people = people[graph.has(people.account)]
    first = graph.with_vertex_attributes(people).columns["age"]
    assert np.array_equal(first, graph.with_vertex_attributes(people, "account").columns["age"], equal_nan=True)
    with pytest.raises(DataError, match="which are the ends of an edge"):
        Graph.from_pandas(frame.rename(columns={"To": "whom"}), comm=SerialComm())
    with pytest.raises(UsageError, match="unknown column for target 'target'"):
        Graph.from_pandas(frame.rename(columns={"from": "source"}), comm=SerialComm())


@pytest.mark.parametrize("labels", [[0, 1, 2], ["column_1", "column_2", "column_3"]])
def test_the_third_of_columns_without_names_is_the_weight(labels):
    table = pandas.DataFrame([[0, 1, 5], [1, 2, 6]], columns=labels)
    for graph in (dgraph.Graph.from_pandas(table), dgraph.Graph.from_table(table)):
        assert str(graph.weight_type) == "int64"
    assert dgraph.Graph.from_pandas(table, weight=None).weight_type is None


@pytest.mark.mpi_skip
def test_an_algorithm_on_a_table_reads_what_from_pandas_reads():
    for name in ("weight", "timestamp"):
        frame = pandas.DataFrame({"source": [0, 0, 1, 2], "target": [1, 2, 0, 0], name: [1, 9, 1, 1]})
        ranks = [dgraph.pagerank(value).columns["pagerank"] for value in (frame, Graph.from_pandas(frame))]
        assert np.array_equal(*ranks)
        assert (ranks[0][1] == ranks[0][2]) == (name == "timestamp")


def test_columns_of_files_decide_alone(tmp_path):
    path = tmp_path / "edges.parquet"
    EDGES.rename(columns={"third": "amount"}).to_parquet(path)
    graph = Graph.load(path, columns="source,target", comm=SerialComm())
    assert graph.block.weights is None
    assert "--columns source,target,amount" in graph.facts.warnings[0]
    graph = Graph.load(path, columns="source,target,amount", comm=SerialComm())
    assert graph.block.weights.tolist() == [7, 8]
    assert not graph.facts.warnings
    assert not Graph.load(path, weights="unit", comm=SerialComm()).facts.warnings


def test_columns_without_names_go_by_position():
    for frame in (
        pandas.DataFrame([[0, 1, 7], [1, 2, 8]]),
        polars.DataFrame(np.array([[0, 1, 7], [1, 2, 8]]), orient="row"),
        pyarrow.table([[0, 1], [1, 2], [7, 8]], names=["f0", "f1", "f2"]),
    ):
        assert Graph.from_table(frame, comm=SerialComm()).block.weights.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["u", "weight", "v"], [0, 2, 1]),
        (["who", "whom", "minutes"], [0, 1]),
        (["weight", "who", "whom"], [1, 2, 0]),
        (["time", "to", "from", "Weight", "cost"], [2, 1, 3]),
        (["year1", "year2", "year3"], [0, 1]),
    ],
)
def test_places_of_columns(names, places):
    assert edge_columns(names, "table") == places


def test_names_that_do_not_decide_are_refused():
    for names in (["a", "b", "c", "weight"], ["a", "weight"], ["weight", "Weight", "x"]):
        with pytest.raises(DataError, match=r"which are the ends|both named weight"):
            edge_columns(names, "table")
    with pytest.raises(DataError, match="'weight' and 'Weight' are both named weight"):
        Graph.from_pandas(EDGES.assign(weight=1, Weight=2), comm=SerialComm())


@pytest.mark.mpi_skip
def test_two_names_of_one_end_are_refused(tmp_path):
    for names in (
        ["source", "target", "Source"], ["u", "v", "source"], ["src", "dst", "source", "target"], ["from", "to", "v"],
    ):  # fmt: skip
        with pytest.raises(DataError, match=r"are both named like the (source|target) of an edge; say which is"):
            edge_columns(names, "table")
    path = tmp_path / "a.csv"
    for header in ("source,target,source", "source,target, Target"):
        path.write_text(f"{header}\n1,2,3\n")
        with pytest.raises(DataError, match=r"a.csv:1: 2 columns are called"):
            Graph.load(path, comm=SerialComm())
        assert Graph.load(path, comm=SerialComm(), columns="1,2").to_pandas().to_numpy().tolist() == [[1, 2]]


def test_many_unused_columns_are_counted():
    names = ["source", "target", *(f"x{i}" for i in range(15))]
    assert unused_columns(names, [0, 1], IN_TABLES)[0][0].endswith("x9 and 5 more")


@pytest.mark.mpi
def test_remarks_come_from_a_rank_with_rows():
    comm = world()
    frame = EDGES.rename(columns={"third": "cost"})
    graph = Graph.from_pandas(frame if comm.rank == comm.size - 1 else None)
    assert "columns not used: cost" in graph.facts.notes
    assert len(graph.facts.warnings) == 1


LABELS = [(("e", "s"), ("e", "t"), ("w", "")), (2020, 2021, 2022), (0.5, 1.5, 2.5), (True, False, "x")]
LABELS += [tuple(map(pandas.Timestamp, ("2020-01-01", "2021-01-01", "2022-01-01")))]


@pytest.mark.parametrize("labels", LABELS, ids=repr)
def test_columns_are_found_by_labels_of_any_type(labels):
    frame = pandas.DataFrame([[7, 0, 1], [8, 1, 2]], columns=pandas.Index([labels[2], *labels[:2]]))
    graph = Graph.from_pandas(frame, *labels, comm=SerialComm())
    assert graph.to_pandas().to_numpy().tolist() == [[0, 1, 7], [1, 2, 8]]


def test_a_position_counts_where_it_is_not_a_label():
    frame = EDGES.set_axis([1, 0, 5], axis=1)
    swapped = EDGES.set_axis([2, "a", "b"], axis=1)
    assert Graph.from_pandas(swapped, 0, 1, None, comm=SerialComm()).m == 2
    for table, column in ((frame, 0), (frame, 1), (swapped, 2)):
        with pytest.raises(UsageError, match=r"source = . fits two columns"):
            Graph.from_pandas(table, column, "b", comm=SerialComm())


@pytest.mark.parametrize(
    "column", [0.0, 0.9, True, False, None, 3, -1, (1,), [1], {0: 1}, {1}, float("nan"), np.zeros(0), object(), 10**30]
)
@pytest.mark.parametrize("name", ["source", "target", "weight"])
def test_what_is_neither_label_nor_position_is_refused(name, column):
    if name == "weight" and column is None:
        return
    columns = {"source": "source", "target": "target", name: column}
    with pytest.raises(UsageError, match=f"{name} = .* no column has this label"):
        Graph.from_pandas(EDGES, **columns, comm=SerialComm())


def test_a_column_has_one_role():
    for columns in (("source", "source"), ("source", 0), ("source", "target", "target")):
        with pytest.raises(UsageError, match=r"are both column 'source'|are both column 'target'"):
            Graph.from_pandas(EDGES, *columns, comm=SerialComm())


@pytest.mark.parametrize("table", [pandas.DataFrame(), polars.DataFrame(), pyarrow.table({})])
def test_a_table_of_vertices_without_columns_is_refused(table):
    graph = Graph.from_edges([0], [1], comm=SerialComm())
    with pytest.raises(UsageError, match="unknown column for vertex 'vertex': known are none"):
        graph.with_vertex_attributes(table)
