"""Cases of in_degree, see ``__init__.py``."""


def kept(graph):
    """Return in-degrees: an undirected edge enters both its ends, a loop enters its vertex once."""
    entering = dict.fromkeys(range(graph.n), 0)
    for u, v in graph.multigraph.edges():
        for end in (v,) if graph.directed or u == v else (u, v):
            entering[end] += 1
    return {"in_degree": entering}


TINY = ({}, {"in_degree": [1, 1, 2, 0, 1, 0]})
VALID = [{}]
KEPT = [({}, kept)]
WRONG = [({}, {"in_degree": {3: 7}}, "in-degrees are those of the rows", "vertex 3 has 7")]
