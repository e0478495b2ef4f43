"""Outcome: an algorithm's answer with its columns in order of ids, its summary, and what the report says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer
from dgraph.algorithms.requested import Start
from dgraph.engine.rounds.context import Context
from dgraph.result.columns import Columns, FieldColumn
from dgraph.result.named_columns import NamedColumns
from dgraph.result.result import Result


@dataclass
class Outcome:
    """Answer of a run.

    Attributes:
        work: the algorithm.
        answer: what it returned on this rank.
        ctx: the context that it ran in.
        columns: ``vertex`` and the answer's columns, by ascending original id.
        summary: the answer's, with names of vertices and how the run started.
    """

    work: Algorithm
    answer: Answer
    ctx: Context
    columns: Mapping[str, np.ndarray]
    summary: dict[str, Any]

    @classmethod
    def of(cls, requested: Algorithm, work: Algorithm, answer: Answer, ctx: Context, start: Start) -> Outcome:
        """Put an answer in order, and describe it in the report; collective if vertices have names.

        Args:
            requested: the algorithm as the call named it.
            work: the same, with numbers of vertices in place of names.
            answer: what it returned.
            ctx: the context that it ran in.
            start: the previous answer that the call gave.
        """
        local, record, names = ctx.local, ctx.record, ctx.names
        vertex, settings, summary = local.original[: local.masters], requested.settings(), answer.summary
        vertex.flags.writeable = False  # the graph's own
        columns = Columns({"vertex": vertex, **answer.columns}, local.ascending_order, ctx.backend.put)
        if names is not None and work.needs_source:
            numbers = {name: work.settings()[name] for name in ("source", "target") if name in work.settings()}
            ends = {name: names.of(np.array([end]), ctx.comm)[0] for name, end in numbers.items() if end is not None}
            settings, summary = settings | ends, summary | ends
        if start.asked:
            summary = summary | {"started": start.taken}
            record.choose("start", start.taken, start.reason)
        if answer.arcs is not None:
            record.describe("outcome", edges_traversed=answer.arcs if local.directed else answer.arcs // 2)
        weights = "none" if local.out.weight_type is None else "used" if ctx.weighted else "not used"
        record.describe("algorithm", name=work.name, parameters=settings, weights=weights)
        record.describe(
            "outcome", converged=answer.finished, limit=answer.limit, rounds=ctx.rounds, summary=dict(summary)
        )
        return cls(work, answer, ctx, columns, summary)

    def result(self, version: Any, report: Callable[[], Any], attributes: Any = None) -> Result:
        """Return the result; collective.

        Args:
            version: version of the graph.
            report: returns the report, or a function that makes it when it is first read.
            attributes: as of :class:`Result`.
        """
        answer, ctx, columns, named = self.answer, self.ctx, self.columns, None
        described = self.work.columns.items()
        nullable: dict[str, Any] = {name: None for name, column in described if column.nullable}
        nullable |= {
            name: column.null
            for name, column in answer.columns.items()
            if name not in self.work.columns and isinstance(column, FieldColumn) and column.null is not None
        }
        if ctx.names is not None:
            with ctx.record("output"):
                ids = [name for name, column in described if column.kind == "vertex"]
                vertex_columns = ("vertex", *(column for column in ids if column in columns))
                named = NamedColumns.fetched(ctx.names, columns, vertex_columns, ctx.comm)
                columns = named.decoded()
        return Result(
            algorithm=self.work.name, columns=columns, comm=ctx.comm, named=named, summary=self.summary,
            nullable=nullable, converged=answer.finished, limit=answer.limit, rounds=ctx.rounds,
            version=version, attributes=attributes, matrix=answer.matrix, edges=answer.edges,
            walks=answer.walks, threads=ctx.backend.host_threads, report=report(),
        )  # fmt: skip
