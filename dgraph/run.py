"""The pipeline, once, top to bottom: name → EdgeBlock → Placement → LocalGraph → Algorithm → Result → Report."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support import interrupts
from dgraph._support.callers import users_frame
from dgraph.algorithms import ALGORITHMS, Algorithm, Answer, ProgramAlgorithm
from dgraph.backend import Backend, backend, connect
from dgraph.backend.affinity import mask
from dgraph.backend.schedule_options import CHOICES
from dgraph.comm import collective, communicator
from dgraph.comm.hosts import ranks_here
from dgraph.comm.watchdog import allowed
from dgraph.engine.checkpoint import Checkpoint, CheckpointManager, listening
from dgraph.engine.placement import local_graph
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.previous import previous_answer
from dgraph.engine.run_options import Options
from dgraph.errors import ConvergenceWarning, UsageError, ValidationFailed, unknown
from dgraph.graph.devices import described
from dgraph.graph.graph_like import as_graph, name_of_input
from dgraph.graph.load_options import NAMES as LOAD_OPTIONS
from dgraph.graph.local import LocalGraph
from dgraph.graph.stored_graph import Graph
from dgraph.program import Program
from dgraph.report import Progress, Trace
from dgraph.result.columns import Columns
from dgraph.result.named_columns import NamedColumns
from dgraph.result.result import Result
from dgraph.validate import certificate
from dgraph.validate import validate as certify

MOST_GPUS = 16
"""GPUs that the report's line about the choice of GPUs names; its JSON has them all."""

OF_A_GRAPH = {"backend", "build", "comm", "device", "gpus", "policy", "threads", "transport", *LOAD_OPTIONS}
"""Words that say how a graph is loaded and where it lives."""

OF_A_RUN = {"direction", "max_rounds", "record", "rounds", "schedule", "sync", "watchdog", *CHOICES}
"""Words that are fields of :class:`Options`, or options of its schedule."""


