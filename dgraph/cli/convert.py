"""``python -m dgraph convert A B``: a graph from a file or a generator into a file of another format, by all ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser, show_warnings
from dgraph.cli.run_options import add_load_options
from dgraph.comm import Comm
from dgraph.graph.load import describe
from dgraph.graph.load_options import load_options
from dgraph.graph.stored.write import available
from dgraph.graph.stored_graph import Graph
from dgraph.result.files.graph_writers import OTHERS, save_graph, writer_for

STORE = "store"
EXAMPLES = """\
examples:
  mpirun -n 4 python -m dgraph convert web.txt.gz web.wsg --weights 1..255
  python -m dgraph convert rmat:20 graph.gr --to galois"""


def task(words: Sequence[str]) -> Task:
    """Read the command's words."""
    parser = command_parser("convert")
    parser.epilog = EXAMPLES
    parser.add_argument("graph", metavar="A", help="a graph: a file, or a generator NAME:SIZE")
    parser.add_argument("file", type=Path, metavar="B", help="the file to write; its suffix says the format")
    parser.add_argument(
        "--to",
        choices=(*OTHERS, STORE),
        help="which of the formats that share a suffix (.gr: dimacs); store: a folder, parted for as many ranks",
    )
    add_load_options(parser.add_argument_group("graph"))
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but errors")
    given = parser.parsed(words)
    return Task(lambda comm: _convert(comm, given))


def _convert(comm: Comm, given: dict[str, Any]) -> int:
    began = time.perf_counter()
    to, file = given.get("to"), given["file"]
    with comm.together():
        if to == STORE:
            available(file)
        else:
            writer_for(file, to)
    graph = Graph.load(given["graph"], comm=comm, **load_options(given))
    show_warnings(graph)
    loaded = time.perf_counter()
    notes = _save_store(graph, file) if to == STORE else save_graph(file, graph.block, comm, to)
    ended = time.perf_counter()
    if comm.rank == 0 and "quiet" not in given:
        size = sum(each.stat().st_size for each in file.iterdir()) if to == STORE else os.path.getsize(file)
        print(describe(graph))
        print(f"read in {loaded - began:.2f} s; {file}: {size:,} bytes written in {ended - loaded:.2f} s")
        for note in notes:
            print(f"note: {note}")
    return 0


def _save_store(graph: Graph, path: Path) -> list[str]:
    graph.save_store(path)
    parts = "part" if graph.comm.size == 1 else "parts"
    return [f"{graph.comm.size} {parts}; python -m partitioning writes any number, and says how good they are"]
