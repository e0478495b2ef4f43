"""argv to a :class:`Request`. The options of an algorithm come from its parameters, the names from the registers."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from dgraph.backend.choices import CHOICES
from dgraph.cli.sources import names, sources, weighted
from dgraph.errors import UsageError, unknown
from dgraph.report import STYLES

PROGRAM = "python -m dgraph"
LOAD = (
    "directed", "weights", "keep_loops", "keep_parallel", "sparse_ids", "seed", "ids", "order",
    "lenient", "separator", "comment", "header", "columns", "edge_data", "verify",
)  # fmt: skip
RUN = (
    "policy",
    "backend",
    "threads",
    "schedule",
    *CHOICES,
    "gpus",
    "allow_gpu_sharing",
    "transport",
    "record",
    "direction",
    "sync",
    "max_rounds",
    "validate",
    "checkpoint",
    "checkpoint_every",
    "resume",
)
BACKENDS = ("auto", "cpu", "cuda")
DIRECTIONS = ("auto", "push", "pull", "flip")
SYNCS = ("auto", "full", "poison")
TRANSPORTS = ("auto", "p2p", "nccl", "mpi-device", "mpi-host")
RESUME = ("auto", "must")
IDS = ("integer", "string")
ORDERS = ("original", "degree")
EDGE_DATA = ("int32", "int64", "float32", "float64")
COMMANDS = {
    "list": "Algorithms with their parameters, policies, formats, generators (--json).",
    "warmup": "Compile ahead what runs will need, of all algorithms or of those named: minutes, once a machine.",
    "convert": "Read a graph and write it in another format: .csv .el .gr .mtx .npz .parquet .sg .txt .wel .wsg.",
    "info": "Show a graph: its file, degrees, components, diameter (at least); what representations cost.",
    "doctor": "Look at this machine, this launch and its GPUs: what is well, what to mend (--json).",
    "balance": "Compare load-balancing schedules on a GPU: time, memory, edges by thread block, warp and thread.",
    "estimate": "How much memory runs will need of each rank, by algorithm, policy and number of ranks.",
    "fetch": "Download real graphs by name; without a name, what there is.",
    "report": "Show and compare the reports of runs; as a page (--html) or a trace (--trace).",
}
READERS = {"vertices": weighted}
"""How a parameter whose type is not a Python type is read."""

EXAMPLES = """\
examples:
  mpirun -n 4 python -m dgraph sssp
  mpirun -n 4 python -m dgraph bfs web.el --source 7 --output levels.txt
  mpirun -n 4 python -m dgraph sssp rmat:20 --weights 1..255 --source @sources.txt --output dist.npz
  python -m dgraph pagerank graph.mtx --alpha 0.9 --tol 1e-8 --policy metis --report run.json
  mpirun -n 4 python -m dgraph bfs kron:20 --source @sources.txt --format graph500
  python -m dgraph list

