"""``python -m dgraph estimate``: memory of each rank and GPU, before a job is queued."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

from dgraph._support.sizes import parse_size
from dgraph.backend.schedule_options import BUILDS, DEVICE
from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser
from dgraph.cli.option_groups import add_load_options
from dgraph.cli.terminal.terminal_progress import progress_for
from dgraph.comm import Comm
from dgraph.engine.run_options import Options
from dgraph.errors import UsageError, unknown
from dgraph.graph.load_options import load_options
from dgraph.report.text_lines import aligned, size

if TYPE_CHECKING:
    from dgraph.tools.estimate import RunPlan, Shape

TOO_LITTLE = 1

EXAMPLES = """\
examples:
  python -m dgraph estimate sssp rmat:27 -n 8 --weights 1..255 --memory 64GiB
  python -m dgraph estimate all 24e6,58e6 -n 1,2,4 --policy metis --undirected
  python -m dgraph estimate pagerank rmat:28 -n 4 --gpu-memory 139GiB
  python -m dgraph estimate sssp rmat:24,edge_factor=20 --direction push --schedule edge --gpu-memory 4.66GB

Programs that are not compiled yet are compiled, which takes some seconds. Mirrors of R-MAT graphs are computed from its
probabilities; other graphs count as uniformly random, and most of them have fewer mirrors.

exit codes: 0 every plan fits, or no limit was given; 1 a plan does not fit."""


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``estimate``."""
    parser = command_parser("estimate", EXAMPLES)
    parser.add_argument("algorithm", metavar="ALGORITHM", help="name, or all")
    parser.add_argument("graph", metavar="GRAPH", help="a generator, VERTICES,EDGES, or a file, which is read")
    parser.add_argument("-n", "--ranks", metavar="P", help="numbers of ranks: 4, or 1,2,4 (default 1)")
    parser.add_argument("--policy", metavar="NAME", help="partitioning policy (default auto); several: oec,cvc; or all")
    parser.add_argument(
        "--build", choices=BUILDS, help="device: count the memory of construction on GPUs (default host)"
    )
    parser.add_argument("--direction", choices=Options.DIRECTIONS, help="as for a run; push needs no in-edges")
    parser.add_argument("--variant", metavar="NAME", help="as for a run of bfs, kcore or sssp")
    parser.add_argument("--schedule", metavar="NAME[,option=value...]", help="of a GPU, as for a run (default auto)")
    parser.add_argument(
        "--no-return-predecessors",
        **flag(False, "return_predecessors"),
        help="as for a run of bfs or sssp",
    )
    parser.add_argument("--memory", metavar="SIZE", help="limit of a rank, such as 16GiB")
    parser.add_argument("--gpu-memory", metavar="SIZE", help="limit of a rank's GPU, such as 80GiB")
    parser.add_argument("--json", **flag(), help="plans as JSON")
    parser.add_argument("-q", "--quiet", **flag(), help="print no progress")
    add_load_options(parser.add_argument_group("graph"))
    args = parser.parsed(words)
    for name in ("memory", "gpu_memory"):
        if name in args:
            args[name] = parse_size(args[name])
    return Task(lambda comm: _do(comm, args))


def _do(comm: Comm, args: dict[str, Any]) -> int:
    code = 0
    with comm.together():
        if comm.rank == 0:
            code = _print_plans(args)
    return comm.largest(code)


