"""Searches from many sources on an emulated GPU: levels and rows of every kind, scaled numbers, evicted results."""

import emulated
import numpy as np
import pytest
import simulated
from flat_run import flat_run

import dgraph
from dgraph.algorithms.many_sources.betweenness import dependencies_cuda
from dgraph.algorithms.many_sources.betweenness.dependency_programs import DependenciesByPrograms
from dgraph.algorithms.many_sources.gpu import source_rows
from dgraph.algorithms.many_sources.reach_programs import ReachByPrograms
from dgraph.comm import SerialComm
from dgraph.errors import DataError

pytestmark = [emulated.needs_compiler, pytest.mark.mpi_skip]
NEVER = 1 << 60


@pytest.fixture(autouse=True)
def only_kernels(monkeypatch):
    monkeypatch.setattr(DependenciesByPrograms, "solve", None)
    monkeypatch.setattr(ReachByPrograms, "solve", None)


def set_sizes(monkeypatch, dense=12, short=4, long=8, push=NEVER, part=4):
    for name, value in (("DENSE", dense), ("SHORT", short), ("LONG", long), ("PART", part)):
        monkeypatch.setattr(source_rows, name, value)
    monkeypatch.setattr(dependencies_cuda, "PUSH", push)


def random_graph(directed, n=300, m=1500):
    some = simulated.skewed(n, m, directed=True)
    return dgraph.Graph.from_edges(some.src, some.dst, n=n, directed=directed, comm=SerialComm())


def grid(width, length):
    """Return a grid with diagonals, in which numbers of shortest paths grow fast."""
    vertices = np.arange(width * length).reshape(length, width)
    pairs = [(vertices[:-1, k], vertices[1:, j]) for k in range(width) for j in range(width)]
    src, dst = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    return dgraph.Graph.from_edges(src, dst, n=width * length, directed=False, comm=SerialComm())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("dense", "short", "long", "push"),
    [
        (0, 4, 8, NEVER), (12, 4, 8, NEVER), (NEVER, 4, 8, NEVER), (NEVER, 4, 4096, NEVER), (NEVER, 4096, 4096, NEVER),
        (12, 4, 8, 0), (12, 4, 8, 30),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [1, 2, 11])
def test_betweenness(count, dense, short, long, push, directed, monkeypatch):
    """Frontiers that are small, large and both; that push and do not; rows by few threads, by warps and in parts."""
    set_sizes(monkeypatch, dense, short, long, push)
    graph = random_graph(directed)
    for more in ({"endpoints": True}, {"normalized": False}):
        expected = dgraph.bc(graph, k=count, **more)
        answer = [flat_run("bc", graph, backend=emulated.backend(), k=count, **more).columns["bc"] for _ in range(2)]
        np.testing.assert_allclose(answer[0], expected.columns["bc"], 1e-12, 1e-15)
        np.testing.assert_array_equal(*answer)


def test_scaled_numbers_of_paths(monkeypatch):
    """Factors are powers of two, so that scaling changes no bit; numbers that differ too much are refused."""
    set_sizes(monkeypatch)
    graph, sources = grid(3, 40), [0, 1, 61]
    plain = flat_run("bc", graph, backend=emulated.backend(), sources=sources).columns["bc"]
    monkeypatch.setattr(dependencies_cuda, "LARGE", 2.0**20)
    monkeypatch.setattr(dependencies_cuda, "DOWN", 2.0**-24)
    scaled = flat_run("bc", graph, backend=emulated.backend(), sources=sources).columns["bc"]
    np.testing.assert_array_equal(scaled, plain)
    monkeypatch.setattr(dependencies_cuda, "LEAST", 2.0**10)
    with pytest.raises(DataError, match=r"differ by a factor of more than 2\^900"):
        flat_run("bc", graph, backend=emulated.backend(), sources=sources)


