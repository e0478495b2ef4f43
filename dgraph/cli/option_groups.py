"""Options of the command line in groups by purpose: input, algorithm, partition, device, schedules, output and checks.

:func:`add_options` adds all of a run's; other commands take :func:`add_load_options` alone.
"""

from __future__ import annotations

import argparse
from copy import copy
from pathlib import Path
from typing import Any

from dgraph.backend.schedule_options import BUILDS, CHOICES, ROUNDS, options_of
from dgraph.backend.transport_names import AUTO, TRANSPORTS
from dgraph.cli.arguments import PROGRAM, Parser, flag
from dgraph.comm.watchdog import LIMIT, OFF
from dgraph.engine.checkpoint import RESUME
from dgraph.errors import UsageError
from dgraph.graph.devices import DEVICES
from dgraph.graph.file_formats import FILE_FORMATS
from dgraph.graph.load_options import DECIMALS, EDGE_DATA, IDS, MERGES, ORDERS
from dgraph.report import STYLES
from dgraph.testing import TestOptions
from launch.once import Once, Switch

RUN = (
    "weight", "policy", "build", "backend", "threads", "schedule", "gpus", "gpu_memory", "allow_gpu_sharing",
    "transport",
    "record", "rounds", "direction", "sync", "max_rounds", "watchdog", "validate",
    "checkpoint", "checkpoint_every", "resume",
)  # fmt: skip
"""Options of a run beside the graph's and the algorithm's, by destination."""

METAVARS = {int: "N", float: "X", str: "WORD", "vertex": "ID", "vertices": "IDS"}
"""Value of a parameter in help, by the parameter's type."""

VERTICES: dict[str, Any] = {"action": "append"}
"""Keywords of ``add_argument`` for options of vertices: names take an option each, and ids are refused later."""

WIDEST_CHOICES = 40
"""Characters of choices that help shows in place of a metavar; longer lists go into the text."""


class _FormatOption(Once):
    """``--format``: the format of the file that is read (``format``), or of standard output (``style``)."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        """Store the word of one of the two; each may be given once."""
        action = copy(self)
        action.dest = "style" if values in STYLES else "format"
        Once.__call__(action, parser, namespace, values, option)


def add_load_options(graph: Any, styles: bool = False) -> None:
    """Add the options that are fields of :class:`~dgraph.graph.load_options.LoadOptions`.

    ``styles``: ``--format`` also takes the formats of standard output.
    """
    directed = graph.add_mutually_exclusive_group()
    directed.add_argument("--directed", **flag(True), help="edges have a direction (default: as the input says)")
    directed.add_argument("--undirected", **flag(False, "directed"), help="take every edge in both directions")
    graph.add_argument(
        "--weights",
        metavar="RULE",
        help="make edge weights: unit (all 1), LO..HI (random), hash (random, 1..255), dimacs (distributed like road "
        "lengths); default: the input's; sssp and pagerank use them",
    )
    graph.add_argument("--seed", type=int, metavar="N", help="seed of the weights that --weights makes (default 1)")
    graph.add_argument("--keep-loops", **flag(), help="keep self-loops (default: dropped and counted)")
    graph.add_argument("--keep-parallel", **flag(), help="keep parallel edges (default: they are merged and counted)")
    graph.add_argument(
        "--merge",
        choices=MERGES,
        help="weight of the edge that stands for parallel ones: the min (default), max, sum or first of theirs, or "
        "their count",
    )
    graph.add_argument(
        "--keep",
        metavar="NAME[:RULE],...",
        help="keep columns of a table, or of text with a header, as attributes of the edges; parallel edges that merge "
        "have the first (default), min, max or sum of theirs",
    )
    graph.add_argument("--sparse-ids", **flag(), help="vertices are the ids that occur, not 0 .. n-1")
    graph.add_argument(
        "--ids",
        choices=IDS,
        help="vertex ids in an edge list: integer, or string: names of vertices (default: auto, "
        "names where a header or --columns names the ends and the first lines have words there)",
    )
    graph.add_argument(
        "--order", choices=ORDERS, help="internal vertex order: original (by id, default), or degree (largest first)"
    )
    graph.add_argument(
        "--lenient",
        **flag(),
        help="drop and count malformed lines, unless they are most lines (default: refuse the file)",
    )
    graph.add_argument(
        "--separator",
        metavar="C",
        help="separator of edge-list columns: one character, or tab (default: the tab, comma, semicolon, pipe or "
        "blanks that fit the first lines)",
    )
    graph.add_argument(
        "--comment", metavar="C", help="first character of comment lines; '': no line is a comment (default: # and %%)"
    )
    graph.add_argument("--decimal", choices=DECIMALS, help="decimal mark of weights in an edge list (default: .)")
    names = graph.add_mutually_exclusive_group()
    names.add_argument(
        "--header",
        **flag(True),
        help="the first line of an edge list is a header: column names, or counts (default: recognised by its form)",
    )
    names.add_argument("--no-header", **flag(False, "header"), help="the first line of an edge list is an edge")
    graph.add_argument(
        "--columns", metavar="S,T[,W]", help="columns of source, target and weight: names, or from 1 (default 1,2[,3])"
    )
    about = "format of the file, where its suffix does not say it: a suffix without its dot, such as txt"
    if styles:
        about += "; or output on stdout: table (default), json (one report a line), or the lines of the Graph500 or "
        about += "GAP benchmark's programs"
    graph.add_argument(
        "--format",
        action=_FormatOption,
        choices=(*(STYLES if styles else ()), *FILE_FORMATS),
        metavar="NAME",
        help=about,
    )
    graph.add_argument("--edge-data", choices=EDGE_DATA, help="type of the edge data in a Galois graph or .wsg")
    graph.add_argument("--no-verify", **flag(False, "verify"), help="do not check a store against its checksums")


def add_where(group: Any) -> None:
    """Add ``--where``."""
    group.add_argument(
        "--where",
        action="append",
        metavar="CONDITION",
        help="edges to take, such as time=2024-03 (a month) or 'amount>9': a column of the file, weight, source or "
        "target, one of = != < <= > >=, and a value, perhaps quoted: 'txt==\"=x\"'; repeated: all hold "
        "(default: every edge)",
    )


def add_weight(group: Any) -> None:
    """Add ``--weight``."""
    group.add_argument("--weight", metavar="NAME", help="the column of edges that is their weight")


def add_parameters(group: Any, algorithm: Any) -> None:
    """Add an algorithm's parameters; their destinations are ``parameter NAME``, that of ``--source`` is ``source``."""
    if algorithm.needs_source:
        declared = getattr(algorithm.parameters.get("source"), "default", None)
        default = "the input's own suggestion, else the vertex with most out-edges" if declared is None else declared
        group.add_argument(
            "--source",
            "--source-vertex",
            "--root",
            **VERTICES,
            metavar="ID",
            help="start vertex, by its id or name in the input; 1,2,3, @FILE, or the option again for another name: "
            f"one run each (default: {default})",
        )
    for parameter in algorithm.parameters.values():
        if parameter.name != "source" or not algorithm.needs_source:
            names = [f"--{name.replace('_', '-')}" for name in (parameter.name, *parameter.aliases)]
            group.add_argument(*names, dest=f"parameter {parameter.name}", **_settings(parameter))


