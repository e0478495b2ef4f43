"""Cases of eigenvector, see ``__init__.py``."""

import numpy as np

MEAN = 13 / 5  # of the weights of the tiny graph
SUMS = np.array([1 + 1 / MEAN, 1 + 1 / MEAN, 1 + 6 / MEAN, 1, 1 + 5 / MEAN, 1])
TINY = ({"max_iter": 1, "tol": 10.0}, {"eigenvector": SUMS / np.sqrt((SUMS * SUMS).sum())})
LONG = {"max_iter": 5000}
STOPPED = {
    "eigenvector": ("rmat:9", {"tol": 1e-9}),
}
VALID = [
    LONG,
    {"tol": 1e-2},
]
WRONG = [
    (LONG, {"eigenvector": {3: -0.1}}, "scores are numbers", "vertex 3 has eigenvector -0.1"),
    (LONG, {"eigenvector": {3: 0.5}}, "scores have the norm 1", "the scores of eigenvector have the norm"),
    (
        LONG, {"eigenvector": dict.fromkeys(range(6), 6**-0.5)}, "scores are a fixed point",
        "one more iteration changes",
    ),
]  # fmt: skip
