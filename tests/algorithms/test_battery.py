"""The battery on any number of ranks: every graph × algorithm, under combinations of policy, direction and sync.

Answers must equal the oracles' bit for bit (PageRank: to 1e-10), so they are equal for all ranks and combinations.
Direction ``flip`` changes the direction in every round. Sync ``poison`` fills mirrors that the plan calls unread with
garbage.
"""

import os
from functools import cache

import networkx as nx
import numpy as np
import oracles
import pytest
from battery import CASES, EVERYTHING
from flat_run import flat_run

import dgraph
from dgraph.comm import world
from dgraph.result.result import UNREACHED

pytestmark = [pytest.mark.mpi, *[pytest.mark.compiled] * (world().size == 2)]

POLICIES = ("auto", "cvc", "hash", "hvc,threshold=2", "iec", "metis", "oec")
"""One policy for each kind of placement; the other policies differ from hash and metis only in the owners."""

DIRECTIONS = ("auto", "push", "pull", "flip")
SYNCS = ("auto", "full", "poison")
STOPS = ("rounds", "tolerance", "personalised", "single")
COMBINATIONS = [
    {"policy": policy, "direction": direction, "sync": SYNCS[(i + j) % 3]}
    for i, policy in enumerate(POLICIES)
    for j, direction in enumerate(DIRECTIONS)
]
"""Every pair of a policy and a direction, each with a sync."""

THOROUGH = ("skewed", "plateaus", "rounded_sums")
"""Graphs that run half of all combinations on each number of ranks, by turns.

The other graphs run one combination per number of ranks, of which each runs only a share of the tests
(``conftest.TURNS``).
"""


SCHEDULE = os.environ.get("DGRAPH_TEST_SCHEDULE")
"""Schedule on a GPU; None: auto."""


@cache
def backend():
    """Return the backend that ``DGRAPH_TEST_BACKEND`` names: cpu, cuda, or emulated (GPU kernels on a CPU)."""
    asked = os.environ.get("DGRAPH_TEST_BACKEND", "cpu")
    if asked != "emulated":
        return asked
    from emulated import backend

    return backend(schedule=SCHEDULE or "auto")


@cache
def graph_of(name, dtype):
    """Return the case as a distributed graph; each rank passes every P-th edge."""
    case, comm = CASES[name], world()
    mine = slice(comm.rank, None, comm.size)
    weights = None if dtype is None else case.weights[mine].astype(dtype)
    return dgraph.Graph.from_edges(
        case.src[mine], case.dst[mine], weights, n=case.n, directed=case.directed, sparse_ids=case.n is None, comm=comm
    )


def solve(algorithm, name, dtype=None, combination=None, **parameters):
    """Run on all ranks; return the result and the positions of this rank's vertices in the case."""
    options = (combination or {}) | parameters | ({"schedule": SCHEDULE} if SCHEDULE else {})
    result = flat_run(algorithm, graph_of(name, dtype), backend=backend(), allow_gpu_sharing=True, **options)
    case, comm = CASES[name], world()
    with comm.together():
        vertex = result.columns["vertex"]
        assert (np.diff(vertex) > 0).all()
        assert np.isin(vertex, case.vertices).all()
    assert comm.total(vertex.size) == case.vertices.size
    return result, case.number(vertex)


def equal(column, wanted, vertices, what):
    """Compare this rank's column with the oracle's whole one; all ranks raise together."""
    with world().together():
        np.testing.assert_array_equal(column, wanted[vertices], err_msg=what)