@collective
def run(
    algorithm: str | Algorithm | Program,
    graph: Any,
    *,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | PathLike | None = None,
    previous: Result | None = None,
    trace: Trace | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Result:
    """Run an algorithm on every rank of the graph's communicator; ``run_dispatch.py`` describes the arguments."""
    comm = graph.comm if isinstance(graph, Graph) else communicator(None)
    trace, progress, options = trace or Trace(comm), progress or Progress(), options or Options()
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    with comm.guarded(), listening(checkpoint is not None) as signals, ExitStack() as ending:
        with trace("init"):
            work = _algorithm(algorithm, parameters)
            if validate:
                certificate(work.name)
            if previous is not None:
                _check_continues(work, checkpoint)
        if not isinstance(graph, Graph):
            with trace("load"):
                progress.phase("load", name_of_input(graph))
                graph = as_graph(graph, comm)
        trace.describe("graph", **vars(graph.facts))
        with trace("init"):
            engine, place = _opened(graph, options, trace, progress)
            ending.callback(engine.leave)
        with trace("load"):
            names, given, changed = graph.ids.names, work, graph
            work = work if names is None else work.numbered(names, comm)
            if work.undirected and graph.directed:
                graph = graph.undirected()
                progress.line(f"{work.name} ignores directions: the graph was made undirected")
        local = local_graph(graph, trace, progress)
        version, started, why = changed.version, None, ""
        if previous is not None:
            started, why = previous_answer(previous, work.name, version, local, changed.directed, comm)
            if started is not None and not given.same_search(previous.report["algorithm"]["parameters"]):
                raise UsageError(_another_search(previous, given))
        checked = graph if validate else None
        del graph, changed  # a graph loaded here is held twice now, as rows and as this rank's part: let the rows go
        manager = None
        if checkpoint is not None:
            fingerprint = trace.facts["graph"]["fingerprint"]
            identity = {"algorithm": work.name, "parameters": work.settings(), "graph": fingerprint}
            manager = CheckpointManager(
                Path(checkpoint.folder), identity, local, comm, trace, progress,
                every=checkpoint.every, resume=checkpoint.resume, signals=signals,
            )  # fmt: skip
        ctx = Context(
            local,
            comm,
            engine,
            trace,
            progress,
            options.direction,
            options.sync,
            options.max_rounds,
            place,
            manager,
            names,
            started,
        )
        watching = comm.watchdog.watching(allowed(options.watchdog))
        with trace("solve"), interrupts.deferred(), watching:
            progress.phase("solve", work.name)
            answer = work.run(ctx)
            if manager is not None:
                manager.end()
        trace.gpu_memory = engine.memory()
        columns = _columns(local, answer, engine.put)
        settings, summary = given.settings(), answer.summary
        if names is not None and work.needs_source:
            source = {"source": names.of(np.array([work.settings()["source"]]), comm)[0]}
            settings, summary = settings | source, summary | source
        if previous is not None:
            used = started is not None and started.used
            summary = summary | {"started": "previous answer" if used else "from scratch"}
            trace.choose("start", summary["started"], "" if used else why or "edges were removed, or weights rose")
        _describe(work, answer, ctx, settings, summary, trace)
        if checked is not None:
            _validated(work, checked, columns, answer, ctx.rounds, trace, progress)
        numbered = None
        if names is not None:
            with trace("output"):
                held = ("vertex", *(each for each in answer.vertices if each in columns))
                numbered = NamedColumns.fetched(names, columns, held, comm)
                columns = numbered.decoded()
        result = Result(
            algorithm=work.name, columns=columns, comm=comm, named=numbered, summary=summary, nullable=answer.nullable,
            converged=answer.finished, limit=answer.limit, rounds=ctx.rounds, report=trace.collect(),
            version=version,
        )  # fmt: skip
    if not result.converged and comm.rank == 0:
        advice = "allow more rounds, or a larger tolerance" if "tol" in work.parameters else "allow more rounds"
        text = f"{work.name} did not converge: it was stopped after {answer.limit}; {advice}"
        warnings.warn(text, ConvergenceWarning, stacklevel=users_frame())
    return result


def _algorithm(algorithm: str | Algorithm | Program, parameters: dict[str, Any]) -> Algorithm:
    """Return the algorithm with its parameters.

    Raises:
        UsageError: an unknown name or parameter; for words of a graph or of :class:`Options` it says where they go.
    """
    if isinstance(algorithm, str) and algorithm not in ALGORITHMS:
        raise unknown("algorithm", algorithm, ALGORITHMS)
    known = ALGORITHMS[algorithm].parameters if isinstance(algorithm, str) else {}
    for name in parameters.keys() - known:
        if name in ("weight", "edge_attr"):
            raise UsageError(f"{name}= is about the graph, which has its weights; to ignore them, make it without")
        if name in OF_A_GRAPH:
            raise UsageError(f"{name}= is about the graph; give it to Graph.load, or to graph.on(policy=, device=)")
        if name in OF_A_RUN:
            raise UsageError(f"{name}= is about the rounds; give options=dgraph.Options({name}=…)")
        if name in ("checkpoint_every", "resume"):
            raise UsageError(
                f"{name}= is about checkpoints; give checkpoint=dgraph.Checkpoint(folder, every=, resume=)"
            )
    if isinstance(algorithm, str):
        return ALGORITHMS[algorithm](**parameters)
    if parameters:
        raise UsageError(f"{next(iter(parameters))}= belongs to an algorithm's name; this one was given its parameters")
    return ProgramAlgorithm(algorithm) if isinstance(algorithm, Program) else algorithm


def _check_continues(work: Algorithm, checkpoint: object) -> None:
    """Refuse ``previous`` where it cannot be used."""
    if not work.continues:
        able = ", ".join(sorted(name for name, each in ALGORITHMS.items() if each.continues))
        raise UsageError(f"{work.name} cannot start from a previous answer ({able} can); leave previous out")
    if checkpoint is not None:
        raise UsageError("a run that starts from a previous answer writes no checkpoints; leave one of the two out")


def _another_search(previous: Result, work: Algorithm) -> str:
    """Return the text of the error for a previous answer to another question."""
    earlier, now = previous.report["algorithm"]["parameters"], work.settings()
    apart = [f"{name}={earlier[name]!r}" for name in now if name in earlier and earlier[name] != now[name]]
    return (
        f"previous is the answer with {', '.join(apart)}; give one with this call's parameters, or leave previous out"
    )


def _opened(graph: Graph, options: Options, trace: Trace, progress: Progress) -> tuple[Backend, int]:
    """Open the graph's device and join the ranks; return the backend and this rank's index on its node."""
    comm, device = graph.comm, described(graph.device)
    here, masks = ranks_here(comm), comm.allgather_cached("mask", mask)
    with comm.together():
        engine = backend(
            device, len(here), here.index(comm.rank), comm.size == 1,
            masks=[masks[rank] for rank in here], options=options.gpu_keywords(), named=options.named(),
            built_on=graph.built_on, held=graph.held,
        )  # fmt: skip
    if engine.keeps and not isinstance(device, Backend):
        graph.held = engine
    trace.ranges = engine.ranges
    joined = connect(engine, comm, getattr(device, "transport", "auto"), getattr(device, "share", False))
    trace.choose("backend", engine.name, engine.why)
    trace.choose("threads", str(engine.threads), engine.reason)
    if joined.gpus:
        trace.gpu = joined.gpus[comm.rank]
        trace.choose("gpus", ", ".join(str(gpu["number"]) for gpu in joined.gpus), gpus_by_rank(joined.gpus))
    trace.choose("transport", joined.transport, joined.reason)
    if joined.gpus and comm.size > 1:
        progress.line(f"transport {joined.transport}: {joined.reason}")
    for warning in filter(None, [engine.warning, *joined.warnings]):
        trace.warn(warning)
        progress.line(warning)
    return engine, here.index(comm.rank)


def _columns(local: LocalGraph, answer: Answer, put: Callable[[np.ndarray], Any] | None) -> Columns:
    """Return the answer by ascending original id; ``put`` copies an array to the GPU."""
    vertex = local.original[: local.masters]
    order = None if local.ascending else np.argsort(vertex)  # where the graph was numbered in another order
    return Columns({"vertex": vertex, **answer.columns}, order, put)


def _describe(work: Algorithm, answer: Answer, ctx: Context, settings, summary, trace: Trace) -> None:
    """Write the algorithm and the outcome into the report."""
    local = ctx.local
    if answer.arcs is not None:
        trace.describe("outcome", edges_traversed=answer.arcs if local.directed else answer.arcs // 2)
    weights = "none" if local.out.weight_type is None else "used" if ctx.weighted else "not used"
    trace.describe("algorithm", name=work.name, parameters=settings, weights=weights)
    trace.describe("outcome", converged=answer.finished, limit=answer.limit, rounds=ctx.rounds, summary=summary)


def _validated(work: Algorithm, graph: Graph, columns, answer: Answer, rounds: int, trace, progress) -> None:
    """Write the certificate's verdict into the report, and refuse a wrong answer."""
    progress.phase("validate", work.name)
    with trace("validate"):
        verdict = certify(
            work.name, graph.evidence, columns, graph.comm,
            parameters=work.settings(), rounds=answer.summary.get("iterations", rounds), converged=answer.finished,
        )  # fmt: skip
    trace.describe("outcome", validation=verdict.facts())
    if verdict.passed is False:
        raise ValidationFailed(str(verdict))
    progress.line(str(verdict))


def gpus_by_rank(gpus: list[dict]) -> str:
    """Return how ranks came to their GPUs and which GPU each rank has; at most ``MOST_GPUS`` ranks are listed."""
    named = [f"rank {rank} {gpu['name']} {gpu['uuid']}" for rank, gpu in enumerate(gpus[:MOST_GPUS])]
    more = [f"{len(gpus) - MOST_GPUS} more"] if len(gpus) > MOST_GPUS else []
    return f"{', '.join(dict.fromkeys(gpu['how'] for gpu in gpus))}: {', '.join(named + more)}"
