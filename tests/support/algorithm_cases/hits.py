"""Cases of hits, see ``__init__.py``."""

import numpy as np

AUTHORITIES, HUBS = np.array([1, 1, 6, 0, 5, 0]) / 13, np.array([25, 12, 1, 25, 0, 0]) / 63
TINY = ({"max_iter": 1, "tol": 10.0}, {"authorities": AUTHORITIES, "hubs": HUBS})
UNIT = {"normalized": False}
VALID = [
    {"max_iter": 5000},
    {"tol": 1e-2},
    {"normalized": False, "max_iter": 5000},
]
WRONG = [
    (UNIT, {"authorities": {3: 0.9}}, "authorities have the norm 1", "their norm is"),
    (UNIT, {"hubs": {3: 0.9}}, "hubs are sums of authorities", "vertex 3 has 0.9"),
    ({}, {"hubs": {3: -0.1}}, "scores are shares", "vertex 3 has hubs -0.1"),
    ({}, {"hubs": {3: 0.5}}, "hubs follow from authorities", "3 has 0.5"),
    ({}, {"authorities": {3: 0.5}}, "hubs follow from authorities", "more than"),
]
