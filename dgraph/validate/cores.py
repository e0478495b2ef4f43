"""Certificate of core numbers, and of one k-core.

Let κ(v) be the core number: the largest k such that v lies in a subgraph whose vertices all have k neighbours in it.

Theorem. c = κ if and only if

1. every v has at least c(v) neighbours u with c(u) ≥ c(v);
2. for every k, the vertices with c = k can be removed one after another so that each, when it is removed, has at
   most k neighbours among the remaining ones and those with c > k.

Proof. By 1 the vertices with c ≥ k have k neighbours among themselves, so κ ≥ c. Suppose κ(v) = k > c(v), and let K be
the k-core. Order all vertices by c, and within equal c by the removal order of 2. The first w of K in this order has
at least k neighbours later than itself, so 2 gives c(w) ≥ k. But w is not later than v, so c(w) ≤ c(v) < k.

Rule 2 is tested greedily for all k at once, since they are independent. Each vertex that remains has more than k
neighbours among the remaining ones and those with a larger c: it belongs to a larger core, and is reported.

A vertex is not its own neighbour, and parallel edges join one neighbour. With ``count="arcs"`` rows have an edge in
both directions twice, and it counts as two neighbours.

One k-core S: its members have k neighbours inside, and the other vertices can be removed, each with fewer than k
neighbours remaining.
"""

from __future__ import annotations

from dgraph.errors import UsageError
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.violation import Violations, decide


@certifies("kcore", proved=True)
def kcore(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``core_number``, or ``in_core`` of one k-core; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a value is wrong.
    """
    if distributed.block.directed:
        raise UsageError("core numbers are of undirected graphs; pass the block of graph.undirected()")
    if "core_number" in columns:
        core, k = columns["core_number"], -1
        few = Rule(
            "enough neighbours", "vertex {v} has core number {c}, but only {n} neighbours of that or a larger one"
        )
        larger = Rule("no larger core", "vertex {v} has core number {c}, but belongs to a larger core")
        proved = ["core numbers have the neighbours they need", "no vertex belongs to a larger core"]
    else:
        core, k = columns["in_core"], int(parameters["k"])
        few = Rule("enough neighbours", f"vertex {{v}} is in the {k}-core with {{n}} neighbours inside, fewer than {k}")
        larger = Rule("no larger core", f"vertex {{v}} belongs to the {k}-core, but is not in it")
        proved = [f"members have {k} neighbours inside", "no vertex beside them belongs to the core"]
    flag = Rule("members are 0 or 1", "vertex {v} has in_core {c}")
    violations, neighbours = distributed.prover.prove_cores(core, k, parameters.get("count") == "arcs")

    def at_vertex(u, v):
        return {"c": distributed.read(core, v), "n": neighbours}

    decide(
        distributed,
        Violations(flag, violations["flag"], at_vertex),
        Violations(few, violations["few"], at_vertex),
        Violations(larger, violations["larger"], at_vertex),
    )
    return proved
