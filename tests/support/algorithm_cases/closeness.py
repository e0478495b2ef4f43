"""Cases of closeness, see ``__init__.py``."""

TINY = ({}, {"closeness": [4 / 15, 4 / 15, 0.4, 0, 0.2, 0]})
STOPPED = {}
VALID = [
    {},
    {"k": 3},
    {"k": 2, "random_state": 5, "wf_improved": False},
]
WRONG = [
    ({}, {"closeness": {3: -0.1}}, "closeness is a share", "vertex 3 has -0.1"),
    ({}, {"closeness": {3: 0.25}}, "closeness is of the distances", "vertex 3 has 0.25, and"),
]
