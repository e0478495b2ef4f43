"""Communities: exact quality against NetworkX and igraph, the same labels everywhere, and what options promise."""

import inspect
from collections import Counter

import igraph
import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph._support.compiled import njit
from dgraph.algorithms.communities import host_engine, moves, refinement, search_steps
from dgraph.algorithms.communities.community_arrays import sub_rounds
from dgraph.algorithms.communities.community_totals import GROUPS, Partition, group_count
from dgraph.algorithms.communities.exact_gains import gain
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import OPTIONS
from dgraph.backend.cpu.threads.plain_kernels import PlainFirst
from dgraph.backend.cpu.threads.team import Team
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError

NAMES = ("louvain", "leiden")


def planted(groups=20, size=40, inside=0.2, between=0.004, seed=1):
    """Return the ends of a random graph with planted communities."""
    graph = nx.planted_partition_graph(groups, size, inside, between, seed=seed)
    return np.array(graph.edges).T


def messy(seed, n=60, m=150):
    """Return ends and weights with loops, parallel edges and isolated vertices."""
    rng = np.random.default_rng(seed)
    return *rng.integers(0, n - 3, (2, m)), rng.random(m)


def make(src, dst, weights=None, comm=None, **options):
    """Return a graph of the ranks of ``comm``, by default of each rank alone."""
    comm = comm or SerialComm()
    mine = slice(comm.rank, None, comm.size)
    weights = None if weights is None else np.asarray(weights)[mine]
    return dgraph.Graph.from_edges(src[mine], dst[mine], weights, comm=comm, **{"directed": False} | options)


def sets(result):
    """Return the communities as sets of ids, by their names."""
    groups = {}
    for vertex, name in zip(*(result.columns[column].tolist() for column in ("vertex", "community")), strict=True):
        groups.setdefault(name, set()).add(vertex)
    return groups


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("resolution", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_the_quality_is_that_of_networkx(name, resolution, weighted, directed):
    src, dst, weights = messy(3)
    kept = {"keep_loops": True, "keep_parallel": True, "directed": directed}
    graph = make(src, dst, weights if weighted else None, n=60, **kept)
    other = nx.MultiGraph()
    other.add_nodes_from(range(60))
    other.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weights if weighted else np.ones(150), strict=True))
    result = dgraph.run(name, graph, resolution=resolution, validate=True)
    groups = sets(result)
    assert all(min(group) == label for label, group in groups.items())
    assert result.summary["communities"] == len(groups)
    wanted = nx.community.modularity(other, groups.values(), resolution=resolution)
    assert result.summary["modularity"] == pytest.approx(wanted, abs=1e-8 if weighted else 1e-14)
    result = dgraph.run(name, graph, resolution=resolution / 4, metric="cpm", validate=True)
    groups = list(sets(result).values())
    label = {v: i for i, group in enumerate(groups) for v in group}
    inner = sum(w for (u, v, _), w in nx.get_edge_attributes(other, "weight").items() if label[u] == label[v])
    wanted = inner - resolution / 4 * sum(len(group) ** 2 / 2 for group in groups)
    assert result.summary["cpm"] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_labels_depend_on_neither_threads_nor_the_order_of_edges(name):
    src, dst, weights = *planted(40, 60), None
    weights = np.random.default_rng(1).random(len(src))
    labels = set()
    for threads, seed in ((1, 1), (2, 2), (5, 3)):
        order = np.random.default_rng(seed).permutation(len(src))
        swap = np.random.default_rng(seed).random(len(src)) < 0.5
        ends = np.where(swap, dst, src)[order], np.where(swap, src, dst)[order]
        graph = make(*ends, weights[order]).on(device=dgraph.Cpu(threads=threads))
        labels.add(dgraph.run(name, graph).columns["community"].tobytes())
    assert len(labels) == 1


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("policy", ["oec", "cvc", "hash"])
def test_ranks_give_the_labels_of_one(name, policy):
    src, dst, weights = messy(5, 400, 1600)
    options = {"n": 400, "keep_loops": True, "keep_parallel": True}
    alone = dgraph.run(name, make(src, dst, weights, **options))
    result = dgraph.run(name, make(src, dst, weights, world(), **options).on(policy=policy), validate=True)
    wanted = alone.columns["community"][result.columns["vertex"]]
    np.testing.assert_array_equal(result.columns["community"], wanted)
    assert result.summary == alone.summary


@pytest.mark.parametrize("seed", [1, 2])
def test_leiden_is_as_good_as_igraph(seed):
    src, dst = planted(30, 50, 0.25, 0.005, seed)
    other = igraph.Graph(list(zip(src.tolist(), dst.tolist(), strict=True)))
    ours = dgraph.leiden(make(src, dst))
    label = Counter(dict(zip(ours.columns["vertex"].tolist(), ours.columns["community"].tolist(), strict=True)))
    theirs = other.community_leiden("modularity", n_iterations=2).modularity
    value = other.modularity([label[v] for v in range(other.vcount())])
    assert value == pytest.approx(ours.summary["modularity"], abs=1e-12)
    assert value > theirs - 0.003
    assert len(sets(ours)) == 30


