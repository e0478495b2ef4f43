"""Runs of a command line: one load, then for each source a run, its output file, its report and its table."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import partitioning
from dgraph import report
from dgraph._support.writable import check_writable
from dgraph.algorithms.base import Algorithm
from dgraph.algorithms.requested import check_residual
from dgraph.backend import refuse_early
from dgraph.backend.build import Graph, is_large
from dgraph.backend.schedule_options import HOST
from dgraph.cli.columns.conditions import load_chosen, parted
from dgraph.cli.columns.vertex_file import read_vertex_file
from dgraph.cli.commands import show_warnings
from dgraph.cli.flat_options import checkpoint_of, device_of, options_of, run_keywords
from dgraph.cli.parser import RunRequest
from dgraph.cli.sources import Vertices, in_file, name_of
from dgraph.cli.terminal.terminal_progress import progress_for
from dgraph.comm import Comm
from dgraph.engine.checkpoint import clear, listening
from dgraph.errors import DataError, NotConverged, UsageError, ValidationFailed
from dgraph.graph.formats.first_line import begins_number
from dgraph.graph.generate import DEFAULT
from dgraph.graph.load import describe
from dgraph.graph.reading import watched_by
from dgraph.report import Progress, Record
from dgraph.result import files
from dgraph.result.files.matrix_file import SUFFIXES
from dgraph.result.files.save import WRITERS
from dgraph.result.result import Result
from dgraph.run import run
from dgraph.tools.compile_beside import compiling_beside

SUGGESTED = "the input suggests it"


def solve(request: RunRequest, comm: Comm) -> int:
    """Carry out a request, and return exit code 0; collective.

    Raises:
        NotConverged: a limit ended a run early; its output and report are written.
        UsageError, DataError, OutputError: on every rank alike.
    """
    began = time.perf_counter()
    with listening("checkpoint" in request.run):
        with comm.together():
            if comm.rank == 0:
                _refuse_early(request)
        with _compiling(request) if comm.size == 1 else nullcontext():
            return _solve(request, comm, began)


def _compiling(request: RunRequest) -> AbstractContextManager[None]:
    """Return the block of a run beside which its rounds are compiled."""
    spec, load = _named(request)
    options = {"weight": request.run.get("weight"), "direction": request.run.get("direction", "auto")}
    return compiling_beside(request.definition, spec, device_of(request.run), request.parameters, load=load, **options)


def _named(request: RunRequest) -> tuple[str, dict[str, Any]]:
    """Return the graph of a request, or the default one, and the options of its load."""
    options = dict(request.load)
    if request.graph is None and request.definition.wants_weights:
        options.setdefault("weights", "hash")
    return DEFAULT if request.graph is None else request.graph, options


def _solve(request: RunRequest, comm: Comm, began: float) -> int:
    record = Record(comm, request.command)
    with progress_for(comm.rank, request.quiet, began) as progress:
        graph = _load(request, comm, record, progress)
    show_warnings(graph)
    if request.output and graph.ids.names is not None:
        files.refuse_names(request.output, graph.ids.names.here, comm)
    request = request.resolved(lambda vertices: vertices.of_graph(graph.ids.names, comm))
    with progress_for(comm.rank, request.quiet, began) as progress:
        starts = _starts(request, graph, record, progress)
        suggested = _suggested(request, graph, progress)
    several = len(starts) > 1
    style = _style(request) if comm.rank == 0 else report.Style()
    limits = []
    for source in starts:
        for name, value in suggested.items():
            record.choose(name, str(value), SUGGESTED)
        limit = _run(request, graph, source, suggested, several, record, style, began)
        if limit is not None:
            limits.append(f"{limit} from source {source}" if several else limit)
        record = Record(comm, request.command)
    style.end()
    if not limits and "checkpoint" in request.run and comm.rank == 0:
        for source in starts:
            clear(_checkpoint(request, source, several))
        clear(Path(request.run["checkpoint"]))
    if limits:
        raise NotConverged(
            f"{request.algorithm} did not converge: it was stopped after {'; '.join(limits)}. Its result so "
            f"far is printed, and written where --output names a file; allow more rounds{_or_tolerance(request)}"
        )
    return 0


def _or_tolerance(request: RunRequest) -> str:
    return ", or a larger tolerance" if "tol" in request.definition.parameters else ""


def _style(request: RunRequest) -> report.Style:
    named = request.format or (None if request.quiet else "table")
    return report.STYLES[named]() if named else report.Style()


def _run(
    request: RunRequest, graph: Graph, source: int | str | None, suggested: dict, several: bool, record: Record,
    style: report.Style, began: float,
) -> str | None:  # fmt: skip
    """Run from one source, write its files and print it; return the limit that ended it early, or None."""
    rank = graph.comm.rank
    start = {} if source is None else {"source": source}
    flat = dict(request.run)
    if "checkpoint" in flat:
        flat["checkpoint"] = _checkpoint(request, source, several)
    parameters: dict[str, Any] = suggested | request.parameters | start
    if "weight" in flat and "weighted" in request.definition.parameters:
        parameters.setdefault("weighted", True)
    if request.definition.matrix and request.output and request.output.suffix == ".npy":
        parameters.setdefault("matrix_file", str(request.output))
    with progress_for(rank, request.quiet, began) as progress:
        try:
            algorithm = request.definition(**parameters)
            result = run(algorithm, graph, record=record, progress=progress, **run_keywords(flat))
        except ValidationFailed:
            _write_report(request, record.collect(), source, several, graph.comm)
            raise
        if request.output:
            path = name_of(request.output, source, several)
            progress.phase("output", str(path))
            with record("output"), result.comm.watchdog.watching(options_of(flat).watchdog):
                result.save(path, attributes=request.attributes is not None)
        if request.top is not None:
            _find_largest(request.top, request.attributes is not None, result, record)
        if request.target is not None and result.converged:
            _find_path(request.target, result, record)
    collected = record.collect()
    _write_report(request, collected, source, several, graph.comm)
    style.run(collected)
    return None if result.converged else str(result.limit)


def _find_path(target: int | str, result: Result, record: Record) -> None:
    """Write a shortest path into the report's outcome; collective."""
    with record("output"):
        vertices = result.path(target)
        length = result.value(target, "distance") if vertices else None
    record.describe("outcome", path={"target": target, "vertices": vertices, "length": length})


