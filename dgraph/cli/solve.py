"""One load, a run for each source; the answer, the report and the table of each."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import partitioning
from dgraph import report
from dgraph.algorithms import ALGORITHMS
from dgraph.backend import refuse_early
from dgraph.backend.build import build_on_gpus
from dgraph.backend.schedule_options import CHOICES, DEVICE
from dgraph.cli.commands import show_warnings
from dgraph.cli.parser import Request
from dgraph.cli.sources import in_file, name_of
from dgraph.cli.terminal_progress import progress_for
from dgraph.comm import Comm
from dgraph.comm.watchdog import allowed
from dgraph.engine.checkpoint import clear, interval, listening
from dgraph.errors import NotConverged, OutputError, UsageError, ValidationFailed
from dgraph.graph.generate import DEFAULT
from dgraph.graph.load import describe
from dgraph.graph.stored_graph import Graph
from dgraph.report import Progress, Trace
from dgraph.result import files
from dgraph.run import run

ABOUT_GPUS = ("build", "transport", "gpus", "schedule", "record", "local_rounds", "host_rounds", *CHOICES)
SUGGESTED = "the input suggests it, and none was named"


def solve(request: Request, comm: Comm) -> int:
    """Do what the command line asks; collective. The exit code 0.

    Raises:
        NotConverged: a limit ended a run early; everything that was asked for has been written.
        UsageError, DataError, OutputError: on every rank alike.
    """
    with listening("checkpoint" in request.run):
        return _solve(request, comm)


def _solve(request: Request, comm: Comm) -> int:
    began = time.perf_counter()
    with comm.together():
        if comm.rank == 0:
            _refuse_early(request)
    trace = Trace(comm, request.command)
    with progress_for(comm.rank, request.quiet, began) as progress:
        graph = _load(request, comm, trace, progress)
    show_warnings(graph)
    with progress_for(comm.rank, request.quiet, began) as progress:
        starts = _starts(request, graph, trace, progress)
        suggested = _suggested(request, graph, progress)
    several = len(starts) > 1
    style = _style(request) if comm.rank == 0 else report.Style()
    limits = []
    for source in starts:
        for name, value in suggested.items():
            trace.choose(name, str(value), SUGGESTED)
        limit = _run(request, graph, source, suggested, several, trace, style, began)
        if limit is not None:
            limits.append(f"{limit} from source {source}" if several else limit)
        trace = Trace(comm, request.command)
    style.end()
    if not limits and "checkpoint" in request.run and comm.rank == 0:
        for source in starts:
            clear(_checkpoint(request, source, several))
        clear(Path(request.run["checkpoint"]))
    if limits:
        raise NotConverged(
            f"{request.algorithm} did not converge: it was stopped after {'; '.join(limits)}. What it had found "
            f"by then is printed, and written where that was asked for; allow more rounds{_or_tolerance(request)}"
        )
    return 0


def _or_tolerance(request: Request) -> str:
    return ", or a larger tolerance" if "tol" in ALGORITHMS[request.algorithm].parameters else ""


def _style(request: Request) -> report.Style:
    named = request.format or (None if request.quiet else "table")
    return report.STYLES[named]() if named else report.Style()


def _run(
    request: Request, graph: Graph, source: int | str | None, suggested: dict, several: bool, trace: Trace,
    style: report.Style, began: float,
) -> str | None:  # fmt: skip
    """One run, its files, and what ``style`` prints of it; the limit that ended it early, if one did."""
    rank = graph.comm.rank
    start = {} if source is None else {"source": source}
    options: dict[str, Any] = request.run | suggested | request.parameters | start
    if "checkpoint" in options:
        options["checkpoint"] = _checkpoint(request, source, several)
    with progress_for(rank, request.quiet, began) as progress:
        try:
            result = run(request.algorithm, graph, trace=trace, progress=progress, **options)
        except ValidationFailed:
            _write_report(request, trace.collect(), source, several, graph.comm)
            raise
        if request.output:
            path = name_of(request.output, source, several)
            progress.phase("output", str(path))
            with trace("output"):
                result.save(path)
    told = trace.collect()
    _write_report(request, told, source, several, graph.comm)
    style.run(told)
    return None if result.converged else str(result.limit)


def _checkpoint(request: Request, source: int | str | None, several: bool) -> Path:
    """The folder of one run's checkpoints."""
    folder = Path(request.run["checkpoint"])
    return folder / f"source-{in_file(source)}" if several else folder


