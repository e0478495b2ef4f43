"""``python -m dgraph report``: earlier runs as a table, a page, a trace; several of them compared."""

from __future__ import annotations

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
    """Read the command's words."""
    parser = command_parser("report")
    parser.epilog = EXAMPLES
    parser.add_argument("files", nargs="+", metavar="RUN.json", help="what --report wrote or --format json printed")
    parser.add_argument("--html", type=Path, metavar="FILE", help="a page; of several runs a comparison")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="of one run, for ui.perfetto.dev; .gz: compressed")
    parser.add_argument("--plan", **flag(), help="hold the memory that ranks took against what was to be expected")
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but errors")
    given = parser.parsed(words)
    return Task(lambda comm: _do(comm, given))


def _do(comm: Comm, given: dict[str, Any]) -> int:
    with comm.together():
        if comm.rank == 0:
            _tell(given["files"], given.get("html"), given.get("trace"), "plan" in given, "quiet" in given)
    return 0


def _tell(files: Sequence[str], html: Path | None, trace: Path | None, plan: bool, quiet: bool) -> None:
    runs = [run for file in files for run in report.read(file)]
    told = [_planned(run) for run in runs] if plan else []
    if trace and len(runs) > 1:
        raise UsageError(f"--trace: a trace shows one run, and these are {len(runs)}; name one file with one run")
    if html:
        report.write_page(runs, html)
    if trace:
        report.write_trace(runs[0], trace)
    if quiet:
        return
    if len(runs) == 1:
        report.show(runs[0])
    else:
        print(report.comparison(runs))
    print(*(["", *told] if told else []), sep="\n", end="\n" if told else "")


def _planned(run: dict) -> str:
    """Put the planned memory into a report; lines that compare."""
    from dgraph.tools.estimate import against

    plan = against(run)
    for rank in run["ranks"]:
        rank["planned_memory_bytes"] = plan.peak
    most = max(rank["peak_memory_bytes"] for rank in run["ranks"])
    off = plan.peak / most - 1
    expected, taken = report.size(plan.peak), report.size(most)
    told = [f"memory: {expected} a rank were to be expected, {taken} at most were taken ({off:+.0%})"]
    known = [rank["gpu_memory"] for rank in run["ranks"] if "gpu_memory" in rank]
    held = [one["peak_bytes"] + one.get("messages_bytes", 0) for one in known]
    if held and max(held):
        expected, taken, off = report.size(plan.gpu.peak), report.size(max(held)), plan.gpu.peak / max(held) - 1
        told.append(f"GPU memory: {expected} a rank were to be expected, {taken} at most were taken ({off:+.0%})")
    return "\n".join(told)
