"""Cases of degrees, see ``__init__.py``."""

TINY = (
    {},
    {
        "degree": [3, 2, 3, 1, 1, 0],
        "in_degree": [1, 1, 2, 0, 1, 0],
        "out_degree": [2, 1, 1, 1, 0, 0],
        "weighted_degree": [6.0, 3.0, 7.0, 5.0, 5.0, 0.0],
    },
)
VALID = [
    {},
]
WRONG = [
    ({}, {"degree": {3: 7}}, "degrees are counts of edges", "vertex 3 has degree 7"),
    ({}, {"out_degree": {3: 7}}, "degrees are counts of edges", "vertex 3 has out_degree 7"),
    ({}, {"weighted_degree": {3: 0.5}}, "weighted degrees are sums of weights", "vertex 3 has weighted_degree 0.5"),
]
