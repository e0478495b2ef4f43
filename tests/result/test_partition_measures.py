"""Measures of columns of labels against NetworkX, and against their formulas written out, on any number of ranks."""

from itertools import combinations
from math import log

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph.comm import world
from dgraph.errors import UsageError

pytestmark = [pytest.mark.mpi, pytest.mark.quick]

N = 30


def drawn(kind, weights, seed=1):
    """Return a NetworkX graph with loops, parallel edges and an isolated vertex, and its engine graph."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, N - 1, (2, 120))
    values = {"none": None, "int": rng.integers(0, 9, 120), "float": rng.random(120)}[weights]
    other = kind()
    other.add_nodes_from(range(N))
    for u, v, w in zip(src.tolist(), dst.tolist(), (np.ones(120) if values is None else values).tolist(), strict=True):
        other.add_edge(u, v, weight=w)
    mine = slice(world().rank, None, world().size)
    graph = dgraph.Graph.from_edges(
        src[mine], dst[mine], None if values is None else values[mine], n=N, directed=other.is_directed(),
        keep_loops=True, keep_parallel=True, comm=world(),
    )  # fmt: skip
    return other, graph, rng.integers(0, 5, N)


def share(values):
    """Return a rank's share of an array by vertex."""
    return np.array_split(values, world().size)[world().rank]


def sets(labels):
    return [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("weights", ["int", "none", "float"])
@pytest.mark.parametrize("resolution", [1.0, 0.3])
def test_quality_is_that_of_networkx(kind, weights, resolution):
    other, graph, labels = drawn(kind, weights)
    groups, options = sets(labels), {"resolution": resolution}
    wanted = nx.community.modularity(other, groups, **options)
    assert dgraph.modularity(graph, share(labels), **options) == pytest.approx(wanted, abs=1e-14)
    unweighted = nx.community.modularity(other, groups, weight=None, **options)
    assert dgraph.modularity(graph, share(labels), weight=None, **options) == pytest.approx(unweighted, abs=1e-14)
    inner = [other.subgraph(group).size(weight="weight") for group in groups]
    factor = resolution / (1 if other.is_directed() else 2)
    wanted = sum(inner) - factor * sum(len(group) ** 2 for group in groups)
    assert dgraph.constant_potts_model(graph, share(labels), **options) == pytest.approx(wanted, abs=1e-10)
    wanted = sum(inner) / other.size(weight="weight")
    assert dgraph.coverage(graph, share(labels)) == pytest.approx(wanted, abs=1e-14)
    assert dgraph.coverage(graph, share(labels), weight=None) == nx.community.partition_quality(other, groups)[0]
    conductances = [nx.conductance(other, group, weight="weight") for group in groups]
    np.testing.assert_allclose(dgraph.conductance(graph, share(labels)), conductances, atol=1e-14)
    table = dgraph.community_table(graph, share(labels))
    assert table["label"].tolist() == np.unique(labels).tolist()
    assert table["size"].tolist() == [len(group) for group in groups]
    np.testing.assert_allclose(table["inner"], inner)
    np.testing.assert_allclose(table["volume"], [nx.volume(other, group, weight="weight") for group in groups])


def test_an_attribute_is_the_weight_of_measures():
    """Figures by an attribute of the edges are those of NetworkX; "weight" names the graph's weights beside it."""
    rng = np.random.default_rng(4)
    src, dst, costs, weights = *rng.integers(0, N, (2, 90)), rng.integers(0, 9, 90), rng.random(90)
    labels, mine = rng.integers(0, 5, N), slice(world().rank, None, world().size)
    graph = dgraph.Graph.from_edges(
        src[mine], dst[mine], weights[mine], n=N, keep={"cost": costs[mine]}, keep_loops=True, keep_parallel=True,
        directed=False, comm=world(),
    )  # fmt: skip
    other = nx.MultiGraph()
    other.add_nodes_from(range(N))
    rows = zip(src.tolist(), dst.tolist(), costs.tolist(), weights.tolist(), strict=True)
    other.add_edges_from((u, v, {"cost": cost, "weight": weight}) for u, v, cost, weight in rows)
    groups = [set(np.flatnonzero(labels == label).tolist()) for label in range(5)]
    for name in ("cost", "weight"):
        wanted = nx.community.modularity(other, groups, weight=name)
        assert dgraph.modularity(graph, share(labels), weight=name) == pytest.approx(wanted, abs=1e-14)
        volumes = [nx.volume(other, group, weight=name) for group in groups]
        table = dgraph.community_table(graph, share(labels), weight=name)
        np.testing.assert_allclose(table["volume"], volumes)


def test_integer_weights_are_added_up_exactly():
    src, dst = np.arange(4), (np.arange(4) + 1) % 4
    weights = np.array([2**53 + 1, 1, 2**53 - 1, 3])
    mine = slice(world().rank, None, world().size)
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], weights[mine], n=4, directed=False, comm=world())
    table = dgraph.community_table(graph, share(np.array([0, 0, 1, 1])))
    assert table["inner"].tolist() == [2**53 + 1, 2**53 - 1]
    assert table["volume"].tolist() == [2**54 + 6, 2**54 + 2]


