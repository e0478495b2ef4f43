"""Certificate of a vertex colouring: neighbours have different colours, and colours 0 to the largest all occur.

This proves a proper colouring. It does not bound the number of colours.
"""

from __future__ import annotations

from dgraph.errors import UsageError
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.violation import Violations, decide


@certifies("color", proved=True)
def color(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``color``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: the colouring is wrong.
    """
    if distributed.block.directed:
        raise UsageError("colours are of undirected graphs; pass the block of graph.undirected()")
    claimed = columns["color"]
    violations, gap = distributed.prover.prove_colors(claimed)
    colored = Rule("every vertex has a color", "vertex {v} has color {c}")
    differ = Rule("neighbours differ", "{u} and {v} are joined, and both have color {c}")
    beyond = Rule("no color is left out", f"no vertex has color {gap}, but vertex {{v}} has color {{c}}")

    def at_vertex(u, v):
        return {"c": distributed.read(claimed, v)}

    decide(
        distributed,
        Violations(colored, violations["given"], at_vertex),
        Violations(differ, violations["differ"], at_vertex, arc=True),
        Violations(beyond, violations["beyond"], at_vertex),
    )
    return ["neighbours have different colours", f"colours 0 to {gap - 1} all occur"]
