"""``python -m dgraph balance``: compare schedules on one GPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.cli.arguments import flag, program
from dgraph.cli.commands import Task, command_parser, show_warnings
from dgraph.cli.option_groups import add_load_options
from dgraph.comm import Comm
from dgraph.engine.run_options import Options
from dgraph.errors import OutputError, UsageError, unknown
from dgraph.graph.load_options import load_options

if TYPE_CHECKING:
    from dgraph.algorithms import Algorithm
    from dgraph.graph.stored_graph import Graph

DIRECTIONS = {"pagerank": "pull"}
"""Default direction by algorithm; the others push.   [002, section 5]"""

ALGORITHM, REPEAT, LIMIT = "bfs", 3, 5.0
DRAW = 7
"""Seed of the sources that are drawn."""
WRONG = 1

EXAMPLES = """\
examples:
  python -m dgraph balance rmat:20 --algorithm sssp --weights 1..255
  python -m dgraph balance rmat-alb:22 --schedule twc,alb,lb --svg load.svg
  python -m dgraph balance rmat-alb:22 --schedule alb,threshold=sweep
  python -m dgraph balance uniform:21,symmetric --schedule expand_gather,expand_balanced,expand_hybrid --sources 100
  python -m dgraph balance rmat:16 --algorithm color --variant hybrid,scan=each --schedule vertex,steal,stealing=off
  python -m dgraph balance rmat-alb:22 --schedule lb,distribution=cyclic,lb,distribution=blocked,twc

exit codes: 0 done; 1 two schedules gave different answers; 2 no GPU, or an unknown name."""


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``balance``."""
    parser = command_parser("balance", EXAMPLES)
    parser.add_argument("graph", metavar="GRAPH", help="file, store, or generator NAME:SIZE")
    parser.add_argument("--algorithm", metavar="NAME", help=f"algorithm (default {ALGORITHM})")
    parser.add_argument(
        "--variant", metavar="NAME[,parameter=value...]", help="variant of the algorithm, and other parameters of it"
    )
    parser.add_argument(
        "--source", type=int, metavar="ID", help="start vertex (default: the vertex with most out-edges)"
    )
    parser.add_argument(
        "--sources", type=int, metavar="N", help="time a search from N random vertices with edges, and their mean rate"
    )
    parser.add_argument(
        "--schedule",
        metavar="NAME[,option=value...],NAME...",
        help="schedules to compare, each with its options (default all); option=sweep: powers of two",
    )
    parser.add_argument("--direction", choices=("auto", "push", "pull"), help="default push; pagerank pulls")
    parser.add_argument("--repeat", type=int, metavar="N", help=f"timed runs of each schedule (default {REPEAT})")
    parser.add_argument("--limit", type=float, metavar="S", help=f"stop a run after S seconds (default {LIMIT:g})")
    parser.add_argument("--max-rounds", type=int, metavar="N", help="stop every run after N rounds")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture")
    parser.add_argument("--png", type=Path, metavar="FILE", help="write a picture")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure as JSON")
    parser.add_argument("-q", "--quiet", **flag(), help="print no progress")
    add_load_options(parser.add_argument_group("graph"))
    args = parser.parsed(words)
    return Task(lambda comm: _do(comm, args, words))


def variant_of(algorithm: type[Algorithm], text: str) -> dict[str, Any]:
    """Return the parameters of an algorithm that ``NAME[,parameter=value…]`` gives.

    Raises:
        UsageError: the algorithm has no variants, or no such parameter or value.
    """
    if "variant" not in algorithm.parameters:
        raise UsageError(f"{algorithm.name} has no variants; leave --variant out")
    values: dict[str, Any] = {}
    for word in f"variant={text}".split(","):
        name, _, value = word.strip().partition("=")
        if name not in algorithm.parameters:
            raise unknown(f"parameter of {algorithm.name}", name, algorithm.parameters)
        parameter = algorithm.parameters[name]
        try:
            number = parameter.type(value) if parameter.type in (int, float) else value
        except ValueError:
            number = value
        values[name] = parameter.checked(number, algorithm.name)
    return values


def gpu():
    """Return the backend of the GPU.

    Raises:
        UsageError: there is no GPU.
    """
    from dgraph.backend import backend

    return backend("cuda")


