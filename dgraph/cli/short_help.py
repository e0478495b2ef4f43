"""Short help: the most used options in one line each, and the commands and algorithms.

``--help-all`` shows every option; its texts are in :mod:`dgraph.cli.option_groups`.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dgraph.cli.arguments import HELP_COLUMN, PROGRAM, Parser
from dgraph.cli.commands import COMMANDS

COMMON = {
    "--source ID": "start vertex of bfs and sssp; 1,2,3 or @FILE: one run each (default: a hub)",
    "--weights RULE": "make edge weights: unit, LO..HI, hash or dimacs (default: the input's)",
    "--undirected": "take every edge in both directions (default: as the input says)",
    "--policy NAME": "partitioning policy (default auto)",
    "--backend NAME": "auto, cpu or cuda (default auto: cuda if there is a GPU)",
    "--validate": "check the result before it is written; exit code 1 if it is wrong",
    "-o, --output FILE": "result by vertex id: .csv .parquet .arrow .npz .txt",
    "--report FILE": "seconds and bytes of each rank and round, as JSON",
    "--checkpoint DIR": "end with a checkpoint at SIGTERM; --resume auto continues from it",
    "-q, --quiet": "print nothing but warnings and errors",
}
"""The ten most used options: form → meaning, one line each."""

OWN_PROGRAM = "MODULE:CLASS"
"""Form of the word that names a user's program."""

EXAMPLES = f"""\
examples:
  {PROGRAM} sssp rmat:16 --weights 1..255 --source 5 --validate
  mpirun -n 4 {PROGRAM} bfs web.el --source 7 --output levels.txt"""


def overview(algorithms: Mapping[str, Any]) -> str:
    """Return the help of ``python -m dgraph``: algorithms, commands and the most used options."""
    names = textwrap.wrap(", ".join(algorithms), 100, initial_indent="  ", subsequent_indent="  ")
    own = {OWN_PROGRAM: "A Program or Algorithm of your own; path/to/file.py:CLASS works too."}
    return "\n".join(
        [
            f"usage: {PROGRAM} ALGORITHM [GRAPH] [options]",
            f"       {PROGRAM} COMMAND [arguments]",
            "",
            "Distributed graph analytics. Start it alone, or on every rank with mpirun, mpiexec or srun.",
            "",
            "algorithms:",
            *names,
            *_format_rows(own),
            "",
            "commands:",
            *_format_rows(COMMANDS),
            "",
            *_common(COMMON),
            "",
            f"{PROGRAM} ALGORITHM --help: its parameters; --help-all: every option; --version",
            "",
            EXAMPLES,
        ]
    )


def of_algorithm(parser: Parser, parameters: Sequence[argparse.Action]) -> str:
    """Return the help of one algorithm: its parameters, then the most used options."""
    formatter = parser._get_formatter()
    formatter.add_usage(parser.usage, [], [])
    formatter.add_text(parser.description)
    formatter.start_section("algorithm")
    formatter.add_arguments(parameters)
    formatter.end_section()
    others = {form: text for form, text in COMMON.items() if not form.startswith("--source")}
    return "\n".join([formatter.format_help(), *_common(others), "", f"{parser.prog} --help-all: every option"])


def _common(options: Mapping[str, str]) -> list[str]:
    return ["most used options:", *_format_rows(options, HELP_COLUMN - 2)]


def _format_rows(helps: Mapping[str, str], width: int = 14) -> list[str]:
    return [f"  {name:{width}}{text}" for name, text in helps.items()]
