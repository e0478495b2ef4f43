"""Columns that predicates read: they are compared with values of their kind, and show arrays of the graph unchanged."""

import operator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest

import dgraph
from dgraph.comm import world
from dgraph.errors import UsageError

pytestmark = pytest.mark.mpi

TABLE = pd.DataFrame(
    {
        "source": [10, 10, 20, 30],
        "target": [20, 30, 40, 10],
        "weight": [5, 3, 2, 4],
        "amount": [1.0, 2.0, 3.0, 4.0],
        "kind": ["x", "5", None, "x"],
        "score": [0.5, 1.5, 2.5, None],
        "due": pd.to_datetime(["2024-05-01", None, "2024-05-02", "2024-06-01"]),
        "paid": [True, False, True, False],
        "time": np.array(["2024-01-01", "2024-01-01T23:00", "2024-02-01", "2024-03-01"], "M8[s]"),
    }
)


@pytest.fixture
def graph():
    kept = ["amount", "kind", "score", "due", "paid", "time"]
    graph = dgraph.Graph.from_pandas(TABLE[world().rank :: world().size], keep=kept)
    share = slice(world().rank, None, world().size)
    return graph.with_columns(rank=(np.array([10, 20, 30, 40])[share], np.array([1.5, 0.5, 1, 2])[share]))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda e: e.weight == "5",
        lambda e: e.amount != "5",
        lambda e: e.paid == "True",
        lambda e: e.source == "10",
        lambda e: e.kind == 5,
        lambda e: e.kind != e.weight,
        lambda e: e.time == 20240101,
        lambda e: np.isin(e.weight, ["5", "3"]),
        lambda e: e.kind.isin([5]),
        lambda e: e.kind < 5,
        lambda e: e.weight == date(2024, 1, 1),
        lambda e: e.kind == pd.Timestamp("2024-01-01"),
        lambda e: e.kind != Decimal(5),
        lambda e: e.weight.isin([b"5"]),
        lambda e: e.paid == {},
        lambda e: e.weight == np.timedelta64(5),
        lambda e: e.time - np.datetime64("2024-01-01") > 40,
        lambda e: e.weight * 2 == "10",
        lambda e: pd.Timestamp("2024-01-01") == e.kind,
        lambda e: pd.Timedelta(1, "D") != e.weight,
        lambda e: pd.Interval(1, 2) == e.amount,
    ],
)
def test_values_of_two_kinds_are_not_compared(graph, wrong):
    with pytest.raises(UsageError, match="which are never equal"):
        graph.filter_edges(wrong)


@pytest.mark.parametrize("value", [None, float("nan"), np.float32("nan"), pd.NaT, pd.NA, np.datetime64("NaT")])
def test_columns_are_not_compared_with_a_missing_value(graph, value):
    for name, compared in product(
        ["weight", "paid", "score", "time", "kind", "source"], [operator.eq, operator.ne, operator.lt, operator.ge]
    ):
        if value is not None or name not in ("time", "kind") or compared not in (operator.eq, operator.ne):
            for values in (lambda column: (column, value), lambda column: (value, column)):
                with pytest.raises(UsageError, match=r"a column with a missing value|which are never equal"):
                    graph.filter_edges(lambda e, name=name, by=compared, values=values: by(*values(e[name])))


@pytest.mark.parametrize("wrong", [lambda v: v.rank == None, lambda v: v.vertex + 1 != float("nan")])  # noqa: E711
def test_vertices_are_not_compared_with_a_missing_value(graph, wrong):
    with pytest.raises(UsageError, match=r"choose its missing values by e\.name\.isna\(\)"):
        graph.filter_vertices(wrong)


@pytest.mark.parametrize("wrong", [lambda e: e.kind in ("x", "y"), lambda e: e.score is None])
def test_operators_of_single_values_name_those_of_columns(graph, wrong):
    with pytest.raises(UsageError, match=r"e\.name\.is(in|na)\("):
        graph.filter_edges(wrong)


