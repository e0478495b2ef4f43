"""Groups of options: how a graph is loaded, how a run goes, what it writes, an algorithm's parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dgraph.backend import BACKENDS
from dgraph.backend.schedule_options import BUILDS, CHOICES, ROUNDS
from dgraph.backend.transport_names import AUTO, TRANSPORTS
from dgraph.cli.arguments import Parser, flag
from dgraph.cli.commands import PROGRAM
from dgraph.comm.watchdog import LIMIT, OFF
from dgraph.engine.checkpoint import RESUME
from dgraph.engine.rounds.driver import DIRECTIONS, SYNCS
from dgraph.graph.load_options import EDGE_DATA, IDS, ORDERS
from dgraph.report import STYLES
from launch.once import Switch

RUN = (
    "policy", "build", "backend", "threads", "schedule", *CHOICES, "gpus", "allow_gpu_sharing", "transport", "record",
    *ROUNDS, "direction", "sync", "max_rounds", "watchdog", "validate", "checkpoint", "checkpoint_every", "resume",
)  # fmt: skip
"""Of :func:`dgraph.run`'s keywords, those that are options."""


def add_load_options(graph: Any) -> None:
    """The options whose names are the fields of :class:`~dgraph.graph.load.LoadOptions`."""
    way = graph.add_mutually_exclusive_group()
    way.add_argument("--directed", **flag(True), help="an edge goes one way (default: as the input says)")
    way.add_argument("--undirected", **flag(False, "directed"), help="an edge goes both ways")
    graph.add_argument(
        "--weights",
        metavar="RULE",
        help="make weights (default: the input's; sssp and pagerank use them): unit (1: as if there were none), "
        "LO..HI (drawn), hash (1..255), dimacs (as road lengths)",
    )
    graph.add_argument("--keep-loops", **flag(), help="keep self-loops (default: dropped and counted)")
    graph.add_argument("--keep-parallel", **flag(), help="keep parallel edges (default: the lightest one, counted)")
    graph.add_argument("--sparse-ids", **flag(), help="the vertices are the ids that occur, not 0 .. n-1")
    graph.add_argument("--seed", type=int, metavar="N", help="seed of the weights that --weights makes (default 1)")
    graph.add_argument(
        "--ids", choices=IDS, help="what an edge list calls vertices: integers (default), or string: words"
    )
    graph.add_argument(
        "--order", choices=ORDERS, help="how vertices are numbered inside: by id (default), or by degree"
    )
    graph.add_argument(
        "--lenient",
        **flag(),
        help="drop and count lines that cannot be read, if they are not most (default: refuse the file)",
    )
    graph.add_argument("--separator", metavar="C", help="between columns of an edge list (default: , ; and blanks)")
    graph.add_argument("--comment", metavar="C", help="begins a comment line of an edge list (default: # and %%)")
    names = graph.add_mutually_exclusive_group()
    names.add_argument(
        "--header",
        **flag(True),
        help="the first line of an edge list is no edge: it names columns, or counts (default: as it reads)",
    )
    names.add_argument("--no-header", **flag(False, "header"), help="the first line of an edge list is an edge")
    graph.add_argument(
        "--columns", metavar="S,T[,W]", help="where source, target, weight stand, counted from 1 (default 1,2[,3])"
    )
    graph.add_argument("--edge-data", choices=EDGE_DATA, help="what the edge data of a Galois graph are")
    graph.add_argument("--no-verify", **flag(False, "verify"), help="do not check a store against its checksums")


def add_parameters(group: Any, algorithm: Any) -> None:
    if algorithm.needs_source:
        group.add_argument(
            "--source",
            "--source-vertex",
            "--root",
            metavar="ID",
            help="start vertex, by its id in the input; 1,2,3 or @FILE: several, one run each on the graph loaded "
            "once (default: the input's own suggestion, else the vertex with most out-edges)",
        )
    for parameter in algorithm.parameters.values():
        if parameter.name == "source" and algorithm.needs_source:
            continue
        names = [f"--{name.replace('_', '-')}" for name in (parameter.name, *parameter.aliases)]
        default = "" if parameter.default is None else f" (default {parameter.default})"
        options: dict[str, Any] = {"dest": f"parameter {parameter.name}"}
        options["help"] = f"{parameter.help}{default}".replace("%", "%%")
        if parameter.type is bool:
            options["action"] = Switch
        else:
            options |= {"type": str if parameter.type == "vertices" else parameter.type, "choices": parameter.choices}
            options["metavar"] = None if parameter.choices else parameter.name.upper()
        group.add_argument(*names, **options)


