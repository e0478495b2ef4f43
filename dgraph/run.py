"""The pipeline, once, top to bottom: name → EdgeBlock → Placement → LocalGraph → Algorithm → Result → Report."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from dgraph._support import interrupts
from dgraph._support.arguments import flag, instance, path
from dgraph._support.callers import users_frame
from dgraph.algorithms import Algorithm
from dgraph.algorithms.on_replicas import solved
from dgraph.algorithms.outcome import Outcome
from dgraph.algorithms.requested import check_continues, requested, start_of
from dgraph.comm import Comm, collective, communicator
from dgraph.comm.watchdog import allowed
from dgraph.engine.checkpoint import Checkpoint, CheckpointManager, listening
from dgraph.engine.checkpoint.signals import StopSignals
from dgraph.engine.opened_device import opened
from dgraph.engine.placement import local_graph, with_whole_rows
from dgraph.engine.rounds.context import Context
from dgraph.engine.run_options import Options
from dgraph.errors import ConvergenceWarning, ValidationFailed
from dgraph.graph.graph_like import as_graph, both_ways, name_of_input
from dgraph.graph.local import LocalGraph
from dgraph.graph.stored_graph import Graph
from dgraph.program import Program
from dgraph.report import Progress, Record
from dgraph.result.result import Result


class Call(NamedTuple):
    """Settings of a call of :func:`run` on this rank, checked, with defaults in place of None."""

    comm: Comm
    options: Options
    validate: bool
    checkpoint: Checkpoint | None
    previous: Result | None
    record: Record
    progress: Progress
    lazily: bool
    """The report is made when it is first read: nothing else reads the record."""


@collective
def run(
    algorithm: str | Algorithm | Program, graph: Any, *, options: Options | None = None, validate: bool = False,
    checkpoint: Checkpoint | str | Path | None = None, previous: Result | None = None,
    record: Record | None = None, progress: Progress | None = None, **parameters: Any,
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
    with comm.together():
        flag("validate", validate)
        instance("options", options, Options, "a dgraph.Options")
        instance("previous", previous, Result, "the Result of an earlier call")
        instance("record", record, Record, "a dgraph.report.Record (extra records of GPUs: dgraph.Options(record=…))")
        instance("progress", progress, Progress, "a dgraph.report.Progress")
        saving = checkpoint if isinstance(checkpoint, Checkpoint | None) else Checkpoint(path("checkpoint", checkpoint))
    call = Call(
        comm, options or Options(), validate, saving, previous, record or Record(comm), progress or Progress(),
        lazily=record is None and comm.size == 1,
    )  # fmt: skip
    return _solved(algorithm, parameters, graph, call)


def _solved(algorithm: str | Algorithm | Program, parameters: dict[str, Any], graph: Any, call: Call) -> Result:
    """Return the result of a call: the pipeline, where each step reads what the steps above it returned."""
    comm, record, progress = call.comm, call.record, call.progress
    with comm.guarded(), listening(call.checkpoint is not None) as signals, ExitStack() as ending:
        with record("init"):
            named = requested(algorithm, parameters)
            if call.validate:
                from dgraph.validate import certificate  # not at the top: most runs are not validated

                certificate(named.name)
            if call.previous is not None:
                check_continues(named, call.checkpoint)
        loaded = graph if isinstance(graph, Graph) else _loaded(graph, call)
        with record("init"):
            backend, place = opened(loaded, call.options, record, progress)
            ending.callback(backend.leave)
        version, directed, names = loaded.version, loaded.directed, loaded.ids.names
        with record("load"):
            numbered = named.numbered(names, comm)
            work = numbered if directed else numbered.of_edges()
            oriented = _oriented(loaded.fit_for(backend.put is not None), work, progress)
            counted = work.edge_rule.applied(oriented, work.arcs)
            if counted is not oriented:
                progress.line(f"{work.name}: {work.edge_rule.words}; it runs on a copy without what does not count")
        del loaded
        rows = with_whole_rows(counted, work.name, record, progress) if work.needs_rows and comm.size > 1 else counted
        local = local_graph(rows, record, progress)
        start = start_of(call.previous, named, version, local, directed, comm)
        certified = oriented if call.validate else None
        del oriented, counted, rows  # of a graph that was loaded here, only this rank's part stays while rounds run
        manager = _manager(work, local, call, signals)
        ctx = Context(
            local, comm, backend, record, progress, call.options.direction, call.options.sync, call.options.max_rounds,
            place, manager, names, start.answer,
        )  # fmt: skip
        with record("solve"), interrupts.deferred(), comm.watchdog.watching(allowed(call.options.watchdog)):
            progress.phase("solve", work.name)
            answer = solved(work, ctx)
            if manager is not None:
                manager.end()
        outcome = Outcome.of(named, work, answer, ctx, start)
        if certified is not None:
            _validate(work, certified, outcome, ctx)
        result = outcome.result(version, call.lazily)
    if not result.converged and comm.rank == 0:
        advice = "allow more rounds, or a larger tolerance" if "tol" in work.parameters else "allow more rounds"
        text = f"{work.name} did not converge: it was stopped after {answer.limit}; {advice}"
        warnings.warn(text, ConvergenceWarning, stacklevel=users_frame())
    return result


def _loaded(graph: Any, call: Call) -> Graph:
    """Load the graph that a value names or holds."""
    with call.record("load"):
        call.progress.phase("load", name_of_input(graph))
        return as_graph(graph, call.comm)


def _oriented(graph: Graph, work: Algorithm, progress: Progress) -> Graph:
    """Return the graph with the directions that the algorithm reads: a directed one is made undirected if it has to be.

    Parallel edges that the graph keeps become one, of the smallest weight; otherwise the rule of the load decides.
    """
    if not (work.undirected and graph.directed):
        return graph
    undirected = both_ways(graph) if work.arcs else graph.undirected("min" if graph.facts.duplicates_kept else None)
    progress.line(f"{work.name} ignores directions: the graph was made undirected")
    return undirected


def _manager(work: Algorithm, local: LocalGraph, call: Call, signals: StopSignals) -> CheckpointManager | None:
    """Return what writes the run's checkpoints; None if it writes none."""
    checkpoint = call.checkpoint
    if checkpoint is None:
        return None
    if not work.resumes:
        text = f"{work.name} writes no checkpoints: a run that is stopped starts again"
        call.record.warn(text)
        call.progress.line(text)
        return None
    identity = {"algorithm": work.name, "parameters": work.settings(), "graph": call.record.fingerprint}
    return CheckpointManager(
        Path(checkpoint.folder), identity, local, call.comm, call.record, call.progress,
        every=checkpoint.every, resume=checkpoint.resume, signals=signals,
    )  # fmt: skip


def _validate(work: Algorithm, graph: Graph, outcome: Outcome, ctx: Context) -> None:
    """Write the certificate's verdict into the report, and refuse a wrong answer."""
    from dgraph.validate import validate as certify

    answer, backend = outcome.answer, ctx.backend
    ctx.progress.phase("validate", work.name)
    with ctx.record("validate"):
        verdict = certify(
            work.name, backend.evidence(graph, ctx.local), outcome.columns, ctx.comm, parameters=work.settings(),
            rounds=answer.summary.get("iterations", ctx.rounds), converged=answer.finished,
            threads=backend.host_threads, edges=answer.edges,
            matrix=None if answer.matrix is None else answer.matrix.here,
        )  # fmt: skip
    ctx.record.describe("outcome", validation=verdict.facts())
    if verdict.passed is False:
        raise ValidationFailed(str(verdict))
    ctx.progress.line(str(verdict))
