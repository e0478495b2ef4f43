"""Cases of neighbor_degree, see ``__init__.py``."""

TINY = (
    {"neighbors": "in", "degree": "out"},
    {"neighbor_degree": [1.0, 2.0, (2 * 1 + 4 * 2) / 6, 0.0, 1.0, 0.0]},
)
VALID = [
    {},
]
VALID_DIRECTED = [
    {"neighbors": "in+out", "degree": "in"},
]
WRONG = [
    ({}, {"neighbor_degree": {3: 0.5}}, "averages are of neighbours' degrees", "vertex 3 has 0.5"),
]