def test_vertices_are_not_compared_with_another_kind(graph):
    with pytest.raises(UsageError, match="compares column vertex, which holds numbers, with text"):
        graph.filter_vertices(lambda v: v.vertex == "10")


@pytest.mark.parametrize("wrong", [lambda e: e.kind == 7, lambda e: np.int64(7) != e.kind])
def test_the_comparison_of_text_with_a_number_is_written_for_the_column(graph, wrong):
    message = "compares (numbers with )?column kind, which holds text,.* which are never equal; write e.kind == '7'"
    with pytest.raises(UsageError, match=message):
        graph.filter_edges(wrong)


@pytest.mark.parametrize(
    ("chosen", "rows"),
    [
        (lambda e: e.kind == None, [2]),  # noqa: E711
        (lambda e: e.kind != None, [0, 1, 3]),  # noqa: E711
        (lambda e: e.kind.isin({"x", "y"}), [0, 3]),
        (lambda e: e.kind.isin(["5", None]), [1, 2]),
        (lambda e: e.kind < "x", [1]),
        (lambda e: e.kind >= "x", [0, 3]),
        (lambda e: e.kind.startswith(""), [0, 1, 3]),
        (lambda e: e.kind.startswith("x"), [0, 3]),
        (lambda e: e.amount.between(2, 3.0), [1, 2]),
        (lambda e: e.time.between("2024-01-01", "2024-02"), [0, 1, 2]),
        (lambda e: e.kind.isna() | e.score.isna(), [2, 3]),
        (lambda e: e.score.notna() & (e.score != Decimal("0.5")), [1, 2]),
        (lambda e: e.score > Decimal("0.5"), [1, 2]),
        (lambda e: e.score.isin([0.5, None]), [0, 3]),
        (lambda e: np.isin(e.due, ["2024-05", pd.NaT]), [0, 1, 2]),
        (lambda e: e.due == None, [1]),  # noqa: E711
        (lambda e: e.weight.isna(), []),
        (lambda e: np.isin(e.weight, [5, 2]), [0, 2]),
        (lambda e: e.paid == 1, [0, 2]),
        (lambda e: e.time == date(2024, 1, 1), [0, 1]),
        (lambda e: e.time <= date(2024, 1, 1), [0, 1]),
        (lambda e: e.time == datetime(2024, 1, 1), [0]),
        (lambda e: e.time == datetime(2024, 1, 1, tzinfo=UTC), [0]),
        (lambda e: e.time == datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), [0]),
        (lambda e: e.time == pd.Timestamp("2024-01-01", tz="UTC"), [0]),
        (lambda e: pd.Timestamp("2024-01-01", tz="UTC") == e.time, [0]),
        (lambda e: (pd.Series(e.kind) == "x") & (pd.Series(e.due).dt.month == 5), [0]),
        (lambda e: e.time.isin(["2024-01", "2024-03-01"]), [0, 1, 3]),
        (lambda e: e.time - np.datetime64("2024-01-01") > np.timedelta64(40, "D"), [3]),
        (lambda e: e.amount.cumsum() > 0, [0, 1, 2, 3]),
    ],
)
def test_values_that_a_column_is_compared_with(graph, chosen, rows):
    table = graph.filter_edges(chosen).to_pandas()
    if table is not None:
        assert sorted(table["amount"]) == [1.0 + row for row in rows]


def test_no_array_that_is_shown_changes_the_graph(graph):
    def keep(rows):
        for name in ("weight", "amount", "paid", "time", "source", "kind"):
            values = rows[name]
            values[:1] = values[:1]
        return np.ones(len(rows), bool)

    with pytest.raises(UsageError, match="does not support item assignment"):
        graph.filter_edges(keep)

    def subtract(vertices):
        low = vertices.rank
        low -= 1
        return low > 0

    with pytest.raises(UsageError, match="read-only"):
        graph.filter_vertices(subtract)
    for values in (graph.columns["rank"], dgraph.degrees(graph).columns["vertex"]):
        assert not (values.size and values.flags.writeable)
