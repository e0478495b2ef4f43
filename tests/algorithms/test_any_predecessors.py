"""Option ``predecessors="any"`` of bfs and sssp: distances equal SciPy's, and the certificate accepts the tree."""

import emulated
import numpy as np
import pytest
from emulated import needs_compiler
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import dgraph
from dgraph.algorithms.bfs_programs import Parents
from dgraph.algorithms.first_parents import LEVEL, tree_levels, tree_parents
from dgraph.comm import SerialComm
from dgraph.graph.stored_graph import Graph
from dgraph.result.columns import UNREACHED
from dgraph.testing import TestOptions

pytestmark = pytest.mark.mpi_skip
SPEC = "kron:8,edge_factor=2,seed=5"


def matrix(graph):
    """Return the weights as a sparse matrix; 1 where there are none."""
    block = graph.block
    weights = np.ones(block.targets.size) if block.weights is None else block.weights
    return csr_array((weights.astype(float), block.targets.astype(np.int64), block.offsets), (graph.n, graph.n))


@needs_compiler
@pytest.mark.parametrize("renumber", [True, False])
@pytest.mark.parametrize("direction", ["auto", "push", "pull", "flip"])
@pytest.mark.parametrize("limit", [None, 1])
def test_bfs_finds_levels_and_predecessors_in_one_pass(renumber, direction, limit):
    graph = Graph.load(SPEC, comm=SerialComm()).on(device=emulated.backend(renumber=renumber))
    source = graph.hub()
    result = dgraph.run(
        "bfs", graph, source=source, predecessors="any", depth_limit=limit, validate=limit is None,
        options=TestOptions(direction=direction),
    )  # fmt: skip
    distance = dijkstra(matrix(graph), indices=source, unweighted=True, limit=limit or np.inf)
    reached = np.isfinite(distance)
    column, before = result.columns["distance"], result.columns["predecessor"]
    assert np.array_equal(column != UNREACHED, reached)
    assert np.array_equal(column[reached], distance[reached])
    child = np.flatnonzero(reached & (np.arange(graph.n) != source))
    assert np.array_equal(np.flatnonzero(before >= 0), child)
    assert np.array_equal(distance[before[child]] + 1, distance[child])
    assert np.all(matrix(graph)[before[child], child] > 0)
    assert result.summary == {"source": source, "reached": reached.sum(), "depth": distance[reached].max()}
    assert result.rounds == distance[reached].max() + (limit is None), "no second pass over edges"


def test_columns_of_a_tree():
    tree = np.array([3, 2 * LEVEL + 5, UNREACHED, LEVEL])
    assert tree_levels(tree).tolist() == [0, 2, UNREACHED, 1]
    assert tree_parents(tree).tolist() == [-1, 5, -1, 0]


@pytest.mark.exhaustive
@needs_compiler
def test_sssp_takes_the_first_predecessor_of_a_row():
    graph = Graph.load(SPEC, comm=SerialComm(), weights="1..3").on(device=emulated.backend(renumber=True))
    source = graph.hub()
    some, least = (
        dgraph.run("sssp", graph, source=source, variant="buckets", predecessors=which, validate=True)
        for which in ("any", "smallest")
    )
    assert some.report["outcome"]["validation"]["passed"]
    distance = dijkstra(matrix(graph), indices=source)
    reached = np.isfinite(distance)
    for answer in (some, least):
        assert np.array_equal(answer.columns["distance"][reached], distance[reached])
    one, other = (run.columns["predecessor"] for run in (some, least))
    assert np.all(one[reached] >= other[reached])
    assert np.any(one != other)


@pytest.mark.exhaustive
def test_without_a_gpu_rows_by_id_give_the_smallest():
    graph = Graph.load(SPEC, comm=SerialComm(), device="cpu")
    one, other = (
        dgraph.run("bfs", graph, source=graph.hub(), predecessors=which).columns["predecessor"]
        for which in ("any", "smallest")
    )
    assert np.array_equal(one, other)
    assert not Parents().first_hit


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_threads_find_levels_and_predecessors_in_one_pass(direction):
    graph = Graph.load("kron:8,seed=5", comm=SerialComm(), device=dgraph.Cpu(threads=2))
    source = graph.hub()
    distance = dijkstra(matrix(graph), indices=source, unweighted=True)
    reached = np.isfinite(distance)
    child = np.flatnonzero(reached & (np.arange(graph.n) != source))
    arcs = matrix(graph).tocoo()
    up = distance[arcs.row] + 1 == distance[arcs.col]
    least = np.full(graph.n, graph.n)
    np.minimum.at(least, arcs.col[up], arcs.row[up])
    for which in ("any", "smallest"):
        settings = {"source": source, "predecessors": which, "options": TestOptions(direction=direction)}
        result = dgraph.run("bfs", graph, **settings)
        before = result.columns["predecessor"]
        assert np.array_equal(result.columns["distance"][reached], distance[reached])
        assert np.array_equal(np.flatnonzero(before >= 0), child)
        assert np.all(matrix(graph)[before[child], child] > 0)
        assert np.array_equal(distance[before[child]] + 1, distance[child])
        assert which == "any" or np.array_equal(before[child], least[child])
        assert result.rounds == distance[reached].max() + 1, "no second pass over edges"
