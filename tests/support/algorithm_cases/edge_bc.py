"""Cases of edge_bc, see ``__init__.py``."""

FAR, LARGEST = float("inf"), "a vertex has its edge of largest value"
TINY = ({"normalized": False}, {"edge_bc": [2, 2, 3, 1, FAR, FAR], "target": [1, 2, 0, 4, -1, -1]})
VALID = [
    {},
    {"k": 3, "normalized": False},
    {"epsilon": 0.4, "delta": 0.2},
]
WRONG = [
    ({}, {"edge_bc": {4: 0.5}}, LARGEST, "vertex 4 has 0.5, and its edges at most 0.1"),
    ({}, {"edge_bc": {5: 0.5}}, LARGEST, "vertex 5 has 0.5, and its edges at most inf"),
    ({}, {"target": {4: 1}}, "a vertex with edges names one of them", "vertex 4 names no edge of it"),
]
