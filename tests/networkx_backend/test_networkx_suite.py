"""NetworkX's own tests of most functions that the backend answers; ``python -m benchmarks networkx`` runs all tests.

``test_distance_measures`` alone is 600 tests over all pairs of nodes, and takes minutes.
"""

import pytest

from benchmarks.networkx_suite import run

QUICK = ("shortest_paths", "components", "link_analysis")
LONG = (
    "traversal", "tests.test_core", "tests.test_wiener", "tests.test_dag",
    "tests.test_efficiency", "tests.test_simple_paths", "bipartite.tests.test_basic", "tests.test_mis",
    "tests.test_cluster", "centrality.tests.test_betweenness_centrality",
    "centrality.tests.test_betweenness_centrality_subset", "centrality.tests.test_closeness_centrality",
    "centrality.tests.test_harmonic_centrality", "centrality.tests.test_eigenvector_centrality", "tree",
    "centrality.tests.test_katz_centrality", "centrality.tests.test_degree_centrality", "tests.test_isolate",
    "tests.test_reciprocity", "assortativity.tests.test_neighbor_degree", "community.tests.test_label_propagation",
    "bipartite.tests.test_matching", "flow.tests.test_maxflow",
)  # fmt: skip


def check(modules, least):
    counts, end = run(*(f"networkx.algorithms.{name}" for name in modules))
    assert counts["failed"] == [], end
    assert counts["reach and pass"] >= least
    assert counts["engine ran and pass"] >= least / 2


@pytest.mark.starts_children
@pytest.mark.exhaustive
@pytest.mark.parametrize(("modules", "least"), [(QUICK, 130), (LONG, 100)], ids=["paths", "others"])
def test_networkx_tests_pass(modules, least):
    check(modules, least)
