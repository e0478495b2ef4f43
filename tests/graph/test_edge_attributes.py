"""Attributes of edges: cleaning, weights at the call, filters and tables, as pandas groups and filters the rows."""

import operator

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from edge_tables import RULES, calls, grouped, same, share

import dgraph
from dgraph.comm import world
from dgraph.errors import DataError, UsageError

pytestmark = [pytest.mark.mpi, pytest.mark.interpreted]


@pytest.mark.parametrize("directed", [True, False])
def test_attributes_are_those_of_the_merged_rows(directed):
    """Every kind of column has its rule, on any number of ranks, in both directions of an undirected edge."""
    table = calls()
    graph = dgraph.Graph.from_pandas(share(table), directed=directed, keep=RULES)
    same(graph, grouped(table, directed))
    assert graph.edge_attributes["type"] == np.dtype(object)
    assert graph.edge_attributes["late"] == np.dtype(bool)
    if directed:
        same(graph.undirected(), grouped(grouped(table, True), False))


def test_numbered_by_degree_and_filtered_graphs_keep_attributes():
    """A window of time, text and booleans choose the rows that pandas chooses; gids by degree change nothing."""
    table = calls()
    expected = grouped(table, False)
    low, high = np.datetime64("1975-01-01"), np.datetime64("1990-01-01")
    graph = dgraph.Graph.from_pandas(share(table), directed=False, keep=RULES)
    window = graph.filter_edges(lambda e: (e.time >= low) & (e.time < high) & ((e.type == "sms") | e.late))
    chosen = expected[(expected.time >= low) & (expected.time < high) & ((expected.type == "sms") | expected.late)]
    assert 0 < len(chosen) < len(expected)
    same(window, chosen)
    small = graph.filter_vertices(lambda v: v.vertex < 12)
    same(small, expected[(expected.source < 12) & (expected.target < 12)])
    assert (
        small.filter_edges(lambda e: e.amount > 3).m
        == ((expected.source < 12) & (expected.target < 12) & (expected.amount > 3)).sum()
    )


@pytest.mark.parametrize("word", ["1975", "1975-03", "1975-03-02", "1975-03-02T10:30", "1975-03-02T10:30:00"])
def test_text_that_times_are_compared_with_stands_for_all_of_it(word):
    """Compare with pandas' periods: a year, month, day, minute or second is equal to every time in it."""
    words = "1974-12-31T23:59:59 1975-03-02T10:30:00.5 1975-03-02T10:30:00 1975-03-31T12:00:00 1975-03-02T10:31:00"
    moments = pd.DatetimeIndex([*map(pd.Timestamp, [*words.split(), "1975-03-03", "1976-01-01", "1960-05-05"]), pd.NaT])
    table = pd.DataFrame({"source": np.arange(len(moments)), "target": 20, "time": moments})
    graph = dgraph.Graph.from_pandas(share(table), keep=["time"])
    period = pd.Period(word)
    times = [pd.NaT if pd.isna(moment) else pd.Period(moment, period.freq) for moment in moments]
    for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
        chosen = graph.filter_edges(lambda e, compare=compare: compare(e.time, word)).m
        assert chosen == sum(compare(time, period) for time in times), compare
        assert graph.filter_edges(lambda e, compare=compare: compare(word, e.time)).m == sum(
            compare(period, time) for time in times
        )
    low, high = np.datetime64("1975-03-02"), pd.Timestamp("1975-03-03")
    assert graph.filter_edges(lambda e: (e.time >= low) & (e.time < high)).m == 3
    assert graph.filter_edges(lambda e: e.time.astype("datetime64[M]") == "1975-03").m == 5


@pytest.mark.parametrize(
    ("predicate", "advice"),
    [
        (lambda e: e.time >= "1975-1", "time holds times: compare it with a time, a day or a month, such as time =="),
        (lambda e: e.time.dt.month == 3, "time holds times: compare it with a time, a day or a month"),
        (
            lambda e: e.type >= np.datetime64("1975-01-01"),
            "column type, which holds text, with times, which are never",
        ),
        (lambda e: e.type.dt, "holds text: compare it by ==, isin or startswith"),
        (lambda e: e.amount.dt, "one bool for each of their values$"),
    ],
)
def test_the_error_of_a_predicate_names_the_comparison_to_write(predicate, advice):
    graph = dgraph.Graph.from_pandas(share(calls()), keep=RULES)
    with pytest.raises(dgraph.UsageError, match=advice):
        graph.filter_edges(predicate)


