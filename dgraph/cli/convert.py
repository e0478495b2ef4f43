"""``python -m dgraph convert A B``: write a graph in another format, or as a store, with all ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph.cli.arguments import flag
from dgraph.cli.columns.conditions import load_chosen, parted
from dgraph.cli.commands import Task, command_parser, show_warnings
from dgraph.cli.option_groups import add_load_options, add_where
from dgraph.comm import Comm
from dgraph.graph.formats.weight_sample import first_weights
from dgraph.graph.load import describe
from dgraph.graph.load_options import LoadOptions, load_options
from dgraph.graph.stored.write import check_writable
from dgraph.graph.stored_graph import Graph
from dgraph.result.files.graph_writers import (
    NAMED_FORMATS,
    refuse_kept,
    refuse_names,
    refuse_weights,
    save_graph,
    writer_for,
)

STORE = "store"
EXAMPLES = """\
examples:
  mpirun -n 4 python -m dgraph convert web.txt.gz web.wsg --weights 1..255
  python -m dgraph convert rmat:20 graph.gr --to galois"""


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``convert``."""
    parser = command_parser("convert", EXAMPLES)
    parser.add_argument("graph", metavar="A", help="graph: a file, or a generator NAME:SIZE")
    parser.add_argument("file", type=Path, metavar="B", help="file to write; its suffix names the format")
    parser.add_argument(
        "--to",
        choices=(*NAMED_FORMATS, STORE),
        help="format, where several share a suffix (.gr: dimacs); store: a folder with one part a rank",
    )
    group = parser.add_argument_group("graph")
    add_load_options(group)
    add_where(group)
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but warnings and errors")
    args = parser.parsed(words)
    return Task(lambda comm: _convert(comm, args))


def _convert(comm: Comm, args: dict[str, Any]) -> int:
    began = time.perf_counter()
    to, file = args.get("to"), args["file"]
    with comm.together():
        if to == STORE:
            check_writable(file)
        else:
            writer_for(file, to)
            refuse_names(file, args.get("ids") == "string")
            if comm.rank == 0:
                refuse_weights(file, first_weights(args["graph"], LoadOptions(**load_options(args))))
            refuse_kept(file, args.get("keep", ""))
        for condition in args.get("where", ()):
            parted(condition)
    graph = load_chosen(Graph.load, args["graph"], args.get("where", ()), load_options(args), comm=comm, build="host")
    show_warnings(graph)
    loaded = time.perf_counter()
    notes = _save_store(graph, file) if to == STORE else save_graph(file, graph.block, comm, to)
    ended = time.perf_counter()
    if comm.rank == 0 and "quiet" not in args:
        size = sum(part.stat().st_size for part in file.iterdir()) if to == STORE else os.path.getsize(file)
        print(describe(graph))
        print(f"read in {loaded - began:.2f} s; {file}: {size:,} bytes written in {ended - loaded:.2f} s")
        for note in notes:
            print(f"note: {note}")
    return 0


def _save_store(graph: Graph, path: Path) -> list[str]:
    graph.save_store(path)
    parts = "part" if graph.comm.size == 1 else "parts"
    return [f"{graph.comm.size} {parts}; python -m partitioning writes any number, and reports their quality"]
