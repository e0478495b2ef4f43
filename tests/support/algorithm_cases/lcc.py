"""Cases of lcc, see ``__init__.py``."""

TINY = ({}, {"lcc": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]})
VALID = [
    {},
]
WRONG = [
    ({}, {"lcc": {2: 1.0}}, "coefficients are shares of closed pairs", "vertex 2 has 1.0, and 0.33"),
]
