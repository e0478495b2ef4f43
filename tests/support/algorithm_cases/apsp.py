"""Cases of all pairs, see ``__init__.py``."""

TINY = ({}, {"reached": [3, 3, 3, 2, 1, 1], "farthest": [3, 3, 2, 5, 0, 0]})
VALID = [
    {},
    {"variant": "blocked", "block": 3},
    {"return_predecessors": True},
]
WRONG = [
    ({}, {"reached": {3: 2}}, "reached is the number of finite distances", "vertex 3 has 2, and its row has 1"),
    ({}, {"farthest": {4: 9.0}}, "farthest is the largest distance", "vertex 4 has 9.0, and its row has 10.0"),
]
