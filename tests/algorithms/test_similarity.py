"""Similarities on any number of ranks, against sets of neighbours."""

import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from battery import CASES
from test_battery import combinations, solve

import dgraph
from dgraph.algorithms.kernels.common import degree_blocks
from dgraph.backend.cpu.threads.plain_kernels import PlainFirst
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError

pytestmark = pytest.mark.mpi

MEASURES = {
    "jaccard": lambda g, u, v: len(set(g[u]) & set(g[v])) / max(len(set(g[u]) | set(g[v])), 1),
    "overlap": lambda g, u, v: len(set(g[u]) & set(g[v])) / max(min(len(g[u]), len(g[v])), 1),
    "sorensen": lambda g, u, v: 2 * len(set(g[u]) & set(g[v])) / max(len(g[u]) + len(g[v]), 1),
    "cosine": lambda g, u, v: len(set(g[u]) & set(g[v])) / max(math.sqrt(len(g[u]) * len(g[v])), 1),
    "adamic_adar": lambda g, u, v: sum(1 / math.log(len(g[w])) for w in set(g[u]) & set(g[v])),
    "resource_allocation": lambda g, u, v: sum(1 / len(g[w]) for w in set(g[u]) & set(g[v])),
    "preferential_attachment": lambda g, u, v: len(g[u]) * len(g[v]),
}


def oracle(name):
    _, src, dst, _ = CASES[name].arcs(directed=False)
    graph, ids = nx.Graph(), CASES[name].vertices
    graph.add_nodes_from(ids.tolist())
    graph.add_edges_from((u, v) for u, v in zip(ids[src].tolist(), ids[dst].tolist(), strict=True) if u != v)
    return graph


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].arcs(directed=False)[0] > 1])
def test_pairs_and_most_similar_vertices(name):
    graph = oracle(name)
    n, measures = len(graph), list(MEASURES)
    draw = np.random.default_rng(3)
    first, second = draw.integers(0, n, 40), draw.integers(0, n, 40)
    second[first == second] = (first[first == second] + 1) % n
    first, second = (CASES[name].vertices[numbers] for numbers in (first, second))
    for turn, chosen in enumerate(combinations(name)):
        for measure in measures if turn == 0 else measures[turn % 7 :][:1]:
            wanted = [MEASURES[measure](graph, u, v) for u, v in zip(first.tolist(), second.tolist(), strict=True)]
            result, _ = solve("similarity", name, combination=chosen, measure=measure, first=first, second=second)
            pairs = result.edges.gather()
            if pairs is not None:
                assert (pairs["source"].tolist(), pairs["target"].tolist()) == (first.tolist(), second.tolist())
                np.testing.assert_allclose(pairs["similarity"], wanted, rtol=1e-12, err_msg=measure)
        result, _ = solve("similarity", name, combination=chosen, measure=measures[turn % 7], k=3, validate=True)
        pairs = result.edges.gather()
        if pairs is not None and n <= 300:
            check_most_similar(graph, pairs, MEASURES[measures[turn % 7]], 3)


def check_most_similar(graph, pairs, measure, k):
    """Check that rows are those of the k largest values, by vertex, falling value and id."""
    rows = list(zip(pairs["source"].tolist(), pairs["target"].tolist(), pairs["similarity"].tolist(), strict=True))
    assert rows == sorted(rows, key=lambda row: (row[0], -row[2], row[1]))
    for v in graph:
        near = {w for u in graph[v] for w in graph[u]} - {v}
        wanted = sorted((measure(graph, v, w) for w in near), reverse=True)[:k]
        assert [row[2] for row in rows if row[0] == v] == pytest.approx(wanted, rel=1e-12)
        assert {row[1] for row in rows if row[0] == v} <= near


def whole_graph(scale):
    """Return an R-MAT graph and the matrix of its common neighbours, with the degrees."""
    graph = dgraph.Graph.load(f"rmat:{scale},symmetric", weights="unit")
    whole = dgraph.Graph.load(f"rmat:{scale},symmetric", weights="unit", comm=SerialComm()).block
    joined = np.zeros((whole.n, whole.n), np.int64)
    joined[whole.sources().astype(np.int64), whole.targets.astype(np.int64)] = 1
    return graph, joined @ joined, joined.sum(axis=0)


FORMULAS = {
    "jaccard": lambda common, one, two: common / np.maximum(one + two - common, 1),
    "overlap": lambda common, one, two: common / np.maximum(np.minimum(one, two), 1),
    "sorensen": lambda common, one, two: 2 * common / np.maximum(one + two, 1),
    "cosine": lambda common, one, two: common / np.sqrt(np.maximum(one * two, 1)),
}


@pytest.mark.parametrize("measure", FORMULAS)
def test_lists_are_those_of_a_product_of_matrices(measure):
    graph, common, degrees = whole_graph(9)
    np.fill_diagonal(common, 0)
    values = np.where(common > 0, FORMULAS[measure](common, degrees[:, None], degrees), -1.0)
    pairs = dgraph.similarity(graph, measure=measure, k=7).edges.gather()
    if pairs is not None:
        order = np.argsort(-values, axis=1, kind="stable")[:, :7]
        best = np.take_along_axis(values, order, axis=1)
        vertex, place = np.nonzero(best > 0)
        assert pairs["source"].tolist() == vertex.tolist()
        assert pairs["target"].tolist() == order[vertex, place].tolist()
        np.testing.assert_allclose(pairs["similarity"], best[vertex, place], rtol=1e-15)


