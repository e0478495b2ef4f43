"""The pipeline, once, top to bottom: name → EdgeBlock → Placement → LocalGraph → Algorithm → Result → Report."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dgraph._support import first_runs, interrupts
from dgraph._support.arguments import flag, instance, path
from dgraph._support.callers import users_frame
from dgraph._support.compiled_later import LATER
from dgraph.algorithms import ALGORITHMS, Algorithm
from dgraph.algorithms.on_replicas import solved
from dgraph.algorithms.outcome import Outcome
from dgraph.algorithms.requested import check_continues, check_residual, requested, start_of
from dgraph.comm import Comm, begun, collective_after, communicator
from dgraph.engine.checkpoint import Checkpoint, CheckpointManager, listening
from dgraph.engine.checkpoint.signals import StopSignals
from dgraph.engine.opened_device import DeviceBlock, opened, still_open
from dgraph.engine.placement import local_graph, with_whole_rows
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.progress import progress_of
from dgraph.engine.run_options import DEFAULTS, Options
from dgraph.errors import ConvergenceWarning, ValidationFailed
from dgraph.graph.graph_like import as_graph, both_ways, name_of_input
from dgraph.graph.local import LocalGraph
from dgraph.graph.reading import watched_by
from dgraph.graph.stored_graph import Graph
from dgraph.program import Program
from dgraph.report import Progress, Record
from dgraph.result.result import Result


def _before(
    algorithm: Any, graph: Any, *, weight: Any = None, options: Any = None, validate: Any = False,
    checkpoint: Any = None, previous: Any = None, record: Any = None, progress: Any = None, **parameters: Any,
) -> tuple[bool, ...]:  # fmt: skip
    """Check arguments of :func:`run` on this rank; return what :func:`still_open` does of a graph that is loaded."""
    flag("validate", validate)
    instance("options", options, Options, "a dgraph.Options")
    instance("previous", previous, Result, "the Result of an earlier call")
    instance("record", record, Record, "a dgraph.report.Record (extra records of GPUs: dgraph.Options(record=…))")
    progress_of(progress, 0)
    _saving(checkpoint)
    loaded = isinstance(graph, Graph) and graph.comm.size > 1 and weight is None
    return still_open(graph, options or DEFAULTS) if loaded else ()


def _saving(checkpoint: Any) -> Checkpoint | None:
    return checkpoint if isinstance(checkpoint, Checkpoint | None) else Checkpoint(path("checkpoint", checkpoint))


@collective_after(_before)
def run(
    algorithm: str | Algorithm | Program, graph: Any, *, weight: str | None = None, options: Options | None = None,
    validate: bool = False, checkpoint: Checkpoint | str | Path | None = None, previous: Result | None = None,
    record: Record | None = None, progress: Progress | Callable | bool | None = None, **parameters: Any,
) -> Result:  # fmt: skip
    """Run an algorithm on a graph of this process, on every rank of the graph's communicator; collective.

    The public function :func:`dgraph.run` calls this one for every graph but a service's. Its docstring is the one
    place that describes arguments, warnings and errors; they are the same here.

    Returns:
        The :class:`~dgraph.Result`: this rank's rows of the columns, and what is equal on all ranks.

    Raises:
        UsageError: ``graph`` is a service's, or an argument is not as :func:`dgraph.run` says.
    """
    comm = graph.comm if isinstance(graph, Graph) else communicator(None)
    before = partial(
        _before, algorithm, graph, weight=weight, options=options, validate=validate, checkpoint=checkpoint,
        previous=previous, record=record, progress=progress,
    )  # fmt: skip
    ready, repeats = begun(comm, before)
    run_progress, saving = progress_of(progress, comm.rank), _saving(checkpoint)
    lazily = record is None  # the report is made when it is read: nothing else reads the record
    run_record, run_options = record or Record(comm), options or DEFAULTS
    with comm.guarded(), listening(saving is not None) as signals, DeviceBlock() as ending:
        with run_record("init"):
            named = requested(algorithm, parameters, weight)
            if validate:
                from dgraph.validate import certificate  # not at the top: most runs are not validated

                certificate(named.name)
            if previous is not None:
                check_continues(named, saving)
            run_record.residuals = run_options.residuals
            if run_record.residuals:
                check_residual(named)
        with run_record("load"):
            unweighted = graph if isinstance(graph, Graph) else _read(graph, comm, run_progress)
            loaded = unweighted if weight is None else unweighted.with_weight(weight)
            del unweighted
        with run_record("init"):
            agreed = comm.size > 1 and isinstance(graph, Graph) and weight is None
            backend, place = opened(loaded, run_options, run_record, run_progress, bool(ready) if agreed else None)
            ending.backend = backend
        version, directed, names = loaded.version, loaded.directed, loaded.ids.names
        attributes = loaded.vertex_table() if loaded.columns else None
        with run_record("load"):
            work = (named if directed else named.of_edges()).numbered(names, comm).labelled(loaded)
            oriented = _oriented(loaded.fit_for(backend.put is not None), work, run_progress)
            counted = work.edge_rule.applied(oriented, work.arcs)
            if counted is not oriented:
                text = f"{work.name}: {work.edge_rule.words}; it runs on a copy without what does not count"
                run_progress.line(text)
        del loaded
        needs = work.needs_rows if comm.size > 1 else None
        rows = with_whole_rows(counted, work.name, needs, run_record, run_progress) if needs else counted
        local = local_graph(rows, run_record, run_progress)
        uncompiled = LATER.call(counted) if comm.size == 1 and not backend.compiles_in_parallel else None
        start = start_of(previous, named, version, local, directed, comm)
        certified = oriented if validate else None
        del oriented, counted, rows  # of a graph that was loaded here, only this rank's part stays while rounds run
        manager = _manager(saving, work, local, comm, run_record, run_progress, signals)
        ctx = Context(
            local, comm, backend, run_record, run_progress, run_options.direction, run_options.sync,
            run_options.max_rounds, place, manager, names, start.answer, bool(repeats),
        )  # fmt: skip
        watched = comm.watchdog.watching(run_options.watchdog)
        with run_record("solve"), interrupts.deferred(), watched, first_runs.plain_kernels() as kernels:
            run_progress.phase("solve", work.name)
            answer = solved(work, ctx)
            ctx.check_owned()
            if kernels:
                run_record.choose("kernels", "Python", f"{', '.join(kernels)}: {first_runs.REMARK}")
            ctx.warn_of_unused_schedule()
            if remark := backend.remark:
                run_record.choose("kernels", "compiled quickly", remark)
            if manager is not None:
                manager.end(answer.finished)
        if uncompiled is not None and ALGORITHMS.get(work.name) is type(work):
            LATER.begin(uncompiled, work, run_options.direction)
        run_record.gpu_memory = backend.memory()
        ended = run_record.ended if lazily else lambda: run_record.collect
        gathering = ended() if certified is None and names is None else None  # no timed or collective work follows
        outcome = Outcome.of(named, work, answer, ctx, start)
        if certified is not None:
            with comm.watchdog.watching(run_options.watchdog):
                _validate(work, certified, outcome, ctx)
        result = outcome.result(version, gathering or ended(), attributes)
    if not result.converged and comm.rank == 0:
        advice = "allow more rounds, or a larger tolerance" if "tol" in work.parameters else "allow more rounds"
        warning = f"{work.name} did not converge: it was stopped after {answer.limit}; {advice}"
        warnings.warn(warning, ConvergenceWarning, stacklevel=users_frame())
    return result


def _read(graph: Any, comm: Comm, progress: Progress) -> Graph:
    """Return the graph of what is not a :class:`Graph`: a table, arrays or the name of an input; collective."""
    progress.phase("load", name_of_input(graph))
    with watched_by(progress.reading):
        return as_graph(graph, comm)


def _oriented(graph: Graph, work: Algorithm, progress: Progress) -> Graph:
    """Return the graph with the directions that the algorithm reads: a directed one is made undirected if it has to be.

    Parallel edges that the graph keeps become one of the smallest weight if the algorithm counts them once. Those of
    graphs that keep none merge by the rule of the load.
    """
    if not (work.undirected and graph.directed):
        return graph
    once = graph.facts.duplicates_kept and work.edge_rule.parallel == "once"
    undirected = both_ways(graph) if work.arcs else graph.undirected("min" if once else None)
    progress.line(f"{work.name} ignores directions: the graph was made undirected")
    return undirected


def _manager(
    saving: Checkpoint | None, work: Algorithm, local: LocalGraph, comm: Comm, record: Record, progress: Progress,
    signals: StopSignals,
) -> CheckpointManager | None:  # fmt: skip
    """Return what writes the run's checkpoints; None if it writes none."""
    if saving is None:
        return None
    if not work.resumes:
        text = f"{work.name} writes no checkpoints: a run that is stopped starts again"
        record.warn(text)
        progress.line(text)
        return None
    identity = {"algorithm": work.name, "parameters": work.settings(), "graph": record.fingerprint}
    return CheckpointManager(
        Path(saving.folder), identity, local, comm, record, progress,
        every=saving.every, resume=saving.resume, signals=signals,
    )  # fmt: skip


def _validate(work: Algorithm, graph: Graph, outcome: Outcome, ctx: Context) -> None:
    """Write the certificate's verdict into the report, and refuse a wrong answer."""
    from dgraph.validate import validate as certify

    answer, backend = outcome.answer, ctx.backend
    ctx.progress.phase("validate", work.name)
    with ctx.record("validate"):
        verdict = certify(
            work.name, backend.evidence(graph, ctx.local, work.name), outcome.columns, ctx.comm,
            parameters=work.settings(), rounds=answer.summary.get("iterations", ctx.rounds), converged=answer.finished,
            threads=backend.host_threads, edges=answer.edges, walks=answer.walks,
            matrix=None if answer.matrix is None else answer.matrix.here,
            predecessors=None if answer.matrix is None else answer.matrix.predecessors,
        )  # fmt: skip
    ctx.record.describe("outcome", validation=verdict.facts())
    if verdict.passed is False:
        raise ValidationFailed(str(verdict))
    ctx.progress.line(str(verdict))
