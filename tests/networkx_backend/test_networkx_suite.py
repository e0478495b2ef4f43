"""NetworkX's own tests of most functions that the backend answers; ``python -m benchmarks networkx`` runs all tests.

``test_distance_measures`` alone is 600 tests over all pairs of nodes, and takes minutes.
"""

import json

import pytest

from benchmarks.networkx_suite import keep, run

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

LEFT_OUT = "not arborescence_iterator_min and not arborescence_iterator_max"
"""These two call ``is_arborescence`` for each of 680 branchings, and take as long as the other 1,000 tests together."""


def check(modules, least):
    counts, end = run(*(f"networkx.algorithms.{name}" for name in modules), extra=("-k", LEFT_OUT))
    assert counts["failed"] == [], end
    assert counts["reach and pass"] >= least
    assert counts["engine ran and pass"] >= least / 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(("modules", "least"), [(QUICK, 130), (LONG, 100)], ids=["paths", "others"])
def test_networkx_tests_pass(modules, least):
    check(modules, least)


def test_the_table_has_the_last_run_of_each_version(tmp_path):
    counts = {
        "passed": 1200, "failed": [], "skipped": 2, "reach": 30, "reach and pass": 29, "engine ran and pass": 20,
        "functions": {"bfs_edges": [3, 2]}, "runs": {"bfs": 7}, "minutes": 1.5,
        "circumstances": {
            "command": "c", "commit": "x", "when": "2026-01-01", "processor": "p", "cores": 2, "load_before": 0.0,
            "python": "3.11", "versions": {},
        },
    }  # fmt: skip
    for version, passed in (("3.10", 1), ("3.9.2", 2), ("3.10", 3)):
        keep(tmp_path, version, counts | {"passed": passed, "failed": ["a::b"] if passed == 2 else []})
    lines = (tmp_path / "networkx.md").read_text().splitlines()
    assert "|tests|NetworkX 3.9.2|NetworkX 3.10|" in lines
    assert {"|passed|2|3|", "|failed|1|0|", "|bfs_edges|2 of 3|2 of 3|"} <= set(lines)
    assert "Failed, NetworkX 3.9.2: `a::b`." in lines
    assert json.loads((tmp_path / "networkx.json").read_text())["versions"]["3.10"]["passed"] == 3
