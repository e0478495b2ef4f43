"""Cases of bc, see ``__init__.py``."""

NAN = float("nan")
TINY = ({"normalized": False}, {"bc": [1, 0, 1, 0, 0, 0]})
STOPPED = {}
VALID = [
    {},
    {"k": 3},
    {"k": 1},
    {"k": 2, "normalized": False},
    {"k": 4, "random_state": 5, "normalized": False, "endpoints": True},
    {"sources": [4, 0, 2], "targets": [2, 3]},
    {"sources": [4, 0], "targets": [1], "weighted": True, "normalized": False},
]
WRONG = [
    ({}, {"bc": {3: -0.1}}, "betweenness is at least 0", "vertex 3 has -0.1"),
    ({}, {"bc": {3: NAN}}, "betweenness is at least 0", "vertex 3 has nan"),
    ({"sources": (4,), "targets": (1,)}, {"bc": {1: 0.1}}, "betweenness is of the dependencies", "vertex 1 has 0.1"),
    ({}, {"bc": {3: 0.5}}, "betweenness is of the dependencies", "vertex 3 has 0.5, and 0.0"),
]
