"""Shortest paths with negative weights equal NetworkX's; a negative cycle is refused by name, on every rank alike."""

import re
from functools import cache
from itertools import pairwise

import emulated
import networkx as nx
import numpy as np
import pytest
from flat_run import flat_run
from test_battery import equal

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError
from dgraph.validate import validate

pytestmark = pytest.mark.interpreted

VARIANTS = ("workfront", "bellman-ford", "bellman-ford-topology")
FAR = np.iinfo(np.int64).max


@cache
def edges(kind):
    """Return n, sources, targets and weights without a negative cycle: weights ≥ 0 plus differences of potentials."""
    rng = np.random.default_rng(5)
    n = 120
    src, dst = rng.integers(0, 100, 500), rng.integers(0, 100, 500)
    src, dst = np.append(src, np.arange(60, 99)), np.append(dst, np.arange(61, 100))
    keys = np.unique(src * n + dst)
    src, dst = keys // n, keys % n
    src, dst = src[src != dst], dst[src != dst]
    potential = rng.integers(-50, 50, n)
    weights = rng.integers(0, 12, src.size) // 2 + potential[dst] - potential[src]
    return n, src, dst, weights if kind == "int64" else weights / 4


def loaded(n, src, dst, weights, **more):
    mine = slice(world().rank, None, world().size)
    return dgraph.Graph.from_edges(src[mine], dst[mine], weights[mine], n=n, comm=world(), **more)


@cache
def right(kind):
    """Return distances, and predecessors: the smallest id among those on a shortest path of fewest edges."""
    n, src, dst, weights = edges(kind)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True))
    length = nx.single_source_bellman_ford_path_length(graph, 0)
    tight = nx.DiGraph([(u, v) for u, v, w in graph.edges.data("weight") if u in length and length[u] + w == length[v]])
    hops = nx.single_source_shortest_path_length(tight, 0)
    before = np.full(n, -1)
    for v in hops:
        before[v] = min((u for u in tight.predecessors(v) if hops[u] + 1 == hops[v]), default=-1)
    end = FAR if kind == "int64" else np.inf
    return np.array([length.get(v, end) for v in range(n)]), before


@pytest.mark.mpi
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["int64", "float64"])
@pytest.mark.parametrize("policy", ["oec", "cvc", "hash"])
def test_distances(variant, kind, policy):
    distance, predecessor = right(kind)
    assert (distance < 0).any()
    for parents in (True, False):
        result = flat_run(
            "sssp", loaded(*edges(kind)), source=0, variant=variant, policy=policy, return_predecessors=parents,
            validate=True,
        )  # fmt: skip
        assert result.report["outcome"]["validation"]["passed"]
        equal(result.columns["distance"], distance, result.columns["vertex"], f"{variant} {kind} {policy}")
        if parents:
            equal(result.columns["predecessor"], predecessor, result.columns["vertex"], f"{variant} {kind} {policy}")


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("variant", VARIANTS)
def test_on_a_gpu(variant):
    more = {"backend": emulated.backend(), "allow_gpu_sharing": True, "validate": True}
    result = flat_run("sssp", loaded(*edges("int64")), source=0, variant=variant, **more)
    assert result.report["outcome"]["validation"]["passed"]
    equal(result.columns["distance"], right("int64")[0], result.columns["vertex"], variant)


def cycles():
    """Return label → n, edges as (source, target, weight), and the cycle from its smallest vertex on."""
    ring = [(5 + i, 5 + (i + 1) % 40, 0) for i in range(40)]
    return {
        "of two": (4, [(0, 1, 3), (1, 2, 1), (2, 1, -2)], [1, 2]),
        "through the source": (4, [(0, 1, 3), (1, 2, -9), (2, 0, 5)], [0, 1, 2]),
        "a loop": (3, [(0, 1, 1), (1, 1, -1), (1, 2, 1)], [1]),
        "long": (60, [(0, 50, 2), (50, 5, 2), *ring[:-1], (44, 5, -1), (20, 51, 1)], list(range(5, 45))),
        "beside ties": (9, [(0, 1, 0), (1, 2, 0), (2, 1, 0), (1, 3, 1), (3, 4, 0), (4, 3, 0), (4, 1, -2)], [1, 3, 4]),
    }


@pytest.mark.mpi
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_negative_cycle_is_refused_by_name(variant):
    """Check that the message names the vertices of a cycle of the graph, whose weight is negative."""
    for label, (n, listed, cycle) in cycles().items():
        src, dst, weights = (np.array(column) for column in zip(*listed, strict=True))
        graph = loaded(n, src, dst, weights, keep_loops=True)
        with pytest.raises(DataError, match="negative cycle") as caught:
            flat_run("sssp", graph, source=0, variant=variant)
        told = str(caught.value)
        named = list(map(int, re.search(r"cycle ((\d+ → )+)", told).group(1).split(" → ")[:-1]))
        assert named == cycle[:20], label
        assert ("(20 more)" in told) == (len(cycle) == 40)
        with world().together():
            assert len(set(world().allgather_json(told))) == 1
        away = flat_run("sssp", graph, source=n - 1, variant=variant, validate=True)
        assert away.report["outcome"]["validation"]["passed"]
        assert away.summary["reached"] == 1, "a cycle out of reach is none of this search"


