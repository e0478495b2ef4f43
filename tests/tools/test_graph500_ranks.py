"""Graph500's searches on any number of ranks: edges of the trees' components against SciPy, and a wrong tree."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dgraph.comm import world
from dgraph.errors import ValidationFailed
from dgraph.graph.generate import recipe_of
from dgraph.graph.stored_graph import Graph
from dgraph.run import run
from dgraph.tools import graph500_searches
from dgraph.tools.graph500_searches import Graph500Searches

pytestmark = pytest.mark.mpi
SPEC = "kron:8,edge_factor=2,seed=5"


def searches():
    graph = Graph.load(SPEC, comm=world(), device="cpu")
    return Graph500Searches(graph, SPEC, 4, seed=3, check=True), graph


def test_trees_of_ranks():
    measured_searches, graph = searches()
    run(measured_searches, graph)
    recipe, _ = recipe_of(SPEC)
    src, dst, _ = recipe.edges(0, recipe.items)
    ends = src.astype(np.int64), dst.astype(np.int64)
    _, component = connected_components(coo_array((np.ones(src.size), ends), (recipe.n, recipe.n)), directed=False)
    measured = measured_searches.measured
    assert measured.edges == [np.count_nonzero(component[src] == component[root]) for root in measured.roots]
    assert len(set(measured.roots)) == 4
    assert all(np.any((src == root) != (dst == root)) for root in measured.roots)


def test_a_wrong_tree_is_refused_on_every_rank(monkeypatch):
    search = graph500_searches._parents

    def wrong(ctx, root):
        distance, parent = search(ctx, root)
        parent[parent >= 0] = root
        return distance, parent

    monkeypatch.setattr(graph500_searches, "_parents", wrong)
    with pytest.raises(ValidationFailed, match="root"):
        run(*searches())
