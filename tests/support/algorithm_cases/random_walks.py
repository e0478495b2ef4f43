"""Cases of random_walks, see ``__init__.py``."""

TINY = ({"length": 0, "walks": 2}, {"visits": [2, 2, 2, 2, 2, 2]})
VALID = [
    {},
    {"weighted": True, "edge_weights": True, "restart": 0.2},
    {"sources": [1, 0, 1], "walks": 3, "length": 4},
]
WRONG = [
    ({}, {"visits": {5: 0}}, "walks visit their sources", "5 has 0 visits, and 1 walks begin"),
    (
        {"sources": (1, 0, 1), "walks": 3},
        {"visits": {1: 5}},
        "walks visit their sources",
        "1 has 5 visits, and 6 walks",
    ),
]