@pytest.mark.exhaustive
@pytest.mark.mpi
@pytest.mark.parametrize("variant", VARIANTS)
def test_random_graphs_have_a_cycle_exactly_if_networkx_finds_one(variant):
    """Check that a named cycle exists and has a negative weight; without one, that distances are right."""
    rng, refused = np.random.default_rng(8), 0
    for _ in range(16):
        n = int(rng.integers(2, 14))
        keys = np.unique(rng.integers(0, n * n, 2 * n))
        src, dst, weights = keys // n, keys % n, rng.integers(-3, 8, keys.size)
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True))
        ours = loaded(n, src, dst, weights, keep_loops=True)
        try:
            length = nx.single_source_bellman_ford_path_length(graph, 0)
        except nx.NetworkXUnbounded:
            refused += 1
            with pytest.raises(DataError, match="negative cycle") as caught:
                flat_run("sssp", ours, source=0, variant=variant)
            cycle = list(map(int, re.search(r"cycle ((\d+ → )+\d+)", str(caught.value)).group(1).split(" → ")))
            assert sum(graph[u][v]["weight"] for u, v in pairwise(cycle)) < 0
            assert len(set(cycle)) == len(cycle) - 1
            continue
        result = flat_run("sssp", ours, source=0, variant=variant, validate=True)
        assert result.report["outcome"]["validation"]["passed"]
        equal(
            result.columns["distance"], np.array([length.get(v, FAR) for v in range(n)]), result.columns["vertex"], ""
        )
    assert 2 < refused < 14, refused


@pytest.mark.mpi
def test_a_negative_edge_of_an_undirected_graph_is_a_cycle():
    graph = loaded(3, np.array([0, 1]), np.array([1, 2]), np.array([4, -1]), directed=False)
    with pytest.raises(DataError, match=r"the cycle 1 → 2 → 1 add up to less than 0"):
        flat_run("sssp", graph, source=0, variant="workfront")


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_vertices_are_named(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("anna ben 1\nben carl -3\ncarl ben 1\n")
    graph = dgraph.Graph.load(file, ids="string", comm=SerialComm())
    with pytest.raises(DataError, match=r"a\.txt: the weights of the cycle ben → carl → ben add up"):
        dgraph.run("sssp", graph, source="anna", variant="workfront")


@pytest.mark.mpi_skip
@pytest.mark.parametrize("variant", ["near-far", "auto", "h-bf"])
def test_who_needs_other_weights(variant):
    graph = loaded(2, np.array([0]), np.array([1]), np.array([-4]))
    with pytest.raises(DataError, match=r"the edge 0 → 1 weighs -4; sssp needs weights ≥ 0 unless .*bellman-ford"):
        flat_run("sssp", graph, source=0, variant=variant)
    with pytest.raises(UsageError, match="leave cutoff out"):
        flat_run("sssp", graph, source=0, variant="workfront", cutoff=5.0)


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_a_round_limit_and_sums_that_may_not_fit():
    result = flat_run("sssp", loaded(*edges("int64")), source=0, variant="workfront", max_rounds=2)
    assert (result.converged, result.summary["search_rounds"]) == (False, 2)
    graph = loaded(3, np.array([0, 1]), np.array([1, 2]), np.array([-(1 << 60), 1 << 60]))
    with pytest.raises(DataError, match=r"may be longer than 2\*\*62; store the weights as floats"):
        flat_run("sssp", graph, source=0, variant="workfront")


@pytest.mark.mpi_skip
def test_tables_show_negative_distances():
    pandas = pytest.importorskip("pandas")
    graph = loaded(3, np.array([0]), np.array([1]), np.array([-1]))
    frame = flat_run("sssp", graph, source=0, variant="workfront").to_pandas()
    assert frame["distance"].isna().tolist() == [False, False, True]
    assert frame["distance"][1] == -1
    assert frame["predecessor"].isna().tolist() == [True, False, True]
    assert isinstance(frame, pandas.DataFrame)


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_the_certificate_knows_sums_beyond_64_bits():
    src, dst = np.array([0, 1, 0, 3, 2]), np.array([1, 2, 3, 2, 4])
    graph = loaded(5, src, dst, np.array([2**62, 2**62, 2**61, 5, 2**61]))
    assert flat_run("sssp", graph, source=0, validate=True).report["outcome"]["validation"]["passed"]
    low = loaded(3, np.array([0, 1]), np.array([1, 2]), np.array([-(2**62), -(2**62) - 9])).block
    columns = {"vertex": np.arange(3), "distance": np.array([0, -(2**62), 2**63 - 9])}
    parameters = {"source": 0, "variant": "workfront"}
    with np.errstate(over="ignore"):
        assert not validate("sssp", low, columns, SerialComm(), parameters=parameters, rounds=1).passed


@pytest.mark.mpi_skip
def test_the_certificate_finds_wrong_answers():
    """Check changed distances and predecessors, with and without predecessors."""
    graph = loaded(*edges("int64"))
    distance, predecessor = right("int64")
    vertex, block = np.arange(distance.size), graph.block
    parameters = {"source": 0, "variant": "workfront"}

    def verdict(**changed):
        columns = {"vertex": vertex, "distance": distance} | changed
        return validate("sssp", block, columns, SerialComm(), parameters=parameters, rounds=1)

    assert verdict(predecessor=predecessor).passed
    assert verdict().passed
    reached = np.flatnonzero((distance < FAR) & (vertex > 0))
    for v in reached[::9].tolist():
        for change in (-1, 1):
            wrong = distance.copy()
            wrong[v] += change
            assert verdict(distance=wrong).passed is False
            assert verdict(distance=wrong, predecessor=predecessor).passed is False
    lower = np.where(vertex == 0, 0, np.where(distance < FAR, distance - 1, FAR))
    assert "path" in verdict(distance=lower).failure or "short cut" in verdict(distance=lower).failure
    ring = validate(
        "sssp", loaded(3, np.array([1, 2]), np.array([2, 1]), np.array([-3, 3])).block,
        {"vertex": np.arange(3), "distance": np.array([0, 4, 1]), "predecessor": np.array([-1, 2, 1])},
        SerialComm(), parameters=parameters, rounds=1,
    )  # fmt: skip
    assert "circle" in ring.failure
