"""Cases of multi_source_pagerank, see ``__init__.py``."""

TINY = (
    {"sources": [3, 5], "alpha": 0.5, "tol": 0.0, "max_iter": 1},
    {
        "pagerank_3": [1 / 12, 1 / 60, 3 / 20, 2 / 3, 1 / 12, 0],
        "pagerank_5": [1 / 12, 1 / 60, 3 / 20, 0, 1 / 12, 2 / 3],
    },
)
WALKS = {"personalizations": ((0, 4), (4,))}
VALID = [
    {},
    {"personalizations": [{0: 1, 4: 3}, [4]]},
    {"k": 3, "tol": 0.0, "max_iter": 4},
    {"k": 11, "alpha": 0.6, "random_state": 7},
]
WRONG = [
    ({"sources": (0, 4)}, {"pagerank_4": {3: 0.9}}, "ranks sum to 1", "the ranks of all vertices sum to"),
    (WALKS, {"pagerank_0": {3: 0.9}}, "ranks sum to 1", "the ranks of all vertices sum to"),
    ({"sources": (0, 4)}, {"pagerank_0": {3: -0.5}}, "ranks are shares", "vertex 3 has pagerank -0.5"),
]
