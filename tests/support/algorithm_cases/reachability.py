"""Cases of reachability, see ``__init__.py``."""

TINY = ({"sources": [3, 0]}, {"reached_3": [0, 0, 0, 1, 1, 0], "reached_0": [1, 1, 1, 0, 0, 0]})
STOPPED = {}
VALID = [
    {},
    {"k": 3, "depth_limit": 1},
    {"k": 2, "random_state": 7},
]
SEARCHED = "a path leads where the answer says"
WRONG = [
    ({"sources": (0, 4)}, {"reached_4": {4: 0}}, SEARCHED, "vertex 4 has 0 from 4"),
    ({"sources": (0, 4), "depth_limit": 1}, {"reached_0": {4: 1}}, SEARCHED, "vertex 4 has 1 from 0"),
]