def _find_largest(count: int, attributes: bool, result: Result, record: Record) -> None:
    """Write the rows of largest value into the report's outcome; collective."""
    with record("output"):
        rows = result.top(count, attributes=attributes)
    record.describe("outcome", top={name: _plain(values) for name, values in rows.items()})


def _plain(values: np.ndarray) -> list:
    """Return values for JSON: times as text, missing ones as None."""
    if values.dtype.kind == "M":
        return [None if value is None else value.isoformat() for value in values.astype("datetime64[us]").tolist()]
    return [None if value is None or value != value else value for value in values.tolist()]


def _checkpoint(request: RunRequest, source: int | str | None, several: bool) -> Path:
    """Return the folder of one run's checkpoints."""
    folder = Path(request.run["checkpoint"])
    return folder / f"source-{in_file(source)}" if several else folder


def _write_report(request: RunRequest, collected: dict, source: int | str | None, several: bool, comm: Comm) -> None:
    with comm.together():
        if comm.rank == 0 and request.report:
            report.write(collected, name_of(request.report, source, several))
        if comm.rank == 0 and request.rounds_table:
            report.write_rounds(collected, name_of(request.rounds_table, source, several))


def _waits_for_names(value: Any) -> bool:
    """Return True for vertices that are read once it is known whether the graph's have names."""
    return any(isinstance(member, Vertices) for member in (value if isinstance(value, list) else [value]))


def refuse_words(request: RunRequest) -> Algorithm:
    """Refuse what no machine could run, and return the algorithm with its parameters.

    Raises:
        UsageError: a wrong value, or options that contradict each other.
    """
    asked, weights = request.run, request.load.get("weights")
    parameters = request.parameters.items()
    read = {name: value for name, value in parameters if not _waits_for_names(value)}
    work = request.definition(**read)
    if asked.get("validate"):
        from dgraph.validate import certificate  # not at the top: most runs are not validated

        certificate(work.name)
    device_of(asked)
    for condition in request.where:
        parted(condition)
    if request.attributes and request.output is None and request.top is None:
        raise UsageError(
            f"--attributes {request.attributes} joins rows, and none are asked for; give --top or --output"
        )
    if request.attributes and request.output and request.output.suffix == ".txt":
        raise UsageError(
            f"--attributes {request.attributes}: {request.output} has room for one column; write .csv, .parquet or .npz"
        )
    if options_of(asked).residuals:
        check_residual(work)
    if request.target is not None and request.format not in (None, "table", "json"):
        raise UsageError(f"--target prints a path, for which --format {request.format} has no line; give table or json")
    if request.top is not None and request.format not in (None, "table", "json"):
        raise UsageError(f"--top prints rows, for which --format {request.format} has no line; give table or json")
    if request.top is not None and request.quiet and not (request.report or request.format):
        raise UsageError(f"--top {request.top} prints rows, and --quiet nothing; leave one out, or give --report FILE")
    if request.format:
        report.STYLES[request.format].check(request.algorithm, request.run | request.parameters)
    try:
        partitioning.choose(asked.get("policy", "auto"))
    except partitioning.PolicyError as wrong:
        raise UsageError(str(wrong)) from wrong
    if weights is not None:
        from dgraph.graph.build.weights import check_rule

        check_rule(weights)
    checkpoint_of(asked)
    if request.output:
        files.check_suffix(request.output, _suffixes(work))
    written = [(f"--{name.replace('_', '-')}", getattr(request, name)) for name in ("output", "report", "rounds_table")]
    places: dict[Path, str] = {}
    for option, path in written:
        if path and (other := places.setdefault(path.absolute(), option)) != option:
            raise UsageError(f"{other} and {option} are both {path}: one would take the other's place")
    return work