@pytest.mark.parametrize("dense", [1, degree_blocks.DENSE, 1 << 30], ids=["bitmaps", "both", "lists"])
@pytest.mark.parametrize("measure", FORMULAS)
def test_lists_over_several_blocks(measure, dense, monkeypatch):
    """Vertices, with many of no edge and many ties, fill more than two blocks; a few have most of the edges."""
    monkeypatch.setattr(degree_blocks, "DENSE", dense)
    monkeypatch.setattr(PlainFirst, "runs_plain", lambda self, arguments: False)
    n, draw = 11_000, np.random.default_rng(8)
    source = np.concatenate([draw.integers(0, n // 2, 9000), draw.integers(0, 40, 8_000)])
    target = np.concatenate([draw.integers(0, n // 2, 9000), (n * draw.random(8_000) ** 3).astype(np.int64)])
    ids = draw.permutation(n)
    matrix = scipy.sparse.coo_array((np.ones(len(source)), (ids[source], ids[target])), (n, n)).tocsr()
    matrix = ((matrix + matrix.T) > 0).astype(np.int64)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    degrees = matrix.sum(axis=0)
    one, two, common = scipy.sparse.find(matrix @ matrix)
    one, two, common = (numbers[one != two] for numbers in (one, two, common))
    values = FORMULAS[measure](common, degrees[one], degrees[two])
    order = np.lexsort((two, -values, one))
    order = order[np.arange(len(one)) - np.searchsorted(one[order], one[order]) < 6]
    edges = [ids[ends] if world().rank == 0 else ids[:0] for ends in (source, target)]
    graph = dgraph.Graph.from_edges(*edges, n=n, directed=False, device=dgraph.Cpu(threads=2))
    pairs = dgraph.similarity(graph, measure=measure, k=6).edges.gather()
    if pairs is not None:
        assert pairs["source"].tolist() == one[order].tolist()
        assert pairs["target"].tolist() == two[order].tolist()
        np.testing.assert_array_equal(pairs["similarity"], values[order])


@pytest.mark.parametrize("pairs", [3, 3000], ids=["searched", "marked"])
def test_pairs_are_those_of_a_product_of_matrices(pairs):
    graph, common, degrees = whole_graph(9)
    draw = np.random.default_rng(pairs)
    hub, leaf = int(degrees.argmax()), int(np.flatnonzero(degrees == 1)[0])
    first, second = ([vertex, *draw.integers(0, len(degrees), pairs).tolist()] for vertex in (hub, leaf))
    listed = dgraph.similarity(graph, first=first, second=second).edges.gather()
    if listed is not None:
        wanted = FORMULAS["jaccard"](common, degrees[:, None], degrees)[first, second]
        np.testing.assert_allclose(listed["similarity"], wanted, rtol=1e-15)


@pytest.mark.parametrize("measure", MEASURES)
def test_some_vertices_have_the_lists_that_all_have(measure):
    graph = dgraph.Graph.load("rmat:8,symmetric", weights="unit")
    chosen = [7, 0, 255, 33, 7]
    everything = dgraph.similarity(graph, measure=measure, k=5).edges.gather()
    result = dgraph.similarity(graph, measure=measure, k=5, first=chosen, validate=True)
    pairs, rows = result.edges.gather(), result.gather()
    if pairs is not None:
        lists = {v: [] for v in range(graph.n)}
        for v, *row in zip(*(everything[name].tolist() for name in ("source", "target", "similarity")), strict=True):
            lists[v].append((v, *row))
        wanted = [row for v in dict.fromkeys(chosen) for row in lists[v]]
        assert list(zip(*(pairs[name].tolist() for name in ("source", "target", "similarity")), strict=True)) == wanted
        best = {v: lists[v][0][1] if lists[v] and v in chosen else None for v in range(graph.n)}
        assert dict(zip(rows["vertex"].tolist(), rows["target"].tolist(), strict=True)) == {
            v: -1 if target is None else target for v, target in best.items()
        }


def test_names_and_columns():
    here = world().rank == 0
    ends = [["a", "b", "c", "d"], ["b", "c", "d", "a"]] if here else [[], []]
    graph = dgraph.Graph.from_edges(*(np.array(names, dtype="U1") for names in ends), directed=False)
    result = dgraph.similarity(graph, measure="overlap", first=["a", "d"], second=["c", "a"], validate=True)
    pairs, rows = result.edges.gather(), result.gather()
    frame = result.edges.to_pandas(root=world().size - 1)
    assert (frame is None) == (world().rank < world().size - 1)
    if frame is not None:
        assert frame.to_dict("list") == {"source": ["a", "d"], "target": ["c", "a"], "similarity": [1.0, 0.0]}
    if here:
        assert pairs["target"].tolist() == ["c", "a"]
        assert pairs["similarity"].tolist() == [1.0, 0.0]
        assert dict(zip(rows["vertex"], rows["target"], strict=True)) == {"a": "c", "b": None, "c": None, "d": "a"}


@pytest.mark.parametrize(("asked", "message"), [
    ({"second": [0]}, "first has no vertices and second 1"),
    ({"first": [99]}, "first: 99 is not a vertex of the graph"),
    ({"first": [0, 1], "second": [1]}, "first has 2 vertices and second 1"),
    ({"first": [0], "second": [99]}, "second: 99 is not a vertex of the graph"),
    ({"measure": "simrank"}, "measure of similarity"),
])  # fmt: skip
def test_refusals(asked, message):
    graph = dgraph.Graph.load("rmat:4")
    with pytest.raises(UsageError, match=message):
        dgraph.similarity(graph, **asked)
