"""Cases of multi_source_sssp, see ``__init__.py``."""

from dgraph.result.result import UNREACHED as FAR

TINY = ({"sources": [1, 3]}, {"distance_1": [3, 0, 2, FAR, FAR, FAR], "distance_3": [FAR, FAR, FAR, 0, 5, FAR]})
STOPPED = {}
VALID = [
    {},
    {"k": 3, "random_state": 2},
]
WRONG = [
    ({"sources": (0, 4)}, {"distance_4": {4: 1}}, "the source is at 0", "the source 4 has distance 1"),
    ({"sources": (0, 4)}, {"distance_0": {3: 20}}, "no arc is a short cut", "3 is at most 9 away, but has 20"),
]
