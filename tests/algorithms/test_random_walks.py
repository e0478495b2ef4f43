"""Random walks on any number of ranks, against a model in Python's integers, and against transition matrices."""

from itertools import cycle

import numpy as np
import pytest
from battery import CASES
from scipy.special import chdtrc
from test_battery import combinations, solve
from walk_model import all_walks

import dgraph
from dgraph.algorithms.kernels.walks import walks_cpu
from dgraph.comm import world
from dgraph.errors import DataError, UsageError
from dgraph.validate import validate

pytestmark = pytest.mark.mpi


def chance(observed, expected):
    """Return the p-value of a chi-square test; importing ``scipy.stats`` takes each session more than a second."""
    return chdtrc(observed.size - 1, ((observed - expected) ** 2 / expected).sum())


def rows_of(name, dtype):
    """Return id → its sorted out-edges (id, weight)."""
    _, src, dst, weights = CASES[name].arcs(dtype or "float64")
    ids = CASES[name].vertices
    rows = {v: [] for v in ids.tolist()}
    for u, v, weight in zip(ids[src].tolist(), ids[dst].tolist(), weights.tolist(), strict=True):
        rows[u].append((v, float(weight) if dtype else 1.0))
    return {v: sorted(row) for v, row in rows.items()}


def check(result, rows, sources, per_source, length, **more):
    """Compare walks, weights and visits with the model's."""
    walks, weights = result.walks.gather(), result.walks.gather_weights()
    table = result.gather()
    if table is None:
        return
    wanted, crossed = all_walks(rows, sources, per_source, length, **more)
    assert walks.tolist() == wanted
    assert [[None if np.isnan(w) else w for w in row] for row in weights.tolist()] == crossed
    visits = dict.fromkeys(rows, 0)
    for path in wanted:
        for v in path:
            if v >= 0:
                visits[v] += 1
    assert dict(zip(table["vertex"].tolist(), table["visits"].tolist(), strict=True)) == visits
    assert result.summary == {"walks": len(wanted), "steps": sum(w is not None for row in crossed for w in row)}


