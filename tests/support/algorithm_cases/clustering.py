"""Cases of clustering, see ``__init__.py``."""

TINY = ({}, {"clustering": [2 / 4, 2 / 2, 2 / 4, 0.0, 0.0, 0.0]})
VALID = [
    {},
    {"weighted": True},
    {"count": "edges", "weighted": True},
]
WRONG = [
    ({}, {"clustering": {2: 1.0}}, "coefficients are shares of closed pairs by weight", "vertex 2 has 1.0"),
    ({"weighted": True}, {"clustering": {2: 1.0}}, "coefficients are shares of closed pairs by weight", "vertex 2 has"),
]
