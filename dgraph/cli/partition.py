"""``python -m partitioning GRAPH -n PARTS``: partition a graph and print the quality, alone or under mpirun.

It loads the graph, runs one policy or compares all, and writes a store. Main entry: :func:`main`.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.cli.arguments import HelpRequested, Parser
from dgraph.cli.commands import show_warnings
from dgraph.cli.exit_codes import end_together
from dgraph.cli.option_groups import add_load_options
from dgraph.cli.terminal.terminal_progress import progress_for
from dgraph.comm import Comm
from dgraph.errors import UsageError, command_line
from dgraph.graph.load import describe
from dgraph.graph.load_options import load_options
from dgraph.graph.reading import watched_by
from dgraph.graph.stored.write import check_writable, chunks_a_part, write
from dgraph.graph.stored_graph import Graph
from partitioning import POLICIES, Placement, PolicyError, choose, plan, quality
from partitioning.compare import recommended, table
from partitioning.policies.automatic import MOST

EXAMPLES = """\
examples:
  python -m partitioning web.el -n 16 --compare
  mpirun -n 4 python -m partitioning rmat:22 -n 16 --policy hvc,threshold=200 -o parts
  mpirun -n 4 python -m dgraph bfs parts --source 7"""


def main(words: list[str] | None = None) -> int:
    """Run the command line on every rank; return the exit code, equal on all."""
    words = sys.argv[1:] if words is None else words
    with command_line():
        return end_together(lambda comm: _command(words, comm), traceback="--traceback" in words)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m partitioning",
        description="Partition a graph, and report the quality of the partition.",
        epilog=EXAMPLES,
    )
    parser.add_argument("graph", metavar="GRAPH", help="a file or a generator, as for python -m dgraph")
    parser.add_argument("-n", "--parts", type=int, metavar="N", help="number of parts (default: one per rank)")
    parser.add_argument("--policy", metavar="NAME[,option=value...]", help=f"{', '.join(POLICIES)} (default auto)")
    parser.add_argument("-o", "--output", type=Path, metavar="STORE", help="write a store: a folder that dgraph opens")
    parser.add_argument(
        "--chunks", type=int, metavar="K", help="pieces of a store that can go to other ranks (default 4 N)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a store of that name")
    parser.add_argument("--compare", action="store_true", help="run every policy, and recommend one (-o writes it)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but the result and errors")
    parser.add_argument("--traceback", action="store_true", help="show where in the code an error was raised")
    add_load_options(parser.add_argument_group("graph"))
    return parser


def _command(words: list[str], comm: Comm) -> int:
    try:
        args = _parser().parsed(words)
    except HelpRequested as help_text:
        if comm.rank == 0:
            print(help_text)
        return 0
    parts = args.get("parts", comm.size)
    with comm.together():
        _check(args, parts)
    began = time.perf_counter()
    compared = [name for name in POLICIES if name != "auto"] if "compare" in args else []
    names = list(dict.fromkeys([args["policy"], *compared] if "policy" in args else compared or ["auto"]))
    with progress_for(comm.rank, "quiet" in args, began) as progress:
        progress.phase("load", args["graph"])
        with watched_by(progress.reading):
            graph = Graph.load(args["graph"], comm=comm, **load_options(args))
        show_warnings(graph)
        progress.line(describe(graph))
        rows, placements = [], {}
        for name in names:
            progress.phase("partition", f"{name} into {parts}")
            row, placement = _measure_policy(name, graph, parts, refuse="compare" not in args)
            rows.append(row)
            placements[row["policy"]] = placement
        report: dict[str, Any] = {
            "graph": {"name": graph.facts.name, "fingerprint": graph.fingerprint(), "vertices": graph.n,
                      "edges": graph.m, "arcs": graph.arcs, "directed": graph.directed},
            "parts": parts, "ranks": comm.size, "policies": rows,
        }  # fmt: skip
        if "compare" in args:
            report["recommended"] = dict(zip(("policy", "reason"), recommended(rows), strict=True))
        if "output" in args:
            taken = next(row for row in rows if row["policy"] == report.get("recommended", rows[0])["policy"])
            progress.phase("write", f"{args['output']}: {taken['policy']}")
            report["store"] = _write(args, graph, placements[taken["policy"]], taken)
    peak = comm.allgather(np.array([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10], np.int64))
    report |= {"seconds": time.perf_counter() - began, "peak_memory_bytes": peak[:, 0].tolist()}
    if comm.rank == 0:
        print(json.dumps(report, indent=1) if "json" in args else _format_report(report))
    return 0


def _check(args: dict[str, Any], parts: int) -> None:
    if parts < 1:
        raise UsageError(f"got -n {parts}, but a graph has 1 part or more")
    try:
        choose(args.get("policy", "auto"))
        if "output" in args:
            chunks_a_part(args.get("chunks"), parts)
            check_writable(args["output"], "overwrite" in args)
    except PolicyError as wrong:
        raise UsageError(str(wrong)) from wrong


def _measure_policy(name: str, graph: Graph, parts: int, refuse: bool) -> tuple[dict[str, Any], Placement | None]:
    """Return a policy's figures and its placement; with several policies a refusal is a row, too."""
    try:
        if name == "metis" and not refuse and graph.n + graph.arcs > MOST:
            raise PolicyError("it would take minutes; to compare it too, add --policy metis,seed=1")
        placement, seconds = _placed(name, graph, parts)
        figures = quality(graph.block, placement, graph.comm)
    except PolicyError as refused:
        if refuse:
            raise UsageError(str(refused)) from refused
        return {"policy": name, "refused": str(refused)}, None
    return {
        "policy": placement.policy, "kind": placement.cut, "reason": placement.reason, "warning": placement.warning,
        "seconds": seconds, **figures,
    }, placement  # fmt: skip


