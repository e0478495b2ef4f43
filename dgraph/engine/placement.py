"""Placement: this rank's partition of a graph under the graph's policy, made once and kept for later runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record
from dgraph.graph.handle import Graph
from dgraph.graph.local import LocalGraph

CUT_ROWS = ("cvc", "hvc", "iec")
"""Policies that spread the edges of a vertex over ranks."""

TIMERS = {"open": "build", "partition": "partition", "build": "build"}
"""Step of :meth:`Graph.partition` → timer that it runs under."""


def with_whole_rows(graph: Graph, algorithm: str, needs: str, record: Record, progress: Progress) -> Graph:
    """Return the graph under a policy by which the edges that an algorithm ``needs`` lie on one rank.

    Args:
        graph: the graph; its own policy stays where it can.
        algorithm: name for the warning.
        needs: :attr:`Algorithm.needs_rows`.
        record: gets the warning.
        progress: prints it.
    """
    if needs != "own":
        return graph.on("iec" if needs == "in" and graph.directed else "oec") if graph.policy == "auto" else graph
    if graph.policy.partition(",")[0] in CUT_ROWS:
        text = f"{algorithm} reads all edges of a vertex on one rank, and {graph.policy} spreads them: oec is used"
        record.warn(text)
        progress.line(text)
    elif graph.policy != "auto":
        return graph
    return graph.on("oec")


def local_graph(graph: Graph, record: Record, progress: Progress) -> LocalGraph:
    """Return this rank's partition of a graph under its policy; collective.

    The first run opens it from the store or builds it; later runs find it at the graph's handle.

    Raises:
        UsageError: the policy cannot place the graph.
    """
    facts = graph.facts
    policy, reason, warning, local = graph.partition(partial(_step, record, progress))
    record.choose("policy", policy, reason)
    for text in [*facts.warnings, *([warning] if warning else [])]:
        record.warn(text)
    record.describe("graph", notes=[*facts.notes, *facts.warnings])
    fingerprint = graph._fingerprint
    if fingerprint is None:
        with record("load"):
            fingerprint = graph.fingerprint()
    record.describe(
        "graph", name=facts.name, fingerprint=fingerprint, n=graph.n, m=graph.m, arcs=local.arcs,
        directed=graph.directed, weighted=graph.weight_type is not None,
        weight_type=graph.weight_type,
    )  # fmt: skip
    record.counts |= {"masters": local.masters, "mirrors": local.mirrors, "edges": local.out.arcs}
    return local


@contextmanager
def _step(record: Record, progress: Progress, name: str, policy: str) -> Iterator[None]:
    """Time and report a step of :meth:`Graph.partition`."""
    with record(TIMERS[name]):
        progress.phase(name, policy)
        yield