def _print_plans(args: dict[str, Any]) -> int:
    from dgraph.algorithms import ALGORITHMS
    from dgraph.tools.estimate import shape_of
    from partitioning import POLICIES

    names = list(ALGORITHMS) if args["algorithm"] == "all" else [args["algorithm"]]
    if names[0] not in ALGORITHMS:
        raise unknown("algorithm", names[0], [*ALGORITHMS, "all"])
    policies = list(POLICIES) if args.get("policy") == "all" else args.get("policy", "auto").split(",")
    for policy in policies:
        if policy not in POLICIES:
            raise unknown("policy", policy, [*POLICIES, "all"])
    counts = args.get("ranks", "1").split(",")
    if not all(text.isdigit() and int(text) for text in counts):
        raise UsageError(f"-n {args['ranks']}: ranks are 1 or more; write 4, or 1,2,4")
    memory, gpu_memory = args.get("memory"), args.get("gpu_memory")
    with progress_for(0, quiet="quiet" in args, began=time.perf_counter()) as progress:
        shape = shape_of(args["graph"], progress=progress, **load_options(args))
        plans = [*_plans(names, policies, [int(text) for text in counts], shape, args)]
    fits = [_within(plan.peak, memory) and _within(plan.gpu.whole, gpu_memory) for plan in plans]
    if "json" in args:
        rows = [
            asdict(plan) | {"peak": plan.peak, "gpu": plan.gpu.facts(), "fits": fit}
            for plan, fit in zip(plans, fits, strict=True)
        ]
        print(json.dumps({"shape": asdict(shape), "plans": rows}, indent=1))
    else:
        limited = memory is not None or gpu_memory is not None
        print(_table(shape, plans, fits if limited else None))
        if gpu_memory is not None:
            print("", _gpu_table(plans, gpu_memory), sep="\n")
    return 0 if all(fits) else TOO_LITTLE


def _plans(
    names: Sequence[str], policies: Sequence[str], counts: Sequence[int], shape: Shape, args: dict[str, Any]
) -> Iterator[RunPlan]:
    from dgraph.algorithms import ALGORITHMS
    from dgraph.tools.estimate import estimate

    for name, policy, ranks in product(names, policies, counts):
        algorithm = ALGORITHMS[name]
        parameters = {"source": 0} if algorithm.needs_source else {}
        parameters |= {"variant": args["variant"]} if "variant" in args else {}
        if "return_predecessors" in args and (
            args["algorithm"] != "all" or "return_predecessors" in algorithm.parameters
        ):
            parameters["return_predecessors"] = False
        yield estimate(
            name, shape, ranks, policy, parameters=parameters, undirected=algorithm.undirected,
            direction=args.get("direction", "auto"), gpu_memory=args.get("gpu_memory"),
            drawn=args.get("build") == DEVICE, schedule=args.get("schedule", "auto"),
        )  # fmt: skip


def _within(need: int, limit: int | None) -> bool:
    return limit is None or need <= limit


def _table(shape, plans, fits: list[bool] | None) -> str:
    directed = "directed" if shape.directed else "undirected"
    head = ["algorithm", "policy", "ranks", "masters", "mirrors", "arcs", "load", "build", "rounds", "peak", "on a GPU"]
    lines: list[list[str] | None] = [head + ["fits"] * (fits is not None), None]
    for number, plan in enumerate(plans):
        row = [
            plan.algorithm,
            plan.policy,
            str(plan.ranks),
            *(f"{x:,}" for x in (plan.masters, plan.mirrors, plan.edges)),
        ]
        row += [size(x) for x in (plan.load, plan.build, plan.rounds, plan.peak, plan.gpu.peak)]
        lines.append(row + ([] if fits is None else ["yes" if fits[number] else "NO"]))
    weights = f", weights of {shape.weight} bytes" if shape.weight else ""
    parts = [f"{shape.n:,} vertices, {shape.edges:,} edges at most, {directed}{weights}", "\n".join(aligned(lines))]
    return "\n\n".join(
        [*parts, f"upper bounds per rank; peak: the largest phase plus {size(plans[0].base)} of Python and libraries"]
    )


def _gpu_table(plans, limit: int) -> str:
    """Return the parts of each plan's memory on a GPU, as a table."""
    parts = ("upload", "graph", "incoming", "state", "messages", "peak", "whole")
    lines: list[list[str] | None] = [["algorithm", "policy", "ranks", *parts, "of the GPU"], None]
    for plan in plans:
        figures = [size(plan.gpu.facts()[part]) for part in parts]
        lines.append([plan.algorithm, plan.policy, str(plan.ranks), *figures, f"{plan.gpu.whole / limit:.0%}"])
    note = (
        "upper bounds per GPU; peak: the largest of upload, construction and graph to messages; whole adds the driver"
    )
    return "\n".join([*aligned(lines), "", note])