def combinations(name, thorough=THOROUGH, step=0):
    """Return a graph's combinations; four consecutive numbers of ranks, or steps, cover every direction."""
    if name in thorough:
        turn = THOROUGH.index(name) + world().size
        return [c for i, c in enumerate(COMBINATIONS) if EVERYTHING or (i + i // len(DIRECTIONS) + turn) % 2 == 0]
    turn = 5 * list(CASES).index(name) + 11 * world().size + 7 * step
    return [COMBINATIONS[turn % len(COMBINATIONS)]]


@cache
def shortest_paths(name, dtype):
    """Return the oracle's distances and predecessors in a result's dtypes; ``dtype`` None: hops."""
    case = CASES[name]
    n, src, dst, weights = case.arcs(dtype or "float64")
    source = int(case.number(case.source))
    if dtype is None:
        weights = np.ones(src.size, np.int64)
        hops = oracles.bfs(n, src, dst, source)
        distance = [None if hop < 0 else hop for hop in hops.tolist()]
    else:
        distance = oracles.sssp(n, src, dst, weights, source)
    before = oracles.predecessors(n, src, dst, weights, distance, source)
    oracles.check_tree(n, src, dst, weights, distance, before, source)
    integer = weights.dtype.kind == "i"
    unreached = UNREACHED if integer else np.inf
    column = np.array([unreached if d is None else d for d in distance], np.int64 if integer else dtype)
    return column, np.where(before < 0, -1, case.vertices[before])


@pytest.mark.parametrize("name", CASES)
def test_bfs(name):
    distance, predecessor = shortest_paths(name, None)
    for chosen in combinations(name):
        result, vertices = solve("bfs", name, combination=chosen, source=CASES[name].source)
        equal(result.columns["distance"], distance, vertices, f"distance {chosen}")
        equal(result.columns["predecessor"], predecessor, vertices, f"predecessor {chosen}")
        assert result.converged


@pytest.mark.parametrize(("name", "dtype"), [(case.name, dtype) for case in CASES.values() for dtype in case.dtypes])
def test_sssp(name, dtype):
    distance, predecessor = shortest_paths(name, dtype)
    step = CASES[name].dtypes.index(dtype)
    for chosen in combinations(name, () if step else THOROUGH, step):
        result, vertices = solve("sssp", name, dtype, chosen, source=CASES[name].source)
        assert result.columns["distance"].dtype == distance.dtype
        equal(result.columns["distance"], distance, vertices, f"distance {chosen}")
        equal(result.columns["predecessor"], predecessor, vertices, f"predecessor {chosen}")


@pytest.mark.parametrize("name", CASES)
def test_cc(name):
    case = CASES[name]
    n, src, dst, _ = case.arcs()
    labels = case.vertices[oracles.components(n, src, dst)]
    for chosen in combinations(name):
        result, vertices = solve("cc", name, combination=chosen)
        equal(result.columns["labels"], labels, vertices, f"labels {chosen}")


@pytest.mark.parametrize("name", CASES)
def test_kcore(name):
    case = CASES[name]
    n, src, dst, _ = case.arcs(directed=False)
    core = oracles.core_numbers(n, src, dst)
    some = int(np.median(core)) + 1
    for chosen in combinations(name):
        result, vertices = solve("kcore", name, combination=chosen)
        equal(result.columns["core_number"], core, vertices, f"core_number {chosen}")
    result, vertices = solve("kcore", name, combination=chosen, k=some)
    equal(result.columns["in_core"], (core >= some).astype(np.int64), vertices, f"in_core k={some} {chosen}")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("stop", STOPS)
def test_pagerank(name, stop):
    case = CASES[name]
    n, src, dst, _ = case.arcs()
    wanted = dict(zip(case.vertices[[0, n // 2, n - 1]].tolist(), [1, 2, 5], strict=True))
    parameters, oracle = {
        "rounds": ({"tol": 0, "max_iter": 17}, {"rounds": 17}),
        "tolerance": ({"tol": 1e-13, "max_iter": 500}, {"tol": 1e-13}),
        "personalised": (
            {"tol": 0, "max_iter": 23, "alpha": 0.7, "personalization": wanted},
            {"rounds": 23, "alpha": 0.7, "personalization": {0: 1, n // 2: 2, n - 1: 5}},
        ),
        "single": ({"tol": 0, "max_iter": 17, "precision": "single"}, {"rounds": 17}),
    }[stop]
    dtype, near, sums = ("float32", 2e-5, 1e-5) if stop == "single" else ("float64", 1e-10, 1e-12)
    rank = oracles.pagerank(n, src, dst, **oracle)
    step = STOPS.index(stop)
    for chosen in combinations(name, () if step else THOROUGH, step):
        result, vertices = solve("pagerank", name, combination=chosen, **parameters)
        with world().together():
            assert result.columns["pagerank"].dtype == dtype
            np.testing.assert_allclose(
                result.columns["pagerank"], rank[vertices], rtol=near, atol=1e-300, err_msg=chosen
            )
        assert result.converged
        assert abs(result.summary["sum"] - 1) < sums


WEIGHTED = {
    "parallel_arcs": "int32", "skewed": "int64", "plateaus": "float64", "rounded_sums": "float32", "all_zero": "int64",
    "listed_both_ways": "int64", "reciprocal_arcs": "float64", "mostly_sinks": "int64", "no_edges": "int64",
    "beyond_63_bits": "int64",
}  # fmt: skip
"""Graphs with weights, and the dtype: some or all weights are 0, sums exceed 64 bits."""


@pytest.mark.parametrize("name", WEIGHTED)
def test_pagerank_by_weights(name):
    case, dtype = CASES[name], WEIGHTED[name]
    n, src, dst, weights = case.arcs(dtype)
    ends = {0: 1, n - 1: 5}
    wanted = dict(zip(case.vertices[list(ends)].tolist(), ends.values(), strict=True))
    runs = [({"tol": 0, "max_iter": 17}, {"rounds": 17}), ({"tol": 1e-13, "max_iter": 500}, {"tol": 1e-13})]
    if name == "skewed":
        runs.append(({"tol": 0, "max_iter": 9, "personalization": wanted}, {"rounds": 9, "personalization": ends}))
        runs.append(({"tol": 0, "max_iter": 17, "precision": "single"}, {"rounds": 17}))
    for step, (parameters, oracle) in enumerate(runs):
        near = 2e-5 if "precision" in parameters else 1e-10
        rank = oracles.pagerank(n, src, dst, weights=weights, **oracle)
        for chosen in combinations(name, () if step else THOROUGH, step):
            result, vertices = solve("pagerank", name, dtype, chosen, validate=True, **parameters)
            with world().together():
                np.testing.assert_allclose(
                    result.columns["pagerank"], rank[vertices], rtol=near, atol=1e-300, err_msg=chosen
                )
            assert result.report["algorithm"]["weights"] == "used"


@pytest.mark.parametrize("directed", [True, False])
def test_pagerank_is_that_of_networkx(directed):
    """Check weights 1 to 255 and 0, vertices whose weights are all 0, sinks, parallel edges, isolated vertices."""
    rng, comm = np.random.default_rng(11), world()
    src, dst = rng.integers(0, 140, (2, 900))
    weights = rng.integers(1, 256, 900) * (rng.random(900) < 0.9)
    weights[(src < 5) | ((dst < 5) & (not directed))] = 0
    src[src > 120] -= 60
    theirs = (nx.DiGraph if directed else nx.Graph)()
    theirs.add_nodes_from(range(150))
    src, dst, weights = oracles.simple(src, dst, weights)
    order = np.argsort(-weights, kind="stable")  # lightest last: networkx keeps the last weight of an edge
    theirs.add_weighted_edges_from(zip(src[order].tolist(), dst[order].tolist(), weights[order].tolist(), strict=True))
    wanted = nx.pagerank(theirs, tol=1e-15, max_iter=1000)
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], weights[mine], n=150, directed=directed, comm=comm)
    for policy in ("oec", "iec", "cvc", "hvc", "metis"):
        result = flat_run(
            "pagerank", graph, policy=policy, backend=backend(), allow_gpu_sharing=True, tol=1e-13, max_iter=500
        )
        with comm.together():
            right = [wanted[v] for v in result.columns["vertex"].tolist()]
            np.testing.assert_allclose(result.columns["pagerank"], right, rtol=1e-10)


@pytest.mark.exhaustive
def test_pulls_round_sums_once():
    """Check that a pull adds in 64 bits: rounding each of a hub's 50,000 terms to 32 bits would cost 10⁻⁵."""
    settings = {"tol": 0, "max_iter": 3, "direction": "pull", "backend": backend(), "allow_gpu_sharing": True}
    single, double = (
        flat_run("pagerank", "star:50000", precision=precision, **settings) for precision in ("single", "double")
    )
    near = np.abs(single.columns["pagerank"].astype(np.float64) - double.columns["pagerank"]).sum(keepdims=True)
    assert world().allreduce(near)[0] < 1e-6


def test_combinations_hold_every_pair():
    """Check that every pair of policy, direction and sync occurs, and that graphs with one combination use all."""
    for a, b in (("policy", "direction"), ("policy", "sync"), ("direction", "sync")):
        sizes = {"policy": len(POLICIES), "direction": len(DIRECTIONS), "sync": len(SYNCS)}
        assert len({(chosen[a], chosen[b]) for chosen in COMBINATIONS}) == sizes[a] * sizes[b]
    taken = [chosen for name in CASES if name not in THOROUGH for chosen in combinations(name)]
    assert all(chosen in taken for chosen in COMBINATIONS)
