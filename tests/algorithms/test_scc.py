"""Strongly connected components on any number of ranks are SciPy's, and programs walk edges backwards."""

import emulated
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sparse
from battery import CASES
from flat_run import flat_run
from test_battery import combinations, equal, solve

import dgraph
from dgraph.algorithms.kernels.strong import strong_search
from dgraph.comm import SerialComm, world
from dgraph.program import ADD, Field, Program


def components(n, src, dst):
    """Return the first vertex of each vertex's component, and the size of the largest."""
    matrix = sparse.csr_matrix((np.ones(src.size), (src, dst)), shape=(n, n))
    _, labels = sparse.csgraph.connected_components(matrix, connection="strong")
    _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    return first[labels], int(sizes.max(initial=0))


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_labels(name):
    n, src, dst, _ = CASES[name].arcs()
    first, largest = components(n, src, dst)
    for chosen in combinations(name):
        result, here = solve("scc", name, combination=chosen)
        equal(result.columns["labels"], CASES[name].vertices[first], here, f"labels {chosen}")
        assert result.summary == {"components": np.unique(first).size, "largest": largest}
        assert result.converged


def serial(src, dst, n):
    return dgraph.Graph.from_edges(np.array(src, np.int64), np.array(dst, np.int64), n=n, comm=SerialComm())


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
@pytest.mark.parametrize("seed", range(3))
def test_many_components_of_many_sizes(seed):
    draw = np.random.default_rng(seed)
    n, size = 4000, 25
    src = draw.integers(0, n, 3 * n)
    dst = np.where(
        draw.random(3 * n) < 0.97, src // size * size + draw.integers(0, size, 3 * n), draw.integers(0, n, 3 * n)
    )
    keep = draw.permutation(n)
    graph = serial(keep[src], keep[dst], n)
    first, largest = components(n, keep[src], keep[dst])
    result = dgraph.run("scc", graph, validate=True)
    np.testing.assert_array_equal(result.columns["labels"], first)
    assert result.summary["largest"] == largest
    assert result.report["outcome"]["validation"]["passed"] is True


@pytest.mark.mpi
@pytest.mark.parametrize("limit", ["none", "compiled", "all is left to programs", "ranks have too many arcs"])
def test_paths_and_rings_in_no_order(limit, monkeypatch):
    """Check what a depth-first search finds, of the whole graph or of what a first search leaves, against SciPy."""
    if limit not in ("none", "compiled"):
        monkeypatch.setattr(strong_search, "SMALL", 0)
    if limit == "compiled":
        monkeypatch.setattr(strong_search._search, "_compiles", True)
    monkeypatch.setattr(
        strong_search, "MOST", {"all is left to programs": 0, "ranks have too many arcs": 200}.get(limit, 10**6)
    )
    draw = np.random.default_rng(5)
    n, ring = 700, 40
    vertex = np.arange(n - 1)
    src, dst = vertex, np.where(vertex % ring == ring - 1, vertex + 1 - ring * (vertex % 3 == 0), vertex + 1)
    src, dst = np.append(src, np.arange(0, 600, 7)), np.append(dst, np.arange(13, 613, 7))
    shuffled = draw.permutation(n)
    src, dst = shuffled[src], shuffled[dst]
    comm = world()
    share = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[share], dst[share], n=n, comm=comm)
    first, largest = components(n, src, dst)
    result = dgraph.run("scc", graph, validate=True)
    equal(result.columns["labels"], first, result.columns["vertex"], "labels")
    assert result.summary == {"components": np.unique(first).size, "largest": largest}
    assert limit not in ("none", "compiled") or result.report["rounds"]["count"] == 0


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
@pytest.mark.parametrize("arcs", ["ring", "uniform", "to hub", "from hub"])
def test_component_of_a_hub(arcs, monkeypatch):
    """Check passes that end, passes that give up (a shuffled ring), and a hub that is alone in its component."""
    monkeypatch.setattr(strong_search, "FEW", 0)
    monkeypatch.setattr(strong_search._search, "_compiles", True)
    draw = np.random.default_rng(3)
    n, order = 600, draw.permutation(600)
    src, dst = draw.integers(0, n, (2, 1500)) if arcs == "uniform" else (order, np.roll(order, -1))
    if "hub" in arcs:
        keep = (src != 7) if arcs == "to hub" else (dst != 7)
        ends = np.full(300, 7), draw.integers(0, n, 300)
        ends = ends[::-1] if arcs == "to hub" else ends
        src, dst = np.append(src[keep], ends[0]), np.append(dst[keep], ends[1])
    first, largest = components(n, src, dst)
    result = dgraph.run("scc", serial(src, dst, n))
    np.testing.assert_array_equal(result.columns["labels"], first)
    assert result.summary == {"components": np.unique(first).size, "largest": largest}


