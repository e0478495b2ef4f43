"""Certificate of a maximal independent set: members are not neighbours, and every other vertex has a member as one."""

from __future__ import annotations

from dgraph.errors import UsageError
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.violation import Violations, decide


@certifies("mis", proved=True)
def mis(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``in_set``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: the set is not independent, or not maximal.
    """
    if distributed.block.directed:
        raise UsageError("independent sets are of undirected graphs; pass the block of graph.undirected()")
    inside = columns["in_set"]
    violations = distributed.prover.prove_set(inside)
    decided = Rule("every vertex is in or out", "vertex {v} has {x}")
    apart = Rule("members are not neighbours", "{u} and {v} are joined, and both are in the set")
    maximal = Rule("no vertex can be added", "neither vertex {v} nor a neighbour of it is in the set")

    def at_vertex(u, v):
        return {"x": distributed.read(inside, v)}

    decide(
        distributed,
        Violations(decided, violations["decided"], at_vertex),
        Violations(apart, violations["apart"], at_vertex, arc=True),
        Violations(maximal, violations["maximal"], at_vertex),
    )
    return ["no two members are neighbours", "every other vertex has a neighbour in the set"]