@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_an_attribute_is_the_weight_of_a_call(policy):
    """Distances by an attribute are NetworkX's; the graph of these weights is made once."""
    table = calls()
    expected = grouped(table, True)
    graph = dgraph.Graph.from_pandas(share(table), keep=RULES, policy=policy)
    G = nx.from_pandas_edgelist(expected, edge_attr=True, create_using=nx.DiGraph)
    source = int(expected.source[0])
    for name in ("amount", "count"):
        result = dgraph.sssp(graph, source, weight=name, validate=True)
        oracle = nx.single_source_dijkstra_path_length(G, source, weight=name)
        vertices, distances = result.columns["vertex"], result.columns["distance"]
        reached = {int(v): float(d) for v, d in zip(vertices, distances, strict=True) if int(v) in oracle}
        assert reached == {v: oracle[v] for v in reached}
        assert world().total(len(reached)) == len(oracle)
    assert graph.with_weight("amount").partitions is graph.with_weight("amount").partitions
    assert graph.with_weight("amount").m == graph.m


def test_kept_parallel_edges_have_their_own_attributes():
    """Rows of kept parallel edges are the table's, also after another weight has ordered them."""
    table = calls()
    table = table[table.source != table.target]
    graph = dgraph.Graph.from_pandas(share(table), directed=False, keep_parallel=True, keep=["time", "amount"])
    flat = table.assign(source=table[["source", "target"]].min(axis=1), target=table[["source", "target"]].max(axis=1))
    by = ["source", "target", "weight", "time", "amount"]
    for one in (graph, graph.with_weight("amount")):
        expected = flat if one is graph else flat.assign(weight=flat.amount)
        rows = one.to_pandas()
        if rows is not None:
            rows = rows[by].sort_values(by).reset_index(drop=True)
            pd.testing.assert_frame_equal(rows, expected[by].sort_values(by).reset_index(drop=True), check_dtype=False)


def test_sources_of_data_keep_the_same_columns():
    """Arrays, Arrow, Polars and NetworkX give the attributes that pandas gives."""
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    table = calls()
    here = share(table)
    columns = {name: (here[name].to_numpy(), rule) for name, rule in RULES.items()}
    ends = here.source.to_numpy(), here.target.to_numpy(), here.weight.to_numpy()
    graphs = [
        dgraph.Graph.from_edges(*ends, sparse_ids=True, keep=columns),
        dgraph.Graph.from_arrow(pyarrow.Table.from_pandas(here), keep=RULES),
        dgraph.Graph.from_polars(polars.from_pandas(here), keep=[f"{name}:{rule}" for name, rule in RULES.items()]),
    ]
    for graph in graphs:
        same(graph, grouped(table, True))
    firsts = dict.fromkeys(RULES, "first")
    expected = grouped(table, True, firsts)
    G = nx.from_pandas_edgelist(expected, edge_attr=True, create_using=nx.DiGraph)
    same(dgraph.Graph.from_networkx(G if world().rank == 0 else None, keep=list(RULES)), expected)


def test_missing_values():
    """Missing numbers are NaN, times NaT, text None; missing booleans are refused, as is a missing weight."""
    table = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 0]})
    table["number"] = pd.array([1, None, 3], "Int64")
    table["when"] = pd.to_datetime(["2020-01-01", None, "2021-01-01"])
    table["word"] = ["a", "", None]
    graph = dgraph.Graph.from_pandas(table if world().rank == 0 else None, keep=["number", "when", "word"])
    rows = graph.to_pandas()
    if rows is not None:
        assert rows.number.isna().tolist() == rows.when.isna().tolist() == [False, True, False]
        assert rows.word.isna().tolist() == [False, True, True]
    with pytest.raises(DataError, match="weight = 'number': 1 arcs have no value"):
        dgraph.sssp(graph, 0, weight="number")
    table["flag"] = pd.array([True, None, False], "boolean")
    with pytest.raises(DataError, match=r"keep flag\[1\] is missing"):
        dgraph.Graph.from_pandas(table if world().rank == 0 else None, keep="flag")


