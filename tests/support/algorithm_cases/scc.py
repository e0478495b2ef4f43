"""Cases of scc, see ``__init__.py``."""

TINY = ({}, {"labels": [0, 0, 0, 3, 4, 5]})
STOPPED = {
    "scc": ("rmat:9,edge_factor=2", {"max_rounds": 10**6}),  # by programs, not by one search
}
VALID = [
    {},
]
WRONG = [
    ({}, {"labels": {3: 99}}, "labels are vertices", "vertex 3 has label 99"),
    ({}, {"labels": {3: 2}}, "a label's vertex carries it", "vertex 3 has label 2"),
    ({}, {"labels": {1: 2, 2: 2}}, "labels are the smallest", "vertex 1 has the larger label 2"),
    ({}, {"labels": {4: 0}}, "arcs lead from a label's vertex", "vertex 4 has label 0"),
    ({}, {"labels": {3: 1}}, "arcs lead to a label's vertex", "vertex 3 has label 1"),
    ({}, {"labels": {2: 2}}, "no cycle joins components", "the component of vertex 1"),
]
NUDGED = [
    ({}, "labels", 1),
    ({}, "labels", -1),
]
