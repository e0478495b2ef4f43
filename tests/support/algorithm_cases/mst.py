"""Cases of mst, see ``__init__.py``."""

from dgraph.result.result import UNREACHED as FAR

TINY = (
    {},
    {
        "weight": [FAR, 1, 1, FAR, 5, FAR],
        "source": [-1, 0, 0, -1, 3, -1],
        "target": [-1, 1, 2, -1, 4, -1],
    },
)
VALID = [{}]
WRONG = [
    ({}, {"source": {4: 99}}, "ends of edges are vertices", "has the edge 99 – "),
    ({}, {"source": {1: 0, 2: 0, 4: 1}, "target": {1: 1, 2: 2, 4: 2}}, "no circle", "the edge 1 – 2 of the forest"),
    ({}, {"source": {6: -1}}, "ends of edges are vertices", "vertex 6 has the edge -1 – 6"),
    ({}, {"target": {0: 6}}, "ends of edges are vertices", "vertex 0 has the edge -1 – 6"),
    ({}, {"weight": {0: 3}}, "ends of edges are vertices", "vertex 0 has the edge -1 – -1"),
    (
        {},
        {"source": {6: -1}, "target": {6: -1}, "weight": {6: FAR}},
        "ends of an edge are connected",
        "the edge 5 – 6 joins two trees",
    ),
    ({}, {"weight": {6: 7}}, "no edge is lighter than its path", "the edge 5 – 6 weighs 1, and its path has one of 7"),
    ({}, {"source": {6: 4}}, "ends of an edge are connected", "the edge 5 – 6 joins two trees"),
]
NUDGED = [
    ({}, "weight", -1),
]