@pytest.mark.parametrize("name", CASES)
def test_walks_are_those_of_the_model(name, monkeypatch):
    """On one rank, some runs make all steps of a walk at a time, and some a step of all walks."""
    first = cycle([True, False, False])
    monkeypatch.setattr(walks_cpu, "does_without", lambda *_: next(first))
    case = CASES[name]
    sources = case.vertices.tolist()
    some = [sources[-1], sources[0], sources[-1]]
    for turn, chosen in enumerate(combinations(name)):
        dtype = (None, *case.dtypes)[turn % 2 * (1 + turn % len(case.dtypes))]
        rows = rows_of(name, dtype)
        asked = {"weighted": bool(turn % 4 // 2), "random_state": turn - 1}
        model = {"weighted": asked["weighted"], "seed": turn - 1}
        if turn < 4:
            result, _ = solve("random_walks", name, dtype, chosen, length=5, edge_weights=True, validate=True, **asked)
            check(result, rows, sources, 1, 5, **model)
        more = {"restart": 0.3 * (turn % 3 > 0)}
        result, _ = solve(
            "random_walks", name, dtype, chosen, sources=some, walks=3, length=7, edge_weights=True, **asked, **more
        )
        check(result, rows, some, 3, 7, **model, **more)


def weighted_graph():
    """Return a small directed graph, and its transition matrices by weights and without."""
    weights = np.array([[0, 5, 1, 0], [2, 0, 0, 7], [1, 1, 1, 1], [0, 3, 0, 0]])
    source, target = np.nonzero(weights)
    mine = slice(world().rank, None, world().size)
    values = weights[source, target].astype(np.int32)
    graph = dgraph.Graph.from_edges(source[mine], target[mine], values[mine], n=4, directed=True, keep_loops=True)
    return graph, weights / weights.sum(axis=1, keepdims=True), (weights > 0) / (weights > 0).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("restart", [0.0, 0.25])
def test_steps_have_the_distribution_of_the_transition_matrix(weighted, restart):
    graph, by_weight, alike = weighted_graph()
    step = by_weight if weighted else alike
    count, length = 4000, 6
    result = dgraph.random_walks(
        graph, sources=[0], walks=count, length=length, weighted=weighted, restart=restart, random_state=7
    )
    walks = result.walks.gather()
    if walks is None:
        return
    home = np.eye(4)[0]
    before = home
    for number in range(1, length + 1):
        before = restart * home + (1 - restart) * (before @ step)
        observed = np.bincount(walks[:, number], minlength=4)
        assert not observed[before == 0].any()
        assert chance(observed[before > 0], count * before[before > 0]) > 1e-4
    for u in range(4) if not restart else ():  # of pairs of steps: the second does not depend on the first
        leaving = walks[:, 1:-1][walks[:, 1:-1] == u], walks[:, 2:][walks[:, 1:-1] == u]
        observed = np.bincount(leaving[1], minlength=4)
        assert not observed[step[u] == 0].any()
        assert (step[u] > 0).sum() == 1 or chance(observed[step[u] > 0], observed.sum() * step[u][step[u] > 0]) > 1e-4


def test_parallel_edges_count_each_and_keep_their_weights():
    ends = np.array([[0, 1], [0, 1], [0, 2], [1, 0], [2, 0], [2, 2]])
    weights = np.array([3.0, 1.0, 2.0, 4.0, 5.0, 0.5])
    mine = slice(world().rank, None, world().size)
    graph = dgraph.Graph.from_edges(
        *ends[mine].T, weights[mine], n=3, directed=True, keep_loops=True, keep_parallel=True
    )
    rows = {v: sorted((int(b), float(w)) for (a, b), w in zip(ends, weights, strict=True) if a == v) for v in range(3)}
    for weighted in (False, True):
        result = dgraph.random_walks(graph, walks=40, length=6, weighted=weighted, edge_weights=True, validate=True)
        check(result, rows, range(3), 40, 6, weighted=weighted)


def test_names_and_files(tmp_path):
    here = world().rank == 0
    ends = [["a", "bb", "c"], ["bb", "c", "d"]] if here else [[], []]
    graph = dgraph.Graph.from_edges(*(np.array(names, dtype="U2") for names in ends), directed=True)
    result = dgraph.random_walks(graph, sources=["c", "a"], length=3, edge_weights=True, validate=True)
    walks = result.walks.gather()
    if here:
        assert walks.tolist() == [["c", "d", None, None], ["a", "bb", "c", "d"]]
    folder = world().allgather_json(str(tmp_path))[0]
    for suffix in (".txt", ".csv", ".npz"):
        result.save(f"{folder}/walks{suffix}")
    if here:
        assert (tmp_path / "walks.txt").read_text() == "c d\na bb c d\n"
        assert (tmp_path / "walks.csv").read_text().splitlines()[:3] == [
            "walk,step,vertex,weight", "0,0,c,", "0,1,d,1.0"
        ]  # fmt: skip
        table = np.load(tmp_path / "walks.npz")
        assert table["walk"].tolist() == [0, 0, 1, 1, 1, 1]
        assert table["vertex"].tolist() == ["c", "d", "a", "bb", "c", "d"]


WRONG = [
    ((0, 0), 1, {}, "walks begin at their sources"),
    ((0, 1), 3, {}, "steps cross edges"),
    ((0, 6), -1, {}, "walks end where no edge can be drawn"),
    ((0, 2), -1, {}, "walks do not go on after their end"),
    ((5, 3), 2, {"restart": 0.5}, "steps cross edges"),
    ((5, 1), 99, {}, "a walk visits 99"),
]


@pytest.mark.parametrize(("place", "vertex", "asked", "message"), WRONG)
def test_the_certificate_refuses_wrong_walks(place, vertex, asked, message):
    graph, *_ = weighted_graph()
    parameters = {"sources": [0, 3], "walks": 3, "length": 6, **asked}
    result = dgraph.random_walks(graph, **parameters)
    row = place[0] - result.walks.first
    if 0 <= row < len(result.walks.here):
        result.walks.here[row, place[1]] = vertex
    assert message in verdict(graph, result, parameters)


def verdict(graph, result, asked):
    parameters = dgraph.algorithms.ALGORITHMS["random_walks"](**asked).settings()
    checked = validate(
        "random_walks", graph.block, result.columns, graph.comm, parameters=parameters, rounds=0, walks=result.walks
    )
    return str(checked.failure)


def test_the_certificate_refuses_other_walks_visits_and_weights():
    graph, *_ = weighted_graph()
    parameters = {"sources": [0], "walks": 3, "length": 6, "edge_weights": True}
    result, other = (dgraph.random_walks(graph, random_state=seed, **parameters) for seed in (1, 2))
    assert verdict(graph, result, parameters) == "None"
    assert "walks are those of the seed" in verdict(graph, other, parameters)
    result.columns["visits"][result.columns["vertex"] == 3] += 1
    assert "visits are counts of the walks" in verdict(graph, result, parameters)
    if len(result.walks.weights):
        result.walks.weights[0, 0] = 6.5
    assert "weights are those of the edges" in verdict(graph, result, parameters)


@pytest.mark.parametrize(("asked", "message"), [
    ({"restart": 1.0}, "restart = 1.0 is not a probability below 1"),
    ({"sources": []}, "sources is empty"),
    ({"sources": [0, 99]}, "sources: 99 is not a vertex of the graph"),
    ({"length": -1}, "length"),
])  # fmt: skip
def test_refusals(asked, message):
    graph = dgraph.Graph.load("rmat:4")
    with pytest.raises(UsageError, match=message):
        dgraph.random_walks(graph, **asked)


@pytest.mark.parametrize(("weights", "message"), [([1.0, -2.0], "weighs -2.0"), ([1e308, 1e308], "sum to infinity")])
def test_weights_that_no_edge_can_be_drawn_by(weights, message):
    mine = slice(world().rank, None, world().size)
    ends = np.array([0, 0])[mine], np.array([1, 2])[mine]
    graph = dgraph.Graph.from_edges(*ends, np.array(weights)[mine], n=3, directed=True)
    dgraph.random_walks(graph)
    with pytest.raises(DataError, match=message):
        dgraph.random_walks(graph, weighted=True)
