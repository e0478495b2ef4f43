"""Run of an algorithm by one of several GPUs, which holds the whole graph.

Some answers depend on long chains of vertices: between GPUs they take thousands of short rounds. If the graph fits
beside a part of it, rank 0 finds the answer with the kernel for one GPU and sends the columns to the owners of the
vertices. Weights are not gathered: none of these algorithms reads them. Entry: :func:`solved`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer
from dgraph.backend.one_device import OneDevice
from dgraph.comm.serial import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import as_int64
from dgraph.engine.rounds.timings import Trace, plain
from dgraph.result.columns import Column, FieldColumn, same


def solved(work: Algorithm, ctx: Context) -> Answer:
    """Run an algorithm on the parts of all ranks, or on the whole graph where that is faster and fits; collective."""
    kernel = work.one_gpu
    asked = ctx.direction != "auto" or ctx.sync != "auto" or ctx.max_rounds is not None or ctx.checkpoints is not None
    if kernel is None or ctx.comm.size == 1 or asked or ctx.previous is not None or not ctx.local.n:
        return work.run(ctx)
    with ctx.record("prepare"), ctx.comm.watchdog.paused():
        found = ctx.backend.gathered(ctx.local, ctx.comm, kernel)
    if isinstance(found, str):
        if found:
            ctx.record.choose("placement", "all ranks", found)
        return work.run(ctx)
    ctx.record.choose("placement", "one GPU", "it holds the whole graph, and there are no kernels between GPUs")
    return _by_one(work, ctx, found)


def _by_one(work: Algorithm, ctx: Context, found: OneDevice) -> Answer:
    """Return this rank's part of the answer that the rank with the whole graph finds."""
    error: BaseException | None = None
    answer, facts = Answer({}), None
    if found.backend is None:
        with ctx.record("idle"), ctx.comm.watchdog.paused():  # rank 0 may take longer than a round
            ctx.comm.agree(None)
    else:
        try:
            answer, facts = _alone(work, ctx, found)
        except Exception as caught:
            error = caught
        ctx.comm.agree(error)
    with ctx.record("exchange"):
        facts = ctx.comm.bcast_json(facts)
        ctx.rounds = facts["rounds"]
        columns = {name: _returned(found, name, answer.columns.get(name), *how) for name, *how in facts["columns"]}
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
    columns = [(name, *_how(column)) for name, column in answer.columns.items()]
    facts = {
        "columns": columns, "summary": plain(answer.summary), "finished": answer.finished, "limit": answer.limit,
        "rounds": alone.rounds,
    }  # fmt: skip
    return answer, facts


def _returned(found: OneDevice, name: str, column: Column | None, dtype: str, cast: bool) -> FieldColumn:
    """Return this rank's part of a column; one that is cast to int64 travels as its field."""
    if cast and column is not None:
        column = replace(column, convert=same)  # type: ignore[type-var]
    got = found.returned(name, column, np.dtype(dtype))
    return replace(got, convert=as_int64) if cast else got


def _how(column: Column) -> tuple[str, bool]:
    """Return the dtype of the values to send, and True if they are cast to int64 at the end."""
    if not isinstance(column, FieldColumn):
        return (column() if callable(column) else column).dtype.str, False
    cast = column.convert is as_int64
    few = np.zeros(1, np.int64)
    return (replace(column, convert=same) if cast else column).rows(few).dtype.str, cast
