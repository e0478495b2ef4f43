"""Searches from the nearest of several sources, against SciPy's ``dijkstra(min_only=True)`` and single searches."""

from functools import cache

import emulated
import numpy as np
import pytest
from battery import by_turns
from flat_run import flat_run
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import dgraph
from dgraph.cli import main
from dgraph.comm import world
from dgraph.result.columns import UNREACHED

N = 200
GRAPHS = ("skewed", "far", "zeros", "floats")
SOURCES = ([7], [3, 150, 60], list(range(0, N, 9)))


@cache
def edges(name):
    """Return sources, targets and weights of distinct arcs; "far": a path with few short cuts."""
    rng = np.random.default_rng(GRAPHS.index(name))
    src, dst = rng.integers(0, N, 500) ** 2 // N, rng.integers(0, N - 1, 500)
    if name == "far":
        src, dst = np.append(np.arange(N - 2), [5, 90]), np.append(np.arange(1, N - 1), [40, 120])
    src, dst = np.unique(np.stack([src, dst])[:, src != dst], axis=1)
    weights = rng.integers(0 if name == "zeros" else 1, 3 if name == "zeros" else 40, src.size)
    return src, dst, weights / 7 if name == "floats" else weights


def loaded(name):
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    return dgraph.Graph.from_edges(*(column[mine] for column in edges(name)), n=N, comm=comm)


def whole(result):
    """Return the columns of all ranks, by vertex."""
    columns = {name: np.concatenate(result.comm.allgatherv(values)) for name, values in result.columns.items()}
    order = np.argsort(columns["vertex"])
    return {name: values[order] for name, values in columns.items()}


def check(name, algorithm, sources, **flat):
    result = flat_run(algorithm, loaded(name), sources=sources, min_only=True, validate=True, **flat)
    assert result.report["outcome"]["validation"]["passed"]
    answer, (src, dst, weights) = whole(result), edges(name)
    weights = np.ones(src.size) if algorithm == "multi_source_bfs" else weights
    singles = dijkstra(csr_array((np.where(weights, weights, 1e-9), (src, dst)), (N, N)), indices=sources)
    singles = singles if name == "floats" else singles.round()
    distance = singles.min(axis=0)
    reached = np.isfinite(distance)
    np.testing.assert_array_equal(np.isfinite(distance), answer["source"] >= 0)
    np.testing.assert_allclose(answer["distance"][reached], distance[reached], rtol=1e-12)
    assert np.all(answer["distance"][~reached] == (np.inf if answer["distance"].dtype.kind == "f" else UNREACHED))
    row = {source: k for k, source in enumerate(sources)}
    rows = [row[source] for source in answer["source"][reached].tolist()]
    np.testing.assert_allclose(singles[rows, np.flatnonzero(reached)], distance[reached], rtol=1e-12)
    child = np.flatnonzero(reached & ~np.isin(np.arange(N), sources))
    np.testing.assert_array_equal(np.flatnonzero(answer["predecessor"] >= 0), child)
    np.testing.assert_array_equal(answer["source"][answer["predecessor"][child]], answer["source"][child])
    assert result.summary["reached"] == reached.sum()
    far = int(child[np.argmax(distance[child])])
    path = result.path(far)
    assert (path[0], path[-1]) == (answer["source"][far], far)
    assert result.path(int(np.flatnonzero(~reached)[0])) == []
    return result


ALGORITHMS = ["multi_source_bfs", "multi_source_sssp"]


@pytest.mark.mpi
@by_turns("algorithm, name, sources, policy", ALGORITHMS, GRAPHS, SOURCES, ["oec", "cvc", "hash"], of=4)
def test_the_nearest_source(algorithm, name, sources, policy):
    check(name, algorithm, sources, policy=policy)


@pytest.mark.mpi
@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [{"direction": "push"}, {"direction": "pull"}, {"sync": "poison"}], ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_options_do_not_change_it(algorithm, options):
    for name in GRAPHS:
        check(name, algorithm, SOURCES[1], **options)


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [{}, {"small": -1}], ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_on_gpus(algorithm, options):
    for name in GRAPHS:
        check(name, algorithm, SOURCES[1], backend=emulated.backend(**options), allow_gpu_sharing=True)


@pytest.mark.mpi
def test_one_source_is_a_single_search():
    for algorithm, single in zip(ALGORITHMS, ("bfs", "sssp"), strict=True):
        nearest, alone = check("zeros", algorithm, [7]), dgraph.run(single, loaded("zeros"), source=7)
        for column in ("distance", "predecessor"):
            np.testing.assert_array_equal(whole(nearest)[column], whole(alone)[column])