TYPELESS = {
    "pandas object": lambda: pd.Series([None] * 4, dtype=object),
    "pandas float": lambda: pd.Series([None] * 4, dtype=float),
    "list": lambda: [None] * 4,
    "Arrow null": lambda: pa.nulls(4),
    "Polars null": lambda: pytest.importorskip("polars").Series([None] * 4),
}
TEXTS = {
    "pandas string": lambda: pd.Series([None] * 4, dtype="string"),
    "pandas str": lambda: pd.Series([None] * 4, dtype="str"),
    "pandas category": lambda: pd.Series([None] * 4, dtype=pd.CategoricalDtype(["a"])),
    "Arrow": lambda: pa.array([None] * 4, pa.string()),
    "Arrow view": lambda: pa.array([None] * 4, pa.string_view()),
    "Polars": lambda: pytest.importorskip("polars").Series([None] * 4, dtype=pytest.importorskip("polars").String),
    "Polars category": lambda: pytest.importorskip("polars").Series(
        [None] * 4, dtype=pytest.importorskip("polars").Categorical
    ),
}


def kinds_of_column(column, ids):
    """Return the kinds of a column of edges, and of one of vertices, of which this rank passes its rows."""
    if isinstance(column, pd.Series):
        column = column.set_axis(ids)
    graph = dgraph.Graph.from_edges(ids, ids + 1, n=4 * world().size + 1, keep={"x": column})
    pair = column if isinstance(column, pd.Series) else (ids, column)
    return graph.block.attributes["x"].kind, graph.with_columns(x=pair).columns.kinds()["x"]


@pytest.mark.parametrize("source", [*TYPELESS, *TEXTS])
def test_a_column_without_a_value_keeps_a_declared_type_and_is_float64_without_one(source):
    kind = np.dtype(float) if source in TYPELESS else np.dtype(object)
    ids = np.arange(4) + 4 * world().rank
    assert kinds_of_column((TYPELESS | TEXTS)[source](), ids) == (kind, kind)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("source", [*TYPELESS, *TEXTS])
@pytest.mark.parametrize(
    ("values", "kind"),
    [(["a", None, "b", "c"], object), (np.arange(4), float), (np.array(["2024-01"] * 4, "M8[us]"), "M8[us]")],
)
def test_a_rank_without_a_value_takes_the_type_of_the_others(source, values, kind):
    """One rank's share of a column has no value, of any type; text, numbers and times of the others stay."""
    ranks = world()
    column = values if ranks.rank % 2 == 0 else (TYPELESS | TEXTS)[source]()
    ids = np.arange(4) + 4 * ranks.rank
    kinds = kinds_of_column(column, ids)
    assert kinds == (np.dtype(kind), np.dtype(kind))
    graph = dgraph.Graph.from_edges(ids, ids + 1, n=4 * ranks.size + 1, keep={"x": column})
    empty = sum(4 if rank % 2 else sum(pd.isna(values)) for rank in range(ranks.size))
    assert graph.filter_edges(lambda e: e.x.isna()).m == empty


@pytest.mark.mpi(min_size=2)
def test_booleans_of_one_rank_and_none_of_another_are_refused():
    ranks = world()
    column, ids = [None] * 4 if ranks.rank else [True] * 4, np.arange(4) + 4 * ranks.rank
    with pytest.raises(DataError, match="x is missing on some ranks, and a boolean has no missing value"):
        dgraph.Graph.from_edges(ids, ids + 1, keep={"x": column})


def test_objects_of_text_may_be_of_numpy_and_missing_as_in_pandas():
    mine = slice(0, None if world().rank == 0 else 0)
    texts = np.array([np.str_("a"), pd.NA, "b", None, float("nan")], object)
    graph = dgraph.Graph.from_edges(np.arange(5)[mine], np.arange(1, 6)[mine], keep={"kind": texts[mine]})
    assert graph.filter_edges(lambda e: e.kind.isin(["a", "b"])).m == 2
    assert graph.filter_edges(lambda e: e.kind.isna()).m == 3
    graph = graph.with_columns(kind=(np.arange(5)[mine], texts[mine]))
    assert graph.filter_vertices(lambda v: v.kind == "a").n == 1
    assert graph.filter_vertices(lambda v: v.kind.isna()).n == 4