def _write_report(request: Request, told: dict, source: int | str | None, several: bool, comm: Comm) -> None:
    with comm.together():
        if comm.rank == 0 and request.report:
            report.write(told, name_of(request.report, source, several))


def _refuse_early(request: Request) -> None:
    """What would fail after a long load fails now."""
    asked, weights = request.run, request.load.get("weights")
    work = ALGORITHMS[request.algorithm](**request.parameters)
    given = {name: asked[name] for name in ABOUT_GPUS if name in asked}
    refuse_early(asked.get("backend", "auto"), traversal=work.traversal, **given)
    if request.format:
        report.STYLES[request.format].check(request.algorithm, request.run | request.parameters)
    try:
        partitioning.choose(asked.get("policy", "auto"))
    except partitioning.PolicyError as wrong:
        raise UsageError(str(wrong)) from wrong
    if weights is not None:
        from dgraph.graph.build.weights import check_rule

        check_rule(weights)
    interval(asked.get("checkpoint_every"))
    allowed(asked.get("watchdog"))
    if "checkpoint" not in request.run and {"resume", "checkpoint_every"} & request.run.keys():
        raise UsageError("--resume and --checkpoint-every need --checkpoint DIR, the folder that they are about")
    if request.output:
        files.check(request.output)
    if request.report and request.output and request.report.absolute() == request.output.absolute():
        raise UsageError(f"--output and --report are both {request.report}: one would take the other's place")
    if request.report and not request.report.parent.is_dir():
        raise OutputError(
            f"{request.report} cannot be written: there is no folder {request.report.parent}; make it first"
        )


def _load(request: Request, comm: Comm, trace: Trace, progress: Progress) -> Graph:
    algorithm = ALGORITHMS[request.algorithm]
    spec, options = request.graph or DEFAULT, dict(request.load)
    if request.graph is None:
        if algorithm.wants_weights:
            options.setdefault("weights", "hash")
        trace.choose("graph", spec, "none was named")
        progress.line(f"no graph was named: taking {spec}")
    if request.run.get("build") == DEVICE:
        placing = {name: request.run[name] for name in ("policy", "backend", "gpus") if name in request.run}
        trace.choose("build", DEVICE, "asked for")
        progress.phase("build", spec)
        with trace("build"):
            graph = build_on_gpus(spec, comm=comm, **placing, **options)
    else:
        progress.phase("load", spec)
        with trace("load"):
            graph = Graph.load(spec, comm=comm, **options)
    progress.line(describe(graph))
    if algorithm.wants_weights and graph.weight_type is None and "weights" not in options:
        trace.warn("the graph has no weights: every edge weighs 1; --weights LO..HI or hash makes some")
    return graph


def _starts(request: Request, graph: Graph, trace: Trace, progress: Progress) -> list[int | str | None]:
    """The sources, or one None where the algorithm takes none."""
    if not ALGORITHMS[request.algorithm].needs_source:
        return [None]
    if request.sources:
        if graph.ids.names is not None:
            graph.ids.names.find([str(name) for name in request.sources], graph.comm)  # refuses what is no vertex
        return list(request.sources)
    suggested = graph.facts.defaults.get(request.algorithm, {}).get("source")
    if suggested is not None:
        source, reason = suggested, SUGGESTED
    else:
        source, reason = graph.hub(), "it has the most out-edges, and none was named"
    trace.choose("source", str(source), reason)
    progress.line(f"source {source}: {reason}")
    return [source]


def _suggested(request: Request, graph: Graph, progress: Progress) -> dict[str, Any]:
    """Parameters that the input itself names, such as LDBC's rounds, where the command line names none of them."""
    named = graph.facts.defaults.get(request.algorithm, {})
    if any(name in request.parameters for name in named):
        return {}
    taken = {name: value for name, value in named.items() if name != "source"}
    for name, value in taken.items():
        progress.line(f"{name} {value}: {SUGGESTED}")
    return taken
