"""``python -m dgraph graph500``: the Graph500 benchmark, kernels 1 and 2, with the output of its reference code."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser
from dgraph.cli.flat_options import device_of
from dgraph.cli.terminal.terminal_progress import progress_for
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.devices import DEVICES
from dgraph.report.graph500_format import figures, formatted, statistics

if TYPE_CHECKING:
    from dgraph.graph.handle import Graph

EDGE_FACTOR, ROOTS, SEED = 16, 64, 1

EXAMPLES = """\
examples:
  python -m dgraph graph500 --scale 20
  mpirun -n 4 python -m dgraph graph500 --scale 22 --roots 16 --json

construction_time is kernel 1: from the generator's formula to a graph that can be searched. Edges are
drawn within it, so graph_generation is 0. A search's time is kernel 2: from its root to the parents of
all vertices in the order of ids, in the device's memory; work arrays are allocated before. TEPS are the
generator's edges in the root's component by that time.

exit codes: 0 done; 1 a tree is wrong; 2 a value that cannot be used."""


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``graph500``."""
    parser = command_parser("graph500", EXAMPLES)
    parser.add_argument("--scale", type=int, metavar="S", required=True, help="2**S vertices")
    parser.add_argument("--edge-factor", type=int, metavar="N", help=f"edges by vertices (default {EDGE_FACTOR})")
    parser.add_argument("--roots", type=int, metavar="N", help=f"searches, from random vertices (default {ROOTS})")
    parser.add_argument("--seed", type=int, metavar="N", help=f"seed of the graph and of the roots (default {SEED})")
    parser.add_argument("--skip-validation", **flag(), help="do not check the trees")
    parser.add_argument("--backend", choices=DEVICES, help="as for a run")
    parser.add_argument("--threads", type=int, metavar="N", help="as for a run")
    parser.add_argument("--json", **flag(), help="figures as JSON, those of each search included")
    parser.add_argument("-q", "--quiet", **flag(), help="print no progress")
    args = parser.parsed(words)
    for name in ("roots", "edge_factor"):
        if args.get(name, 1) < 1:
            raise UsageError(f"--{name.replace('_', '-')} {args[name]}: give 1 or more")
    return Task(lambda comm: _do(comm, args))


def _do(comm: Comm, args: dict[str, Any]) -> int:
    from dgraph.engine.rounds.record import Record
    from dgraph.run import run
    from dgraph.tools.graph500_searches import Graph500Searches

    scale, factor, seed = args["scale"], args.get("edge_factor", EDGE_FACTOR), args.get("seed", SEED)
    spec = f"kron:{scale},edge_factor={factor},seed={seed}"
    began = time.perf_counter()
    with progress_for(comm.rank, args.get("quiet", False), began) as progress:
        progress.phase("build", spec)
        graph, construction = _built(spec, args, comm)
        searches = Graph500Searches(graph, spec, args.get("roots", ROOTS), seed, not args.get("skip_validation", False))
        record = Record(comm, ["graph500"])
        run(searches, graph, record=record, progress=progress)
    runs = searches.measured
    here = sum(record.seconds.get(name, 0.0) for name in ("partition", "build")) + runs.prepared
    construction = comm.largest(int(1e9 * (construction + here))) / 1e9
    if comm.rank == 0:
        head: dict[str, float] = {"SCALE": scale, "edgefactor": factor, "NBFS": len(runs.roots), "graph_generation": 0}
        head["num_mpi_processes"] = comm.size
        head["construction_time"] = float(f"{construction:g}")
        if "json" in args:
            pairs = zip(runs.seconds, runs.edges, strict=True)
            pace = statistics([seconds / edges for seconds, edges in pairs])["mean"]
            print(json.dumps(head | {"harmonic_mean_TEPS": 1 / pace} | vars(runs)))
        else:
            lines = [*head.items(), *figures("bfs", runs.seconds, runs.edges, runs.validating)]
            print(*(formatted(*line) for line in lines), sep="\n")
    return 0


def _built(spec: str, args: dict[str, Any], comm: Comm) -> tuple[Graph, float]:
    """Return the graph and the seconds of its construction: on GPUs where there are some, else on the host."""
    from dgraph.backend import has_gpu
    from dgraph.backend.build import build_on_gpus
    from dgraph.graph.stored_graph import Graph

    device, asked = device_of(args), args.get("backend", "auto")
    make = build_on_gpus if asked == "cuda" or (asked == "auto" and has_gpu()) else Graph.load
    make("kron:8", comm=comm, device=device).close()  # compiles the kernels
    began = time.perf_counter()
    graph = make(spec, comm=comm, device=device)
    return graph, time.perf_counter() - began