def _starts(algorithm: type[Algorithm], graph: Graph, args: dict[str, Any]) -> list[int | str]:
    """Return the start vertices of an algorithm: the hub, the one that is named, or random ones that have edges.

    Raises:
        UsageError: ``--sources`` beside ``--source``, below 1, or for an algorithm that has no source.
    """
    if "sources" in args:
        if not algorithm.needs_source:
            raise UsageError(f"--sources: {algorithm.name} starts from no vertex; leave it out")
        if "source" in args:
            raise UsageError("--sources draws vertices, and --source names one; leave one of them out")
        linked = np.flatnonzero(np.diff(graph.block.offsets))
        if not 1 <= args["sources"] <= linked.size:
            raise UsageError(
                f"--sources {args['sources']}: the graph has {linked.size:,} vertices with edges; give 1 to that"
            )
        drawn = np.random.default_rng(DRAW).choice(linked, args["sources"], replace=False)
        return graph.vertices()[drawn].tolist()
    return [args.get("source", graph.hub())] if algorithm.needs_source else []


def _do(comm: Comm, args: dict[str, Any], words: Sequence[str]) -> int:
    if comm.size > 1:
        raise UsageError(
            f"balance compares schedules on one GPU, and these are {comm.size} ranks; start it without mpirun "
            "(--record load reports the load of a run of many ranks)"
        )
    return _compare(comm, args, words)


def _compare(comm: Comm, args: dict[str, Any], words: Sequence[str]) -> int:
    from dgraph.algorithms import ALGORITHMS
    from dgraph.graph.stored_graph import Graph
    from dgraph.tools import balance
    from dgraph.tools.balance.plot import matplotlib, write_picture

    name = args.get("algorithm", ALGORITHM)
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    algorithm, repeat = ALGORITHMS[name], args.get("repeat", REPEAT)
    if repeat < 1:
        raise UsageError(f"--repeat {repeat}: a time needs 1 run or more")
    for file in (args[kind] for kind in ("html", "svg", "png", "json") if kind in args):
        if not file.parent.is_dir():
            raise OutputError(f"{file} cannot be written: there is no folder {file.parent}; make it first")
    if {"svg", "png"} & args.keys():
        matplotlib()
    chosen = variant_of(algorithm, args["variant"]) if "variant" in args else {}
    schedules = args.get("schedule", "all")
    balance.candidates(schedules, 1)  # refuses unknown names before a graph is loaded
    backend = gpu()
    graph = Graph.load(args["graph"], comm=comm, build="host", **load_options(args))
    show_warnings(graph)
    if algorithm.undirected and graph.directed:
        graph = graph.undirected()
    graph = algorithm.edge_rule.applied(graph, arcs=False)
    compared = balance.candidates(schedules, graph.block.facts.largest_degree)
    starts = _starts(algorithm, graph, args)
    parameters: dict[str, Any] = {"source": starts[0]} if starts else {}
    if "return_predecessors" in algorithm.parameters:
        parameters["return_predecessors"] = False
    parameters |= chosen
    own = getattr(algorithm(**parameters), "traversal", None)  # of the variant
    usual = own.direction if own and own.direction != "auto" else DIRECTIONS.get(name, "push")
    direction = args.get("direction", usual)
    limited = {"max_rounds": args["max_rounds"]} if "max_rounds" in args else {}
    options = Options(direction=direction, **limited)
    about: dict[str, Any] = {
        "title": f"{' '.join([name, *map(str, chosen.values())])} on {graph.facts.name}",
        "command": " ".join([program(), "balance", *words]),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "facts": [
            f"{graph.n:,} vertices, {graph.m:,} edges, largest degree {graph.block.facts.largest_degree:,}",
            f"{backend.reason}; {direction}; "
            + ", ".join(f"{key} {value}" for key, value in (parameters | limited).items()),
            f"median of {repeat} runs each, cut after {args.get('limit', LIMIT):g} s"
            + f"; mean of {len(starts)} sources" * (len(starts) > 1),
        ],
    }
    show = (lambda text: None) if "quiet" in args else lambda text: print(text, file=sys.stderr, flush=True)
    cells = balance.measure(
        backend, name, graph, compared, options=options, repeat=repeat, limit=args.get("limit", LIMIT),
        parameters=parameters, announce=show, sources=starts,
    )  # fmt: skip
    print(about["title"], *(f"  {line}" for line in about["facts"]), "", balance.table(cells), sep="\n")
    if len(cells) <= 2:
        for cell in cells:
            print("", balance.detail(cell), sep="\n")
    if "json" in args:
        from dgraph.report.report_file import replacing

        replacing(args["json"], f"{json.dumps(balance.facts(cells, about))}\n".encode(), "--json")
    if "html" in args:
        balance.write_page(cells, about, args["html"])
    for kind in ("svg", "png"):
        if kind in args:
            write_picture(cells, about, args[kind], kind)
    return 0 if all(cell.right for cell in cells) else WRONG
