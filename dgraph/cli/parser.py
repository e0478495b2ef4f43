"""Parser of the command line: argv → :class:`RunRequest`, :class:`~dgraph.cli.commands.Task` or the text of an answer.

:func:`parse` is the entry. Options of an algorithm come from its parameters, names from the registers.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from dgraph._support.peer_names import expressions
from dgraph.cli.arguments import PROGRAM, HelpRequested, Parser, program, summary
from dgraph.cli.commands import COMMANDS, Task, task_of
from dgraph.cli.option_groups import RUN, add_options
from dgraph.cli.short_help import OWN_PROGRAM, of_algorithm, overview
from dgraph.cli.sources import Vertices, has_names
from dgraph.errors import UsageError, unknown
from dgraph.graph.load_options import load_options

WITH_PATHS = ("bfs", "sssp")
"""Algorithms that print the path to their ``--target``."""

PATHS = "bfs, or sssp by weights, with --source V --target W, which prints a path"

USAGE = f"{PROGRAM} ALGORITHM [GRAPH] [options]"
EPILOG = f"""\
examples:
  mpirun -n 4 {PROGRAM} sssp
  mpirun -n 4 {PROGRAM} bfs web.el --source 7 --output levels.txt
  mpirun -n 4 {PROGRAM} sssp rmat:20 --weights 1..255 --source @sources.txt --output dist.npz
  {PROGRAM} pagerank graph.mtx --alpha 0.9 --max-iter 300 --policy metis --report run.json
  {PROGRAM} bfs rmat:22 --backend cuda --schedule alb,threshold=threads
  mpirun -n 4 {PROGRAM} bfs kron:20 --source @sources.txt --format graph500
  mpirun -n 4 {PROGRAM} examples/widest_path.py:WidestPath grid:300x300 --weights 1..1000

