"""Several runs of one algorithm on one graph as one pass, with the results of single runs; the service batches jobs."""

from __future__ import annotations

from collections.abc import Sequence

from dgraph._support import interrupts
from dgraph.algorithms import Algorithm
from dgraph.algorithms.outcome import Outcome
from dgraph.algorithms.requested import Start
from dgraph.comm import collective
from dgraph.engine.opened_device import opened
from dgraph.engine.placement import local_graph
from dgraph.engine.rounds.context import Context
from dgraph.engine.run_options import DEFAULTS
from dgraph.graph.stored_graph import Graph
from dgraph.report import Progress, Record
from dgraph.result.result import Result


@collective
def run_together(works: Sequence[Algorithm], graph: Graph, record: Record, progress: Progress) -> list[Result] | None:
    """Run algorithms in one pass.

    Args:
        works: the runs, which differ in their sources.
        graph: where they run.
        record: receiver of timings.
        progress: receiver of the rounds of the pass; it can cancel the pass.

    Returns:
        The results in the order of ``works``; None if these runs, or runs on this graph, cannot share a pass.

    Raises:
        UsageError: a source is not a vertex.
        Cancelled: the pass was cancelled.
    """
    comm, names, results = graph.comm, graph.ids.names, []
    with comm.guarded():
        backend, place = opened(graph, DEFAULTS, record, progress)
        try:
            graph = graph.fit_for(backend.put is not None)
            local = local_graph(graph, record, progress)
            ctx = Context(local, comm, backend, record, progress, place=place, names=names)
            solvers = map(ctx.solver, ("bfs pass", "sssp pass"))
            solver = next((one for one in solvers if one is not None and one.shares(works, ctx)), None)
            if solver is None:
                return None
            numbered = [work.numbered(names, comm) for work in works]
            with interrupts.deferred(), comm.watchdog.watching(DEFAULTS.watchdog):
                progress.phase("solve", works[0].name)
                answers = solver.solve(ctx, numbered)
            for named, work, (answer, rounds) in zip(works, numbered, answers, strict=True):
                ctx.rounds = rounds
                results.append(
                    Outcome.of(named, work, answer, ctx, Start(False)).result(graph.version, ctx.record.collect)
                )
        finally:
            backend.leave()
    return results
