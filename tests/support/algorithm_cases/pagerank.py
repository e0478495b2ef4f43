"""Cases of pagerank, see ``__init__.py``."""

import numpy as np

NAN = float("nan")
MOVED = {0: 0.20012266, 4: 0.11013081}  # 2e-6 moved from one vertex to the other
SINGLE = {"precision": "single"}
TINY = ({"alpha": 0.5, "tol": 0, "max_iter": 1}, {"pagerank": np.array([35, 23, 47, 20, 35, 20]) / 180})
STOPPED = {
    "pagerank": ("rmat:9", {"tol": 0, "max_iter": 12}),
}
VALID = [
    {},
    {"precision": "single"},
    {"precision": "single", "tol": 0, "max_iter": 5},
    {"dangling": {3: 1.0}, "nstart": {0: 1.0, 1: 3.0}},
    {"tol": 0, "max_iter": 3, "dangling": {3: 1.0}, "nstart": {0: 1.0, 1: 3.0}},
]
WRONG = [
    ({}, {"pagerank": {3: -0.1}}, "ranks are shares", "vertex 3 has pagerank -0.1"),
    ({}, {"pagerank": {3: NAN}}, "ranks are shares", "vertex 3 has pagerank nan"),
    ({}, {"pagerank": {5: 0.6}}, "ranks sum to 1", "which is off 1"),
    ({}, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "the residual", "most at 3: it has 0.1666"),
    ({"tol": 0, "max_iter": 3}, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "3 iterations", "most at"),
    (SINGLE, {"pagerank": {5: 0.10786}}, "ranks sum to 1", "which is off 1"),
    (SINGLE, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "the residual", "most at 3: it has 0.1666"),
    (SINGLE | {"tol": 0, "max_iter": 3}, {"pagerank": MOVED}, "3 iterations", "most at"),
]
BEGUN = {"tol": 0, "max_iter": 3, "nstart": (0,)}
WRONG += [
    (BEGUN, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "3 iterations", "most at"),
    ({"dangling": (3,)}, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "the residual", "most at"),
]
NUDGED = [
    ({}, "pagerank", 1e-3),
    ({"tol": 0, "max_iter": 3}, "pagerank", 1e-3),
]
