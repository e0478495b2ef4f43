"""The pipeline, once, top to bottom: name → EdgeBlock → Placement → LocalGraph → Algorithm → Result → Report."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import partitioning
from dgraph._support import interrupts
from dgraph.algorithms import ALGORITHMS, Algorithm, Answer, ProgramAlgorithm
from dgraph.backend import Backend, Connection, connect
from dgraph.backend import backend as choose_backend
from dgraph.backend.affinity import mask
from dgraph.backend.schedule_options import BUILDS, CHOICES, DEVICE
from dgraph.comm import Comm, collective, communicator
from dgraph.comm.hosts import ranks_here
from dgraph.comm.watchdog import LIMIT, allowed
from dgraph.engine.checkpoint import RESUME, CheckpointManager, interval, listening
from dgraph.engine.rounds.driver import DIRECTIONS, SYNCS, Context
from dgraph.errors import UsageError, ValidationFailed, unknown
from dgraph.graph.build.local_graph import build
from dgraph.graph.handle import Partitioned
from dgraph.graph.load import named
from dgraph.graph.load_options import LoadOptions, load_options
from dgraph.graph.local import LocalGraph
from dgraph.graph.stored_graph import Graph
from dgraph.program import Program
from dgraph.report import Progress, Trace
from dgraph.result.columns import Columns
from dgraph.result.result import NamedColumns, Result
from dgraph.validate import certificate
from dgraph.validate import validate as certify

MOST_GPUS = 16
"""Named in the line of the report that says which rank has which; its JSON has them all."""


@collective
def run(
    algorithm: str | Algorithm | Program,
    graph: str | PathLike | Graph,
    *,
    comm=None,
    policy: str = "auto",
    build: str = "auto",
    backend: str | Backend = "auto",
    threads: int | None = None,
    schedule: str | None = None,
    gpus: str | None = None,
    allow_gpu_sharing: bool = False,
    transport: str = "auto",
    record: str | None = None,
    local_rounds: bool = False,
    host_rounds: bool = False,
    overlap: bool = False,
    across_limit: int | None = None,
    direction: str = "auto",
    sync: str = "auto",
    max_rounds: int | None = None,
    validate: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_every: str | int | None = None,
    resume: str | None = None,
    watchdog: float | str | None = LIMIT,
    trace: Trace | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Run an algorithm on a graph, on every rank of ``comm``.

    Calls of several threads run one after the other; on several ranks they are refused if they overlap
    (``docs/launching.md``). After a ``KeyboardInterrupt`` on one rank the next call is right.

    Args:
        algorithm: a name (``python -m dgraph list``), an :class:`Algorithm`, or a :class:`Program` of your own.
        graph: a file, a generator ``NAME:SIZE``, or a :class:`Graph` that is loaded already.
        comm: None (all ranks that were started together), a :class:`Comm`, or an mpi4py communicator.
        policy: how the graph is spread over the ranks: ``NAME[,option=value…]``, see ``partitioning.choose``.
        build: "host", or "device": GPUs draw and build a generated graph (``docs/partitioning.md``); "auto" is "host".
        backend: "cpu", "cuda", or "auto": cuda where there is a GPU; or a backend that is made already.
        threads: CPU threads a rank; None: the node's cores divided among its ranks.
        schedule: how a GPU spreads a round's edges (``docs/gpu.md``); a schedule's options are keywords, too.
        gpus: "0,1,2,3": the GPU of each rank of a node, by place; None: in turn.
        allow_gpu_sharing: let several ranks have one GPU.
        transport: what carries messages between GPUs: "auto", "p2p", "nccl", "mpi-device" or "mpi-host"
            (``docs/transports.md``).
        record: what else is recorded on GPUs: "load" (edges by thread), "time" (by kernel), "ranges" (for a profiler).
        local_rounds: GPUs run rounds of their own between exchanges where values only ever improve
            (``docs/between-gpus.md``).
        host_rounds: hosts agree on the ends of broad rounds, even where GPUs reach each other and do without.
        overlap: messages of a broad round that pushes travel while edges inside ranks are walked; edges are copied.
        across_limit: vertices and edges a rank of a round up to which GPUs that reach each other stay in one kernel.
        direction: "auto", "push", "pull", or "flip" (a test aid: every round the other way).
        sync: "auto"; "full" exchanges everything; "poison" (a test aid) fills what should not be read with garbage.
        max_rounds: stop after so many rounds; the result then says that it did not converge.
        validate: check the answer by a certificate that shares no code with the run (``docs/validation.md``).
        checkpoint: a folder that every rank reaches; SIGUSR1 then ends the run with a checkpoint there.
        checkpoint_every: also write one every so many rounds (``100``) or so long (``"300s"``).
        resume: "auto": go on from the checkpoint in the folder, if there is one; "must": refuse where there is none.
        watchdog: seconds; a rank that waits that long for another one while rounds run ends the job: it says in a line
            on stderr for which, and this process exits with code 124. "off", 0 or None: ranks wait for ever.
        trace, progress: where timings go, and what the user is told meanwhile.
        options: how ``graph`` is loaded, the fields of :class:`~dgraph.graph.load_options.LoadOptions` (``weights=``,
            ``directed=`` …); options of schedules; and the algorithm's parameters, by cuGraph's and NetworkX's names.

    Raises:
        UsageError, DataError, OutputError, ValidationFailed, Checkpointed: on every rank alike.
    """
    comm, graph = (graph.comm, graph) if isinstance(graph, Graph) else (communicator(comm), named(graph))
    trace, progress = trace or Trace(comm), progress or Progress()
    with comm.guarded(), listening(checkpoint is not None) as signals:
        with trace("init"):
            _check("direction", direction, DIRECTIONS)
            _check("sync mode", sync, SYNCS)
            _check("way to build", build, tuple(BUILDS))
            if resume is not None:
                _check("way to resume", resume, RESUME)
            if checkpoint is None and (resume or checkpoint_every):
                raise UsageError(
                    "a checkpoint is written or taken up where checkpoint= (--checkpoint) names its folder"
                )
            interval(checkpoint_every)
            if max_rounds is not None and (not isinstance(max_rounds, (int, np.integer)) or max_rounds < 1):
                raise UsageError(
                    f"max_rounds = {max_rounds!r} will not do: give an integer, 1 or more, or leave it out"
                )
            seconds = allowed(watchdog)
            loading = load_options(options)
            chosen = {name: options[name] for name in CHOICES if name in options}
            work = _algorithm(algorithm, {k: v for k, v in options.items() if k not in loading and k not in chosen})
            if loading and isinstance(graph, Graph):
                raise UsageError(f"{next(iter(loading))}= is about loading, and this graph is; give it to Graph.load")
            if validate:
                certificate(work.name)
            here, masks = ranks_here(comm), comm.allgather_lasting("mask", mask)
            with comm.together():
                engine = choose_backend(
                    backend, threads, len(here), here.index(comm.rank), comm.size == 1,
                    masks=[masks[rank] for rank in here], schedule=schedule, gpus=gpus, record=record,
                    local_rounds=local_rounds, host_rounds=host_rounds,
                    overlap=overlap, across_limit=across_limit,
                    device=graph.device if isinstance(graph, Graph) else None,
                    held=graph.held if isinstance(graph, Graph) else None,
                    **chosen,
                )  # fmt: skip
            if isinstance(graph, Graph) and isinstance(backend, str) and engine.keeps:
                graph.held = engine
            trace.ranges = engine.ranges
            _record_choices(engine, connect(engine, comm, transport, allow_gpu_sharing), comm, trace, progress)
        if build == DEVICE and not isinstance(graph, Graph):
            trace.choose("build", DEVICE, "asked for")
            with trace("build"):
                progress.phase("build", graph)
                graph = engine.build(graph, comm, policy, LoadOptions(**loading))
        with trace("load"):
            if not isinstance(graph, Graph):
                progress.phase("load", graph)
                graph = Graph.load(graph, comm=comm, **loading)
            trace.describe("graph", **vars(graph.facts))
            asked_for, names = work, graph.ids.names
            work = work if names is None else work.numbered(names, comm)
            if work.undirected and graph.directed:
                graph = graph.undirected()
                progress.line(f"{work.name} ignores directions: the graph was made undirected")
        local = partitioned(graph, policy, trace, progress)
        checked = graph if validate else None
        del graph  # a graph loaded here is now held twice, as rows and as this rank's part: let the rows go
        keeper = None
        if checkpoint is not None:
            identity = {
                "algorithm": work.name,
                "parameters": work.settings(),
                "graph": trace.facts["graph"]["fingerprint"],
            }
            keeper = CheckpointManager(
                Path(checkpoint), identity, local, comm, trace, progress,
                every=checkpoint_every, resume=resume, signals=signals,
            )  # fmt: skip
        place = here.index(comm.rank)
        ctx = Context(local, comm, engine, trace, progress, direction, sync, max_rounds, place, keeper)
        with trace("solve"), interrupts.deferred(), comm.watchdog.watching(seconds):
            progress.phase("solve", work.name)
            answer = work.run(ctx)
            if keeper is not None:
                keeper.end()
        trace.gpu_memory = engine.memory()
        if answer.arcs is not None:
            trace.describe("outcome", edges_traversed=answer.arcs if local.directed else answer.arcs // 2)
        settings, summary = asked_for.settings(), answer.summary
        if names is not None and work.needs_source:
            source = {"source": names.of(np.array([work.settings()["source"]]), comm)[0]}
            settings, summary = settings | source, summary | source
        used = _weights(local.out.weight_type, ctx.weighted)
        trace.describe("algorithm", name=work.name, parameters=settings, weights=used)
        trace.describe("outcome", converged=answer.finished, limit=answer.limit, rounds=ctx.rounds, summary=summary)
        vertex = local.original[: local.masters]
        order = None if local.ascending else np.argsort(vertex)  # where the graph was numbered in another order
        columns = Columns({"vertex": vertex, **answer.columns}, order)
        if checked is not None:
            _validated(work, checked, columns, answer, ctx.rounds, trace, progress)
        numbered = None
        if names is not None:
            with trace("output"):
                numbered = NamedColumns(
                    names, columns, ("vertex", *(each for each in answer.vertices if each in columns))
                )
                columns = numbered.shown(comm)
        return Result(
            algorithm=work.name,
            columns=columns,
            comm=comm,
            named=numbered,
            summary=summary,
            converged=answer.finished,
            limit=answer.limit,
            rounds=ctx.rounds,
            report=trace.collect(),
        )


def partitioned(graph: Graph, policy: str, trace: Trace, progress: Progress) -> LocalGraph:
    """This rank's part of the graph under a policy; kept with the graph for the next run."""
    if policy not in graph._locals:
        graph._locals[policy] = _opened(graph, policy, trace, progress) or _placed(graph, policy, trace, progress)
    taken, reason, warning, local = graph._locals[policy]
    trace.choose("policy", taken, reason)
    for text in [*graph.facts.warnings, *([warning] if warning else [])]:
        trace.warn(text)
    trace.describe("graph", notes=[*graph.facts.notes, *graph.facts.warnings])
    with trace("load"):
        known = graph.fingerprint()
    trace.describe(
        "graph", name=graph.facts.name, fingerprint=known, n=graph.n, m=graph.m, arcs=local.arcs,
        directed=graph.directed, weighted=graph.weight_type is not None,
        weight_type=None if graph.weight_type is None else graph.weight_type.name,
    )  # fmt: skip
    for name, value in (("masters", local.masters), ("mirrors", local.mirrors), ("edges", local.out.arcs)):
        trace.counts[name] = value
    return local


def _opened(graph: Graph, policy: str, trace: Trace, progress: Progress) -> Partitioned | None:
    """The partition that a store holds, if the graph comes from one."""
    if not graph.stored:
        return None
    with trace("build"):
        progress.phase("open", policy)
        return graph.opened(policy)


def _placed(graph: Graph, policy: str, trace: Trace, progress: Progress) -> Partitioned:
    with trace("partition"):
        progress.phase("partition", policy)
        try:
            placement = partitioning.plan(policy, graph.block, graph.comm.size, graph.comm)
        except partitioning.PolicyError as refused:
            raise UsageError(str(refused)) from refused
    with trace("build"):
        progress.phase("build", placement.policy)
        local = build(graph.block, placement, graph.comm)
    return Partitioned(placement.policy, placement.reason, placement.warning, local)


def _validated(work: Algorithm, graph: Graph, columns, answer: Answer, rounds: int, trace, progress) -> None:
    """Refuse a wrong answer; either way the report has the verdict."""
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


def _weights(kind: np.dtype | None, read: bool) -> str:
    """What the report says of the edges' weights."""
    return "none" if kind is None else "used" if read else "not used"


def _algorithm(algorithm: str | Algorithm | Program, parameters: dict[str, Any]) -> Algorithm:
    if isinstance(algorithm, str):
        if algorithm not in ALGORITHMS:
            raise unknown("algorithm", algorithm, ALGORITHMS)
        return ALGORITHMS[algorithm](**parameters)
    if parameters:
        raise UsageError(f"{next(iter(parameters))}= belongs to an algorithm's name; this one was given its parameters")
    return ProgramAlgorithm(algorithm) if isinstance(algorithm, Program) else algorithm


def _check(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise unknown(what, value, known)


def _record_choices(engine, joined: Connection, comm: Comm, trace: Trace, progress: Progress) -> None:
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


def gpus_by_rank(gpus: list[dict]) -> str:
    """How each rank came to its GPU, and which it is; of many ranks the first."""
    told = [f"rank {rank} {gpu['name']} {gpu['uuid']}" for rank, gpu in enumerate(gpus[:MOST_GPUS])]
    more = [f"{len(gpus) - MOST_GPUS} more"] if len(gpus) > MOST_GPUS else []
    return f"{', '.join(dict.fromkeys(gpu['how'] for gpu in gpus))}: {', '.join(told + more)}"
