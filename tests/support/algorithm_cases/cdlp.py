"""Cases of cdlp, see ``__init__.py``."""

TINY = ({}, {"labels": [0, 0, 0, 3, 4, 5]})
STOPPED = {
    "cdlp": ("rmat:9", {}),
}
VALID = [
    {},
    {"max_iter": 2},
    {"weighted": True},
]
WRONG = [
    ({}, {"labels": {3: 7}}, "labels are those of all rounds", "vertex 3 has label 7"),
]
