"""``python -m dgraph graphalytics``: LDBC Graphalytics' six algorithms on its datasets, by its rules; unofficial."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser
from dgraph.cli.flat_options import device_of
from dgraph.comm import Comm
from dgraph.graph.devices import DEVICES

if TYPE_CHECKING:
    from dgraph.tools.graphalytics.jobs import JobFigures

EXAMPLES = """\
examples:
  python -m dgraph graphalytics datasets/example-directed.properties
  mpirun -n 4 python -m dgraph graphalytics config/benchmark.properties --output outputs --json

PROPERTIES is a benchmark's file, with graphs.root-directory, benchmark.custom.graphs and .algorithms,
or that of one dataset, for all its algorithms. NAME-ALGORITHM in graphs.validation-directory, or beside
the dataset, is the reference output: equal for BFS and CDLP, equal up to names for WCC, within 1e-4
for PR, LCC and SSSP. The load time is that of the whole graph into memory. The makespan is from a
job's call to its written output; the graph stays loaded, so it has no start of a process. The
processing time is the algorithm alone. EVPS: vertices and edges a second of it. Results are unofficial.

exit codes: 0 done; 1 a job failed; 2 a value that cannot be used; 65 a file that cannot be read."""


TABLE = "{:<24} {:<6} {:>3} {:>10} {:>12} {:>14} {:>10}  {}"
HEAD = ("graph", "job", "run", "T_load, s", "makespan, s", "T_proc, ms", "EVPS", "output")
"""Columns of the figures, and their titles."""


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``graphalytics``."""
    parser = command_parser("graphalytics", EXAMPLES)
    parser.add_argument("properties", metavar="PROPERTIES", help="a benchmark's or a dataset's .properties file")
    parser.add_argument("--output", metavar="DIR", help="folder for outputs (default graphs.output-directory)")
    parser.add_argument("--skip-validation", **flag(), help="do not compare with reference outputs")
    parser.add_argument("--policy", metavar="NAME", help="partitioning policy, as for a run")
    parser.add_argument("--backend", choices=DEVICES, help="as for a run")
    parser.add_argument("--threads", type=int, metavar="N", help="as for a run")
    parser.add_argument("--json", **flag(), help="figures as JSON")
    parser.add_argument("-q", "--quiet", **flag(), help="print no progress")
    args = parser.parsed(words)
    return Task(lambda comm: _do(comm, args))


def _do(comm: Comm, args: dict[str, Any]) -> int:
    from dgraph.tools.graphalytics.benchmark_properties import read_benchmark
    from dgraph.tools.graphalytics.jobs import jobs

    with comm.together():
        benchmark = read_benchmark(Path(args["properties"]))
    if "output" in args:
        benchmark = replace(benchmark, output=Path(args["output"]))
    if "skip_validation" in args:
        benchmark = replace(benchmark, validated=False)
    talks, text = comm.rank == 0 and not args.get("quiet", False), comm.rank == 0 and "json" not in args

    def say(line: str) -> None:
        if talks:
            print(line, file=sys.stderr, flush=True)

    finished: list[JobFigures] = []
    if text:
        print("LDBC Graphalytics rules; these results are unofficial", TABLE.format(*HEAD), sep="\n", flush=True)
    for job in jobs(benchmark, comm, device_of(args), args.get("policy", "auto"), say):
        finished.append(job)
        say(f"Processing starts at {job.started}")
        say(f"Processing ends at {job.ended}")
        if text:
            print(_line(job), flush=True)
    if comm.rank == 0 and "json" in args:
        print(json.dumps({"official": False, "ranks": comm.size, "jobs": [asdict(job) for job in finished]}))
    return int(any(job.failed for job in finished))


def _line(job: JobFigures) -> str:
    times = (f"{job.load:.3f}", f"{job.makespan:.3f}", f"{1000 * job.processing:.3f}")
    return TABLE.format(job.graph, job.algorithm, job.repetition, *times, f"{job.evps:.3g}", job.verdict)