exit codes: 0 done; 1 --validate found the answer wrong, or doctor a fault; 2 the request cannot be carried out;
3 a tolerance or round limit was not met (output is written); 65 bad data; 70 a fault of dgraph; 74 reading or
writing failed; 75 stopped with a checkpoint: --resume auto goes on; 130 interrupted."""


@dataclass(frozen=True)
class Request:
    """What the command line asks for.

    Attributes:
        algorithm: its name in the register.
        graph: file or generator; None: a generated one of dgraph's choice.
        load, run: keyword arguments of :class:`~dgraph.graph.load.LoadOptions` and of :func:`dgraph.run`.
        parameters: of the algorithm, only those given.
        sources: one run each; None where the user named none.
        output, report: files to write.
        quiet: nothing is printed but errors, and what ``format`` asks for.
        command: the words that asked for it.
        format: what stdout gets, a key of ``dgraph.report.STYLES``; None where none was named.
    """

    algorithm: str
    graph: str | None
    load: dict[str, Any]
    run: dict[str, Any]
    parameters: dict[str, Any]
    sources: list[int] | list[str] | None
    output: Path | None
    report: Path | None
    quiet: bool
    command: tuple[str, ...]
    format: str | None = None


@dataclass(frozen=True)
class WarmUp:
    """``warmup``: the algorithms to compile ahead."""

    algorithms: tuple[str, ...]
    quiet: bool


@dataclass(frozen=True)
class Task:
    """What a command of its own file asks for: ``do`` it on every rank; the exit code."""

    do: Callable[[Any], int]


def parse(words: Sequence[str], algorithms: Mapping[str, Any]) -> Request | WarmUp | Task | str:
    """The request of a command line, or the text that answers it (help, version, lists).

    ``algorithms`` is the register: name → :class:`~dgraph.algorithms.Algorithm`.

    Raises:
        UsageError: an unknown name or option, or a value that is none.
        DataError, OutputError: ``--source @FILE`` is not a list of vertices, or cannot be read.
    """
    first = words[0] if words else ""
    try:
        if first == "list":
            return _list(words[1:])
        if first == "warmup":
            return _warmup(words[1:], algorithms)
        if first in COMMANDS:
            return import_module(f"dgraph.cli.{first}").task(words[1:])
        if first in algorithms:
            return _request(_algorithm_parser(algorithms[first]), words[1:], algorithms[first])
        if first.startswith("-"):
            _general_parser(algorithms).parse_known_args(words)
            raise UsageError(f"got {first} first; the algorithm comes first: {PROGRAM} ALGORITHM [GRAPH] [options]")
    except _Said as said:
        return str(said)
    if not first:
        raise UsageError(f"no algorithm named; known are {', '.join(sorted(algorithms))}; see {PROGRAM} --help")
    raise unknown("algorithm", first, [*algorithms, *COMMANDS])


class _Said(Exception):
    """The text that was asked for in place of a run."""


class _Parser(argparse.ArgumentParser):
    """argparse that raises: never prints, never exits, so that all ranks can end together."""

    def __init__(self, **options: Any):
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, argument_default=argparse.SUPPRESS, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")

    def print_help(self, file: Any = None) -> NoReturn:
        raise _Said(self.format_help().rstrip())


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30, width=100)


class _Version(argparse.Action):
    def __call__(self, *_: Any) -> NoReturn:
        from dgraph.version import __version__

        raise _Said(f"dgraph {__version__}")


def _general_parser(algorithms: Mapping[str, Any]) -> _Parser:
    helps = {name: summary(algorithm) for name, algorithm in algorithms.items()} | COMMANDS
    width = max(map(len, helps)) + 2
    lines = [f"  {name:{width}}{text}" for name, text in helps.items()]
    parser = _Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} ALGORITHM [GRAPH] [options]",
        description="Distributed graph analytics. Start it alone, or on every rank with mpirun, mpiexec or srun.\n\n"
        "algorithms:\n" + "\n".join(lines) + f"\n\nThe parameters of one: {PROGRAM} ALGORITHM --help",
        epilog=EXAMPLES,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    _add_shared(parser)
    return parser


def _algorithm_parser(algorithm: Any) -> _Parser:
    prog = f"{PROGRAM} {algorithm.name}"
    notes = []
    if algorithm.weighted:
        notes.append("Uses the edges' weights.")
    if algorithm.undirected:
        notes.append("Needs an undirected graph: a directed one is taken with every edge in both directions.")
    parser = _Parser(
        prog=prog,
        usage=f"{prog} [GRAPH] [options]",
        description="\n".join([summary(algorithm), *notes]),
        epilog=EXAMPLES,
    )
    _add_parameters(parser.add_argument_group("algorithm"), algorithm)
    _add_shared(parser, algorithm)
    return parser


def summary(member: object) -> str:
    """The first line of its docstring."""
    return (member.__doc__ or "").strip().partition("\n")[0]


def _add_parameters(group: Any, algorithm: Any) -> None:
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
            options["action"] = argparse.BooleanOptionalAction
        else:
            options |= {"type": READERS.get(parameter.type, parameter.type), "choices": parameter.choices}
            options["metavar"] = None if parameter.choices else parameter.name.upper()
        group.add_argument(*names, **options)


def _add_shared(parser: _Parser, algorithm: Any = None) -> None:
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
        help="who owns which vertex and edge: auto (default) says what it took and why; MODULE:NAME is your own",
    )
    run = parser.add_argument_group("run")
    run.add_argument("--backend", choices=BACKENDS, help="where the rounds run (default auto)")
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
    run.add_argument("--transport", choices=TRANSPORTS, help="what joins GPUs (default auto: tested, then chosen)")
    run.add_argument(
        "--record", metavar="WHAT", help="also report of GPUs: load (edges by thread block), time (by kernel), ranges"
    )
    run.add_argument("--direction", choices=DIRECTIONS, help="how edges are walked; flip: changes every round")
    run.add_argument("--sync", choices=SYNCS, help="what is exchanged (default auto: what the partition makes needed)")
    rounds = ["--max-rounds"]
    if algorithm is None or not {"max_iter"} & algorithm.parameters.keys():
        rounds += ["--max-iter"]
    run.add_argument(*rounds, dest="max_rounds", type=int, metavar="N", help="stop after N rounds, with exit code 3")
    run.add_argument("--validate", **flag(), help="prove the answer right before it is written, else exit code 1")
    kept = parser.add_argument_group("checkpoints")
    kept.add_argument(
        "--checkpoint", metavar="DIR", help="SIGUSR1 ends the run with a checkpoint in DIR, and exit code 75"
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
    output.add_argument("--report", type=Path, metavar="FILE", help="timings of every rank and round, as JSON")
    output.add_argument(
        "--format",
        choices=tuple(STYLES),
        help="what is printed of the runs: a table (default), their reports as JSON, one a line, "
        "or the lines of Graph500's and the GAP benchmark's programs",
    )
    output.add_argument("-q", "--quiet", **flag(), help="print nothing but errors (and what --format asks for)")
    output.add_argument("--traceback", **flag(), help="show where in the code an error was raised")


def add_load_options(graph: Any) -> None:
    """The options whose names are the fields of :class:`~dgraph.graph.load.LoadOptions`."""
    way = graph.add_mutually_exclusive_group()
    way.add_argument("--directed", **flag(True), help="an edge goes one way, whatever the input says")
    way.add_argument("--undirected", **flag(False, "directed"), help="an edge goes both ways")
    graph.add_argument("--weights", metavar="RULE", help="replace the weights: unit (1), LO..HI, hash (1..255), dimacs")
    graph.add_argument("--keep-loops", **flag(), help="keep self-loops (default: dropped and counted)")
    graph.add_argument("--keep-parallel", **flag(), help="keep parallel edges (default: the lightest one, counted)")
    graph.add_argument("--sparse-ids", **flag(), help="the vertices are the ids that occur, not 0 .. n-1")
    graph.add_argument("--seed", type=int, metavar="N", help="seed of the weights that --weights makes (default 1)")
    graph.add_argument("--ids", choices=IDS, help="what an edge list calls vertices: integers (default) or words")
    graph.add_argument("--order", choices=ORDERS, help="how vertices are numbered inside: by id, or by degree")
    graph.add_argument("--lenient", **flag(), help="drop lines of text that are not as they should be; counted")
    graph.add_argument("--separator", metavar="C", help="between columns of an edge list (default: , ; and blanks)")
    graph.add_argument("--comment", metavar="C", help="begins a comment line of an edge list (default: # and %%)")
    names = graph.add_mutually_exclusive_group()
    names.add_argument("--header", **flag(True), help="the first line of an edge list names its columns")
    names.add_argument("--no-header", **flag(False, "header"), help="it does not, also in a .csv or .tsv file")
    graph.add_argument("--columns", metavar="S,T[,W]", help="where source, target, weight stand, counted from 1")
    graph.add_argument("--edge-data", choices=EDGE_DATA, help="what the edge data of a Galois graph are")
    graph.add_argument("--no-verify", **flag(False, "verify"), help="do not check a store against its checksums")


def flag(value: bool = True, of: str | None = None) -> dict[str, Any]:
    """An option without an argument that is absent from what was parsed unless it was given."""
    action = {"action": "store_const", "const": value, "default": argparse.SUPPRESS}
    return action | ({"dest": of} if of else {})


def _request(parser: _Parser, words: Sequence[str], algorithm: Any) -> Request:
    found, rest = parser.parse_known_intermixed_args(words)
    if rest:
        _refuse(rest, parser)
    given = vars(found)
    for name in ("max_rounds", "threads"):
        if given.get(name, 1) < 1:
            parser.error(f"got --{name.replace('_', '-')} {given[name]}, but it is 1 or more")
    return Request(
        algorithm=algorithm.name,
        graph=given.get("graph"),
        load={name: given[name] for name in LOAD if name in given},
        run={name: given[name] for name in RUN if name in given},
        parameters={
            name.removeprefix("parameter "): value for name, value in given.items() if name.startswith("parameter ")
        },
        sources=(names if given.get("ids") == "string" else sources)(given["source"]) if "source" in given else None,
        output=given.get("output"),
        report=given.get("report"),
        quiet=given.get("quiet", False),
        command=(*PROGRAM.split(), algorithm.name, *words),
        format=given.get("format"),
    )


def _refuse(words: Sequence[str], parser: _Parser) -> NoReturn:
    options = [word for word in words if word.startswith("-")]
    if not options:
        parser.error(f"got {words[0]!r} beside the graph, but there is one graph a run")
    name = options[0].partition("=")[0]
    close = difflib.get_close_matches(name, parser._option_string_actions, 1)
    parser.error(f"unknown option {name}" + (f": did you mean {close[0]}?" if close else ""))


def command_parser(name: str) -> _Parser:
    """A parser for one of ``COMMANDS``."""
    parser = _Parser(prog=f"{PROGRAM} {name}", description=COMMANDS[name])
    parser.add_argument("--traceback", **flag(), help=argparse.SUPPRESS)
    return parser


def parsed(parser: _Parser, words: Sequence[str]) -> dict[str, Any]:
    """What ``words`` hold; nothing that no option knows."""
    found, rest = parser.parse_known_intermixed_args(words)
    if rest:
        _refuse(rest, parser)
    return vars(found)


def _list(words: Sequence[str]) -> str:
    from dgraph.cli.listing import listing

    parser = command_parser("list")
    parser.add_argument("--json", **flag(), help="as JSON")
    return listing(json="json" in parsed(parser, words))


def _warmup(words: Sequence[str], algorithms: Mapping[str, Any]) -> WarmUp:
    parser = command_parser("warmup")
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help="default: all of them")
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but errors")
    given = parsed(parser, words)
    named = given.get("algorithms") or list(algorithms)
    for name in named:
        if name not in algorithms:
            raise unknown("algorithm", name, algorithms)
    return WarmUp(tuple(named), "quiet" in given)
