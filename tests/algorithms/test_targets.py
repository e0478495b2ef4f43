"""Searches with a target, against SciPy: the columns up to it, the certificate, and that they read no more edges."""

from functools import cache
from itertools import pairwise

import emulated
import numpy as np
import pytest
from battery import by_turns
from flat_run import flat_run
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.algorithms.bfs_programs import Levels, LevelsToTarget
from dgraph.comm import world
from dgraph.errors import UsageError
from dgraph.program import trace
from dgraph.result.columns import UNREACHED
from dgraph.validate import validate

N, SOURCE, APART = 300, 2, 299
GRAPHS = ("skewed", "long", "zeros", "floats")
TARGETS = (SOURCE, 5, 77, 150, 284, APART)
CPU_VARIANTS = [
    name for name in ALGORITHMS["sssp"].parameters["variant"].choices if name not in ("auto", "buckets", "gather")
]


@cache
def edges(name):
    """Return sources, targets and weights of distinct arcs, none into APART, whose vertices reach most others."""
    rng = np.random.default_rng(GRAPHS.index(name))
    if name == "long":
        src = np.repeat(np.arange(N - 1), 2)
        dst = np.minimum(src + rng.integers(1, 4, src.size), N - 2)
    else:
        src, dst = rng.integers(0, N, 1200) ** 2 // N, rng.integers(0, N - 1, 1200)
    src, dst = np.unique(np.stack([src, dst])[:, (src != dst) & (dst != APART)], axis=1)
    weights = rng.integers(0 if name == "zeros" else 1, 4 if name == "zeros" else 40, src.size)
    return src, dst, weights / 7 if name == "floats" else weights


@cache
def right(name, algorithm):
    """Return SciPy's distances, which has no arc of weight 0: it gets a small one there, and rounds the sums."""
    src, dst, weights = edges(name)
    weights = np.ones(src.size) if algorithm == "bfs" else np.where(weights, weights, 1e-9)
    distances = dijkstra(csr_array((weights, (src, dst)), (N, N)), indices=SOURCE)
    return distances if name == "floats" and algorithm == "sssp" else distances.round()


def loaded(name):
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    return dgraph.Graph.from_edges(*(column[mine] for column in edges(name)), n=N, comm=comm)


def whole(result, column):
    """Return a column of all ranks by vertex; infinite where unreached, for distances."""
    ids, values = (np.concatenate(result.comm.allgatherv(result.columns[name])) for name in ("vertex", column))
    values = values[np.argsort(ids)]
    return np.where(values == UNREACHED, np.inf, values) if column == "distance" else values


def check(name, algorithm, target, **flat):
    """Run a search to a target, and compare all that it returns."""
    result = flat_run(algorithm, loaded(name), source=SOURCE, target=target, validate=True, **flat)
    assert result.report["outcome"]["validation"]["passed"]
    distances = right(name, algorithm)
    wanted = np.where(distances <= distances[target], distances, np.inf)
    np.testing.assert_allclose(whole(result, "distance"), wanted, rtol=1e-12)
    reached = np.isfinite(distances[target])
    assert (result.summary["target_distance"] is not None) == reached
    assert result.summary["reached"] == np.isfinite(wanted).sum()
    before = whole(result, "predecessor")
    np.testing.assert_array_equal(before >= 0, np.isfinite(wanted) & (np.arange(N) != SOURCE))
    path = result.path(target)
    assert (path[0] == SOURCE and path[-1] == target) if reached else path == []
    src, dst, weights = edges(name)
    cost = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weights.tolist(), strict=True))
    length = sum(1 if algorithm == "bfs" else cost[pair] for pair in pairwise(path))
    assert not reached or length == pytest.approx(distances[target])
    return result


@pytest.mark.mpi
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@by_turns("name, target, policy", GRAPHS, TARGETS, ["oec", "cvc", "hash"], of=3)
def test_the_columns_end_at_the_target(algorithm, name, target, policy):
    check(name, algorithm, target, policy=policy)


