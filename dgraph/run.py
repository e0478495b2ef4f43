"""The pipeline, once, top to bottom: name → EdgeBlock → Placement → LocalGraph → Algorithm → Result → Report."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dgraph._support import interrupts
from dgraph._support.arguments import flag, instance, path
from dgraph._support.callers import users_frame
from dgraph.algorithms import Algorithm
from dgraph.algorithms.on_replicas import solved
from dgraph.algorithms.outcome import Outcome
from dgraph.algorithms.requested import check_continues, requested, start_of
from dgraph.comm import collective, communicator
from dgraph.comm.watchdog import allowed
from dgraph.engine.checkpoint import Checkpoint, CheckpointManager, listening
from dgraph.engine.opened_device import opened
from dgraph.engine.placement import local_graph, with_whole_rows
from dgraph.engine.rounds.context import Context
from dgraph.engine.run_options import Options
from dgraph.errors import ConvergenceWarning, ValidationFailed
from dgraph.graph.graph_like import as_graph, both_ways, name_of_input
from dgraph.graph.stored_graph import Graph
from dgraph.program import Program
from dgraph.report import Progress, Record
from dgraph.result.result import Result


@collective
def run(
    algorithm: str | Algorithm | Program, graph: Any, *, options: Options | None = None, validate: bool = False,
    checkpoint: Checkpoint | str | Path | None = None, previous: Result | None = None,
    record: Record | None = None, progress: Progress | None = None, **parameters: Any,
) -> Result:  # fmt: skip
    """Run an algorithm on every rank of the graph's communicator; ``run_dispatch.py`` describes the arguments."""
    comm = graph.comm if isinstance(graph, Graph) else communicator(None)
    with comm.together():
        flag("validate", validate)
        instance("options", options, Options, "a dgraph.Options")
        instance("previous", previous, Result, "the Result of an earlier call")
        instance("record", record, Record, "a dgraph.report.Record (extra records of GPUs: dgraph.Options(record=…))")
        instance("progress", progress, Progress, "a dgraph.report.Progress")
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            checkpoint = Checkpoint(path("checkpoint", checkpoint))
    lazily = record is None and comm.size == 1
    record, progress, options = record or Record(comm), progress or Progress(), options or Options()
    with comm.guarded(), listening(checkpoint is not None) as signals, ExitStack() as ending:
        with record("init"):
            given = work = requested(algorithm, parameters)
            if validate:
                from dgraph.validate import certificate  # not at the top: most runs are not validated

                certificate(work.name)
            if previous is not None:
                check_continues(work, checkpoint)
        if not isinstance(graph, Graph):
            with record("load"):
                progress.phase("load", name_of_input(graph))
                graph = as_graph(graph, comm)
        with record("init"):
            backend, place = opened(graph, options, record, progress)
            ending.callback(backend.leave)
        version, directed, names = graph.version, graph.directed, graph.ids.names
        with record("load"):
            graph = graph.fit_for(backend.put is not None)
            work = work.numbered(names, comm)
            work = work if directed else work.of_edges()
            if work.undirected and directed:
                graph = both_ways(graph) if work.arcs else _merged_both_ways(graph)
                progress.line(f"{work.name} ignores directions: the graph was made undirected")
            checked, graph = graph, work.edge_rule.applied(graph, work.arcs)
            if graph is not checked:
                progress.line(f"{work.name}: {work.edge_rule.words}; it runs on a copy without what does not count")
        if work.needs_rows and comm.size > 1:
            graph = with_whole_rows(graph, work.name, record, progress)
        local = local_graph(graph, record, progress)
        start = start_of(previous, given, version, local, directed, comm)
        checked = checked if validate else None
        del graph  # one that was loaded here is held twice now, as rows and as this rank's part: let the rows go
        manager = None
        if checkpoint is not None and not work.resumes:
            text = f"{work.name} writes no checkpoints: a run that is stopped starts again"
            record.warn(text)
            progress.line(text)
        elif checkpoint is not None:
            identity = {"algorithm": work.name, "parameters": work.settings(), "graph": record.fingerprint}
            manager = CheckpointManager(
                Path(checkpoint.folder), identity, local, comm, record, progress,
                every=checkpoint.every, resume=checkpoint.resume, signals=signals,
            )  # fmt: skip
        ctx = Context(
            local, comm, backend, record, progress, options.direction, options.sync, options.max_rounds, place,
            manager, names, start.answer,
        )  # fmt: skip
        with record("solve"), interrupts.deferred(), comm.watchdog.watching(allowed(options.watchdog)):
            progress.phase("solve", work.name)
            answer = solved(work, ctx)
            if manager is not None:
                manager.end()
        outcome = Outcome.of(given, work, answer, ctx, start)
        if checked is not None:
            _validate(work, checked, outcome, ctx)
        result = outcome.result(version, lazily)
    if not result.converged and comm.rank == 0:
        advice = "allow more rounds, or a larger tolerance" if "tol" in work.parameters else "allow more rounds"
        text = f"{work.name} did not converge: it was stopped after {answer.limit}; {advice}"
        warnings.warn(text, ConvergenceWarning, stacklevel=users_frame())
    return result


def _merged_both_ways(graph: Graph) -> Graph:
    """Return the undirected graph, by the rule of the load; kept parallel edges become one, of the smallest weight."""
    return graph.undirected("min" if graph.facts.duplicates_kept else None)


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