def test_a_rank_without_edges_names_no_kept_columns_and_the_others_name_the_same():
    rank, ranks = world().rank, world().size
    keep = {"time": [5, 7], "kind": ["x", "y"]}
    graph = dgraph.Graph.from_edges(
        *(([0, 1], [1, 2], None) if rank == 0 else (None,) * 3), keep=None if rank else keep
    )
    rows = graph.to_pandas()
    assert rank or rows[["time", "kind"]].to_numpy().tolist() == [[5, "x"], [7, "y"]]
    turned = {name: keep[name] for name in sorted(keep, reverse=rank % 2 == 1)}
    graph = dgraph.Graph.from_edges([2 * rank, 2 * rank + 1], [2 * rank + 1, 2 * rank], keep=turned)
    rows = graph.to_pandas()
    assert rank or rows.groupby("source")[["time", "kind"]].first().to_numpy().tolist() == [[5, "x"], [7, "y"]] * ranks
    if ranks > 1:
        with pytest.raises(UsageError, match=r"keep: ranks pass kind:first and time:"):
            dgraph.Graph.from_edges(
                [0],
                [1],
                keep={"time": ([3], "max" if ranks > 2 and rank == 2 else "first")} if rank != 1 else {"kind": ["x"]},
            )


def test_integers_that_the_floats_of_another_rank_would_round_are_refused():
    rank, wide = world().rank, 2**53 + 1
    column = np.array([0.5]) if rank else np.array([wide])
    if world().size == 1:
        assert dgraph.Graph.from_edges([0], [1], keep={"x": column}).to_pandas().x[0] == wide
        return
    with pytest.raises(DataError, match=rf"keep x\[0\] is {wide}, and float64 would round it"):
        dgraph.Graph.from_edges([rank], [rank + 1], keep={"x": column})


def test_dictionaries_of_text():
    """Dictionaries with nulls and repeated words are the text that they stand for."""
    pyarrow = pytest.importorskip("pyarrow")
    words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, None, 2, 3]), pyarrow.array(["b", "a", None, "b"]))
    table = pyarrow.table({"source": [0, 1, 2, 3, 4], "target": [1, 2, 3, 4, 5], "word": words})
    graph = dgraph.Graph.from_arrow(table if world().rank == 0 else None, keep="word")
    rows = graph.to_arrow()
    if rows is not None:
        assert rows["word"].to_pylist() == ["b", "a", None, None, "b"]


def test_refusals_name_the_column():
    """Attributes that cannot be kept, used as a weight or changed are refused by name, on all ranks alike."""
    table = share(calls())
    for keep, words in (
        ("tim", "unknown column for keep 'tim'.*time"),
        ("weight", "keep weight: every edge has a weight"),
        ("type:sum", "keep type: rule 'sum' is for numbers"),
        ("time:sum", "keep time: rule 'sum' is not for values of datetime64"),
        ("time,time", "time stands there twice"),
        (3, "keep = 3 is not valid"),
    ):
        with pytest.raises(UsageError, match=words):
            dgraph.Graph.from_pandas(table, keep=keep)
    with pytest.raises(UsageError, match="keep='time': columns are kept of tables"):
        dgraph.Graph.load("path:9", keep="time")
    graph = dgraph.Graph.from_pandas(table, keep=["time", "type", "amount"])
    with pytest.raises(UsageError, match="weight = 'type': the column is text"):
        dgraph.sssp(graph, 0, weight="type")
    with pytest.raises(UsageError, match=r"unknown attribute of the edges .*'amont'.*without weight="):
        dgraph.pagerank(graph, weight="amont")
    with pytest.raises(UsageError, match="bfs uses no weights"):
        dgraph.bfs(graph, 0, weight="amount")
    with pytest.raises(UsageError, match="with_edges: the edges keep time, type, amount"):
        graph.with_edges(np.array([[0, 1]]), weights=[1])


def test_results_join_the_columns_of_vertices():
    """A table of vertices joins a result as pandas merges it: text, times, numbers, and vertices without a row."""
    table, people = calls(), pd.DataFrame({"who": np.arange(3, 20), "age": np.arange(17) * 2})
    people["since"] = pd.to_datetime(people.age, unit="D")
    people["city"] = [None, "Köln", "Bonn", "Aachen"] * 4 + ["Trier"]
    graph = dgraph.Graph.from_pandas(share(table)).with_vertex_attributes(share(people), "who")
    result = dgraph.cc(graph)
    rows, plain = result.to_pandas(attributes=True), result.to_pandas()
    if rows is not None:
        expected = plain.merge(people, left_on="vertex", right_on="who", how="left").drop(columns="who")
        pd.testing.assert_frame_equal(rows, expected, check_dtype=False)
    arrow = result.to_arrow(attributes=True)
    if arrow is not None:
        assert arrow["since"].null_count == arrow.to_pandas().since.isna().sum() == len(rows) - len(people)
    with pytest.raises(UsageError, match="the graph has no columns"):
        dgraph.cc(dgraph.Graph.from_pandas(share(table))).to_pandas(attributes=True)
    with pytest.raises(UsageError, match="labels is also a column of the result"):
        dgraph.cc(graph.with_columns(labels=result)).to_pandas(attributes=True)