def _refuse_early(request: RunRequest) -> None:
    """Raise now the errors that would otherwise come after a long load."""
    work, asked, options = refuse_words(request), request.run, options_of(request.run)
    refuse_early(device_of(asked), options.gpu_keywords(), options.named(), work.traversal, asked.get("build", HOST))
    if request.output:
        files.check(request.output, _suffixes(work))
    for path in (request.report, request.rounds_table):
        if path:
            check_writable(path)


def _suffixes(work: Algorithm) -> Collection[str]:
    return (*WRITERS, *SUFFIXES) if work.matrix else WRITERS


def _load(request: RunRequest, comm: Comm, record: Record, progress: Progress) -> Graph:
    algorithm = request.definition
    spec, options = _named(request)
    if request.graph is None:
        record.choose("graph", spec, "the default graph")
        progress.line(f"no graph was named: taking {spec}")
    placing = {"policy": request.run.get("policy", "auto"), "device": device_of(request.run)}
    build = request.run.get("build", "auto")
    phase = "build" if is_large(spec, placing["device"], build) else "load"
    progress.phase(phase, spec)
    with record(phase), watched_by(progress.reading):
        weight = request.run.get("weight")
        graph = load_chosen(Graph.load, spec, request.where, options, weight, comm=comm, build=build, **placing)
        if request.attributes:
            graph = _with_attributes(graph, request.attributes)
    progress.line(describe(graph))
    if algorithm.wants_weights and graph.weight_type is None and not ("weights" in options or "weight" in request.run):
        record.warn("the graph has no weights: every edge weighs 1; --weights LO..HI or hash makes some")
    return graph


def _with_attributes(graph: Graph, path: Path) -> Graph:
    """Return the graph with the columns of a table of vertices, which rank 0 reads; collective.

    Rows of other vertices are left out, with a warning, unless all are.
    """
    table = None
    with graph.comm.together():
        if graph.comm.rank == 0:
            table = read_vertex_file(path, graph.ids.names is not None)
            first, *others = table.column_names
            if begins_number(first) or "vertex" in others:
                raise DataError(
                    f"{path}: its columns are {', '.join(table.column_names)}; the first line names them, the first "
                    "column has the vertices, and no other one is called vertex; correct it"
                )
            if table[first].null_count:
                raise DataError(f"{path}: {first}[{table[first].is_null().index(True)}] is missing; drop the row")
            table = table.rename_columns(["vertex", *others])
    there = graph.has([] if table is None else table["vertex"].to_numpy())
    total, count = graph.comm.total(len(there)), graph.comm.total(int(np.count_nonzero(there)))
    if 0 < count < total:
        table = None if table is None else table.filter(there)
        text = f"{path}: left out {total - count:,} of {total:,} rows, of vertices that the graph does not have"
        graph.facts.warnings.append(text)
    return graph.with_vertex_attributes(table)


def _starts(request: RunRequest, graph: Graph, record: Record, progress: Progress) -> list[int | str | None]:
    """Return the sources; ``[None]`` where the algorithm takes none."""
    if not request.definition.needs_source:
        return [None]
    if request.sources:
        return list(request.sources)
    suggested = graph.facts.defaults.get(request.algorithm, {}).get("source")
    declared = request.definition.parameters["source"].default
    if declared is not None:
        return [declared]
    if suggested is not None:
        source, reason = suggested, SUGGESTED
    else:
        source, reason = graph.hub(), "it has the most out-edges"
    record.choose("source", str(source), reason)
    progress.line(f"source {source}: {reason}")
    return [source]


def _suggested(request: RunRequest, graph: Graph, progress: Progress) -> dict[str, Any]:
    """Return the parameters that the input suggests, such as LDBC's rounds; none if the user gave one of them."""
    named = graph.facts.defaults.get(request.algorithm, {})
    if any(name in request.parameters for name in named):
        return {}
    taken = {name: value for name, value in named.items() if name != "source"}
    for name, value in taken.items():
        progress.line(f"{name} {value}: {SUGGESTED}")
    return taken
