"""Cases of color, see ``__init__.py``."""

TINY = ({"variant": "degree", "random_state": 3}, {"color": [1, 0, 2, 1, 0, 0]})
STOPPED = {
    "color": ("rmat:7", {"variant": "hybrid"}),
    "color each": ("rmat:7", {"variant": "hybrid", "scan": "each"}),
    "color greedy": ("grid:12x12", {"variant": "greedy"}),
}
VALID = [
    {},
    {"variant": "degree"},
]
WRONG = [
    ({}, {"color": {3: -1}}, "every vertex has a color", "vertex 3 has color -1"),
    ({}, {"color": dict.fromkeys(range(8), 0)}, "neighbours differ", "0 and 1 are joined, and both have color"),
    ({}, {"color": {7: 9}}, "no color is left out", "but vertex 7 has color 9"),
]
NUDGED = [
    ({}, "color", 1),
]
