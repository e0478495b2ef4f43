"""Minimum spanning forests: edges and weight are Kruskal's, on any number of ranks and under every policy."""

from fractions import Fraction

import emulated
import numpy as np
import pytest
from battery import CASES
from flat_run import flat_run
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import minimum_spanning_tree
from test_battery import combinations, equal, solve

import dgraph
from dgraph.algorithms.kernels.forest import forest_cpu
from dgraph.backend.cuda.codegen import control_block
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError


def kruskal(n, src, dst, weights, ids):
    """Return the edges of the forest that takes edges by weight, then by ids of the ends: {(low, high): weight}."""
    edges = sorted({(w, *sorted((ids[u], ids[v]))) for u, v, w in zip(src, dst, weights, strict=True) if u != v})
    tree = {vertex: {vertex} for vertex in ids}
    forest = {}
    for w, low, high in edges:
        if tree[low] is not tree[high]:
            forest[low, high] = w
            joined = tree[low] | tree[high]
            for vertex in joined:
                tree[vertex] = joined
    return forest


def edges_of(result):
    """Return the edges in this rank's rows."""
    rows = zip(*(result.columns[name].tolist() for name in ("source", "target", "weight")), strict=True)
    return [((u, v), w) for u, v, w in rows if u >= 0]


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "dtype"), [(case.name, dtype) for case in CASES.values() for dtype in case.dtypes])
def test_forests(name, dtype):
    case = CASES[name]
    n, src, dst, weights = case.arcs(dtype, directed=False)
    wanted = kruskal(n, src.tolist(), dst.tolist(), weights.tolist(), case.vertices.tolist())
    total = sum(map(Fraction, wanted.values()))
    rounded = float(total) if total < np.finfo(np.float64).max else np.inf
    for chosen in combinations(name, ()):
        result, _ = solve("mst", name, dtype, {"policy": chosen["policy"]})
        mine = edges_of(result)
        assert all(wanted[edge] == w for edge, w in mine)
        assert world().total(len(mine)) == len(wanted)
        assert result.summary["weight"] == (total if weights.dtype.kind == "i" else rounded)
        assert result.summary["components"] == n - len(wanted)


@pytest.mark.mpi
def test_rows_do_not_depend_on_ranks_or_policies():
    src, dst, weights = np.random.default_rng(3).integers(0, 80, (3, 300))
    mine = slice(world().rank, None, world().size)
    alone = dgraph.Graph.from_edges(src, dst, weights, n=80, directed=False, comm=SerialComm())
    whole = dgraph.mst(alone).columns
    for policy in ("oec", "cvc", "hash", "metis"):
        spread = dgraph.Graph.from_edges(
            src[mine], dst[mine], weights[mine], n=80, directed=False, comm=world(), policy=policy
        )
        result = dgraph.mst(spread, validate=True)
        for name in ("weight", "source", "target"):
            equal(result.columns[name], whole[name], result.columns["vertex"], f"{name} {policy}")


@pytest.mark.mpi_skip
@pytest.mark.parametrize("weights", [None, "1..9", "0.5..1.5"])
def test_light_edges_come_first_where_there_are_many(weights, monkeypatch):
    graph = dgraph.Graph.load("complete:60", weights=weights, comm=SerialComm(), device="cpu")
    forests = [dgraph.mst(graph)]
    monkeypatch.setattr(forest_cpu, "MANY", 10**6)
    forests.append(dgraph.mst(graph))
    for name in ("weight", "source", "target"):
        assert np.array_equal(forests[0].columns[name], forests[1].columns[name])
    block = graph.undirected().block
    data = np.ones(block.targets.size) if weights is None else block.weights.astype(np.float64)
    tree = minimum_spanning_tree(csr_matrix((data, block.targets, block.offsets)))
    assert forests[0].summary["weight"] == pytest.approx(tree.sum())


@pytest.mark.mpi_skip
def test_a_sum_beyond_64_bits_is_exact():
    heavy = [2**62, 2**62 + 1, 2**62 + 5]
    graph = dgraph.Graph.from_edges([0, 1, 2], [1, 2, 3], heavy, directed=False, comm=SerialComm(), device="cpu")
    assert dgraph.mst(graph).summary["weight"] == sum(heavy)


@pytest.mark.mpi_skip
def test_infinite_weights_are_refused():
    graph = dgraph.Graph.from_edges([0], [1], [np.inf], comm=SerialComm(), device="cpu")
    with pytest.raises(DataError, match="must be finite"):
        dgraph.mst(graph)


def drawn_weights(kind, count):
    """Return weights: None, few different ones, any integers, or floats."""
    rng = np.random.default_rng(5)
    if kind in (None, "few"):
        return None if kind is None else rng.integers(1, 4, count).astype(np.int32)
    return (
        rng.integers(-(2**62), 2**62, count) if kind == "wide" else np.append(rng.normal(size=count - 2), [0.0, -0.0])
    )


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    "kind", ["few", *(pytest.param(k, marks=pytest.mark.exhaustive) for k in (None, "wide", "real"))]
)
@pytest.mark.parametrize("renumber", [False, True])
def test_a_gpu_finds_the_rows_of_the_cpu(kind, renumber, monkeypatch):
    """Check short rows, long rows, pieces of the longest rows, and light edges that come first."""
    monkeypatch.setattr(control_block, "LONG_ROW", 40)
    monkeypatch.setattr(control_block, "CHUNK", 8)
    rng = np.random.default_rng(8)
    for n, m in ((200, 300), (90, 2500)):
        src, dst = (rng.random(m) ** 2 * n).astype(np.int64), rng.integers(0, n, m)
        weights = drawn_weights(kind, m)
        graph = dgraph.Graph.from_edges(
            1000 * src, 1000 * dst, weights, directed=False, sparse_ids=True, comm=SerialComm(), device="cpu"
        )
        wanted = flat_run("mst", graph, backend="cpu")
        result = flat_run("mst", graph, backend=emulated.backend(renumber=renumber))
        assert result.summary == wanted.summary
        for name in ("weight", "source", "target"):
            np.testing.assert_array_equal(result.columns[name], wanted.columns[name])


@emulated.needs_compiler
@pytest.mark.mpi_skip
def test_the_smaller_root_stays():
    """Check that a mutant whose larger roots stay gives other rows."""
    graph = dgraph.Graph.load("complete:9", weights="1..9", comm=SerialComm(), device="cpu")
    backend = emulated.backend()
    backend.device.mutants = (("place_of(root) < place_of(other)", "place_of(root) > place_of(other)"),)
    result, wanted = flat_run("mst", graph, backend=backend), flat_run("mst", graph, backend="cpu")
    assert result.summary == wanted.summary
    assert not np.array_equal(result.columns["source"], wanted.columns["source"])
