"""``python -m dgraph quality GRAPH LABELS``: modularity, coverage, conductance and sizes of labels, NMI and ARI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from dgraph.cli.arguments import flag
from dgraph.cli.columns.conditions import load_chosen, parted
from dgraph.cli.columns.vertex_file import VERTEX, vertex_columns
from dgraph.cli.commands import Task, command_parser, show_warnings
from dgraph.cli.option_groups import add_load_options, add_weight, add_where
from dgraph.comm import Comm
from dgraph.errors import DataError, unknown
from dgraph.graph.load_options import load_options
from dgraph.graph.stored_graph import Graph
from dgraph.result.partitions.label_columns import agreement
from dgraph.result.partitions.partition_totals import community_table, constant_potts_model, coverage, modularity

EXAMPLES = """\
examples:
  python -m dgraph leiden edges.txt --output labels.npz
  python -m dgraph quality edges.txt labels.npz --truth truth.csv"""


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``quality``."""
    parser = command_parser("quality", EXAMPLES)
    parser.add_argument("graph", metavar="GRAPH", help="a file, or a generator NAME:SIZE")
    parser.add_argument("labels", metavar="LABELS", help=".csv, .npz, .parquet or .arrow with vertices and labels")
    parser.add_argument("--column", metavar="NAME", help="column of LABELS (default: the first that is not vertex)")
    parser.add_argument("--truth", metavar="FILE", help="labels to compare with by NMI and ARI")
    parser.add_argument("--resolution", type=float, metavar="X", help="of modularity and the Potts model (default 1)")
    parser.add_argument("--json", **flag(), help="result as JSON")
    group = parser.add_argument_group("graph")
    add_load_options(group)
    add_where(group)
    add_weight(group)
    args = parser.parsed(words)
    return Task(lambda comm: _quality(comm, args))


def _quality(comm: Comm, args: dict[str, Any]) -> int:
    conditions, weight = args.get("where", ()), args.get("weight")
    for condition in conditions:
        parted(condition)
    graph = load_chosen(Graph.load, args["graph"], conditions, load_options(args), weight, comm=comm)
    show_warnings(graph)
    graph = graph.with_columns(labels=_read(args["labels"], args.get("column"), graph))
    weighed: dict[str, Any] = {} if weight is None else {"weight": weight}
    asked = {"resolution": args.get("resolution", 1.0), **weighed}
    table = community_table(graph, "labels", **weighed)
    facts: dict[str, Any] = {
        "directed": graph.directed,
        "communities": len(table["label"]),
        "modularity": modularity(graph, "labels", **asked),
        "constant Potts model": constant_potts_model(graph, "labels", **asked),
        "coverage": coverage(graph, "labels", **weighed),
        "largest community": int(table["size"].max()),
        "median community": float(np.median(table["size"])),
        "largest conductance": float(table["conductance"].max()),
        "median conductance": float(np.median(table["conductance"])),
    }
    if "truth" in args:
        graph = graph.with_columns(truth=_read(args["truth"], None, graph))
        facts |= {
            name.upper(): value for name, value in agreement(graph, ["labels", "truth"]).items() if "_" not in name
        }
    if comm.rank == 0:
        shown = [f"{name:<22}{value:,.8g}" for name, value in facts.items()]
        print(json.dumps(facts, indent=1) if "json" in args else "\n".join(shown))
    return 0


def _read(path: str, column: str | None, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and labels of a file on rank 0, nothing on other ranks."""
    kind: Any = np.int64 if graph.ids.names is None else object
    vertices, labels = np.empty(0, kind), np.empty(0, np.int64)
    with graph.comm.together():
        if graph.comm.rank == 0:
            columns = vertex_columns(path, graph.ids.names is not None)
            others = [name for name in columns if name != VERTEX]
            if VERTEX not in columns or not others:
                raise DataError(f"{path} has the columns {', '.join(columns)}; labels need {VERTEX} and one more")
            if column is not None and column not in others:
                raise unknown(f"column of {path}", column, others)
            vertices, labels = columns[VERTEX], columns[column or others[0]]
    return vertices, labels
