"""Placement: this rank's partition of a graph under the graph's policy, made once and kept for later runs."""

from __future__ import annotations

from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record
from dgraph.graph.build.local_graph import build
from dgraph.graph.handle import Graph, Partitioned
from dgraph.graph.local import LocalGraph

CUT_ROWS = ("cvc", "hvc", "iec")
"""Policies that spread the edges of a vertex over ranks."""


def with_whole_rows(graph: Graph, algorithm: str, record: Record, progress: Progress) -> Graph:
    """Return the graph under a policy by which all edges of a vertex lie on one rank: its own, or oec."""
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
    policy, known, facts = graph.policy, graph.partitions, graph.facts
    if policy not in known:
        known[policy] = _opened(graph, record, progress) or _placed(graph, record, progress)
    taken, reason, warning, local = known[policy]
    record.choose("policy", taken, reason)
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


def _opened(graph: Graph, record: Record, progress: Progress) -> Partitioned | None:
    """Return the partition that a store holds, if the graph comes from one."""
    if not graph.stored:
        return None
    with record("build"):
        progress.phase("open", graph.policy)
        return graph.opened(graph.policy)


def _placed(graph: Graph, record: Record, progress: Progress) -> Partitioned:
    """Partition the graph and build this rank's part."""
    with record("partition"):
        progress.phase("partition", graph.policy)
        placement = graph.planned(graph.policy, graph.comm.size)
    with record("build"):
        progress.phase("build", placement.policy)
        local = build(graph.block, placement, graph.comm)
    return Partitioned(placement.policy, placement.reason, placement.warning, local)
