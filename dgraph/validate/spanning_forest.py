"""Certificate of minimum spanning forests.

Theorem (cycle property): edges of the graph that form no circle and connect the ends of every edge are a minimum
spanning forest if no edge weighs less than the heaviest edge on the path between its ends.

On CPUs, each rank joins the forest's edges by weight into trees of small depth (``host/host_forest.py``). GPUs join
them in rounds, in each of which every tree takes its lightest edge [Borůvka]; the heaviest edge on a path is then the
heaviest that was taken between its ends and the tree in which they meet [King 1997].
"""

from __future__ import annotations

from dgraph.errors import UsageError
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.violation import NOWHERE, Violations, decide


@certifies("mst", proved=True)
def mst(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check columns ``weight``, ``source`` and ``target``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: the edges are not those of the graph, form a circle, or are not a lightest choice.
    """
    if distributed.block.directed:
        raise UsageError("spanning forests are of undirected graphs; pass the block of graph.undirected()")
    source, target, weight = (columns[name] for name in ("source", "target", "weight"))
    ends = distributed.to_gid(source), distributed.to_gid(target)
    violations, forest = distributed.prover.prove_forest(source, target, weight, ends)

    def at_vertex(u, v):
        return {"a": distributed.read(source, v), "b": distributed.read(target, v)}

    def at_edge(u, v):
        return {"w": forest.weight_of(u, v)}

    def at_arc(u, v):
        weighted = distributed.block.weight_type is not None
        here = weight.dtype.type(0) if u is None else distributed.prover.weight(u, v, weight.dtype, weighted)
        return {"w": here, "x": forest.heaviest(u, v)}

    valid = Rule("ends of edges are vertices", "vertex {v} has the edge {a} – {b}")
    decide(distributed, Violations(valid, violations["valid"], at_vertex))
    circle = Rule("no circle", "the edge {u} – {v} of the forest joins vertices that lighter edges have joined")
    decide(distributed, Violations(circle, violations.get("circle", NOWHERE), at_edge, arc=True))
    apart = Rule("ends of an edge are connected", "the edge {u} – {v} joins two trees of the forest")
    light = Rule("no edge is lighter than its path", "the edge {u} – {v} weighs {w}, and its path has one of {x}")
    missing = Rule("edges of the forest are edges", "the graph has no edge {u} – {v} of weight {w}")
    decide(
        distributed,
        Violations(apart, violations["apart"], at_edge, arc=True),
        Violations(light, violations["light"], at_arc, arc=True),
        Violations(missing, violations["missing"], at_edge, arc=True),
    )
    return [f"{forest.edges} edges form a spanning forest", "no edge is lighter than the heaviest on its path"]
