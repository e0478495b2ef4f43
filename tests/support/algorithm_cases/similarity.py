"""Cases of similarity, see ``__init__.py``."""

FAR = float("inf")
COMMON = "similarities are of common neighbours"
TINY = ({}, {"similarity": [1 / 3, 1 / 3, 1 / 3, FAR, FAR, FAR], "target": [1, 0, 0, -1, -1, -1]})
VALID = [
    {},
    {"measure": "adamic_adar", "k": 2},
    {"measure": "cosine", "first": [0, 1, 1], "second": [1, 2, 1]},
    {"measure": "jaccard", "first": [1, 0, 1], "k": 2},
]
WRONG = [
    ({}, {"similarity": {1: 0.9}}, COMMON, "has 0.9, and 0."),
    (
        {"first": (1,)},
        {"similarity": {1: FAR}, "target": {1: -1}},
        "no vertex at two hops is more similar",
        "1 has 0 pairs",
    ),
    ({"k": 1}, {"similarity": {4: 0.25}, "target": {4: 0}}, COMMON, "has 0.25, and"),
]
