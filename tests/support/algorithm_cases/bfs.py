"""Cases of bfs, see ``__init__.py``."""

from dgraph.result.result import UNREACHED as FAR

TINY = ({"source": 0}, {"distance": [0, 1, 1, FAR, FAR, FAR], "predecessor": [-1, 0, 0, -1, -1, -1]})
STOPPED = {
    "bfs": ("rmat:9", {"source": 3}),
    "bfs far": ("path:60", {"source": 0}),
}
VALID = [
    {},
    {"depth_limit": 2, "return_predecessors": False},
    {"target": 3},
]
WRONG = [
    ({}, {"vertex": {3: 77}}, "rows are of vertices", "a row of 77"),
    ({}, {"vertex": {3: 2}}, "every vertex has one row", "vertex 2 has 2 rows"),
    ({}, {"distance": {0: 1}}, "the source is at 0", "the source 0 has distance 1"),
    ({}, {"distance": {3: 2}}, "no arc is a short cut", "arc 0 → 3 of weight 1: 0 has distance 0"),
    ({}, {"distance": {2: 1}}, "tree arcs are tight", "vertex 2 has distance 1 and predecessor 1, which has 1"),
    ({"target": 1}, {"distance": {2: 2}, "predecessor": {2: 1}}, "the cutoff holds", "distance 2, above 1"),
    ({"target": 3}, {"distance": {3: FAR}, "predecessor": {3: -1}}, "no arc is a short cut", "arc 0 → 3"),
    ({"depth_limit": 1}, {"distance": {2: 2}, "predecessor": {2: 1}}, "the cutoff holds", "vertex 2"),
]
NUDGED = [
    ({"source": 2}, "distance", -1),
]
