"""Searches that share one pass: their results are those of single runs, and of SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.errors import Cancelled, UsageError
from dgraph.graph.devices import Cpu
from dgraph.report import Progress, Record
from dgraph.result.result import UNREACHED
from dgraph.service.ranks.run_together import run_together

pytestmark = pytest.mark.mpi_skip

BFS, SSSP = ALGORITHMS["bfs"], ALGORITHMS["sssp"]


def drawn(n=60, arcs=150, directed=True):
    """Return the ends of random edges, with loops and parallel ones, and their graph, in which 8 vertices are alone."""
    src, dst = np.random.default_rng(n).integers(0, n - 8, (2, arcs))
    return src, dst, dgraph.Graph.from_edges(src, dst, n=n, directed=directed, device=Cpu(threads=1))


def together(works, graph, progress=None):
    return run_together(works, graph, Record(graph.comm), progress or Progress())


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("options", [{}, {"depth_limit": 0}, {"depth_limit": 2}, {"return_predecessors": False}])
def test_results_are_those_of_single_runs(directed, options):
    src, dst, graph = drawn(directed=directed)
    sources = [*range(graph.n), 3]
    matrix = sp.coo_array((np.ones(len(src)), (src, dst)), (graph.n, graph.n)).tocsr()
    hops = dijkstra(matrix, directed=directed, unweighted=True)
    for source, result in zip(sources, together([BFS(source=s, **options) for s in sources], graph), strict=True):
        wanted = dgraph.bfs(graph, source, **options)
        assert list(result.columns) == list(wanted.columns)
        for name, values in wanted.columns.items():
            assert result.columns[name].dtype == values.dtype
            np.testing.assert_array_equal(result.columns[name], values)
        far = np.where(hops[source] <= options.get("depth_limit", np.inf), hops[source], np.inf)
        np.testing.assert_array_equal(result.columns["distance"], np.where(np.isinf(far), UNREACHED, far))
        assert (result.algorithm, result.summary, result.rounds) == ("bfs", wanted.summary, wanted.rounds)
        assert (result.converged, result.limit, result.nullable) == (wanted.converged, wanted.limit, wanted.nullable)
        assert result.to_arrow().equals(wanted.to_arrow())


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("options", [{}, {"return_predecessors": False}])
def test_distances_by_weights(directed, options):
    """Ties are many, sources more than lanes of a batch; only rounds are not those of a single run."""
    src, dst, _ = drawn()
    weights = np.random.default_rng(2).integers(1, 4, len(src))
    graph = dgraph.Graph.from_edges(src, dst, weights, n=60, directed=directed, device=Cpu(threads=1))
    sources = [*range(graph.n), 3]
    for source, result in zip(sources, together([SSSP(source=s, **options) for s in sources], graph), strict=True):
        wanted = dgraph.sssp(graph, source, **options)
        assert list(result.columns) == list(wanted.columns)
        for name, values in wanted.columns.items():
            assert result.columns[name].dtype == values.dtype
            np.testing.assert_array_equal(result.columns[name], values)
        assert (result.algorithm, result.summary, result.converged) == ("sssp", wanted.summary, wanted.converged)
        assert result.to_arrow().equals(wanted.to_arrow())


def test_weights_that_do_not_share_a_pass():
    for weights in ([0, 1], [0.5, 1.0], [1, 2**40]):
        graph = dgraph.Graph.from_edges([0, 1], [1, 2], np.array(weights), n=3, device=Cpu(threads=1))
        assert together([SSSP(source=0), SSSP(source=1)], graph) is None
    graph = dgraph.Graph.from_edges([0, 1], [1, 2], [1, 2], n=3, device=Cpu(threads=1))
    assert together([SSSP(source=0, cutoff=1), SSSP(source=1, cutoff=1)], graph) is None


def test_vertices_with_names(tmp_path):
    (tmp_path / "e.txt").write_text("ann bob\nbob cyd\ndan ann\ncyd zoe\n")
    graph = dgraph.Graph.load(tmp_path / "e.txt", ids="string", device=Cpu(threads=1))
    for name, result in zip(["dan", "bob"], together([BFS(source="dan"), BFS(source="bob")], graph), strict=True):
        wanted = dgraph.bfs(graph, name)
        assert result.to_arrow().equals(wanted.to_arrow())
        assert (result.summary, result.path("zoe")) == (wanted.summary, wanted.path("zoe"))


def test_runs_that_cannot_share_a_pass():
    src, _, graph = drawn()
    one, other = int(src[0]), int(src[1])
    assert together([BFS(source=one), BFS(source=other, depth_limit=3)], graph) is None
    assert together([ALGORITHMS["sssp"](source=one)] * 2, graph) is None
    assert together([BFS(source=one)] * 65, graph) is None
    with pytest.raises(UsageError, match="5000"):
        together([BFS(source=one), BFS(source=5000)], graph)


def test_a_pass_is_cancelled_within_a_round():
    class Cancelling(Progress):
        seen = 0

        def round(self, number, vertices, edges=None, direction=""):
            self.seen = number

        def cancelled(self):
            return self.seen == 3

    graph, observer = dgraph.Graph.load("path:50", device=Cpu(threads=1)), Cancelling()
    with pytest.raises(Cancelled, match="round 3"):
        together([BFS(source=0), BFS(source=1)], graph, observer)
    assert observer.seen == 3