def rand_index(first, second):
    """Return the adjusted Rand index by counting pairs of vertices."""
    pairs = [(first[u] == first[v], second[u] == second[v]) for u, v in combinations(range(len(first)), 2)]
    one, other, both = sum(a for a, _ in pairs), sum(b for _, b in pairs), sum(a and b for a, b in pairs)
    expected, largest = one * other / len(pairs), (one + other) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def information(first, second):
    """Return the normalised mutual information by probabilities."""
    n = len(first)

    def shares(*columns):
        rows = list(zip(*columns, strict=True))
        return {row: rows.count(row) / n for row in rows}

    one, other, both = shares(first), shares(second), shares(first, second)
    mutual = sum(p * log(p / (one[a,] * other[b,])) for (a, b), p in both.items())
    entropies = [-sum(p * log(p) for p in part.values()) for part in (one, other)]
    return 1.0 if sum(entropies) == 0 else 2 * mutual / sum(entropies)


def test_columns_are_compared_by_pairs_and_by_information():
    _, graph, labels = drawn(nx.MultiGraph, "none")
    rng = np.random.default_rng(3)
    noisy = np.where(rng.random(N) < 0.3, rng.integers(0, 3, N), labels)
    columns = [labels, noisy, rng.integers(-(2**62), 2**62, N), np.zeros(N, np.int64)]
    for first, second in combinations(columns, 2):
        pair = share(first), share(second)
        assert dgraph.ari(graph, *pair) == pytest.approx(rand_index(first.tolist(), second.tolist()), abs=1e-12)
        assert dgraph.nmi(graph, *pair) == pytest.approx(information(first.tolist(), second.tolist()), abs=1e-12)
    words = np.array([f"part {label}" for label in labels])
    assert dgraph.ari(graph, share(words), share(labels)) == dgraph.nmi(graph, share(labels), share(words)) == 1.0
    assert dgraph.ari(graph, share(columns[3]), share(columns[3])) == 1.0
    indices = [rand_index(*(column.tolist() for column in pair)) for pair in combinations(columns[:3], 2)]
    figures = dgraph.agreement(graph, [share(column) for column in columns[:3]])
    assert figures["ari"] == pytest.approx(sum(indices) / 3)
    assert figures["least_ari"] == pytest.approx(min(indices), abs=1e-12)


def test_results_columns_of_the_graph_and_tables_are_measured():
    _, graph, labels = drawn(nx.MultiGraph, "int")
    result = dgraph.leiden(graph)
    assert dgraph.modularity(graph, result) == pytest.approx(result.summary["modularity"], abs=1e-15)
    result = dgraph.leiden(graph, metric="cpm", resolution=0.3)
    value = dgraph.constant_potts_model(graph, result, resolution=0.3)
    assert value == pytest.approx(result.summary["cpm"], abs=1e-12)
    graph = graph.with_columns(truth=share(labels))
    assert dgraph.ari(graph, "truth", share(labels)) == 1.0
    pandas = pytest.importorskip("pandas")
    if world().size == 1:
        edges = pandas.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": [3, 1, 2]})
        table = dgraph.community_table(edges, {"a": "x", "b": "x", "c": "y", "d": "y"})
        assert table["label"].tolist() == ["x", "y"]
        assert table["inner"].tolist() == [3, 2]


def test_labels_that_are_missing_or_no_labels_are_refused():
    _, graph, labels = drawn(nx.MultiGraph, "none")
    rows = np.arange(N)
    for source, words in (
        ((share(rows[:-1]), share(labels[:-1])), f"no label for vertex {N - 1}"),
        (share(labels + 0.5), "no label for vertex 0"),
        (share(labels[:-1]), "29 values"),
        ("truth", "truth"),
    ):
        with pytest.raises(UsageError, match=words):
            dgraph.modularity(graph, source)
    with pytest.raises(UsageError, match="resolution"):
        dgraph.modularity(graph, share(labels), resolution=-1)
    with pytest.raises(UsageError, match="'cost'"):
        dgraph.modularity(graph, share(labels), weight="cost")
    with pytest.raises(UsageError, match="two or more"):
        dgraph.agreement(graph, [share(labels)])
    mine = slice(world().rank, None, world().size)
    below = dgraph.Graph.from_edges(*np.array([[0, 1], [1, 2]])[:, mine], np.array([1, -1])[mine], n=3, comm=world())
    with pytest.raises(UsageError, match="below 0"):
        dgraph.modularity(below, share(np.zeros(3, np.int64)))
