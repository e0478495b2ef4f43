"""``python -m dgraph balance``: schedules side by side on one GPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dgraph.backend.schedule_options import CHOICES
from dgraph.cli.arguments import flag
from dgraph.cli.commands import PROGRAM, Task, command_parser, show_warnings
from dgraph.cli.run_options import add_load_options
from dgraph.comm import Comm
from dgraph.errors import OutputError, UsageError, unknown
from dgraph.graph.load_options import load_options

DIRECTIONS = {"pagerank": "pull"}
"""How edges are walked where the command line does not say; the others push.   [002, section 5]"""

ALGORITHM, REPEAT, LIMIT = "bfs", 3, 5.0
WRONG = 1

EXAMPLES = """\
examples:
  python -m dgraph balance rmat:20 --algorithm sssp --weights 1..255
  python -m dgraph balance rmat-alb:22 --schedule twc,alb,lb --svg load.svg
  python -m dgraph balance rmat-alb:22 --schedule alb --alb-threshold sweep
  python -m dgraph balance rmat-alb:22 --schedule lb,alb --alb-distribution cyclic,blocked

exit codes: 0 done; 1 two schedules gave different answers; 2 no GPU, or a name that is not known."""


def task(words: Sequence[str]) -> Task:
    """Read the command's words."""
    parser = command_parser("balance")
    parser.epilog = EXAMPLES
    parser.add_argument("graph", metavar="GRAPH", help="a file, a store, or a generator NAME:SIZE")
    parser.add_argument("--algorithm", metavar="NAME", help=f"what runs (default {ALGORITHM})")
    parser.add_argument("--source", type=int, metavar="ID", help="start vertex (default: the one with most out-edges)")
    parser.add_argument("--schedule", metavar="NAME,NAME...", help="what is compared (default all)")
    for choice in CHOICES.values():
        sweep = "" if choice.least is None else ", or sweep"
        about = f"of {', '.join(choice.schedules)}: {choice.form}; several with commas{sweep}"
        parser.add_argument(choice.flag, metavar="V,V...", help=about)
    parser.add_argument("--direction", choices=("auto", "push", "pull"), help="default push; pagerank pulls")
    parser.add_argument("--repeat", type=int, metavar="N", help=f"timed runs of each (default {REPEAT})")
    parser.add_argument("--limit", type=float, metavar="S", help=f"cut a run after so many seconds (default {LIMIT:g})")
    parser.add_argument("--max-rounds", type=int, metavar="N", help="stop every run after N rounds")
    parser.add_argument("--html", type=Path, metavar="FILE", help="a page")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="a picture")
    parser.add_argument("--png", type=Path, metavar="FILE", help="a picture")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure")
    parser.add_argument("-q", "--quiet", **flag(), help="no progress")
    add_load_options(parser.add_argument_group("graph"))
    given = parser.parsed(words)
    return Task(lambda comm: _do(comm, given, words))


def gpu():
    """The backend whose GPU is compared on.

    Raises:
        UsageError: there is none.
    """
    from dgraph.backend import backend

    return backend("cuda", None, 1)


def _do(comm: Comm, given: dict[str, Any], words: Sequence[str]) -> int:
    if comm.size > 1:
        raise UsageError(
            f"balance compares schedules on one GPU, and these are {comm.size} ranks; start it without mpirun "
            "(a run of many ranks tells its load with --record load)"
        )
    return _compare(comm, given, words)


def _compare(comm: Comm, given: dict[str, Any], words: Sequence[str]) -> int:
    from dgraph.algorithms import ALGORITHMS
    from dgraph.graph.stored_graph import Graph
    from dgraph.tools import balance
    from dgraph.tools.balance.plot import matplotlib, write_picture

    name = given.get("algorithm", ALGORITHM)
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    algorithm, repeat = ALGORITHMS[name], given.get("repeat", REPEAT)
    if repeat < 1:
        raise UsageError(f"--repeat {repeat}: a time needs one run or more")
    for file in (given[kind] for kind in ("html", "svg", "png", "json") if kind in given):
        if not file.parent.is_dir():
            raise OutputError(f"{file} cannot be written: there is no folder {file.parent}; make it first")
    if {"svg", "png"} & given.keys():
        matplotlib()
    options = {name: given[name] for name in CHOICES if name in given}
    balance.candidates(
        given.get("schedule", "all"), options, 1
    )  # what is wrong with names is said before a graph is loaded
    backend = gpu()
    graph = Graph.load(given["graph"], comm=comm, **load_options(given))
    show_warnings(graph)
    if algorithm.undirected and graph.directed:
        graph = graph.undirected()
    compared = balance.candidates(given.get("schedule", "all"), options, graph.block.facts.largest_degree)
    parameters: dict[str, Any] = {"source": given.get("source", graph.hub())} if algorithm.needs_source else {}
    if "return_predecessors" in algorithm.parameters:
        parameters["return_predecessors"] = False
    if "max_rounds" in given:
        parameters["max_rounds"] = given["max_rounds"]
    direction = given.get("direction", DIRECTIONS.get(name, "push"))
    about: dict[str, Any] = {
        "title": f"{name} on {graph.facts.name}",
        "command": " ".join([*PROGRAM.split(), "balance", *words]),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "facts": [
            f"{graph.n:,} vertices, {graph.m:,} edges, largest degree {graph.block.facts.largest_degree:,}",
            f"{backend.reason}; {direction}; " + ", ".join(f"{key} {value}" for key, value in parameters.items()),
            f"median of {repeat} runs each, cut after {given.get('limit', LIMIT):g} s",
        ],
    }
    tell = (lambda text: None) if "quiet" in given else lambda text: print(text, file=sys.stderr, flush=True)
    cells = balance.measure(
        backend, name, graph, compared, direction=direction, repeat=repeat, limit=given.get("limit", LIMIT),
        parameters=parameters, tell=tell,
    )  # fmt: skip
    print(about["title"], *(f"  {line}" for line in about["facts"]), "", balance.table(cells), sep="\n")
    if len(cells) <= 2:
        for cell in cells:
            print("", balance.detail(cell), sep="\n")
    if "json" in given:
        from dgraph.report.report_file import replacing

        replacing(given["json"], f"{json.dumps(balance.facts(cells, about))}\n".encode(), "--json")
    if "html" in given:
        balance.write_page(cells, about, given["html"])
    for kind in ("svg", "png"):
        if kind in given:
            write_picture(cells, about, given[kind], kind)
    return 0 if all(cell.right for cell in cells) else WRONG
