"""Cases of multi_source_sssp, see ``__init__.py``."""

from dgraph.result.result import UNREACHED as FAR

TINY = ({"sources": [1, 3]}, {"distance_1": [3, 0, 2, FAR, FAR, FAR], "distance_3": [FAR, FAR, FAR, 0, 5, FAR]})
STOPPED = {}
VALID = [
    {},
    {"k": 3, "random_state": 2},
    {"k": 3, "min_only": True},
    {"k": 3, "min_only": True, "cutoff": 9.5},
    {"k": 3, "cutoff": 9.5},
    {"k": 3, "return_predecessors": True},
]
NEAREST = {"sources": (0, 4), "min_only": True}
TREES = {"sources": (0, 4), "return_predecessors": True}
WRONG = [
    (TREES, {"predecessor_4": {3: 0}}, "tree arcs are tight", "vertex 3 has distance 10 and predecessor 0"),
    (TREES, {"predecessor_0": {1: 2}}, "no circle", "predecessors of vertex 1, at distance 5, run in a circle"),
    (TREES, {"predecessor_0": {4: 3}}, "the unreached have no predecessor", "vertex 4"),
    (NEAREST, {"distance": {0: 1}}, "the source is at 0", "the source 0 has distance 1"),
    (NEAREST, {"distance": {3: 12}}, "no arc is a short cut", "3 is at most 9 away, but has 12"),
    (NEAREST, {"predecessor": {0: 4}}, "the source has no predecessor", "source 0 has predecessor 4"),
    (NEAREST, {"source": {3: 4}}, "the nearest source is that of the predecessor", "vertex 3 has source 4, and 0"),
    (NEAREST, {"source": {5: 4}}, "the nearest source is that of the predecessor", "vertex 5 has source 4, and -1"),
    (NEAREST, {"source": {4: 0}}, "the nearest source is that of the predecessor", "vertex 4 has source 0, and 4"),
    ({"sources": (0, 4)}, {"distance_4": {4: 1}}, "the source is at 0", "the source 4 has distance 1"),
    ({"sources": (0, 4)}, {"distance_0": {3: 20}}, "no arc is a short cut", "3 is at most 9 away, but has 20"),
]