def _write(args: dict[str, Any], graph: Graph, placement: Placement | None, row: dict[str, Any]) -> dict[str, Any]:
    if placement is None:
        raise UsageError(f"nothing to write: {row['policy']}: {row['refused']}")
    began = time.perf_counter()
    figures = {name: row[name] for name in row if name not in ("policy", "kind", "reason", "warning")}
    write(
        args["output"], graph.block, placement, graph.comm,
        fingerprint=graph.fingerprint(), quality=figures, chunks=args.get("chunks"), overwrite="overwrite" in args,
    )  # fmt: skip
    return {"path": str(args["output"]), "policy": row["policy"], "seconds": time.perf_counter() - began}


def _placed(name: str, graph: Graph, parts: int) -> tuple[Placement, float]:
    began = time.perf_counter()
    placement = plan(name, graph.block, parts, graph.comm)
    return placement, graph.comm.largest(int(1e6 * (time.perf_counter() - began))) / 1e6


def _format_report(report: dict[str, Any]) -> str:
    graph, rows = report["graph"], report["policies"]
    lines = [
        f"{graph['name']}: {graph['vertices']:,} vertices, {graph['arcs']:,} arcs in {report['parts']} parts", "",
        table(rows), "",
    ]  # fmt: skip
    lines += [f"{row['policy']}: {row['reason']}" for row in rows if len(rows) == 1]
    lines += [f"warning: {row['warning']}" for row in rows if row.get("warning")]
    if "recommended" in report:
        lines.append(f"take {report['recommended']['policy']}: {report['recommended']['reason']}")
    if "store" in report:
        store = report["store"]
        lines.append(
            f"{store['path']}: {report['parts']} parts by {store['policy']}, written in {store['seconds']:.2f} s"
        )
    most, ranks = max(report["peak_memory_bytes"]) / 2**30, report["ranks"]
    lines.append(f"{report['seconds']:.1f} s on {ranks} rank{'s'[: ranks != 1]}; {most:.2f} GiB in use at most on one")
    return "\n".join(lines)
