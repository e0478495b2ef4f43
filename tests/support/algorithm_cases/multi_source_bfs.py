"""Cases of multi_source_bfs, see ``__init__.py``."""

from dgraph.result.result import UNREACHED as FAR

TINY = ({"sources": [3, 0]}, {"distance_3": [FAR, FAR, FAR, 0, 1, FAR], "distance_0": [0, 1, 1, FAR, FAR, FAR]})
STOPPED = {}
VALID = [
    {"k": 3, "min_only": True},
    {},
    {"k": 3, "depth_limit": 1},
    {"k": 2, "random_state": 7},
]
WRONG = [
    ({"sources": (0, 4)}, {"distance_4": {4: 1}}, "the source is at 0", "the source 4 has distance 1"),
    ({"sources": (0, 4)}, {"distance_4": {0: 3}}, "no arc is a short cut", "4 has distance 0"),
]