def predecessors_of(name, **flat):
    """Check the predecessors from each source: SciPy's distances, and the columns of single searches."""
    sources = SOURCES[1]
    result = flat_run(
        "multi_source_sssp", loaded(name), sources=sources, return_predecessors=True, validate=True, **flat
    )
    assert result.report["outcome"]["validation"]["passed"]
    answer, (src, dst, weights) = whole(result), edges(name)
    cost = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weights.tolist(), strict=True))
    singles = dijkstra(csr_array((np.where(weights, weights, 1e-9), (src, dst)), (N, N)), indices=sources)
    singles = singles if name == "floats" else singles.round()
    for source, distance in zip(sources, singles, strict=True):
        before = answer[f"predecessor_{source}"]
        child = np.flatnonzero(np.isfinite(distance) & (np.arange(N) != source))
        np.testing.assert_array_equal(np.flatnonzero(before >= 0), child)
        along = [cost[pair] for pair in zip(before[child].tolist(), child.tolist(), strict=True)]
        np.testing.assert_allclose(distance[before[child]] + along, distance[child], rtol=1e-12)
        alone = whole(dgraph.sssp(loaded(name), source))
        np.testing.assert_array_equal(before, alone["predecessor"])


@pytest.mark.mpi
@pytest.mark.parametrize("name", GRAPHS)
def test_predecessors_from_each_source(name):
    predecessors_of(name)


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", GRAPHS)
def test_predecessors_from_each_source_on_gpus(name):
    predecessors_of(name, backend=emulated.backend(), allow_gpu_sharing=True)


@pytest.mark.mpi
def test_a_depth_limit():
    result = dgraph.multi_source_bfs("path:20", sources=[3, 12], min_only=True, depth_limit=2, validate=True)
    answer = whole(result)
    np.testing.assert_array_equal(np.flatnonzero(answer["source"] == 3), np.arange(1, 6))
    np.testing.assert_array_equal(np.flatnonzero(answer["source"] == 12), np.arange(10, 15))
    assert (answer["source"] == -1).sum() == 10


def within(name, cutoff, **flat):
    """Check distances up to a cutoff against SciPy's ``limit``, of the nearest source and of each."""
    (src, dst, weights), sources = edges(name), SOURCES[1]
    costs = csr_array((np.where(weights, weights, 1e-9), (src, dst)), (N, N))
    singles = dijkstra(costs, indices=sources, limit=cutoff + 1e-6)
    singles = singles if name == "floats" else singles.round()
    for min_only in (True, False):
        result = flat_run(
            "multi_source_sssp", loaded(name), sources=sources, cutoff=cutoff, min_only=min_only, validate=True, **flat
        )
        assert result.report["outcome"]["validation"]["passed"]
        answer = whole(result)
        columns = [answer["distance"]] if min_only else [answer[f"distance_{source}"] for source in sources]
        for column, wanted in zip(columns, [singles.min(axis=0)] if min_only else singles, strict=True):
            far = UNREACHED if column.dtype.kind == "i" else np.inf
            np.testing.assert_allclose(np.where(column == far, np.inf, column), wanted, rtol=1e-12, atol=1e-7)
            assert 0 < np.isfinite(wanted).sum() < N
        if min_only:
            np.testing.assert_array_equal(answer["source"] >= 0, np.isfinite(singles.min(axis=0)))


@pytest.mark.mpi
@by_turns("name, cutoff, policy", GRAPHS, [0, 2, 37.5], ["oec", "cvc"], of=3)
def test_a_cutoff(name, cutoff, policy):
    within(name, cutoff / 7 if name == "floats" else cutoff, policy=policy)


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", GRAPHS)
def test_a_cutoff_on_gpus(name):
    within(name, 4.5, backend=emulated.backend(), allow_gpu_sharing=True)


@pytest.mark.mpi_skip
def test_names_and_the_command_line(tmp_path):
    (tmp_path / "g.txt").write_text("home shop\nshop work\npark work\nsea lake\n")
    path = tmp_path / "near.csv"
    words = ["multi_source_bfs", str(tmp_path / "g.txt"), "--ids", "string", "--min-only", "--validate", "-q"]
    assert main([*words, "--sources", "home", "--sources", "park", "--output", str(path)]) == 0
    rows = dict(line.split(",", 1) for line in path.read_text().splitlines())
    assert rows["vertex"] == "distance,source,predecessor"
    assert rows["work"] == "1,park,park"
    assert rows["lake"] == ",,"