@pytest.mark.mpi
@pytest.mark.exhaustive
@pytest.mark.parametrize(("algorithm", "more"), [
    *(("sssp", {"variant": variant}) for variant in CPU_VARIANTS),
    ("sssp", {"delta": 3.0}), ("sssp", {"delta": 1e-3}), ("sssp", {"cutoff": 60.0}), ("sssp", {"direction": "pull"}),
    ("sssp", {"predecessors": "any"}), ("bfs", {"predecessors": "any"}), ("sssp", {"sync": "full"}),
    ("bfs", {"direction": "pull"}), ("bfs", {"direction": "flip"}), ("bfs", {"sync": "poison"}),
    ("sssp", {"sync": "poison"}),
])  # fmt: skip
def test_options_do_not_change_the_answer(algorithm, more):
    for name in GRAPHS[:2] if more.get("variant") == "h-bf" else GRAPHS:
        for target in (77, APART):
            if name == "floats" and more.get("variant") == "h-bf":
                continue
            limit = more.get("cutoff", np.inf)
            if right(name, algorithm)[target] <= limit:
                check(name, algorithm, target, **more)


GPU = [
    {},
    {"small": -1},
    {"local_rounds": True},
    {"host_rounds": True},
    {"direction": "pull"},
    {"variant": "gather"},
    {"variant": "bfs-4k"},
]


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.exhaustive
@pytest.mark.parametrize("how", GPU, ids=str)
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_on_gpus(algorithm, how):
    options = dict(how)
    variant, direction = options.pop("variant", None), options.pop("direction", None)
    variant = variant if (variant == "bfs-4k") == (algorithm == "bfs") else None
    for name in GRAPHS:
        for target in (SOURCE, 150, APART):
            check(
                name, algorithm, target, backend=emulated.backend(**options), allow_gpu_sharing=True, variant=variant,
                direction=direction,
            )  # fmt: skip


@emulated.needs_compiler
@pytest.mark.mpi_skip
def test_one_gpu_stops():
    for algorithm in ("bfs", "sssp"):
        near = int(np.flatnonzero(right("long", "bfs") == 3)[0])
        result = check("long", algorithm, near, backend=emulated.backend())
        full = flat_run(algorithm, loaded("long"), source=SOURCE, backend=emulated.backend())
        assert result.rounds < full.rounds / 2


def read(result):
    """Return the edges that the rounds of a run read."""
    return result.report["rounds"]["frontier_edges"]


@pytest.mark.mpi_skip
@pytest.mark.interpreted
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_a_target_reads_no_more_edges(algorithm):
    """Interpreted rounds relax in one order, so that the two searches can be compared edge by edge.

    With a limit of rounds neither follows the vertices of a bucket, as only the whole search would.
    """
    saved = 0
    for name in GRAPHS:
        graph = loaded(name)
        for more in [{}] if algorithm == "bfs" else [{}, {"delta": 2.0}, {"delta": 500.0}]:
            more |= {"threads": 1, "return_predecessors": False, "max_rounds": 10**6}
            full = read(flat_run(algorithm, graph, source=SOURCE, **more))
            for target in TARGETS:
                result = flat_run(algorithm, graph, source=SOURCE, target=target, **more)
                assert read(result) <= full, (name, target, more)
                saved += full - read(result)
                if target == APART:
                    assert read(result) == full
    assert saved > 0


@pytest.mark.mpi_skip
def test_a_level_is_accepted_once_though_apply_looks_for_the_target():
    assert trace(LevelsToTarget(source=1, target=2), None).once
    assert trace(Levels(source=1), None).once

    class Rewritten(LevelsToTarget):
        monotone = True

        def apply(self, v, g):
            return super().apply(v, g) | {"level": v.level}

    class BySource(LevelsToTarget):
        def edge(self, u, e, v, g):
            return {"level": u.id}

    assert not trace(Rewritten(), None).once
    assert not trace(BySource(), None).once


