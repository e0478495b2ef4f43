"""Run of an algorithm by several GPUs that each hold the whole graph.

Some answers depend on long chains of vertices: between GPUs they take thousands of short rounds. If the graph fits
beside a part of it on every GPU, each finds the whole answer by the kernel for one GPU, and keeps the rows of its own
vertices; some kernels share out their first passes. Weights are not gathered: on a weighted graph, algorithms that
read weights run on the parts.
Entry: :func:`solved`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from dgraph.algorithms.base import Algorithm, Answer
from dgraph.algorithms.weight_checks import has_weights
from dgraph.backend.graph_replica import GraphReplica
from dgraph.comm.serial import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.record import Record


def solved(work: Algorithm, ctx: Context) -> Answer:
    """Run an algorithm on the parts of all ranks, or on replicas of the graph where these fit; collective."""
    kernel = work.one_gpu
    asked = ctx.direction != "auto" or ctx.sync != "auto" or ctx.max_rounds is not None or ctx.checkpoints is not None
    if kernel is None or ctx.comm.size == 1 or asked or ctx.previous is not None or not ctx.local.n:
        return work.run(ctx)
    if work.weighted and has_weights(ctx):
        return work.run(ctx)
    with ctx.record("prepare"), ctx.comm.watchdog.paused():
        replica = ctx.backend.replica(ctx.local, ctx.comm, kernel)
    if isinstance(replica, str):
        if replica:
            ctx.record.choose("placement", "parts", replica)
        return work.run(ctx)
    ctx.record.choose("placement", "replicas", "each GPU holds the whole graph, and no kernel works between GPUs")
    return _on_replica(work, ctx, replica)


def _on_replica(work: Algorithm, ctx: Context, replica: GraphReplica) -> Answer:
    """Return this rank's part of the answer; collective."""
    record = Record(SerialComm())
    alone = Context(replica.local, SerialComm(), replica.backend, record, ctx.progress)
    with ctx.comm.agreeing(values=0, at_end=_idle(ctx)):  # replicas may share out work
        answer = work.run(alone)
        columns = {name: replica.mine(name, column) for name, column in answer.columns.items()}
    for name, seconds in record.seconds.items():
        if name != "compile":  # ``ctx.record`` reads the clock of compilation, too
            ctx.record.add(name, seconds)
    for choice in record.choices:
        ctx.record.choose(*choice.values())
    ctx.rounds = alone.rounds
    return replace(answer, columns=columns)


@contextmanager
def _idle(ctx: Context) -> Iterator[None]:
    """Count waiting time; a rank may wait longer than a round takes."""
    with ctx.record("idle"), ctx.comm.watchdog.paused():
        yield
