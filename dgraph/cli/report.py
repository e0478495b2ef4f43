"""``python -m dgraph report``: earlier runs as text with a verdict, as a page or as a trace; several runs compared."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph import report
from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser
from dgraph.comm import Comm
from dgraph.errors import UsageError

EXAMPLES = """\
examples:
  mpirun -n 4 python -m dgraph sssp --report run.json && python -m dgraph report run.json --html run.html
  python -m dgraph report p1.json p2.json p4.json --html scaling.html
  python -m dgraph report run.json --trace run.trace.json.gz      (open it at ui.perfetto.dev)"""


def task(words: Sequence[str]) -> Task:
    """Parse the command line of ``report``."""
    parser = command_parser("report", EXAMPLES)
    parser.add_argument("files", nargs="+", metavar="RUN.json", help="written by --report, or by --format json")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page; of several runs a comparison")
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a trace of one run for ui.perfetto.dev; .gz compresses it"
    )
    parser.add_argument("--plan", **flag(), help="compare the memory that ranks used with what estimate plans")
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but warnings and errors")
    args = parser.parsed(words)
    return Task(lambda comm: _do(comm, args))


def _do(comm: Comm, args: dict[str, Any]) -> int:
    with comm.together():
        if comm.rank == 0:
            _report(args["files"], args.get("html"), args.get("trace"), "plan" in args, "quiet" in args)
    return 0


def _report(files: Sequence[str], html: Path | None, trace: Path | None, plan: bool, quiet: bool) -> None:
    """Read the reports, write the files, and print the text."""
    note = None if quiet else (lambda line: print(line, file=sys.stderr))
    runs = [run for file in files for run in report.read(file, note)]
    planned = [_compare_with_plan(run) for run in runs] if plan else []
    if trace and len(runs) > 1:
        raise UsageError(f"--trace: a trace shows one run, and these are {len(runs)}; name one file with one run")
    if html:
        report.write_page(runs, html)
    if trace:
        report.write_trace(runs[0], trace)
    if quiet:
        return
    if len(runs) == 1:
        report.show(runs[0], before=report.verdict(runs[0]))
    else:
        print(report.comparison(runs))
    if planned:
        print("", *planned, sep="\n")


def _compare_with_plan(run: dict) -> str:
    """Set the planned memory of every rank in a report; return lines that compare plan and peak."""
    from dgraph.tools.estimate import against

    plan = against(run)
    for rank in run["ranks"]:
        rank["planned_memory_bytes"] = plan.peak
    lines = [_compared("memory", plan.peak, max(rank["peak_memory_bytes"] for rank in run["ranks"]))]
    with_gpu = [rank["gpu_memory"] for rank in run["ranks"] if "gpu_memory" in rank]
    used = [one["peak_bytes"] + one.get("messages_bytes", 0) for one in with_gpu]
    if used and max(used):
        lines.append(_compared("GPU memory", plan.gpu.peak, max(used)))
    return "\n".join(lines)


def _compared(what: str, planned: int, peak: int) -> str:
    off = planned / peak - 1
    return f"{what}: {report.size(planned)} a rank estimated, {report.size(peak)} at most used ({off:+.0%})"