exit codes:
  0 done                                 70 fault of dgraph
  1 --validate or doctor found a fault   74 reading or writing failed
  2 the request cannot be carried out    75 stopped with a checkpoint: --resume auto continues
  3 tolerance or round limit not met,   124 ended by --watchdog
    output written                      130 interrupted
 65 bad data"""


@dataclass(frozen=True)
class RunRequest:
    """Run that the command line asks for.

    Attributes:
        algorithm: name in the register, or of the user's class.
        graph: file or generator; None: a default generated graph.
        load: keyword arguments of :class:`~dgraph.graph.load_options.LoadOptions`.
        run: options of the run, by the names in ``dgraph.cli.option_groups.RUN``.
        parameters: parameters of the algorithm that were given.
        sources: start vertices, one run each; None where none was given. Here, in ``target`` and in ``parameters``
            stand :class:`Vertices` until :meth:`resolved`, if vertices may have names.
        output, report, rounds_table: files to write.
        quiet: True if nothing is printed but errors and the output of ``format``.
        command: the words of the command line.
        format: key of ``dgraph.report.STYLES`` for stdout; None where none was given.
        target: vertex to which a shortest path is printed; None where none was given.
        definition: class of the algorithm: of the register, or made from the user's class.
        where: conditions that edges fulfil.
        top: rows of largest value that are printed.
        attributes: table of vertices that is joined to the rows.
    """

    algorithm: str
    graph: str | None
    load: dict[str, Any]
    run: dict[str, Any]
    parameters: dict[str, Any]
    sources: Any
    output: Path | None
    report: Path | None
    quiet: bool
    command: tuple[str, ...]
    format: str | None = None
    definition: Any = field(default=None, compare=False)
    target: Any = None
    rounds_table: Path | None = None
    where: tuple[str, ...] = ()
    top: int | None = None
    attributes: Path | None = None

    def resolved(self, read: Callable[[Vertices], Any]) -> RunRequest:
        """Return the request with ids or names in place of :class:`Vertices`, as ``read`` returns them."""

        def of(value: Any) -> Any:
            if isinstance(value, list):
                return [of(member) for member in value]
            return read(value) if isinstance(value, Vertices) else value

        parameters = {name: of(value) for name, value in self.parameters.items()}
        return replace(self, sources=of(self.sources), target=of(self.target), parameters=parameters)


def parse(words: Sequence[str], algorithms: Mapping[str, Any]) -> RunRequest | Task | str:
    """Return the request of a command line, or the text that answers it (help, version, lists).

    Args:
        words: the command line without the program's name; none: the short help answers.
        algorithms: the register: name → :class:`~dgraph.algorithms.Algorithm`.

    Raises:
        UsageError: an unknown name or option, or a wrong value.
        DataError: a file of ``--source @FILE`` does not list vertices.
        OutputError: it cannot be read.
    """
    first = words[0] if words else "--help"
    try:
        if first in COMMANDS:
            return task_of(first, words[1:])
        if first in algorithms:
            return _request(algorithms[first], first, words[1:])
        if first.startswith("-"):
            _general_parser(algorithms).parse_known_args(words or [first])
            raise UsageError(f"got {first} first; the algorithm comes first: {USAGE.replace(PROGRAM, program())}")
        if definition := _own_algorithm(first):
            return _request(definition, first, words[1:])
    except HelpRequested as text:
        return str(text)
    if other := _here(first):
        raise UsageError(f"unknown algorithm or command {first!r}: there is {other}")
    raise UsageError(
        f"{unknown('algorithm or command', first, [*algorithms, *COMMANDS])}; {OWN_PROGRAM} runs a program of your own"
    )


def _here(name: str) -> str | None:
    """Return the command for a name that users of Python and other libraries know; None for other names."""
    expression = expressions("graph").get(name, "")
    if "shortest_path" in expression:
        return PATHS
    match = re.match(r"dgraph\.(\w+)\(graph", expression)
    return match and match[1]


def _own_algorithm(first: str) -> Any:
    """Return the algorithm of a ``MODULE:CLASS``; None if the word has not that form."""
    from dgraph.graph.generate import is_generator

    if first.endswith(".py") and Path(first).exists():
        raise UsageError(f"got {first} without a class; write {program()} {first}:CLASS [GRAPH] [options]")
    _, colon, name = first.rpartition(":")
    if (is_generator(first) and not name.isidentifier()) or (not colon and Path(first).exists()):
        raise UsageError(f"got {first} first, which is a graph; write {program()} ALGORITHM {first} [options]")
    if not colon:
        return None
    from dgraph.cli.user_algorithm import user_algorithm

    return user_algorithm(first)


class _Version(argparse.Action):
    def __call__(self, *_: Any) -> NoReturn:
        from dgraph._support.version import __version__

        raise HelpRequested(f"dgraph {__version__}")


def _general_parser(algorithms: Mapping[str, Any]) -> Parser:
    parser = Parser(
        prog=PROGRAM,
        usage=USAGE,
        description=f"Distributed graph analytics. Parameters of one algorithm: {PROGRAM} ALGORITHM --help",
        epilog=EPILOG,
        short_help=lambda _: overview(algorithms),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    add_options(parser)
    return parser


def _algorithm_parser(algorithm: Any, word: str) -> Parser:
    prog = f"{PROGRAM} {word}"
    notes = []
    if algorithm.weighted:
        notes.append("Uses the weights of edges, if the graph has any; --weights unit ignores them.")
    if algorithm.undirected:
        notes.append("Needs an undirected graph: of a directed one, every edge is taken in both directions.")
    notes.append(f"In graphs that keep them, {algorithm.edge_rule.words}.")
    parser = Parser(
        surplus="beside the graph, but there is one graph a run",
        prog=prog,
        usage=f"{prog} [GRAPH] [options]",
        description="\n".join([summary(algorithm).replace("``", ""), *notes]),
        epilog=EPILOG,
        short_help=lambda parser: of_algorithm(parser, own),
    )
    own = add_options(parser, algorithm)
    return parser


def _request(algorithm: Any, word: str, words: Sequence[str]) -> RunRequest:
    """Return the request of the ``words`` behind the one that names the algorithm."""
    parser = _algorithm_parser(algorithm, word)
    args = parser.parsed(words)
    if "parameter target" in args and args.get("parameter return_predecessors") is False:
        parser.error("--target follows predecessors, which --no-return-predecessors leaves out; drop one of them")
    for name in ("max_rounds", "threads", "top"):
        if not 1 <= args.get(name, 1) < 2**63:
            parser.error(f"got --{name.replace('_', '-')} {args[name]}, but it is 1 or more, in 64 bits")
    parameters = {name.removeprefix("parameter "): args[name] for name in args if name.startswith("parameter ")}
    for name in getattr(algorithm, "required", ()):
        if name not in parameters:
            parser.error(f"--{name.replace('_', '-')} is missing, and its parameter has no default; give it")
    for name in parameters:
        parameter = algorithm.parameters[name]
        if parameter.type in ("vertex", "vertices"):
            one = parameter.type == "vertex"
            weights = parameter.weights and not one
            option = f"--{name.replace('_', '-')}"
            if parameter.groups:
                parameters[name] = [Vertices.of(option, [argument], weights) for argument in parameters[name]]
            else:
                parameters[name] = Vertices.of(option, parameters[name], weights, one)
    request = RunRequest(
        algorithm=algorithm.name,
        graph=args.get("graph"),
        load=load_options(args),
        run={name: args[name] for name in RUN if name in args},
        parameters=parameters,
        sources=Vertices.of("--source", args["source"]) if "source" in args else None,
        output=args.get("output"),
        report=args.get("report"),
        quiet=args.get("quiet", False),
        command=(*program().split(), word, *words),
        format=args.get("style"),
        definition=algorithm,
        target=parameters.get("target") if algorithm.name in WITH_PATHS else None,
        rounds_table=args.get("rounds_table"),
        where=tuple(args.get("where", ())),
        top=args.get("top"),
        attributes=args.get("attributes"),
    )
    named = has_names(args.get("graph"), args.get("ids"))
    if named is False:
        return request.resolved(lambda vertices: vertices.read(named=False))
    if named:
        request.resolved(lambda vertices: vertices.read(named=True))  # refuses words that are not vertices
    return request