@pytest.mark.mpi
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_a_wrong_distance_of_the_target_fails(algorithm):
    graph = loaded("skewed")
    result = dgraph.run(algorithm, graph, source=SOURCE, target=150)
    parameters = ALGORITHMS[algorithm](source=SOURCE, target=150).settings()
    distances = whole(result, "distance")
    mine = result.columns["vertex"]

    def passes(changed):
        columns = {name: values.copy() for name, values in result.columns.items()}
        reached = np.isfinite(changed[mine])
        columns["distance"] = np.full(mine.size, UNREACHED)
        columns["distance"][reached] = changed[mine][reached]
        columns["predecessor"] = np.where(reached, columns["predecessor"], -1)
        verdict = validate(
            algorithm, graph.block, columns, graph.comm, parameters=parameters, rounds=result.rounds, converged=True
        )
        return verdict.passed

    def with_target(value):
        changed = distances.copy()
        changed[150] = value
        return changed

    assert passes(distances)
    for wrong in (distances[150] + 1, distances[150] - 1, np.inf):
        assert not passes(with_target(wrong))
    beyond = right("skewed", algorithm)
    assert np.isfinite(beyond).sum() > np.isfinite(distances).sum()
    assert not passes(np.where(np.arange(N) == np.argmax(np.where(np.isinf(beyond), 0, beyond)), beyond, distances))
    dropped = distances.copy()
    dropped[np.flatnonzero(np.isfinite(distances) & (np.arange(N) != 150) & (distances > 0))[0]] = np.inf
    assert not passes(dropped)


@pytest.mark.mpi
def test_weights_below_zero_need_all_distances():
    """The way to 3 leads through a farther vertex."""
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    columns = [[0, 1, 0, 3], [1, 2, 2, 4], [9, -7, 5, 8]]
    graph = dgraph.Graph.from_edges(*(np.array(column)[mine] for column in columns), n=5, comm=comm)
    result = dgraph.sssp(graph, 0, target=2, variant="workfront", validate=True)
    assert result.summary["target_distance"] == 2
    assert result.path(2) == [0, 1, 2]
    assert result.value(1, "distance") == 9


@pytest.mark.mpi
@pytest.mark.filterwarnings("ignore::dgraph.errors.ConvergenceWarning")
def test_a_limit_of_rounds_leaves_the_answer_open():
    result = dgraph.bfs("path:50", 0, target=40, options=dgraph.Options(max_rounds=3))
    assert result.summary["target_distance"] is None
    assert not result.converged


@pytest.mark.mpi
def test_a_changed_graph_goes_on_from_the_answer_to_the_same_target():
    for algorithm in ("bfs", "sssp"):
        graph = dgraph.Graph.load("path:60", weights="1..3", comm=world())
        earlier = dgraph.run(algorithm, graph, source=0, target=50)
        first = world().rank == 0
        changed = graph.with_edges([[3, 40]] if first else None, weights=[1] if first else None)
        later = dgraph.run(algorithm, changed, source=0, target=50, previous=earlier, validate=True)
        fresh = dgraph.run(algorithm, changed, source=0, target=50)
        assert later.summary["target_distance"] == fresh.summary["target_distance"] < earlier.summary["target_distance"]
        np.testing.assert_array_equal(whole(later, "distance"), whole(fresh, "distance"))
        np.testing.assert_array_equal(whole(later, "predecessor"), whole(fresh, "predecessor"))
        with pytest.raises(UsageError, match="target=50"):
            dgraph.run(algorithm, changed, source=0, previous=earlier)


@pytest.mark.mpi
@pytest.mark.parametrize(("target", "error"), [(10, "target 10 is not a vertex"), ("b", "is not an integer")])
def test_what_is_no_vertex_is_refused(target, error):
    for run in (dgraph.bfs, dgraph.sssp):
        with pytest.raises(UsageError, match=error):
            run("path:9", 0, target=target)
    with pytest.raises(UsageError, match=r"target: 1\.5 is not a vertex"):
        dgraph.bfs("path:9", 0, target=1.5)