def clusters(n, size):
    """Return arcs of which most lie inside clusters, and a few vertices have many."""
    draw = np.random.default_rng(2)
    src = np.append(draw.integers(0, n, 5 * n // 2), np.repeat([3, n // 2], 60))
    near = src // size * size + draw.integers(0, size, src.size)
    return src, np.where(draw.random(src.size) < 0.97, near, draw.integers(0, n, src.size)) % n


def roads(side):
    """Return arcs of a grid without 4 edges of 10 and 2 arcs of 10, so that most neighbours have arcs to each other."""
    draw = np.random.default_rng(4)
    grid = np.arange(side * side).reshape(side, side)
    pairs = [np.stack([grid[:, 1:], grid[:, :-1]]), np.stack([grid[1:], grid[:-1]])]
    src, dst = np.concatenate([arcs.reshape(2, -1) for arcs in pairs], axis=1)
    kept = np.tile(draw.random(src.size) < 0.6, 2) & (draw.random(2 * src.size) < 0.8)
    return np.append(src, dst)[kept], np.append(dst, src)[kept]


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("renumber", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    ("arcs", "mutant"),
    [
        ("clusters", None),
        ("roads", None),
        ("clusters", ("i < count && name != env.out_of[i]", "false")),
        pytest.param(
            "roads", ("back = env.incoming[r] == u", "back = env.part[u] == env.part[v]"), marks=pytest.mark.exhaustive
        ),
        pytest.param("clusters", ("lane_id() == 0 && least", "false && least"), marks=pytest.mark.exhaustive),
    ],
)
def test_kernels_of_a_gpu(renumber, arcs, mutant):
    """Check parts, trimmed vertices, contracted ones, and components that names decide."""
    n, (src, dst) = (700, clusters(700, 25)) if arcs == "clusters" else (1600, roads(40))
    backend = emulated.backend(renumber=renumber)
    backend.device.mutants = () if mutant is None else (mutant,)
    result = flat_run("scc", serial(src, dst, n), backend=backend)
    first, largest = components(n, src, dst)
    assert ((result.columns["labels"] == first).all()) == (mutant is None)
    if mutant is None:
        assert result.summary == {"components": np.unique(first).size, "largest": largest}


@pytest.mark.mpi_skip
def test_chains_take_few_passes():
    n = 800
    for order in (np.arange(n), np.arange(n)[::-1], np.random.default_rng(1).permutation(n)):
        result = dgraph.run("scc", serial(order[:-1], order[1:], n))
        np.testing.assert_array_equal(result.columns["labels"], np.arange(n))


@pytest.mark.mpi_skip
def test_a_round_limit_leaves_vertices_undecided():
    ring = np.arange(60)
    with pytest.warns(dgraph.errors.ConvergenceWarning, match="scc did not converge"):
        result = dgraph.run("scc", serial(ring, np.roll(ring, -1), 60), options=dgraph.Options(max_rounds=2))
    assert (result.columns["labels"] == -1).any()


class InDegree(Program):
    """In-degree counted along in-edges from their targets, beside the one that the graph has."""

    reverse = True

    out = Field("int64", reduce=ADD)
    degree = Field("int64")

    def init(self, v, g):
        return {"degree": v.out_degree, "active": True}

    def edge(self, u, e, v):
        return {"out": 1}

    def step(self, g):
        return {"done": True}


@pytest.mark.mpi
@pytest.mark.parametrize("name", [name for name in ("skewed", "shifted_ids", "plateaus") if CASES[name].directed])
def test_reversed_programs(name):
    n, src, dst, _ = CASES[name].arcs()
    for chosen in combinations(name)[:3]:
        result, here = solve(InDegree(), name, combination=chosen)
        equal(result.columns["out"], np.bincount(src, minlength=n), here, f"out {chosen}")
        equal(result.columns["degree"], np.bincount(dst, minlength=n), here, f"degree {chosen}")


@pytest.mark.mpi_skip
def test_networkx_agrees():
    graph = nx.gnp_random_graph(60, 0.03, seed=4, directed=True)
    src, dst = np.array(list(graph.edges)).T
    result = dgraph.run("scc", serial(src, dst, 60))
    wanted = {min(part) for part in nx.strongly_connected_components(graph)}
    assert set(result.columns["labels"].tolist()) == wanted
