"""``python -m dgraph info GRAPH``: format, degrees, components and a lower bound of the diameter."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.cli.arguments import flag, summary
from dgraph.cli.commands import Task, command_parser, show_warnings
from dgraph.cli.option_groups import add_load_options
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.build.representations import costs
from dgraph.graph.formats import FORMATS, suffix_of
from dgraph.graph.generate import is_generator
from dgraph.graph.load import describe
from dgraph.graph.load_options import load_options
from dgraph.graph.stored_graph import Graph
from dgraph.run import run
from partitioning.store import is_store

EXAMPLES = """\
examples:
  mpirun -n 4 python -m dgraph info road.gr
  python -m dgraph info rmat:12 --representations"""


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``info``."""
    parser = command_parser("info", EXAMPLES)
    parser.add_argument("graph", metavar="GRAPH", help="a file, or a generator NAME:SIZE")
    parser.add_argument("--quick", **flag(), help="leave out components and diameter: one pass over the rows")
    parser.add_argument("--representations", **flag(), help="memory and access cost of matrix, bitmap, CSR, CSC, COO")
    parser.add_argument("--json", **flag(), help="result as JSON")
    add_load_options(parser.add_argument_group("graph"))
    args = parser.parsed(words)
    return Task(lambda comm: _info(comm, args))


def _info(comm: Comm, args: dict[str, Any]) -> int:
    spec = args["graph"]
    if "representations" in args and comm.size > 1:
        raise UsageError("--representations holds the whole graph on one rank; start it without mpirun")
    graph = Graph.load(spec, comm=comm, **load_options(args))
    show_warnings(graph)
    facts: dict[str, Any] = {"graph": graph.facts.name, "summary": describe(graph), "directed": graph.directed}
    if is_store(spec):
        facts |= {
            "format": "a store: parts in a folder",
            "bytes": sum(file.stat().st_size for file in Path(spec).iterdir()),
        }
    elif not is_generator(spec):
        suffix = suffix_of(spec, args.get("format"))
        facts["format"] = f"{suffix}: {summary(FORMATS[suffix]).replace('``', '').removesuffix('.')}"
        if os.path.isfile(spec):
            facts["bytes"] = os.path.getsize(spec)
    facts |= {"fingerprint": graph.fingerprint(), "degrees": degrees(graph)}
    if "quick" not in args:
        facts |= structure(graph)
    if "representations" in args:
        facts["representations"] = [vars(cost) for cost in costs(graph.block)]
    if comm.rank == 0:
        print(json.dumps(facts, indent=1) if "json" in args else _format_facts(facts))
    return 0


def degrees(graph: Graph) -> dict[str, Any]:
    """Return the out-degrees (degrees where undirected) of the whole graph; collective.

    Returns:
        ``smallest``, ``largest``, ``mean``, and ``histogram``: numbers of vertices of degree 0, 1, 2 .. 3, 4 .. 7 and
        so on.
    """
    comm, here = graph.comm, np.diff(graph.block.offsets)
    bins = comm.allreduce(np.bincount(np.frexp(here.astype(np.float64))[1], minlength=65).astype(np.int64))
    smallest = -comm.largest(-int(here.min(initial=np.iinfo(np.int64).max)))
    return {
        "smallest": smallest,
        "largest": graph.block.facts.largest_degree,
        "mean": round(graph.block.arcs / graph.n, 3),
        "histogram": np.trim_zeros(bins, "b").tolist(),
    }


def structure(graph: Graph) -> dict[str, Any]:
    """Find weakly connected components, and bound the diameter from below by a double sweep; collective.

    Magnien, Latapy, Habib: Fast computation of empirically tight bounds for the diameter, JEA 2009.
    """
    whole = graph.undirected()
    parts = run("cc", whole)
    first = run("bfs", whole, source=whole.hub())
    farthest = first.top(1)["vertex"][0]
    second = run("bfs", whole, source=farthest)
    components = {key: value for key, value in parts.summary.items() if isinstance(value, (int, float))}
    return {"components": components, "diameter_at_least": max(first.summary["depth"], second.summary["depth"])}


def _format_facts(facts: dict[str, Any]) -> str:
    degree = facts["degrees"]
    lines = [facts["summary"]]
    if "format" in facts:
        size = f" · {facts['bytes']:,} bytes" if "bytes" in facts else ""
        lines.append(f"format {facts['format']}{size}")
    lines.append(f"fingerprint {facts['fingerprint']}")
    prefix = "out-" if facts["directed"] else ""
    lines.append(f"{prefix}degrees {degree['smallest']} .. {degree['largest']:,}, mean {degree['mean']:,}")
    for power, count in enumerate(degree["histogram"]):
        low, high = (0, 0) if power == 0 else (1 << (power - 1), (1 << power) - 1)
        lines.append(f"  {low if low == high else f'{low} .. {high}':>22}  {count:,} vertices")
    if "components" in facts:
        lines.append(", ".join(f"{key} {value:,}" for key, value in facts["components"].items()))
        lines.append(f"diameter at least {facts['diameter_at_least']:,} (double sweep, directions ignored)")
    if "representations" in facts:
        lines += _table(facts["representations"])
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    head = f"{'representation':16}  {'bytes':>18}  {'neighbours ns':>16}  {'look-up ns':>16}  {'sweep ns an arc':>15}"
    lines = [head, "-" * len(head)]
    for row in rows:
        cells = [
            f"{'not built' if row[key] is None else format(row[key], ',.1f')}{f' ({order})' if order else ''}"
            for key, order in zip(("neighbours", "lookup", "sweep"), (*row["order"], ""), strict=True)
        ]
        lines.append(f"{row['name']:16}  {row['memory']:>18,}  {cells[0]:>16}  {cells[1]:>16}  {cells[2]:>15}")
    return lines