@pytest.mark.parametrize("named", [False, True])
def test_largest_rows_and_files_join_the_columns_of_vertices(named, mpi_tmp_path):
    """Rows of ``top`` and of each format are those of ``to_pandas(attributes=True)``, whose oracle is a merge."""
    table, people = calls(), pd.DataFrame({"who": np.arange(3, 20), "age": np.arange(17) * 2.5})
    people["since"] = pd.to_datetime(people.age, unit="D")
    people["city"] = [None, "Köln", 'B"onn', "Aachen, DE"] * 4 + ["Trier"]
    if named:
        for frame, column in ((table, "source"), (table, "target"), (people, "who")):
            frame[column] = frame[column].map("v{:03}".format)
    graph = dgraph.Graph.from_pandas(share(table)).with_vertex_attributes(share(people), "who")
    result = dgraph.kcore(graph)
    rows, top = result.to_pandas(attributes=True), result.top(7, attributes=True)
    for suffix in (".csv", ".parquet", ".arrow", ".npz"):
        result.save(mpi_tmp_path / f"a{suffix}", attributes=True)
    result.save(mpi_tmp_path / "one.csv", column="core_number", attributes=True)
    if rows is not None:
        best = rows.sort_values(["core_number", "vertex"], ascending=[False, True])[:7].reset_index(drop=True)
        pd.testing.assert_frame_equal(pd.DataFrame(top), best, check_dtype=False)
        read = {
            ".csv": pd.read_csv(mpi_tmp_path / "a.csv", parse_dates=["since"]),
            ".parquet": pd.read_parquet(mpi_tmp_path / "a.parquet"),
            ".arrow": pd.read_feather(mpi_tmp_path / "a.arrow"),
        }
        for frame in (*read.values(), pd.read_csv(mpi_tmp_path / "one.csv", parse_dates=["since"])):
            pd.testing.assert_frame_equal(frame, rows, check_dtype=False)
        with np.load(mpi_tmp_path / "a.npz") as arrays:
            assert arrays["city"].tolist() == rows.city.fillna("").tolist()
            np.testing.assert_array_equal(arrays["age"], rows.age)
    with pytest.raises(UsageError, match="room for one column"):
        result.save(mpi_tmp_path / "a.txt", attributes=True)
    for call in (lambda plain: plain.top(3, attributes=True), lambda plain: plain.save("a.csv", attributes=True)):
        with pytest.raises(UsageError, match="the graph has no columns"):
            call(dgraph.kcore(dgraph.Graph.from_pandas(share(table))))
    with pytest.raises(UsageError, match="core_number is also a column"):
        dgraph.kcore(graph.with_columns(core_number=result)).top(1, attributes=True)
    world().total(1)


def test_vertices_with_names_join_a_table_of_text():
    """Names of vertices in a table are text, of any library, in order or not."""
    table = calls()
    table["source"], table["target"] = (table[end].map("v{:03}".format) for end in ("source", "target"))
    people = pd.DataFrame({"who": sorted({*table.source, *table.target}), "city": "Bonn"}).iloc[::-1]
    people.iloc[::3, 1] = "Köln"
    graph = dgraph.Graph.from_pandas(share(table))
    for rows in (people, pa.Table.from_pandas(people, preserve_index=False), people.astype({"who": "string"})):
        joined = dgraph.cc(graph.with_vertex_attributes(rows if world().rank == 0 else rows[:0], "who"))
        answer = joined.to_pandas(attributes=True)
        if answer is not None:
            assert dict(zip(answer.vertex, answer.city, strict=True)) == dict(zip(people.who, people.city, strict=True))


