"""Certificate of weakly connected components.

Theorem. Let l be labels and f a map of vertices such that f(v) is connected to v by a path and f(v) ≤ v. If l is equal
at both ends of every arc, and l(v) = f(v) for every v, then l(v) is the smallest vertex of v's component. So labels
are equal exactly within components. Proof: by the first condition one label L is on all of v's component. By the
second, L = f(v) lies in the component, and L = f(u) ≤ u for every u in it.

f is computed by hooking and pointer jumping. A bug in that code cannot accept a wrong label: it hooks two vertices only
along an arc, and f(v) is the smallest vertex that was hooked together with v, so f has the two properties in any case.
"""

from __future__ import annotations

from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.violation import Violations, decide


@certifies("cc", proved=True)
def cc(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``labels``; collective.

    Raises:
        ValidationFailed: a label is wrong.
    """
    claimed = columns["labels"]
    violations, smallest = distributed.prover.prove_labels(distributed.to_gid(claimed), claimed)
    vertex = Rule("labels are vertices", "vertex {v} has label {l}, which is not a vertex")
    equal = Rule("labels are equal along arcs", "arc {u} → {v} joins label {lu} with label {lv}")
    own = Rule("a label's vertex carries it", "vertex {v} has label {l}, but vertex {l} has another")
    larger = Rule("labels are the smallest", "vertex {v} has label {l}, but its component has the smaller vertex {s}")
    apart = Rule(
        "no two components of one label",
        "vertex {v} has label {l}, but no path joins them: {s} is the smallest vertex of its component",
    )

    def at_vertex(u, v):
        return {"l": distributed.read(claimed, v)}

    def at_arc(u, v):
        return {"lu": distributed.read(claimed, u), "lv": distributed.read(claimed, v)}

    def joined(u, v):
        return {"l": distributed.read(claimed, v), "s": smallest(v)}

    decide(distributed, Violations(vertex, violations["vertex"], at_vertex))
    decide(
        distributed,
        Violations(equal, violations["equal"], at_arc, arc=True),
        Violations(own, violations["own"], at_vertex),
        Violations(larger, violations["under"], joined),
        Violations(apart, violations["apart"], joined),
    )
    return ["labels are equal along arcs", "every vertex is joined to its label", "labels are the smallest ids"]