def _settings(parameter: Any) -> dict[str, Any]:
    """Return the keywords of ``add_argument`` for a parameter."""
    about = parameter.help if parameter.default is None else f"{parameter.help} (default {parameter.default})"
    if parameter.type is bool:
        return {"action": Switch, "help": _escaped(about)}
    if parameter.type in ("vertex", "vertices"):
        return VERTICES | {"metavar": METAVARS[parameter.type], "help": _escaped(about)}
    choices = parameter.choices
    metavar: str | None = METAVARS.get(parameter.type, "VALUE")
    if choices and len("".join(map(str, choices))) > WIDEST_CHOICES:
        about = f"{about}: {', '.join(map(str, choices))}"
        metavar = "NAME"
    elif choices:
        metavar = None
    return {"type": parameter.type, "choices": choices, "metavar": metavar, "help": _escaped(about)}


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def add_options(parser: Parser, algorithm: Any = None) -> list[argparse.Action]:
    """Add every option of a run, in groups by purpose.

    Returns:
        The options of the algorithm's own parameters.

    Raises:
        UsageError: a parameter of the algorithm has the name of another option.
    """
    own: list[argparse.Action] = []
    try:
        _add_input(parser.add_argument_group("input"))
        group = parser.add_argument_group("algorithm")
        if algorithm is not None:
            add_parameters(group, algorithm)
            own = [*group._group_actions]
        _add_limits(group, algorithm)
        _add_partition(parser.add_argument_group("partition"))
        _add_device(parser.add_argument_group("device and ranks"))
        _add_schedules(parser.add_argument_group("GPU schedules", f"{_schedules()}\n{_rounds()}"))
        _add_output(parser.add_argument_group("output and report"))
        _add_checkpoints(parser.add_argument_group("checkpoints"))
        _add_checks(parser.add_argument_group("checks and debugging"))
    except argparse.ArgumentError as conflict:
        raise UsageError(
            f"{parser.name}: a parameter has the name of an option of dgraph ({conflict}); rename the parameter"
        ) from conflict
    return own


def _add_input(group: Any) -> None:
    group.add_argument(
        "graph",
        nargs="?",
        metavar="GRAPH",
        help="a file, known by its suffix, a store (a folder), or a generator NAME:SIZE[,key=value...] such as "
        f"rmat:20,seed=7; '{PROGRAM} list' names all (default: a small generated graph)",
    )
    add_load_options(group, styles=True)
    add_where(group)
    add_weight(group)


