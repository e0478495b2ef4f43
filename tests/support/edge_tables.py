"""Tables of edges with columns of every kind, and their rows as pandas merges them."""

import numpy as np
import pandas as pd

from dgraph.comm import world

RULES = {"time": "first", "type": "first", "amount": "sum", "late": "first", "count": "max", "low": "min"}


def calls(rows=300, n=25, seed=3):
    """Return a table of edges with loops and parallel edges, and columns of every kind."""
    draw = np.random.default_rng(seed)
    return pd.DataFrame({
        "source": draw.integers(0, n, rows), "target": draw.integers(0, n, rows),
        "weight": draw.integers(1, 100, rows), "time": pd.to_datetime(draw.integers(0, 10**9, rows), unit="s"),
        "type": draw.choice(["sms", "call", "größer", None], rows), "amount": draw.integers(0, 64, rows) / 4,
        "late": draw.random(rows) < 0.5, "count": draw.integers(0, 9, rows).astype(np.int16),
        "low": draw.integers(-5, 5, rows),
    })  # fmt: skip


def share(table):
    """Return this rank's rows of a table, in the order of the ranks."""
    comm = world()
    first, stop = (len(table) * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    return table.iloc[first:stop]


def grouped(table, directed, rules=RULES):
    """Return one row an edge, ascending, as pandas merges the rows of ``table``."""
    ends = table[["source", "target"]]
    if not directed:
        table = table.assign(source=ends.min(axis=1), target=ends.max(axis=1))
    table = table[table.source != table.target]
    firsts = {
        name: (name, (lambda column: column.iloc[0]) if rule == "first" else rule) for name, rule in rules.items()
    }
    return table.groupby(["source", "target"]).agg(weight=("weight", "min"), **firsts).reset_index()


def same(graph, expected):
    """Compare the edges and attributes of a graph with the rows of a table."""
    table = graph.to_pandas()
    expected = expected[["source", "target", "weight", *graph.edge_attributes]]
    if table is not None:
        table = table.sort_values(["source", "target"]).reset_index(drop=True)
        expected = expected.reset_index(drop=True)
        pd.testing.assert_frame_equal(table, expected, check_dtype=False)
