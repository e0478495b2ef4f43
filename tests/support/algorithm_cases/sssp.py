"""Cases of sssp, see ``__init__.py``."""

from dgraph.result.result import UNREACHED as FAR

WITHOUT = {"return_predecessors": False}
TINY = ({"source": 0}, {"distance": [0, 1, 3, FAR, FAR, FAR], "predecessor": [-1, 0, 1, -1, -1, -1]})
STOPPED = {
    "sssp": ("rmat:9", {"source": 3}),
    "sssp far": ("grid:20x20", {"source": 0}),
    "sssp in phases": ("grid:8x8", {"source": 0, "variant": "delta-stepping", "delta": 9.0}),
}
VALID = [
    {},
    {"cutoff": 17.5},
    {"target": 3, "return_predecessors": False},
    {"target": 2, "variant": "workfront"},
    {"return_predecessors": False},
]
WRONG = [
    ({}, {"distance": {3: -1}}, "distances are not negative", "vertex 3 has distance -1"),
    ({"cutoff": 6.5}, {"distance": {3: 9}, "predecessor": {3: 2}}, "the cutoff holds", "distance 9, above 6.5"),
    ({"target": 2}, {"distance": {3: 9}, "predecessor": {3: 2}}, "the cutoff holds", "distance 9, above 5"),
    ({"target": 3}, {"distance": {3: 12}}, "no arc is a short cut", "arc 2 → 3 of weight 4: 2 has distance 5, so 3"),
    ({"cutoff": 6.5}, {"distance": {2: FAR}, "predecessor": {2: -1}}, "no arc is a short cut", "arc 1 → 2"),
    ({}, {"predecessor": {0: 4}}, "the source has no predecessor", "source 0 has predecessor 4"),
    ({}, {"predecessor": {5: 0}}, "the unreached have no predecessor", "vertex 5"),
    ({}, {"predecessor": {3: -1}}, "the reached have a predecessor", "vertex 3"),
    ({}, {"predecessor": {3: 77}}, "the reached have a predecessor", "predecessor 77 is not a vertex"),
    ({}, {"predecessor": {3: 5}}, "predecessors are reached", "its predecessor 5 is unreached"),
    ({}, {"distance": {3: 12}}, "no arc is a short cut", "arc 2 → 3 of weight 4: 2 has distance 5, so 3 is"),
    ({}, {"distance": {3: FAR}, "predecessor": {3: -1}}, "no arc is a short cut", "but has unreached"),
    ({}, {"predecessor": {3: 1}}, "tree arcs are arcs", "there is no arc 1 → 3"),
    ({}, {"predecessor": {3: 0}}, "tree arcs are tight", "vertex 3 has distance 9 and predecessor 0"),
    ({}, {"predecessor": {1: 2}}, "no circle", "predecessors of vertex 1, at distance 5, run in a circle"),
    (WITHOUT, {"distance": {1: 3, 2: 3, 3: 7}}, "distances are reached", "vertex 1 has distance 3"),
    (WITHOUT, {"distance": {3: 8}}, "distances are reached", "vertex 3 has distance 8"),
]
NUDGED = [
    ({"source": 2}, "predecessor", 1),
]
