"""Communities on an emulated GPU are those of CPU threads."""

import weakref

import emulated
import numpy as np
import pytest

import dgraph
from dgraph.algorithms.communities import (
    community_totals,
    gpu_contraction,
    gpu_engine,
    gpu_steps,
    host_engine,
    search_steps,
)
from dgraph.algorithms.communities.search_steps import SearchSteps
from dgraph.backend.cuda.device import pools
from dgraph.comm import SerialComm
from dgraph.errors import ConvergenceWarning, OutOfMemory

pytestmark = [emulated.needs_compiler, pytest.mark.mpi_skip]
N = 220


@pytest.fixture(autouse=True)
def small_tables(monkeypatch):
    """Let rows of more than 96 arcs be folded in chunks of 64."""
    monkeypatch.setattr(gpu_steps, "WARP_SLOTS", {True: 64, False: 64})


def graph_of(weights=None, seed=1, m=1400):
    """Return a graph with hubs, loops, parallel edges, isolated vertices and a component of two vertices."""
    rng = np.random.default_rng(seed)
    src, dst = ((N - 10) * rng.random((2, m)) ** 2).astype(int)
    src[0], dst[0] = N - 4, N - 3
    costs = {None: None, "integers": rng.integers(0, 5, m), "floats": rng.random(m)}[weights]
    options = {"n": N, "directed": False, "keep_loops": True, "keep_parallel": True, "comm": SerialComm()}
    return dgraph.Graph.from_edges(src, dst, costs, **options)


def check(name, graph, **options):
    """Run on a CPU and on the emulated GPU, and compare."""
    wanted = dgraph.run(name, graph, **options)
    result = dgraph.run(name, graph.on(device=emulated.backend()), validate=True, **options)
    for column, values in wanted.columns.items():
        np.testing.assert_array_equal(result.columns[column], values)
    assert result.summary == wanted.summary
    return result


