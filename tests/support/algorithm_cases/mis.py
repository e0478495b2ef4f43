"""Cases of mis, see ``__init__.py``."""

TINY = ({"random_state": 3}, {"in_set": [0, 1, 0, 0, 1, 1]})
STOPPED = {
    "mis": ("rmat:9", {}),
}
VALID = [
    {},
]
WRONG = [
    ({}, {"in_set": {3: -1}}, "every vertex is in or out", "vertex 3 has -1"),
    ({}, {"in_set": dict.fromkeys(range(8), 1)}, "members are not neighbours", "0 and 1 are joined"),
    ({}, {"in_set": {7: 0}}, "no vertex can be added", "neither vertex 7 nor a neighbour"),
]
NUDGED = [
    ({}, "in_set", -1),
]
