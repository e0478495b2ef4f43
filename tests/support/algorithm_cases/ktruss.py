"""Cases of ktruss, see ``__init__.py``."""

TINY = ({}, {"truss": [3, 3, 3, 2, 2, 0]})
VALID = [
    {},
    {"k": 3},
]
WRONG = [
    ({}, {"truss": {3: 9}}, "values are those of a peel", "vertex 3 has truss 9"),
    ({"k": 2}, {"in_truss": {3: 0}}, "values are those of a peel", "vertex 3 has in_truss 0, and peeling gives 1"),
]