@pytest.mark.parametrize("options", [
    {"levels": 2}, {"resolution": 2.5}, {"metric": "cpm", "resolution": 0.3}, {"n_iterations": -1, "resolution": 0.5},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("name", ["louvain", "leiden"])
def test_labels_are_those_of_a_cpu(name, options):
    check(name, graph_of(), **options)


@pytest.mark.parametrize("weights", ["floats", "integers"])
@pytest.mark.parametrize("name", ["leiden", "louvain"])
def test_labels_of_weighted_graphs(name, weights):
    check(name, graph_of(weights), metric="cpm" if weights == "integers" else "modularity")


@pytest.mark.parametrize("options", [{"theta": 0.0}, {"metric": "cpm", "resolution": 0.1}], ids=str)
def test_a_search_starts_from_communities_with_isolated_vertices(options):
    check("leiden", graph_of(m=300), initial=np.arange(N) % 9, n_iterations=1, **options)


@pytest.mark.parametrize(("name", "weights"), [("louvain", None), ("leiden", "floats")])
def test_vertices_move_one_by_one_where_rounds_gain_nothing(name, weights, monkeypatch):
    for engine in (host_engine.HostEngine, gpu_engine.GpuEngine):

        def move(self, partition, salts, go_on, least=0, share=0, active=None, of_engine=engine.move, **named):
            return of_engine(self, partition, salts, go_on, least, share) if active is None else 0

        monkeypatch.setattr(engine, "move", move)
    check(name, graph_of(weights), n_iterations=1, resolution=2.0)


@pytest.mark.parametrize("mutant", [None, ("rows > (u64)groups * CROWD", "false")], ids=["", "few"])
def test_rounds_of_many_vertices_have_more_sub_rounds(mutant, monkeypatch):
    for module in (community_totals, gpu_steps):
        monkeypatch.setattr(module, "CROWD", 3)
    monkeypatch.setattr(gpu_steps, "text", gpu_steps.text.__wrapped__)
    backend = emulated.backend()
    backend.device.mutants = () if mutant is None else (mutant,)
    wanted = dgraph.run("louvain", graph_of())
    labels = dgraph.run("louvain", graph_of().on(device=backend)).columns["community"]
    assert np.array_equal(labels, wanted.columns["community"]) == (mutant is None)


@pytest.mark.parametrize(("weights", "mutant"), [
    (None, None), ("integers", None), ("integers", ("group = e < last ?", "group = e + 1 < last ?")),
], ids=["unit", "integers", "last arc"])  # fmt: skip
def test_levels_may_keep_several_arcs_between_two_vertices(weights, mutant, monkeypatch):
    levels, gathered = [], gpu_engine.GpuEngine._gathered
    monkeypatch.setattr(gpu_contraction, "DENSE", 0)
    monkeypatch.setattr(gpu_engine.GpuEngine, "_gathered", lambda *args: levels.append(gathered(*args)) or levels[-1])
    backend = emulated.backend()
    backend.device.mutants = () if mutant is None else (mutant,)
    wanted, result = (dgraph.run("leiden", graph_of(weights).on(device=device)) for device in ("cpu", backend))
    equal = np.array_equal(result.columns["community"], wanted.columns["community"])
    assert (equal and result.summary == wanted.summary) == (mutant is None)
    assert len(levels) > 2


def test_vertices_after_one_that_moved_choose_again(monkeypatch):
    for engine in (host_engine.HostEngine, gpu_engine.GpuEngine):
        monkeypatch.setattr(engine, "move", lambda *args, **named: 0)
    check("louvain", graph_of(), n_iterations=1)
    mutant, backend = ("i += first < count ? first + 1 : count", "i += count"), emulated.backend()
    backend.device.mutants = (mutant,)
    labels = [
        dgraph.run("louvain", graph).columns["community"] for graph in (graph_of(), graph_of().on(device=backend))
    ]
    assert backend.device.changed == {mutant}
    assert not np.array_equal(*labels)


@pytest.mark.parametrize("mutant", [None, ("env.own_sums[c.j] = 0;", "")], ids=["", "kept"])
def test_chunks_of_a_row_share_its_table(mutant, monkeypatch):
    monkeypatch.setattr(gpu_steps, "ARCS_OF_A_TILE", 500)  # chunks of 1 to 8 tiles
    rng, backend = np.random.default_rng(3), emulated.backend()  # vertex 0 has an arc to each of 1,000
    backend.device.mutants = () if mutant is None else (mutant,)
    src, dst = np.concatenate([[np.zeros(999, int), np.arange(1, 1000)], rng.integers(1, 1000, (2, 1400))], axis=1)
    graph = dgraph.Graph.from_edges(src, dst, directed=False, comm=SerialComm())
    wanted, result = (dgraph.run("louvain", graph.on(device=device)) for device in ("cpu", backend))
    assert np.array_equal(result.columns["community"], wanted.columns["community"]) == (mutant is None)


@pytest.mark.parametrize("most", [1, 7])
def test_rounds_stop_at_the_limit(most):
    graph, options = graph_of(), dgraph.Options(max_rounds=most)
    with pytest.warns(ConvergenceWarning):
        wanted = dgraph.run("leiden", graph, options=options)
    with pytest.warns(ConvergenceWarning):
        result = dgraph.run("leiden", graph.on(device=emulated.backend()), options=options)
    np.testing.assert_array_equal(result.columns["community"], wanted.columns["community"])
    assert (result.rounds, result.summary) == (wanted.rounds, wanted.summary)
    assert result.rounds == most


@pytest.mark.parametrize("most", [1, 3])
def test_a_launch_of_few_rounds_gives_the_same_labels(most, monkeypatch):
    monkeypatch.setattr(gpu_engine, "AT_ONCE", most)
    monkeypatch.setattr(gpu_steps, "GRIDS", ((1, 30, 1), (20, 120, 2), (100, 1 << 40, 2)))
    assert check("leiden", graph_of()).rounds > 3


@pytest.mark.parametrize(
    "mutant", [None, ("(env.parts, chosen)) return;", "(env.parts, chosen)) return; else return;")], ids=["", "return"]
)
def test_pieces_of_random_communities(mutant, monkeypatch):
    searches, backend = [], emulated.backend()
    monkeypatch.setattr(SearchSteps, "communities", lambda self, labels: searches.append(self) or (labels, 0, 0))
    backend.device.mutants = () if mutant is None else (mutant,)
    for graph in (graph_of(), graph_of().on(device=backend)):
        dgraph.run("louvain", graph)
    n = searches[0].level.n
    labels = np.random.default_rng(1).integers(0, 8, n)
    pieces = [
        search.engine.connected(search.level, labels.astype(kind))
        for search, kind in zip(searches, (np.int32, np.uint32), strict=True)
    ]
    assert 8 < len(np.unique(pieces[0])) < n
    assert np.array_equal(*pieces) == (mutant is None)


def searches_of(graph, monkeypatch):
    """Return the search of a run that ends before its first step."""
    searches = []
    with monkeypatch.context() as patch:
        patch.setattr(SearchSteps, "communities", lambda self, labels: searches.append(self) or (labels, 0, 0))
        dgraph.run("louvain", graph)
    return searches[0]


@pytest.mark.parametrize(("few", "mutant"), [
    (4096, None), (20, None), (4096, ("atomicAdd(env.pairs + key, sum)", "")),
    (4096, ("if (pair[k] == own) inner +=", "if (false) inner +=")),
    (4096, (" + env.pairs[gpu + k * (u64)count + i]", "")),
], ids=["few", "many", "beside the table", "inner", "one direction"])  # fmt: skip
def test_a_contraction_to_few_groups_is_that_of_a_cpu(few, mutant, monkeypatch):
    for module in (gpu_contraction, gpu_steps):
        monkeypatch.setattr(module, "FEW_FILLED", few)
    monkeypatch.setattr(gpu_steps, "text", gpu_steps.text.__wrapped__)
    results, filled, backend = [], [], emulated.backend()
    paired = gpu_contraction.GpuContraction._paired
    count = lambda *args: filled.append(args[-1]) or paired(*args)  # noqa: E731
    monkeypatch.setattr(gpu_contraction.GpuContraction, "_paired", count)
    backend.device.mutants = () if mutant is None else (mutant,)
    for device, kind in (("cpu", np.int32), (backend, np.uint32)):
        search = searches_of(graph_of("integers").on(device=device), monkeypatch)
        coarse, groups = search.engine.coarse(search.level, (np.arange(search.level.n) // 4 * 4).astype(kind))
        offsets, targets, weights, mass, *_ = coarse.rows if device == "cpu" else coarse.rows.values()
        matrix = np.zeros((coarse.n, coarse.n), np.int64)
        np.add.at(matrix, (np.repeat(np.arange(coarse.n), np.diff(offsets)), targets), weights.astype(np.int64))
        results.append([matrix, mass, groups, np.sum(coarse.loops)])
    assert filled == ([] if few == 20 else [np.count_nonzero(results[0][0].any(axis=1))])
    assert all(map(np.array_equal, *results)) == (mutant is None)


@pytest.mark.parametrize(("device", "mutant"), [
    ("cpu", None), ("gpu", None), ("gpu", ("env.slack[env.targets[e]] = NO_SLACK;", ";")),
    ("gpu", ("return place != env.proposed[v] || (", "return false && (")),
    ("gpu", ("(u64)env.mass[v]) + (u64)env.mass[v]);\n    });\n}\n\n// Mark",
             "(u64)0));\n    });\n}\n\n// Mark")),
], ids=["cpu", "gpu", "neighbours", "members", "outflow"])  # fmt: skip
def test_bounds_outlive_other_labels(device, mutant, monkeypatch):
    """Vertices that gain after communities were split, joined and renamed are those that a fresh partition shows."""
    graph = dgraph.Graph.load("roadnet:24x24", weights="unit", device="cpu")
    labels = np.asarray(dgraph.run("louvain", graph).columns["community"])
    backend = emulated.backend()
    backend.device.mutants = () if mutant is None else (mutant,)
    search = searches_of(graph if device == "cpu" else graph.on(device=backend), monkeypatch)
    engine, level, kind = search.engine, search.level, np.int32 if device == "cpu" else np.uint32
    lowest, equal, kept = (-np.inf if device == "cpu" else gpu_engine.NO_SLACK), True, 0
    for seed in range(8):
        rng, wanted = np.random.default_rng(seed), labels.copy()
        partition = engine.partition(level, labels.astype(kind))
        engine.gaining(partition)
        names = np.unique(labels)
        split, first, second = rng.choice(names, 3, replace=False)
        members = np.flatnonzero(labels == split)
        wanted[members[rng.integers(1, len(members)) :]] = members[-1]
        wanted[wanted == first] = second
        wanted = rng.permutation(level.n)[wanted]
        engine.take(partition, wanted.astype(kind))
        slack = partition.slack if device == "cpu" else partition.bounds["slack"]
        kept += np.count_nonzero(slack > lowest)
        flags, count = engine.gaining(engine.partition(level, wanted.astype(kind)))
        bounded, bounded_count = engine.gaining(partition)
        equal &= np.array_equal(flags, bounded) and count == bounded_count
        np.testing.assert_array_equal(partition.labels, wanted)
    assert equal == (mutant is None)
    assert kept > 8 * level.n / 2
    if mutant is not None:
        assert backend.device.changed == {mutant}


@pytest.mark.parametrize("free", [1, 2])
def test_a_first_turn_leaves_moves_one_by_one_to_the_next(free, monkeypatch):
    monkeypatch.setattr(search_steps, "FEW", 3)
    monkeypatch.setattr(search_steps, "FREE", free)
    monkeypatch.setattr(search_steps, "USEFUL", 1)
    turns, settle = [], SearchSteps._settle
    monkeypatch.setattr(SearchSteps, "_settle", lambda *args: turns.append(settle(*args)) or turns[-1])
    graph = dgraph.Graph.load("rmat:9,symmetric", weights="unit", device="cpu")
    for name in ("louvain", "leiden"):
        check(name, graph)
    assert [settled for _, settled in turns].count(False) in (2, 4)


@pytest.mark.parametrize(
    "mutant",
    [
        None,
        ("others <= 0 ||", "true ||"),
        ("env.inflow[old] = env.inflow[taken] = 0;", ""),
        ("salt + 1) & (DRAWS", "salt) & (DRAWS"),
    ],
    ids=["", "all", "sums", "draw"],
)
def test_balanced_rounds_are_those_of_a_cpu(mutant, monkeypatch):
    monkeypatch.setattr(search_steps, "FEW", 3)
    monkeypatch.setattr(search_steps, "FREE", 0)
    graph, backend = dgraph.Graph.load("rmat:9,symmetric", weights="unit", device="cpu"), emulated.backend()
    backend.device.mutants = () if mutant is None else (mutant,)
    wanted, result = (dgraph.run("louvain", which) for which in (graph, graph.on(device=backend)))
    assert np.array_equal(result.columns["community"], wanted.columns["community"]) == (mutant is None)


@pytest.mark.parametrize("mutant", [
    None, (", drift = 0;", ";"), ("weight /= (double)((i64)1 << env.patience)", "weight += 0"),
    ("(estimate ? 0 : earlier)", "earlier"),
], ids=["", "drift", "share", "earlier"])  # fmt: skip
def test_estimates_of_long_rows_are_those_of_a_cpu(mutant, monkeypatch):
    monkeypatch.setattr(search_steps, "MANY", 4)
    graph, backend = dgraph.Graph.load("rmat:9,symmetric", weights="unit", device="cpu"), emulated.backend()
    backend.device.mutants = () if mutant is None else (mutant,)
    for name in ("louvain", "leiden"):
        wanted = dgraph.run(name, graph).columns["community"]
        labels = dgraph.run(name, graph.on(device=backend), validate=mutant is None).columns["community"]
        assert np.array_equal(labels, wanted) == (mutant is None)


def test_a_limit_of_sizes_is_served_by_the_host():
    result = check("leiden", graph_of(m=300), max_size=5)
    assert dgraph.community_table(graph_of(m=300), result)["size"].max() <= 5


@pytest.mark.parametrize("metric", ["modularity", "cpm"])
def test_vertices_without_arcs_are_not_in_level_0_and_count(metric, monkeypatch):
    src, dst, costs = [0, 2, 2, 4, 6], [2, 5, 2, 4, 7], [1, 2, 1, 3, 0]
    options = {"n": 9, "directed": False, "keep_loops": True, "comm": SerialComm()}
    graph = dgraph.Graph.from_edges(src, dst, costs, **options)
    result = check("louvain", graph, metric=metric, resolution=0.5, initial=np.arange(9) // 6)
    np.testing.assert_array_equal(result.columns["community"], [0, 1, 0, 3, 4, 0, 6, 7, 8])
    if metric == "modularity":
        assert result.summary[metric] == pytest.approx(dgraph.modularity(graph, result, resolution=0.5))
    for device in ("cpu", emulated.backend()):
        assert searches_of(graph.on(device=device), monkeypatch).level.n == 3


def test_level_0_is_kept_for_the_next_call(monkeypatch):
    metrics, level_of = [], gpu_contraction.GpuContraction.level_of
    monkeypatch.setattr(
        gpu_contraction.GpuContraction, "level_of", lambda *args: metrics.append(args[-1]) or level_of(*args)
    )
    monkeypatch.setattr(pools, "give_back", lambda *_: None)
    backend = emulated.backend()
    graph = graph_of("floats", m=120).on(device=backend)
    labels = [
        dgraph.run("louvain", graph, metric=metric).columns["community"] for metric in ("cpm", *2 * ["modularity"])
    ]
    assert metrics == [True, False]
    pools.drop_caches(None, 0, weakref.ref(backend.device))
    np.testing.assert_array_equal(dgraph.run("louvain", graph).columns["community"], labels[1])
    assert metrics == [True, False, False]
    np.testing.assert_array_equal(labels[1], labels[2])


def test_a_graph_without_edges():
    check("leiden", dgraph.Graph.from_edges([], [], n=5, directed=False, comm=SerialComm()))


def test_too_little_memory_is_refused():
    graph, backend = graph_of(), emulated.backend()
    backend.device.memory = 120_000
    with pytest.raises(OutOfMemory, match="leiden on a GPU"):
        dgraph.run("leiden", graph.on(device=backend))


@pytest.mark.parametrize("mutant", [
    ("a.label < b.label", "a.label > b.label"),
    ("c > own && own_size == 1", "false && own_size == 1"),
    ("(before == after ? 2 : 1)", "1"),
    ("if (after != taken && !(flags & ACTIVE)) env.active[u] = flags | ACTIVE;", ""),
    ("flags & MOVING ? env.proposed[u] : before", "before"),
    ("if (flags & BOUNDED) cross", "if (false) cross"),
    ("(KNOWN(env.part_sizes + part) == 1 && group_of(part, env.salt, GROUPS) == group)", "false"),
    ("taken == own ? 0 - x : old == own ? 2 * x : x", "0 - x"),
    ("(double)total<alone>(env.mass_of + own) + drift", "-1e18"),
    ("times(gained, (u64)env.share)", "gained"),
    ("room.gained += ", "room.gained = "),
], ids=lambda mutant: mutant[0][:20])  # fmt: skip
def test_mutants_give_other_labels(mutant):
    graph = graph_of()
    backend = emulated.backend()
    backend.device.mutants = (mutant,)
    wanted = dgraph.run("leiden", graph, resolution=2.5)
    result = dgraph.run("leiden", graph.on(device=backend), resolution=2.5)
    assert backend.device.changed == {mutant}
    assert not np.array_equal(result.columns["community"], wanted.columns["community"])