@pytest.mark.parametrize("few", [1_000, 1])
@pytest.mark.parametrize("name", NAMES)
def test_small_random_graphs_pass_their_certificates(name, few, monkeypatch):
    monkeypatch.setattr(search_steps, "FEW", few)
    monkeypatch.setattr(search_steps, "USEFUL", 2)
    rng = np.random.default_rng(7)
    for _ in range(40):
        n = int(rng.integers(1, 30))
        src, dst = rng.integers(0, n, (2, int(rng.integers(0, 70))))
        weights = [None, rng.integers(0, 4, len(src)), rng.random(len(src))][int(rng.integers(3))]
        options = {"resolution": float(rng.choice([0, 0.3, 1, 1.7])), "metric": str(rng.choice(["modularity", "cpm"]))}
        options |= {"max_size": (most := rng.choice([None, 1, 3, 8])), "n_iterations": int(rng.choice([-1, 1, 2]))}
        graph = make(src, dst, weights, n=n, keep_loops=True, keep_parallel=True)
        result = dgraph.run(name, graph, validate=True, **options)
        assert result.report["outcome"]["validation"]["passed"], options
        assert most is None or max(map(len, sets(result).values())) <= most


@pytest.mark.parametrize("options", [{}, {"metric": "cpm", "resolution": 0.02}, {"max_size": 50}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_of_moves_change_nothing(weighted, options, monkeypatch):
    src, dst, weights = messy(11, 500, 2600)
    graph = make(src, dst, weights if weighted else None, n=500, keep_loops=True, keep_parallel=True)
    evaluated, searched = [], host_engine.HostEngine.gaining

    def search(self, partition):
        fresh = Partition(partition.level, partition.labels.copy())
        evaluated.append((partition.slack > -np.inf).sum())
        (wanted, count), (flags, bounded_count) = searched(self, fresh), searched(self, partition)
        np.testing.assert_array_equal(flags, wanted)
        assert count == bounded_count == flags.sum()
        return flags, count

    monkeypatch.setattr(host_engine.HostEngine, "gaining", search)
    bounded = [dgraph.run(name, graph, **options) for name in NAMES]
    assert max(evaluated) > 250

    def without_bounds(*arguments):
        partitions[-1].slack.fill(-np.inf)
        calls.append(arguments)
        return group_count(*arguments)

    partitions, calls, move = [], [], host_engine.HostEngine.move
    monkeypatch.setattr(moves, "group_count", without_bounds)
    monkeypatch.setattr(
        host_engine.HostEngine,
        "move",
        lambda self, partition, *args, **named: (partitions.append(partition), move(self, partition, *args, **named))[
            1
        ],
    )
    for name, other in zip(NAMES, bounded, strict=True):
        result = dgraph.run(name, graph, **options)
        np.testing.assert_array_equal(result.columns["community"], other.columns["community"])
        assert result.summary == other.summary
    assert len(calls) > 10


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_any_scale_give_the_same_labels(name):
    src, dst = planted()
    weights = np.random.default_rng(2).integers(1, 9, len(src))
    options = {"theta": 0} if name == "leiden" else {}  # theta is in units of weight
    graphs = [make(src, dst, weights * scale) for scale in (1, 2.0**40, 2.0**-900)]
    labels = [dgraph.run(name, graph, **options).columns["community"] for graph in graphs]
    for other in labels[1:]:
        np.testing.assert_array_equal(other, labels[0])


@njit(**OPTIONS | {"cache": False})
def compiled_gain(scale, weight, price, mass):
    return gain(scale, weight, price, mass)


@pytest.mark.parametrize("weight", [2**62, 2**63 - 1])
def test_integers_whose_sums_pass_63_bits_are_certified(weight):
    graph = make(np.arange(3), np.arange(1, 4), np.full(3, weight, np.int64))
    assert dgraph.leiden(graph, validate=True).columns["community"].tolist() == [0, 0, 2, 2]


def test_gains_of_the_largest_32_bit_weights_are_exact():
    whole = (1 << 30) - 1
    units = [Units.of(cpm, 1.0, total, 0, n) for cpm, total, n in
             ((False, whole, 9), (False, whole + 1, 9), (True, whole, 1 << 30), (True, whole, 1 << 31))]  # fmt: skip
    kinds = [unit.kind(n) for unit, n in zip(units, (9, 9, 1 << 30, 1 << 31), strict=True)]
    assert kinds == [np.int32, np.int64, np.int32, np.int64]
    for weight, mass in ((whole, 0), (0, whole), (whole, whole - 1), (1, whole)):
        high, low = compiled_gain(units[0].scale, np.int32(weight), whole, mass)
        assert (int(high) << 64) + int(low) == units[0].scale * weight - whole * mass


def test_a_run_goes_on_from_an_earlier_answer():
    src, dst = planted()
    graph = make(src, dst)
    first = dgraph.leiden(graph, n_iterations=1)
    changed = graph.with_edges(np.array([[0, 799]]))
    again = dgraph.leiden(changed, previous=first, validate=True)
    assert again.summary["started"] == "previous answer"
    assert again.summary["modularity"] >= first.summary["modularity"] - 0.001


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
def test_a_search_starts_from_given_communities(name):
    src, dst = planted(inside=0.4)
    comm = world()
    graph, truth = make(src, dst, comm=comm), np.arange(800) // 40
    share = np.array_split(truth, comm.size)[comm.rank]
    result = dgraph.run(name, graph, initial=share, n_iterations=1, validate=True)
    np.testing.assert_array_equal(result.columns["community"], result.columns["vertex"] // 40 * 40)
    assert result.report["algorithm"]["parameters"]["initial"] == "a column"
    for source in (dict(enumerate(truth.tolist())), result):
        again = dgraph.run(name, graph, initial=source, n_iterations=1)
        np.testing.assert_array_equal(again.columns["community"], result.columns["community"])
    small = dgraph.run(name, graph, initial=result, max_size=30, validate=True)
    assert dgraph.community_table(graph, small)["size"].max() <= 30
    with pytest.raises(UsageError, match="previous"):
        dgraph.run(name, graph, initial=result, previous=result)
    for source, words in (
        ([1, 2], "list"),
        ({0: 1}, "no label for vertex 1"),
        ("truth", "truth"),
        (share[:-1], "values"),
    ):
        with pytest.raises(UsageError, match=words):
            dgraph.run(name, graph, initial=source)


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
def test_levels_are_nested_and_the_same_on_any_ranks(name):
    src, dst = planted(40, 30, 0.2, 0.01)
    result = dgraph.run(name, make(src, dst, comm=world()), levels=4, validate=True)
    alone = dgraph.run(name, make(src, dst), levels=4)
    counts = []
    for column in ("community", "level_1", "level_2", "level_3", "level_4"):
        labels = alone.columns[column]
        np.testing.assert_array_equal(result.columns[column], labels[result.columns["vertex"]])
        counts.append(len(np.unique(labels)))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    with pytest.raises(UsageError, match="levels 9"):
        dgraph.run(name, make(src, dst), levels=9)


def test_another_seed_may_give_other_labels_of_equal_quality():
    src, dst = planted(40, 30, 0.2, 0.02)
    results = [dgraph.leiden(make(src, dst), random_state=seed) for seed in (1, 2, 3)]
    assert len({result.columns["community"].tobytes() for result in results}) > 1
    values = [result.summary["modularity"] for result in results]
    assert max(values) - min(values) < 0.01


@pytest.mark.parametrize("options", [
    {"theta": 1e-320}, {"theta": 1e308}, {"random_state": 2**62}, {"random_state": -(2**62)}, {"max_size": 2**62},
    {"resolution": 1e-320}, {"resolution": 1e5}, {"metric": "cpm", "resolution": 1e5},
], ids=str)  # fmt: skip
def test_extreme_values_give_communities(options):
    assert dgraph.leiden(make(*planted()), validate=True, **options).report["outcome"]["validation"]["passed"]


@pytest.mark.parametrize("name", NAMES)
def test_bad_values_are_refused(name):
    src, dst = planted()
    graph = make(src, dst)
    for options, words in (
        ({"n_iterations": 0}, "n_iterations 0"),
        ({"metric": "surprise"}, "modularity"),
        ({"resolution": -1.0}, "resolution"),
        ({"resolution": float("nan")}, "resolution"),
        ({"resolution": 1e300}, "too large"),
        ({"max_size": 0}, "max_size"),
        ({"resolution": float("inf")}, "not finite"),
    ):
        with pytest.raises(UsageError, match=words):
            dgraph.run(name, graph, **options)
    weights = np.ones(len(src))
    weights[5] = -2.0
    with pytest.raises(DataError, match="weighs -2"):
        dgraph.run(name, make(src, dst, weights))


@pytest.mark.parametrize(("name", "words"), [
    ("infomap", "leiden and louvain"), ("girvan_newman", "edge_bc"), ("walktrap", "levels"), ("Fast-Greedy", "louvain"),
    ("label_propagation_communities", "cdlp"), ("spectral", "constant Potts model"),
])  # fmt: skip
def test_other_methods_are_answered_with_what_there_is(name, words):
    with pytest.raises(UsageError, match=words):
        dgraph.run(name, "path:4")
    with pytest.raises(AttributeError, match=words):
        getattr(dgraph, name)


FORMS = pytest.mark.parametrize("plain", [True, False], ids=["arrays", "kernels"])
"""Both forms of the kernels."""


def search_of(graph, monkeypatch):
    """Return the search of a run that ends before its first step."""
    searches = []
    with monkeypatch.context() as patch:
        patch.setattr(
            search_steps.SearchSteps, "communities", lambda self, labels: searches.append(self) or (labels, 0, 0)
        )
        dgraph.louvain(graph)
    return searches[0]


@FORMS
def test_a_vertex_gains_once_others_have_left_a_community_beside_it(plain, monkeypatch):
    """None of its neighbours moves: only the sum of outflows shows that its bound no longer holds."""
    monkeypatch.setattr(PlainFirst, "runs_plain", lambda self, args: plain)
    pairs = [*nx.complete_graph(24).edges, (24, 25), (24, 26), (24, 26)]
    search = search_of(make(*np.array(pairs).T, keep_parallel=True), monkeypatch)
    labels = np.array([*[0] * 12, *[12] * 12, 25, 25, 0], np.int32)  # 0 to 11 share the community of 26
    partition = search.engine.partition(search.level, labels)
    assert not search.engine.gaining(partition)[0][24]
    assert partition.slack[24] > -np.inf
    search.engine.move(partition, search._salt, lambda active: True, active=np.arange(27) < 12)
    assert np.array_equal(partition.labels, [*[12] * 24, 25, 25, 0])
    assert search.engine.gaining(partition)[0][24]


def test_balanced_rounds_of_both_forms_move_the_same_vertices(monkeypatch):
    monkeypatch.setattr(search_steps, "FEW", 3)
    graph, labels = dgraph.Graph.load("rmat:9,symmetric", weights="unit", comm=SerialComm(), device="cpu"), {}
    for free in (0, 99):
        monkeypatch.setattr(search_steps, "FREE", free)
        for plain in (True, False):
            monkeypatch.setattr(PlainFirst, "runs_plain", lambda self, args, plain=plain: plain)
            result = dgraph.louvain(graph, random_state=3, validate=True)
            labels[free, plain] = result.columns["community"]
        np.testing.assert_array_equal(labels[free, True], labels[free, False])
    assert not np.array_equal(labels[0, True], labels[99, True])


def test_rounds_of_many_vertices_have_more_sub_rounds():
    most = 1 << 20
    assert [group_count(active, most) for active in (1, most >> 3, (most >> 3) + 1, most)] == [4, 4, 16, 16]
    assert [group_count(active, 8 * most - 1) for active in (most, most + 1, 2 * most + 1, 8 * most - 1)] == [
        16,
        32,
        64,
        64,
    ]


@FORMS
def test_of_equal_parts_the_smallest_is_joined(plain, monkeypatch):
    """Vertex 0 of a star of equal edges joins one of its neighbours, all of which are lone parts of one gain."""
    monkeypatch.setattr(PlainFirst, "runs_plain", lambda self, args: plain)
    search = search_of(make(np.zeros(6, int) + 6, np.arange(6)), monkeypatch)
    engine, partition = search.engine, search.engine.partition(search.level, np.zeros(7, np.int32))
    for salt in range(40):
        groups = sub_rounds(np.arange(7), salt, GROUPS)
        if groups[6] < groups[:6].min():  # the centre chooses first
            assert engine.refine(partition, salt)[6] == 0
            return
    raise AssertionError("no salt lets the centre choose first")


def test_refinement_keeps_the_weight_from_each_part_to_the_rest_of_its_community(monkeypatch):
    """Vertices that join a part in one sub-round have edges to each other, which are no longer edges to the rest."""
    calls, run = [], Team.run

    def recorded(self, kernel, threads, *arguments):
        run(self, kernel, threads, *arguments)
        if kernel is refinement._refine:
            names = list(inspect.signature(kernel.py_func).parameters)[2:]
            calls.append(dict(zip(names, arguments, strict=True)))

    monkeypatch.setattr(Team, "run", recorded)
    dgraph.leiden(make(*planted(groups=4, size=120, inside=0.15, between=0.03)), theta=0.0)
    for call in calls:
        (offsets, targets, weights, *_), labels, parts = call["rows"], call["labels"], call["parts"]
        source = np.repeat(np.arange(len(labels)), np.diff(offsets))
        crosses = (labels[source] == labels[targets]) & (parts[source] != parts[targets])
        inside = np.bincount(parts[source[crosses]], weights[crosses], len(labels))
        kept = np.unique(parts)
        assert np.array_equal(call["totals"][refinement.INSIDE :: 4][kept], inside[kept])
    assert max(np.unique(call["parts"], return_counts=True)[1].max() for call in calls) > 3
