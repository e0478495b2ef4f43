"""Cases of kcore, see ``__init__.py``."""

TINY = ({}, {"core_number": [2, 2, 2, 1, 1, 0]})
STOPPED = {
    "kcore": ("rmat:9", {}),
    "kcore by shells": ("rmat:9", {"variant": "shells"}),
    "one core": ("grid:12x12", {"k": 3}),
}
VALID = [
    {},
    {"k": 3},
]
WRONG = [
    ({}, {"core_number": {3: 2}}, "enough neighbours", "vertex 3 has core number 2, but only 1 neighbours"),
    ({}, {"core_number": {4: 0}}, "no larger core", "vertex 4 has core number 0"),
    ({}, {"core_number": {0: 1, 1: 1, 2: 1}}, "no larger core", "vertex 0 has core number 1"),
    ({}, {"core_number": {7: -1}}, "no larger core", "vertex 7"),
    ({"k": 2}, {"in_core": {3: 1}}, "enough neighbours", "vertex 3 is in the 2-core with 1 neighbours"),
    ({"k": 2}, {"in_core": {0: 0, 1: 0, 2: 0}}, "no larger core", "vertex 0 belongs to the 2-core"),
    ({"k": 2}, {"in_core": {3: 2}}, "members are 0 or 1", "vertex 3 has in_core 2"),
]
NUDGED = [
    ({}, "core_number", -1),
    ({"k": 3}, "in_core", -1),
]
