"""Cases of cc, see ``__init__.py``."""

TINY = ({}, {"labels": [0, 0, 0, 3, 3, 5]})
STOPPED = {
    "cc": ("uniform:9,edge_factor=1", {"variant": "label-propagation"}),
}
VALID = [
    {},
]
WRONG = [
    ({}, {"labels": {7: 99}}, "labels are vertices", "vertex 7 has label 99"),
    ({}, {"labels": {4: 4}}, "labels are equal along arcs", "arc 3 → 4 joins label 0 with label 4"),
    ({}, {"labels": {5: 1, 6: 1}}, "a label's vertex carries it", "vertex 5 has label 1"),
    ({}, {"labels": {5: 0, 6: 0}}, "no two components of one label", "vertex 5 has label 0"),
    ({}, {"labels": {5: 6, 6: 6}}, "labels are the smallest", "vertex 5 has label 6"),
]
NUDGED = [
    ({}, "labels", 1),
]
