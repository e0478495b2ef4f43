"""Programs of ``docs/guide/write-a-program.md`` against NetworkX and SciPy, on any number of ranks."""

import networkx
import numpy as np
import pytest
from children import ROOT
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from test_docs import run_blocks

import dgraph
from dgraph.comm import world

pytestmark = [pytest.mark.mpi, pytest.mark.exhaustive]

N, SOURCE = 80, 3
DIRECTIONS = ["push", "pull"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Namespace after the page's blocks have run."""
    return run_blocks(ROOT / "docs" / "guide" / "write-a-program.md")


@pytest.fixture(scope="module")
def edges():
    """Distinct weighted edges without loops, sparse enough that some vertices are unreachable."""
    rng = np.random.default_rng(7)
    pairs = np.unique(rng.integers(0, N, (150, 2)), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs[:, 0], pairs[:, 1], rng.integers(1, 20, len(pairs))


@pytest.fixture(scope="module")
def graph(edges):
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    return dgraph.Graph.from_edges(*(column[mine] for column in edges), n=N, policy="cvc", device="cpu", comm=comm)


@pytest.fixture(scope="module")
def oracle(edges):
    digraph = networkx.DiGraph()
    digraph.add_nodes_from(range(N))
    digraph.add_weighted_edges_from(zip(*(column.tolist() for column in edges), strict=True))
    return digraph


def compared(result, name, want):
    whole = result.gather()
    if result.comm.rank == 0:
        want(whole[name])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_reachable(page, graph, oracle, direction):
    result = dgraph.run(page["Reachable"](source=SOURCE), graph, options=dgraph.Options(direction=direction))
    reached = networkx.descendants(oracle, SOURCE) | {SOURCE}
    assert 1 < len(reached) < N
    compared(result, "reached", lambda answer: np.testing.assert_array_equal(np.flatnonzero(answer), sorted(reached)))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_widest(page, graph, oracle, direction):
    """Check widths: a path of width w exists if edges of at least w connect the ends."""
    result = dgraph.run(page["Widest"](source=SOURCE), graph, options=dgraph.Options(direction=direction))
    width = np.full(N, np.iinfo(np.int64).min)
    for w in sorted({w for _, _, w in oracle.edges(data="weight")}):
        wide = networkx.DiGraph((u, v) for u, v, weight in oracle.edges(data="weight") if weight >= w)
        if SOURCE in wide:
            width[list(networkx.descendants(wide, SOURCE))] = w
    width[SOURCE] = 2**62
    compared(result, "width", lambda answer: np.testing.assert_array_equal(answer, width))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_katz(page, graph, oracle, direction):
    result = dgraph.run(page["Katz"](alpha=0.005), graph, options=dgraph.Options(direction=direction))
    katz = networkx.katz_centrality(oracle, alpha=0.005, tol=1e-12, normalized=False, weight="weight")
    compared(result, "katz", lambda answer: np.testing.assert_allclose(answer, [katz[v] for v in range(N)], rtol=1e-6))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_nearest(page, graph, edges, direction):
    source, target, weight = edges
    result = dgraph.run(page["Nearest"](source=SOURCE), graph, options=dgraph.Options(direction=direction))
    dist = dijkstra(csr_array((weight, (source, target)), shape=(N, N)), indices=SOURCE)
    want = np.where(np.isinf(dist), np.iinfo(np.int64).max, np.where(np.isinf(dist), 0, dist).astype(np.int64))
    compared(result, "dist", lambda answer: np.testing.assert_array_equal(answer, want))


def test_ties(page, graph, oracle):
    result = dgraph.run(page["PathTies"](source=SOURCE), graph)
    before, _ = networkx.dijkstra_predecessor_and_distance(oracle, SOURCE)
    want = [len(before.get(v, [])) for v in range(N)]
    assert max(want) > 1
    compared(result, "ties", lambda answer: np.testing.assert_array_equal(answer, want))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_count_hops(direction, page, graph, oracle):
    result = dgraph.run(page["WithinHops"](hops=2), graph, options=dgraph.Options(direction=direction))
    want = dict.fromkeys(oracle, 0)
    for start in oracle:
        for end in networkx.single_source_shortest_path_length(oracle, start, cutoff=2):
            want[end] = max(want[end], start)
    compared(result, "largest", lambda answer: np.testing.assert_array_equal(answer, [want[v] for v in sorted(oracle)]))
