"""Certificate of strongly connected components.

Theorem. Let l map vertices to vertices, and call the vertices of one value a class. If

1. l(l(v)) = l(v) and l(v) ≤ v for every v;
2. arcs inside v's class lead from l(v) to v, and from v to l(v), for every v;
3. the classes can be removed one after another so that no arc leads to each from a remaining one,

then l(v) is the smallest vertex of v's strongly connected component. Proof: by 2 a class is strongly connected. By 3 no
cycle joins two classes, so no component has vertices of two. By 1 the vertex l(v) is the smallest one of v's class.

Two searches over the arcs inside classes prove 2, and one over the arcs between them proves 3, which removes a class
once its last incoming arc is gone. In an undirected graph one search proves 2, and no arc may lie between classes;
CPU ranks prove that its classes are its components (``components.py``), and search only to name what is wrong.
"""

from __future__ import annotations

from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.violation import NOWHERE, Violations, decide

GROUPS = (("vertex",), ("own", "larger"), ("behind", "before"), ("apart",))
"""Rules in the order in which they are decided."""


@certifies("scc", proved=True)
def scc(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str] | None:
    """Check column ``labels``; collective. None: the prover leaves the proof to the CPUs.

    Raises:
        ValidationFailed: a label is wrong.
    """
    claimed = columns["labels"]
    violations = distributed.prover.prove_strong(distributed.to_gid(claimed), claimed)
    if violations is None:
        return None
    rules = {
        "vertex": Rule("labels are vertices", "vertex {v} has label {l}, which is not a vertex"),
        "own": Rule("a label's vertex carries it", "vertex {v} has label {l}, but vertex {l} has another"),
        "larger": Rule("labels are the smallest", "vertex {v} has the larger label {l}"),
        "behind": Rule(
            "arcs lead from a label's vertex", "vertex {v} has label {l}, and no arcs inside lead from {l} to it"
        ),
        "before": Rule(
            "arcs lead to a label's vertex", "vertex {v} has label {l}, and no arcs inside lead from it to {l}"
        ),
        "apart": Rule(
            "no cycle joins components", "the component of vertex {v} is on a cycle of components, or behind one"
        ),
    }

    def at_vertex(u, v):
        return {"l": distributed.read(claimed, v)}

    for names in GROUPS:
        decide(distributed, *(Violations(rules[name], violations.get(name, NOWHERE), at_vertex) for name in names))
    return ["arcs inside each component lead from its label to every vertex, and back", "no cycle joins components"]
