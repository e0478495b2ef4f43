"""Cases of in_degree, see ``__init__.py``."""

TINY = ({}, {"in_degree": [1, 1, 2, 0, 1, 0]})
VALID = [{}]
WRONG = [({}, {"in_degree": {3: 7}}, "in-degrees are those of the rows", "vertex 3 has 7")]
