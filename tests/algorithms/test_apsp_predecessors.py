"""Predecessors of all pairs: trees of tight arcs, their certificate, and paths along them."""

import emulated
import numpy as np
import pytest
from flat_run import flat_run
from scipy.sparse import csgraph, csr_array
from signed_arcs import dense, graph, signed

import dgraph
from dgraph.algorithms.apsp import VARIANTS
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.validate import validate

METHODS = VARIANTS[1:]


def trees(loaded, wanted, arcs, **flat):
    """Check predecessors of all pairs: SciPy's distances less the arc, and paths that end at the source."""
    result = flat_run("apsp", loaded, return_predecessors=True, validate=True, **flat)
    assert "predecessors are trees of tight arcs" in result.report["outcome"]["validation"]["checked"]
    matrix, before = result.matrix, result.matrix.predecessors
    for row, parents in enumerate(before):
        source = matrix.first + row
        reached = np.flatnonzero(np.isfinite(wanted[source]))
        np.testing.assert_array_equal(np.flatnonzero(parents >= 0), reached[reached != source])
        for v in reached[reached != source].tolist():
            cost = arcs[int(parents[v]), v]
            assert wanted[source, parents[v]] + cost == pytest.approx(wanted[source, v])
            steps = 0
            while v != source:
                v, steps = int(parents[v]), steps + 1
                assert steps < len(wanted)
    return result


@pytest.mark.mpi
@pytest.mark.parametrize("method", METHODS)
def test_predecessors_of_all_pairs(method):
    n, src, dst, weights = signed()
    least = dense(n, src, dst, weights)
    arcs = dict(least.todok().items())
    wanted = csgraph.johnson(least)
    result = trees(graph(n, src, dst, weights), wanted, arcs, variant=method, block=7)
    for u, v in ((0, 7), (3, 39)):
        path = result.matrix.path(u, v)
        if result.matrix.first <= u < result.matrix.first + len(result.matrix.predecessors):
            assert result.matrix.predecessors[u - result.matrix.first, v] == path[-2]


@pytest.mark.mpi
@pytest.mark.parametrize("weights", ["zeros", "floats", "none"])
def test_predecessors_over_plateaus_and_rounded_sums(weights):
    rng = np.random.default_rng(4)
    src, dst = np.unique(rng.integers(0, 50, (2, 160)), axis=1)
    src, dst = src[src != dst], dst[src != dst]
    drawn = rng.integers(0, 2, src.size) if weights == "zeros" else rng.random(src.size)
    drawn = np.ones(src.size) if weights == "none" else drawn
    wanted = csgraph.dijkstra(csr_array((np.where(drawn, drawn, 1e-12), (src, dst)), (50, 50)))
    wanted = np.where(np.isfinite(wanted), wanted.round(9), np.inf)
    arcs = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), drawn.tolist(), strict=True))
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    values = None if weights == "none" else drawn[mine]
    loaded = dgraph.Graph.from_edges(src[mine], dst[mine], values, n=50, comm=comm)
    trees(loaded, wanted, arcs)


@emulated.needs_compiler
@pytest.mark.mpi_skip
def test_predecessors_on_an_emulated_gpu():
    n, src, dst, weights = signed(70)
    loaded = graph(n, src, dst, weights, SerialComm())
    on_gpu = flat_run(
        "apsp", loaded, backend=emulated.backend(), variant="blocked", block=33, return_predecessors=True, validate=True
    )
    host = dgraph.apsp(loaded, variant="johnson", return_predecessors=True)
    np.testing.assert_array_equal(on_gpu.matrix.predecessors, host.matrix.predecessors)


@pytest.mark.mpi
def test_the_certificate_catches_wrong_predecessors():
    """Check an arc that is not there, one that is not tight, a cycle of weight 0, a missing and an invented one."""
    src, dst, weights = np.array([0, 1, 2, 3, 0]), np.array([1, 2, 3, 2, 3]), np.array([1, 2, 0, 0, 9])
    loaded = graph(5, src, dst, weights)
    result = dgraph.apsp(loaded, return_predecessors=True, validate=True)

    def failure(*changes):
        before, matrix = result.matrix.predecessors.copy(), result.matrix
        for u, v, value in changes:
            if matrix.first <= u < matrix.first + len(before):
                before[u - matrix.first, v] = value
        verdict = validate(
            "apsp", loaded.block, dict(result.columns), world(), parameters={}, rounds=0, matrix=matrix.here,
            predecessors=before,
        )  # fmt: skip
        return verdict.failure or ""

    assert failure() == ""
    assert "no tight arc enters 2 from its predecessor 0" in failure((0, 2, 0))
    assert "no tight arc enters 3 from its predecessor 0" in failure((0, 3, 0))
    assert "those of 2 do not end there" in failure((0, 2, 3), (0, 3, 2))
    assert "from 0 to 1 the distance is 1.0, and -1 before it" in failure((0, 1, -1))
    assert "from 4 to 0 the distance is inf, and 1 before it" in failure((4, 0, 1))
    assert "from 0 to 0 the distance is 0.0, and 1 before it" in failure((0, 0, 1))


@pytest.mark.mpi
def test_predecessors_do_not_lie_in_a_file():
    with pytest.raises(UsageError, match="return_predecessors keeps a matrix in memory"):
        dgraph.apsp("path:4", return_predecessors=True, matrix_file="d.npy")
