"""argv to a :class:`Request`. The options of an algorithm come from its parameters, the names from the registers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dgraph.cli.arguments import HelpRequested, Parser, summary
from dgraph.cli.commands import COMMANDS, PROGRAM, Task, task_of
from dgraph.cli.run_options import RUN, add_parameters, add_run_options
from dgraph.cli.sources import names, sources, weighted
from dgraph.errors import UsageError, unknown
from dgraph.graph.load_options import load_options

EXAMPLES = """\
examples:
  mpirun -n 4 python -m dgraph sssp
  mpirun -n 4 python -m dgraph bfs web.el --source 7 --output levels.txt
  mpirun -n 4 python -m dgraph sssp rmat:20 --weights 1..255 --source @sources.txt --output dist.npz
  python -m dgraph pagerank graph.mtx --alpha 0.9 --max-iter 300 --policy metis --report run.json
  mpirun -n 4 python -m dgraph bfs kron:20 --source @sources.txt --format graph500
  python -m dgraph list

exit codes: 0 done; 1 --validate found the answer wrong, or doctor a fault; 2 the request cannot be carried out;
3 a tolerance or round limit was not met (output is written); 65 bad data; 70 a fault of dgraph; 74 reading or
writing failed; 75 stopped with a checkpoint: --resume auto goes on; 124 --watchdog ended it; 130 interrupted."""


@dataclass(frozen=True)
class Request:
    """What the command line asks for.

    Attributes:
        algorithm: its name in the register.
        graph: file or generator; None: a generated one of dgraph's choice.
        load, run: keyword arguments of :class:`~dgraph.graph.load_options.LoadOptions` and of :func:`dgraph.run`.
        parameters: of the algorithm, only those given.
        sources: one run each; None where the user named none.
        output, report: files to write.
        quiet: nothing is printed but errors, and what ``format`` asks for.
        command: the words that task_of for it.
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


def parse(words: Sequence[str], algorithms: Mapping[str, Any]) -> Request | Task | str:
    """The request of a command line, or the text that answers it (help, version, lists).

    ``algorithms`` is the register: name → :class:`~dgraph.algorithms.Algorithm`.

    Raises:
        UsageError: an unknown name or option, or a value that is none.
        DataError, OutputError: ``--source @FILE`` is not a list of vertices, or cannot be read.
    """
    first = words[0] if words else ""
    try:
        if first in COMMANDS:
            return task_of(first, words[1:])
        if first in algorithms:
            return _request(_algorithm_parser(algorithms[first]), words[1:], algorithms[first])
        if first.startswith("-"):
            _general_parser(algorithms).parse_known_args(words)
            raise UsageError(f"got {first} first; the algorithm comes first: {PROGRAM} ALGORITHM [GRAPH] [options]")
    except HelpRequested as said:
        return str(said)
    if not first:
        raise UsageError(f"no algorithm named; known are {', '.join(sorted(algorithms))}; see {PROGRAM} --help")
    raise unknown("algorithm or command", first, [*algorithms, *COMMANDS])


class _Version(argparse.Action):
    def __call__(self, *_: Any) -> NoReturn:
        from dgraph._support.version import __version__

        raise HelpRequested(f"dgraph {__version__}")


def _general_parser(algorithms: Mapping[str, Any]) -> Parser:
    helps = {name: summary(algorithm) for name, algorithm in algorithms.items()} | COMMANDS
    width = max(map(len, helps)) + 2
    lines = [f"  {name:{width}}{text}" for name, text in helps.items()]
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} ALGORITHM [GRAPH] [options]",
        description="Distributed graph analytics. Start it alone, or on every rank with mpirun, mpiexec or srun.\n\n"
        "algorithms:\n" + "\n".join(lines) + f"\n\nThe parameters of one: {PROGRAM} ALGORITHM --help",
        epilog=EXAMPLES,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    add_run_options(parser)
    return parser


def _algorithm_parser(algorithm: Any) -> Parser:
    prog = f"{PROGRAM} {algorithm.name}"
    notes = []
    if algorithm.weighted:
        notes.append("Uses the edges' weights where the graph has some; --weights unit turns that off.")
    if algorithm.undirected:
        notes.append("Needs an undirected graph: a directed one is taken with every edge in both directions.")
    parser = Parser(
        surplus="beside the graph, but there is one graph a run",
        prog=prog,
        usage=f"{prog} [GRAPH] [options]",
        description="\n".join([summary(algorithm), *notes]),
        epilog=EXAMPLES,
    )
    add_parameters(parser.add_argument_group("algorithm"), algorithm)
    add_run_options(parser, algorithm)
    return parser


def _request(parser: Parser, words: Sequence[str], algorithm: Any) -> Request:
    given = parser.parsed(words)
    for name in ("max_rounds", "threads"):
        if given.get(name, 1) < 1:
            parser.error(f"got --{name.replace('_', '-')} {given[name]}, but it is 1 or more")
    named = given.get("ids") == "string"
    parameters = {name.removeprefix("parameter "): given[name] for name in given if name.startswith("parameter ")}
    for name in parameters:
        if algorithm.parameters[name].type == "vertices":
            parameters[name] = weighted(parameters[name], named)
    return Request(
        algorithm=algorithm.name,
        graph=given.get("graph"),
        load=load_options(given),
        run={name: given[name] for name in RUN if name in given},
        parameters=parameters,
        sources=(names if named else sources)(given["source"]) if "source" in given else None,
        output=given.get("output"),
        report=given.get("report"),
        quiet=given.get("quiet", False),
        command=(*PROGRAM.split(), algorithm.name, *words),
        format=given.get("format"),
    )