MUTANTS = [
    ("other = LANES; other < WIDTH", "other = LANES; other < WIDTH / 2"),
    ("k < BLOCK / 32; k++) all += parts", "k < BLOCK / 64; k++) all += parts"),
    ("p < end; p++) sum.of +=", "p + 1 < end; p++) sum.of +="),
    ("return LANES == 1 ? bit_of(env.active, v) : env.now[v];", "return 255;"),
    ("mark_end(env.found, v);", ""),
    (
        "add(env.paths +",
        "*(env.paths + (u64)v * LANES + lane) = env.paths[(u64)u * LANES + lane]; if (0) add(env.paths +",
    ),
    ("* sum * env.factors[rank]", "* sum"),
    ("others &= ~(1u << k)", "others &= others"),
    ("mark_parts(env.in, env.marked", "if (0) mark_parts(env.in, env.marked"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_betweenness_are_rejected(mutant, monkeypatch):
    for push, large in ((NEVER, 2.0**500), (0, 2.0**500), (NEVER, 2.0**10)):
        set_sizes(monkeypatch, 0, push=push, part=40)
        monkeypatch.setattr(dependencies_cuda, "LARGE", large)
        monkeypatch.setattr(dependencies_cuda, "DOWN", 2.0**-12)
        for graph in (random_graph(False), random_graph(True), grid(3, 40)):
            backend = emulated.backend()
            backend.device.mutants = (mutant,)
            expected = dgraph.bc(graph, k=11, endpoints=True).columns["bc"]
            try:
                answer = flat_run("bc", graph, backend=backend, k=11, endpoints=True).columns["bc"]
            except DataError:
                return
            assert backend.device.changed == {mutant}
            if not np.allclose(answer, expected, 1e-9, 1e-12):
                return
    pytest.fail("every answer was right")


def test_columns_of_an_evicted_result():
    """Distances that are read on the GPU, by piece of a column, and after they left it."""
    graph = random_graph(False)
    sources = np.arange(0, 300, 3)[:70].tolist()
    expected = dgraph.multi_source_bfs(graph, sources=sources)
    backend = emulated.backend()
    answer = flat_run("multi_source_bfs", graph, backend=backend, sources=sources)
    names = list(expected.columns)
    assert names == list(answer.columns)
    some = [5, 0, 299]
    np.testing.assert_array_equal(answer.columns.rows(names[3], some), expected.columns[names[3]][some])
    np.testing.assert_array_equal(answer.columns[names[2]], expected.columns[names[2]])
    answer.columns._given[names[3]].table.leave(backend.device.number, backend.device)
    for name in names[1:]:
        np.testing.assert_array_equal(answer.columns[name], expected.columns[name])


MUTANTS_OF_SEARCHES = [
    ("if (rank < WORDS) tally.sources |= found;", ""),
    ("other < WIDTH; other <<= 1) found |=", "other < WIDTH / 2; other <<= 1) found |="),
    ("p < end; p++) found |=", "p + 1 < end; p++) found |="),
    ("if (depth >> b & 1) env.digits", "if (depth >> b & 2) env.digits"),
    ("if (some_long) mark_parts(", "if (0) mark_parts("),
    ("if (!ballot_of<WIDTH>((missing & ~found) != 0)) end = 0;", "if (!ballot_of<WIDTH>(found == 0)) end = 0;"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", MUTANTS_OF_SEARCHES)
def test_mutants_of_searches_are_rejected(mutant, monkeypatch):
    for dense, long in ((0, 8), (NEVER, 4096)):
        set_sizes(monkeypatch, dense, 4, long, part=40)
        for graph in (random_graph(False), random_graph(True)):
            for count in (60, 150):
                backend = emulated.backend()
                backend.device.mutants = (mutant,)
                expected = dgraph.multi_source_bfs(graph, k=count)
                answer = flat_run("multi_source_bfs", graph, backend=backend, k=count)
                assert backend.device.changed == {mutant}
                if any((answer.columns[name] != expected.columns[name]).any() for name in expected.columns):
                    return
    pytest.fail("every answer was right")


@pytest.mark.parametrize("seed", [1, -5])
def test_sources_are_those_of_the_host(seed):
    for n, count in ((3000, 1), (3000, 90), (300, 100)):
        graph = random_graph(False, n)
        expected = dgraph.reachability(graph, k=count, random_state=seed)
        answer = flat_run("reachability", graph, backend=emulated.backend(), k=count, random_state=seed)
        assert list(answer.columns) == list(expected.columns)
