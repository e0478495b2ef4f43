"""Certificate of bfs and sssp: Graph500's five validation rules, extended to directed arcs and weights of 0 or less.

Theorem. Let d be distances, p predecessors, s the source, and + the addition of the weights' dtype (for floats it
rounds, but a ≤ b gives a + w ≤ b + w). If

1. d(s) = 0;
2. d(v) ≤ d(u) + w for every arc u → v of weight w with u reached (so no arc leads from a reached u to an unreached v);
3. every reached v ≠ s has a reached predecessor u and an arc u → v with d(u) + w = d(v);
4. predecessors contain no cycle,

then d(v) is the length of a shortest path from s to v, and p a tree of shortest paths. Proof: by 1 and 2, and induction
along any path, d(v) is at most its length. By 3 and 4 the predecessors of v are a path from s of length d(v).
With a cutoff, rule 2 applies to sums up to it, and no distance exceeds it; the proof holds for the shorter paths. The
claimed distance of a target is such a cutoff, and so proved, too; an unreached target is none. With several sources,
rule 1 holds for each, v ≠ s is any other vertex, and d(v) is the distance from the nearest.

Comparisons are exact, for floats too: both sides are one addition in one dtype. Without predecessors, rules 3 and 4
must hold for *some* choice of them: v needs a tight arc (d(u) + w = d(v)) from a strictly nearer vertex, or a path of
tight arcs through a plateau of equal distances from a vertex that has one. With negative weights, whose proof is left
to the CPUs, v needs a path of tight arcs from s. Such an answer also proves that s reaches no negative cycle, around
which rule 2 cannot hold.
"""

from __future__ import annotations

import numpy as np

from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.host.host_prover import HostProver
from dgraph.validate.rule import UNREACHED
from dgraph.validate.tree_rules import tree_rules
from dgraph.validate.violation import Violations, decide

GROUPS = (("source", "negative", "beyond"), ("root", "out", "none"), ("lost",), ("short",))
"""Rules in the order in which they are decided, before those of the predecessors."""

SIGNED = ("bellman-ford", "bellman-ford-topology", "workfront")
"""Variants of sssp that take negative weights."""


@certifies("bfs", proved=True)
def bfs(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str] | None:
    """Check levels, and predecessors if the result has them; collective. None: see :func:`prove_tree`.

    Raises:
        ValidationFailed: a value is wrong.
    """
    cutoff = _nearest(distributed, columns["distance"], parameters.get("depth_limit"), parameters.get("target"))
    return prove_tree("levels", distributed, columns, distributed.gid(parameters["source"]), cutoff, False)


@certifies("sssp", proved=True)
def sssp(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str] | None:
    """Check distances, and predecessors if the result has them; collective. None: see :func:`prove_tree`.

    Raises:
        ValidationFailed: a value is wrong.
    """
    weighted = distributed.block.weight_type is not None
    signed = weighted and parameters.get("variant") in SIGNED
    if signed and not isinstance(distributed.prover, HostProver):
        return None
    weights = distributed.block.weights if signed else None
    negative = weights is not None and distributed.comm.total(int(np.count_nonzero(weights < 0))) > 0
    target = None if negative else parameters.get("target")
    cutoff = _nearest(distributed, columns["distance"], parameters.get("cutoff"), target)
    source = distributed.gid(parameters["source"])
    return prove_tree("distances", distributed, columns, source, cutoff, weighted, signed)


def _nearest(
    distributed: DistributedColumns, distance: np.ndarray, cutoff: float | None, target: int | None
) -> float | None:
    """Return the cutoff of a search that also ends at a target: its claimed distance, where that is nearer."""
    if target is None:
        return cutoff
    claimed = distributed.read(distance, distributed.gid(target)).tolist()
    reached = claimed != (np.inf if distance.dtype.kind == "f" else UNREACHED)
    return claimed if reached and (cutoff is None or claimed <= cutoff) else cutoff


def prove_tree(
    what: str,
    distributed: DistributedColumns,
    columns: Columns,
    source: int | np.ndarray,
    cutoff: float | None,
    weighted: bool,
    signed: bool = False,
) -> list[str] | None:
    """Return the properties proved; collective.

    Args:
        what: name of the distances.
        distributed: where the answer and the graph are.
        columns: ``distance``, and perhaps ``predecessor``.
        source: gid of the source; on the CPUs also an array of several, from the nearest of which the distances are.
        cutoff: largest distance; None: any.
        weighted: edges have weights.
        signed: some may be below 0.

    Returns:
        None if the prover does not follow paths of equal distances, and there are some.

    Raises:
        ValidationFailed: a value is wrong.
    """
    distance, predecessor, prover = columns["distance"], columns.get("predecessor"), distributed.prover
    parent = None if predecessor is None else distributed.to_gid(predecessor)
    more = {"signed": True} if signed else {}
    violations = prover.prove_tree(distance, parent, source, cutoff, weighted, **more)
    rules = tree_rules(cutoff)

    def at_vertex(u, v):
        d = distributed.read(distance, v)
        if predecessor is None:
            return {"d": d, "dv": d}
        gid = distributed.read(parent, v)
        before = distributed.read(distance, int(gid) if v is not None and 0 <= gid < distributed.block.n else None)
        return {"d": d, "dv": d, "p": distributed.read(predecessor, v), "dp": before}

    def at_arc(u, v):
        before, behind = distributed.read(distance, u), distributed.read(distance, v)
        weight = distance.dtype.type(0) if u is None else prover.weight(u, v, distance.dtype, weighted)
        return {"w": weight, "du": before, "most": before + weight, "dv": behind}

    def judge(*names: str) -> None:
        arc = names == ("short",)
        values = at_arc if arc else at_vertex
        decide(distributed, *(Violations(rules[name], violations[name], values, arc) for name in names))

    for names in GROUPS:
        judge(*names)
    plateaus = distributed.comm.total(violations["plateaus"][0])
    if predecessor is None:
        if plateaus:
            return None
        judge("alone")
        reached = "every vertex is reached along tight arcs" if signed else "every vertex is reached from a nearer one"
        return [what, "no arc is a short cut", reached]
    judge("arc", "tight")
    if plateaus:
        return None
    if "circle" in violations:
        judge("circle")
    return [what, "no arc is a short cut", "predecessors are a tree of tight arcs from the source"]
