"""Run of an algorithm by one of several GPUs, which holds the whole graph, or by all with a replica each.

Some answers depend on long chains of vertices, or on rows that other ranks own: between GPUs they take thousands of
short rounds, or pass through the hosts. If the graph fits beside a part of it, rank 0 finds the answer with the kernel
for one GPU and sends the columns to the owners of the vertices. Kernels that can share out the work of a replica run on
every GPU. Entry: :func:`solved`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer
from dgraph.backend.one_device import OneDevice
from dgraph.comm.serial import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.timings import Trace, plain
from dgraph.result.columns import FieldColumn


def solved(work: Algorithm, ctx: Context) -> Answer:
    """Run an algorithm on the parts of all ranks, or on the whole graph where that is faster and fits; collective."""
    kernel = work.one_gpu
    asked = ctx.direction != "auto" or ctx.sync != "auto" or ctx.max_rounds is not None or ctx.checkpoints is not None
    if kernel is None or ctx.comm.size == 1 or asked or ctx.previous is not None or not ctx.local.n:
        return work.run(ctx)
    if work.weighted:
        ctx.check_weights()
    with ctx.record("prepare"), ctx.comm.watchdog.paused():
        found = ctx.backend.gathered(ctx.local, ctx.comm, kernel)
    if isinstance(found, str):
        ctx.record.choose("placement", "all ranks", found)
        return work.run(ctx)
    ctx.record.choose(
        "placement", "every GPU" if found.shared else "one GPU", "no kernels between GPUs; the graph fits"
    )
    return _by_some(work, ctx, found)


def _by_some(work: Algorithm, ctx: Context, found: OneDevice) -> Answer:
    """Return this rank's part of the answer that the ranks with the whole graph find."""
    error: BaseException | None = None
    answer, facts = Answer({}), None
    if found.backend is None:
        with ctx.record("idle"):
            ctx.comm.agree(None)
    else:
        try:
            answer, facts = _alone(work, ctx, found)
        except Exception as caught:
            error = caught
        ctx.comm.agree(error)
    with ctx.record("exchange"):
        facts = ctx.comm.bcast_json(facts)
        ctx.rounds, ctx.weighted = facts["rounds"], facts["weighted"]
        columns = {
            name: found.returned(name, answer.columns.get(name), np.dtype(dtype)) for name, dtype in facts["columns"]
        }
    return Answer(columns, facts["summary"], facts["finished"], facts["limit"])


def _alone(work: Algorithm, ctx: Context, found: OneDevice) -> tuple[Answer, dict[str, Any]]:
    """Run the algorithm on the whole graph; return its answer, and what other ranks need to know of it."""
    record = Trace(SerialComm())
    alone = Context(found.local, SerialComm(), found.backend, record, ctx.progress)  # type: ignore[arg-type]
    answer = work.run(alone)
    for name, seconds in record.seconds.items():
        ctx.record.add(name, seconds)
    for choice in record.choices:
        ctx.record.choose(*choice.values())
    columns = [(name, _dtype(column)) for name, column in answer.columns.items()]
    facts = {
        "columns": columns, "summary": plain(answer.summary), "finished": answer.finished, "limit": answer.limit,
        "rounds": alone.rounds, "weighted": alone.weighted,
    }  # fmt: skip
    return answer, facts


def _dtype(column: Any) -> str:
    """Return the dtype of a column, by a few of its values if it is on a GPU."""
    few = column.rows(np.zeros(1, np.int64)) if isinstance(column, FieldColumn) else column
    return few.dtype.str
