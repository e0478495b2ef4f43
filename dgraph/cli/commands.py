"""The commands that are no algorithm: a file here each, and a line of help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dgraph.cli.arguments import Parser, flag

if TYPE_CHECKING:
    from dgraph.graph.stored_graph import Graph

PROGRAM = "python -m dgraph"
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
FILES = {"list": "listing"}
"""Where a command's file has another name than the command."""


@dataclass(frozen=True)
class Task:
    """What a command asks for: ``do`` it on every rank; the exit code."""

    do: Callable[[Any], int]


def task_of(command: str, words: Sequence[str]) -> Task | str:
    """What the words behind a command ask for; or the text that answers them."""
    return import_module(f"dgraph.cli.{FILES.get(command, command)}").task(words)


def command_parser(name: str) -> Parser:
    """A parser for one of ``COMMANDS``."""
    parser = Parser(prog=f"{PROGRAM} {name}", description=COMMANDS[name])
    parser.add_argument("--traceback", **flag(), help=argparse.SUPPRESS)
    return parser


def show_warnings(graph: Graph) -> None:
    """Print what was decided about the input and may be wrong, on rank 0's stderr, also where ``--quiet`` was given."""
    if graph.comm.rank == 0:
        for text in graph.facts.warnings:
            print(f"dgraph: warning: {graph.facts.name}: {text}", file=sys.stderr, flush=True)