@pytest.mark.parametrize("names", [False, True])
def test_a_graph_tells_its_vertices_from_others(names):
    """A table of people has some that the graph does not: those of :meth:`Graph.has` join it, all are refused."""
    table, people = calls(), pd.DataFrame({"who": np.arange(-3, 60, 2), "age": np.arange(32)})
    if names:
        for frame, column in ((table, "source"), (table, "target"), (people, "who")):
            frame[column] = frame[column].map("v{:03}".format)
    graph, mine = dgraph.Graph.from_pandas(share(table)), share(people)
    ends = {*table.source, *table.target, *([] if names else range(table.source.max()))}
    there = [who in ends for who in mine.who]
    kinds = [mine.who, mine.who.tolist(), mine.who.to_numpy()]
    assert [graph.has(kind).tolist() for kind in kinds] == [there] * len(kinds)
    assert graph.has(people.who[:0]).shape == (0,)
    with pytest.raises(UsageError, match=r"age: .* is not a vertex of the graph .*; [0-9]+ more are none; graph\.has"):
        graph.with_vertex_attributes(people if world().rank == 0 else people[:0], "who")
    joined = dgraph.cc(graph.with_vertex_attributes(mine[graph.has(mine.who)], "who")).to_pandas(attributes=True)
    if joined is not None:
        assert joined.age.tolist() == pytest.approx(
            joined[["vertex"]].merge(people, left_on="vertex", right_on="who", how="left").age, nan_ok=True
        )
    with pytest.raises(UsageError, match="this graph's are"):
        graph.has(np.array([1, 2]) if names else np.array(["a"]))


@pytest.mark.parametrize("directed", [True, False])
def test_attributes_go_to_other_libraries(directed):
    """Edges of NetworkX and igraph have the attributes that were kept, with None for missing text and times."""
    table = pd.DataFrame({
        "source": [1, 1, 2, 4], "target": [2, 3, 3, 1], "amount": [1.5, 2.5, 3.5, 4.5],
        "late": [True, False, True, False], "type": ["sms", None, "größer", "call"],
        "time": pd.to_datetime(["2024-01-05", None, "2024-02-03", "2024-03-01"]),
    })  # fmt: skip
    graph = dgraph.Graph.from_pandas(share(table), directed=directed, keep=["amount", "late", "time", "type"])
    nx_graph, other = graph.to_networkx(), graph.to_igraph()
    if nx_graph is None:
        return
    for row in table.itertuples():
        time = None if pd.isna(row.time) else row.time.to_pydatetime()
        wanted = {"amount": row.amount, "late": row.late, "time": time, "type": None if pd.isna(row.type) else row.type}
        assert nx_graph.edges[row.source, row.target] == wanted
        names = other.vs["name"]
        edge = other.es[other.get_eid(names.index(row.source), names.index(row.target))]
        assert edge.attributes() == wanted


def test_a_filter_by_an_attribute_warns_of_merged_edges():
    """A merged edge has one value: a filter that reads it may miss edges, and says so; others do not."""
    table = pd.DataFrame({"source": [1, 1, 2], "target": [2, 2, 3], "time": [1, 9, 9]})
    merged = dgraph.Graph.from_pandas(share(table), keep=["time"])
    late = merged.filter_edges(lambda e: e.time > 5)
    assert (late.m, len(late.facts.warnings), len(merged.facts.warnings)) == (1, 1, 0)
    assert "1 parallel edges were merged before the filter read time" in late.facts.warnings[0]
    assert merged.filter_edges(lambda e: e.source > 1).facts.warnings == []
    every = dgraph.Graph.from_pandas(share(table), keep=["time"], keep_parallel=True).filter_edges(lambda e: e.time > 5)
    assert (every.m, every.facts.warnings) == (2, [])


@pytest.mark.parametrize("directed", [True, False])
def test_kept_columns_change_nothing_else(directed):
    """Arcs, weights and counts of a graph are those without kept columns, by every rule and option."""
    table = calls(120, 9)
    table.loc[60:, ["source", "target", "weight"]] = table.loc[:59, ["target", "source", "weight"]].to_numpy()
    for options in (
        *({"merge": rule} for rule in ("min", "max", "sum", "first", "count")),
        {"keep_loops": True}, {"keep_parallel": True}, {"keep_loops": True, "keep_parallel": True}, {"n": 40},
    ):  # fmt: skip
        plain, kept = (
            dgraph.Graph.from_pandas(share(table), directed=directed, keep=keep, **options) for keep in (None, "time")
        )
        assert kept.fingerprint() == plain.fingerprint(), options
        facts = [vars(graph.facts) | {"notes": None} for graph in (plain, kept)]
        assert facts[0] == facts[1], options
        assert kept.block.attributes["time"].values.size == kept.block.targets.size
        assert kept.undirected().fingerprint() == plain.undirected().fingerprint(), options