def _add_limits(group: Any, algorithm: Any) -> None:
    """Add the options of rounds that every algorithm has."""
    rounds = ["--max-rounds"]
    if algorithm is None or "max_iter" not in algorithm.parameters:
        rounds += ["--max-iter"]
    group.add_argument(
        *rounds, dest="max_rounds", type=int, metavar="N", help="stop after N rounds, with exit code 3 (default: none)"
    )
    group.add_argument(
        "--direction",
        choices=TestOptions.DIRECTIONS,
        help="push, pull, or auto: chosen each round by the frontier (default); flip, for tests: alternates",
    )


def _add_partition(group: Any) -> None:
    group.add_argument(
        "--policy",
        metavar="NAME[,option=value...]",
        help="owner of each vertex and edge: auto (default) reports its choice; MODULE:NAME: a policy of yours",
    )
    group.add_argument(
        "--build",
        choices=BUILDS,
        help="builder of a generated graph: host, or device: each GPU its part (default auto)",
    )


def _add_device(group: Any) -> None:
    group.add_argument("--backend", choices=DEVICES, help="device of the rounds (default auto: cuda if there is a GPU)")
    group.add_argument(
        "--threads", type=int, metavar="N", help="CPU threads per rank (default: the rank's share of the cores)"
    )
    group.add_argument(
        "--gpus", metavar="MAP", help="GPU of each rank of a node, in rank order: 0,1,2,3 (default: in turn)"
    )
    group.add_argument(
        "--gpu-memory",
        metavar="SIZE",
        help="most memory of a rank on its GPU, such as 20GiB (default: all that is free)",
    )
    group.add_argument("--allow-gpu-sharing", **flag(), help="let several ranks use one GPU")
    group.add_argument(
        "--transport", choices=(AUTO, *TRANSPORTS), help="message transport between GPUs (default auto: tested)"
    )
    group.add_argument(
        "--watchdog",
        metavar="SECONDS",
        help="end the job with exit code 124, naming the rank, if a rank waits that long for another one in rounds, "
        f"validation or output (default {LIMIT:g}; {OFF}: no limit)",
    )


def _add_schedules(group: Any) -> None:
    group.add_argument(
        "--schedule",
        metavar="NAME[,option=value...]",
        help="distribution of a round's edges over GPU threads (default auto), such as alb,threshold=threads",
    )
    group.add_argument(
        "--rounds", metavar="WORD[,WORD...]", help="rounds of several GPUs (default auto), such as local,limit=4096"
    )


def _schedules() -> str:
    """Return the options of the schedules, as lines of a help text."""
    names = dict.fromkeys(name for row in CHOICES.values() for name in row.schedules)
    lines = [
        "  " + ",".join([name, *(f"{row.option}={row.form}" for row in options_of(name).values())]) for name in names
    ]
    return "\n".join([f"options of schedules ('{PROGRAM} list' explains them and names all schedules):", *lines])


def _rounds() -> str:
    """Return the words of ``--rounds``, as lines of a help text."""
    return "\n".join(["words of --rounds:", *(f"  {word:10}{text}" for word, text in ROUNDS.items())])


def _add_output(group: Any) -> None:
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="result by vertex id: .csv, .parquet, .arrow, .feather, .npz (every column) or .txt ('vertex value' "
        "lines); with several sources FILE.SOURCE.csv",
    )
    group.add_argument("--top", type=int, metavar="K", help="print the K vertices of largest value (first column)")
    group.add_argument(
        "--attributes",
        type=Path,
        metavar="FILE",
        help="join a table of vertices, .csv, .parquet or .arrow, whose first column has ids or names, to --top and "
        "--output",
    )
    group.add_argument("--report", type=Path, metavar="FILE", help="seconds and bytes of each rank and round, as JSON")
    group.add_argument(
        "--rounds-table",
        type=Path,
        metavar="FILE.csv",
        help="direction, frontier and seconds of each round, as CSV; with several sources FILE.SOURCE.csv",
    )
    group.add_argument(
        "--record",
        metavar="WHAT[,WHAT]",
        help="also record residual (of each round, where a run has a tolerance), and of GPUs load (edges by thread), "
        "time (seconds by kernel), ranges (NVTX, for nsys)",
    )
    group.add_argument("-q", "--quiet", **flag(), help="print nothing but warnings, errors and the output of --format")


def _add_checkpoints(group: Any) -> None:
    group.add_argument(
        "--checkpoint", metavar="DIR", help="SIGUSR1 or SIGTERM ends the run with a checkpoint in DIR, and exit code 75"
    )
    group.add_argument(
        "--checkpoint-every", metavar="N|300s", help="also write one every N rounds, or s, m or h of time"
    )
    group.add_argument(
        "--resume", choices=RESUME, help="continue from DIR's checkpoint: auto: if there is one; must: refuse if not"
    )


def _add_checks(group: Any) -> None:
    group.add_argument(
        "--validate", **flag(), help="check the result by a certificate before it is written; exit code 1 if wrong"
    )
    group.add_argument(
        "--sync",
        choices=TestOptions.SYNCS,
        help="mirrors exchanged each round: auto (default): those that the program reads; full: all; poison, for "
        "tests: the others hold garbage",
    )
    group.add_argument("--traceback", **flag(), help="show where in the code an error was raised")
