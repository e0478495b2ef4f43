"""``python -m partitioning GRAPH -n PARTS``: what a policy makes of a graph, alone or under mpirun.

The one file here that uses dgraph: to read and generate graphs, to end all ranks together, and to write stores.
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
from dgraph.cli.run_options import add_load_options
from dgraph.cli.terminal_progress import progress_for
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.load import describe
from dgraph.graph.load_options import load_options
from dgraph.graph.stored.write import available, chunks_a_part, write
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
    """Run the command line on every rank; the exit code, equal on all."""
    words = sys.argv[1:] if words is None else words
    return end_together(lambda comm: _command(words, comm), traceback="--traceback" in words)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m partitioning",
        description="Partition a graph, and say how good the parts are.",
        epilog=EXAMPLES,
    )
    parser.add_argument("graph", metavar="GRAPH", help="a file or a generator, as for python -m dgraph")
    parser.add_argument("-n", "--parts", type=int, metavar="N", help="how many parts (default: one a rank)")
    parser.add_argument("--policy", metavar="NAME[,option=value...]", help=f"{', '.join(POLICIES)} (default auto)")
    parser.add_argument("-o", "--output", type=Path, metavar="STORE", help="write a store: a folder that dgraph opens")
    parser.add_argument(
        "--chunks", type=int, metavar="K", help="pieces of a store that can go to other ranks (default 4 N)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a store of that name")
    parser.add_argument("--compare", action="store_true", help="run every policy, and recommend one (-o takes it)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but the result and errors")
    parser.add_argument("--traceback", action="store_true", help="show where in the code an error was raised")
    add_load_options(parser.add_argument_group("graph"))
    return parser


def _command(words: list[str], comm: Comm) -> int:
    try:
        asked = _parser().parsed(words)
    except HelpRequested as said:
        if comm.rank == 0:
            print(said)
        return 0
    parts = asked.get("parts", comm.size)
    with comm.together():
        _check(asked, parts)
    began = time.perf_counter()
    compared = [name for name in POLICIES if name != "auto"] if "compare" in asked else []
    names = list(dict.fromkeys([asked["policy"], *compared] if "policy" in asked else compared or ["auto"]))
    with progress_for(comm.rank, "quiet" in asked, began) as progress:
        progress.phase("load", asked["graph"])
        graph = Graph.load(asked["graph"], comm=comm, **load_options(asked))
        show_warnings(graph)
        progress.line(describe(graph))
        rows, placements = [], {}
        for name in names:
            progress.phase("partition", f"{name} into {parts}")
            row, placement = _row(name, graph, parts, refuse="compare" not in asked)
            rows.append(row)
            placements[row["policy"]] = placement
        told: dict[str, Any] = {
            "graph": {"name": graph.facts.name, "fingerprint": graph.fingerprint(), "vertices": graph.n,
                      "edges": graph.m, "arcs": graph.arcs, "directed": graph.directed},
            "parts": parts, "ranks": comm.size, "policies": rows,
        }  # fmt: skip
        if "compare" in asked:
            told["recommended"] = dict(zip(("policy", "reason"), recommended(rows), strict=True))
        if "output" in asked:
            taken = next(row for row in rows if row["policy"] == told.get("recommended", rows[0])["policy"])
            progress.phase("write", f"{asked['output']}: {taken['policy']}")
            told["store"] = _write(asked, graph, placements[taken["policy"]], taken)
    peak = comm.allgather(np.array([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10], np.int64))
    told |= {"seconds": time.perf_counter() - began, "peak_memory_bytes": peak[:, 0].tolist()}
    if comm.rank == 0:
        print(json.dumps(told, indent=1) if "json" in asked else _text(told))
    return 0


def _check(asked: dict[str, Any], parts: int) -> None:
    if parts < 1:
        raise UsageError(f"got -n {parts}, but a graph has 1 part or more")
    try:
        choose(asked.get("policy", "auto"))
        if "output" in asked:
            chunks_a_part(asked.get("chunks"), parts)
            available(asked["output"], "overwrite" in asked)
    except PolicyError as wrong:
        raise UsageError(str(wrong)) from wrong


def _row(name: str, graph: Graph, parts: int, refuse: bool) -> tuple[dict[str, Any], Placement | None]:
    """A policy's figures, and its placement; a refusal among several policies is a row too."""
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


def _write(asked: dict[str, Any], graph: Graph, placement: Placement | None, row: dict[str, Any]) -> dict[str, Any]:
    if placement is None:
        raise UsageError(f"nothing to write: {row['policy']}: {row['refused']}")
    began = time.perf_counter()
    figures = {name: row[name] for name in row if name not in ("policy", "kind", "reason", "warning")}
    write(
        asked["output"], graph.block, placement, graph.comm,
        fingerprint=graph.fingerprint(), quality=figures, chunks=asked.get("chunks"), overwrite="overwrite" in asked,
    )  # fmt: skip
    return {"path": str(asked["output"]), "policy": row["policy"], "seconds": time.perf_counter() - began}


def _placed(name: str, graph: Graph, parts: int) -> tuple[Placement, float]:
    began = time.perf_counter()
    placement = plan(name, graph.block, parts, graph.comm)
    return placement, graph.comm.largest(int(1e6 * (time.perf_counter() - began))) / 1e6


def _text(told: dict[str, Any]) -> str:
    graph, rows = told["graph"], told["policies"]
    lines = [
        f"{graph['name']}: {graph['vertices']:,} vertices, {graph['arcs']:,} arcs in {told['parts']} parts", "",
        table(rows), "",
    ]  # fmt: skip
    lines += [f"{row['policy']}: {row['reason']}" for row in rows if len(rows) == 1]
    lines += [f"warning: {row['warning']}" for row in rows if row.get("warning")]
    if "recommended" in told:
        lines.append(f"take {told['recommended']['policy']}: {told['recommended']['reason']}")
    if "store" in told:
        store = told["store"]
        lines.append(
            f"{store['path']}: {told['parts']} parts by {store['policy']}, written in {store['seconds']:.2f} s"
        )
    most, ranks = max(told["peak_memory_bytes"]) / 2**30, told["ranks"]
    lines.append(f"{told['seconds']:.1f} s on {ranks} rank{'s'[: ranks != 1]}; {most:.2f} GiB in use at most on one")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
