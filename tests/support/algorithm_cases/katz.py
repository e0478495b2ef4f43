"""Cases of katz, see ``__init__.py``."""

import numpy as np

NAN = float("nan")
SUMS = np.array([1 + 1, 1 + 1, 1 + 6, 1, 1 + 5, 1])  # 1, and the weights of the in-edges
TINY = ({"alpha": 1.0, "max_iter": 2, "tol": 100.0, "nstart": {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0}},
        {"katz": SUMS / np.sqrt((SUMS * SUMS).sum())})  # fmt: skip
STOPPED = {
    "katz": ("rmat:9", {"alpha": 0.001, "tol": 1e-9}),
}
VALID = [
    {"alpha": 1e-3},
    {"alpha": 1e-3, "normalized": False},
    {"alpha": 1e-3, "betas": {0: 3.0, 1: -1.0}},
]
WRONG = [
    ({}, {"katz": {3: NAN}}, "scores are numbers", "vertex 3 has katz nan"),
    ({}, {"katz": {3: 0.9}}, "scores have the norm 1", "the scores of katz have the norm"),
    ({}, {"katz": dict.fromkeys(range(6), 6**-0.5)}, "scores are a fixed point", "one more step of all walks changes"),
    ({"normalized": False}, {"katz": {3: 0.9}}, "scores are a fixed point", "3 has 0.9"),
]
