"""Register of the commands that are not algorithms: a module and a line of help for each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dgraph.cli.arguments import PROGRAM, Parser, flag

if TYPE_CHECKING:
    from dgraph.graph.stored_graph import Graph

COMMANDS = {
    "list": "List algorithms with their parameters, policies, schedules, generators, formats (--json).",
    "info": "Show a graph: file, degrees, components, a lower bound of the diameter, representations.",
    "quality": "Measure communities: modularity, coverage, conductance; NMI and ARI with --truth (--json).",
    "convert": "Read a graph and write it in another format (.el .gr .mtx .npz .parquet .sg .wel …).",
    "fetch": "Download real graphs by name; without a name, list them.",
    "estimate": "Estimate the memory of each rank and GPU by algorithm, policy and number of ranks.",
    "doctor": "Check this machine, this launch and its GPUs, and say how to repair what fails (--json).",
    "warmup": "Compile the kernels of runs ahead, for all algorithms or those named: minutes, once a machine.",
    "balance": "Compare load-balancing schedules on a GPU: time, memory, edges by block, warp and thread.",
    "graph500": "Run the Graph500 benchmark: construct a Kronecker graph, find search trees (--scale, --roots).",
    "graphalytics": "Run LDBC Graphalytics' six algorithms on its datasets, and compare with its reference outputs.",
    "serve": "Keep graphs loaded, and answer queries over HTTP: jobs, results, a page (--port, --socket).",
    "mcp": "Offer a service's graphs to an agent: Model Context Protocol on stdin and stdout.",
    "report": "Show and compare reports of runs, as text, as a page (--html) or as a trace (--trace).",
}
MODULES = {
    "list": "listing",
    "graph500": "benchmark_commands.graph500_command",
    "graphalytics": "benchmark_commands.graphalytics_command",
}
"""Modules whose name is not that of their command."""


@dataclass(frozen=True)
class Task:
    """Work of a command: ``do(comm)`` runs on every rank and returns the exit code."""

    do: Callable[[Any], int]


def task_of(command: str, words: Sequence[str]) -> Task | str:
    """Return the work that the words behind a command ask for, or the text that answers them."""
    return import_module(f"dgraph.cli.{MODULES.get(command, command)}").task(words)


def command_parser(name: str, epilog: str = "") -> Parser:
    """Return a parser for one of ``COMMANDS``; its help ends with ``epilog``."""
    parser = Parser(prog=f"{PROGRAM} {name}", description=COMMANDS[name], epilog=epilog)
    parser.add_argument("--traceback", **flag(), help=argparse.SUPPRESS)
    return parser


def show_warnings(graph: Graph) -> None:
    """Print the warnings about an input on rank 0's stderr, under ``--quiet`` too."""
    if graph.comm.rank == 0:
        for text in graph.facts.warnings:
            print(f"dgraph: warning: {graph.facts.name}: {text}", file=sys.stderr, flush=True)