def add_run_options(parser: Parser, algorithm: Any = None) -> None:
    graph = parser.add_argument_group("graph")
    graph.add_argument(
        "graph",
        nargs="?",
        metavar="GRAPH",
        help="a file, known by its suffix, a store (a folder), or a generator NAME:SIZE[,key=value...] such as "
        f"rmat:20,seed=7; '{PROGRAM} list' names all (default: a small generated graph)",
    )
    add_load_options(graph)
    parser.add_argument_group("partition").add_argument(
        "--policy",
        metavar="NAME[,option=value...]",
        help="who owns which vertex and edge: auto (default) says what it took and why; MODULE:NAME is yours",
    )
    run = parser.add_argument_group("run")
    run.add_argument(
        "--build", choices=BUILDS, help="who makes a generated graph: host (default), or each GPU its part"
    )
    run.add_argument(
        "--backend", choices=BACKENDS, help="where the rounds run (default auto: cuda where there is a GPU)"
    )
    run.add_argument("--threads", type=int, metavar="N", help="threads a rank (default: its share of the cores)")
    run.add_argument(
        "--schedule", metavar="NAME", help="how a GPU spreads a round's edges over threads (default auto; see list)"
    )
    for choice in CHOICES.values():
        about = f"of {', '.join(choice.schedules)}: {choice.help} (default {choice.default})"
        run.add_argument(choice.flag, metavar=choice.form, help=about)
    run.add_argument(
        "--gpus", metavar="MAP", help="the GPU of each rank of a node, by place: 0,1,2,3 (default in turn)"
    )
    run.add_argument("--allow-gpu-sharing", **flag(), help="several ranks may have one GPU")
    run.add_argument(
        "--transport", choices=(AUTO, *TRANSPORTS), help="what joins GPUs (default auto: tested, then chosen)"
    )
    run.add_argument(
        "--record",
        metavar="WHAT[,WHAT]",
        help="also of GPUs: load (edges by thread), time (seconds by kernel), ranges (for nsys)",
    )
    for name in ("local_rounds", "host_rounds", "overlap"):
        run.add_argument(f"--{name.replace('_', '-')}", **flag(), help=ROUNDS[name])
    run.add_argument("--across-limit", type=int, metavar="N", help=ROUNDS["across_limit"])
    run.add_argument(
        "--direction",
        choices=DIRECTIONS,
        help="how edges are walked (default auto: by frontier); flip, a test aid: changes every round",
    )
    run.add_argument(
        "--sync",
        choices=SYNCS,
        help="what is exchanged (default auto: what the partition makes needed; full: all; poison: a test aid)",
    )
    rounds = ["--max-rounds"]
    if algorithm is None or not {"max_iter"} & algorithm.parameters.keys():
        rounds += ["--max-iter"]
    run.add_argument(
        *rounds, dest="max_rounds", type=int, metavar="N", help="stop after N rounds, with exit code 3 (default: none)"
    )
    run.add_argument(
        "--watchdog",
        metavar="SECONDS",
        help="end the job with exit code 124 if a rank waits so long for another one while rounds run, "
        f"and say for which (default {LIMIT:g}; {OFF}: wait for ever)",
    )
    run.add_argument("--validate", **flag(), help="prove the answer right before it is written, else exit code 1")
    kept = parser.add_argument_group("checkpoints")
    kept.add_argument(
        "--checkpoint", metavar="DIR", help="SIGUSR1 or SIGTERM ends the run with a checkpoint in DIR, and exit code 75"
    )
    kept.add_argument(
        "--checkpoint-every", metavar="N|300s", help="write one every N rounds, or every so many s, m or h"
    )
    kept.add_argument(
        "--resume", choices=RESUME, help="go on from DIR's checkpoint: auto: if there is one; must: refuse if not"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the answer by vertex id: .txt ('vertex value' lines) or .npz (every column); "
        "with several sources FILE.SOURCE.txt",
    )
    output.add_argument(
        "--report", type=Path, metavar="FILE", help="seconds and bytes of every rank and round, as JSON"
    )
    output.add_argument(
        "--format",
        choices=tuple(STYLES),
        help="what is printed of the runs: a table (default), their reports as JSON, one a line, "
        "or the lines of Graph500's and the GAP benchmark's programs",
    )
    output.add_argument("-q", "--quiet", **flag(), help="print nothing but errors (and what --format asks for)")
    output.add_argument("--traceback", **flag(), help="show where in the code an error was raised")
