"""Cases of triangles, see ``__init__.py``."""

TINY = ({}, {"triangles": [1, 1, 1, 0, 0, 0]})
VALID = [
    {},
]
WRONG = [
    ({}, {"triangles": {3: 1}}, "counts are equal", "vertex 3 has 1 triangles, and 0 were counted"),
]
