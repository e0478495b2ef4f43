"""Hints of pulls: in-neighbours that earlier searches met, where a search of the same graph looks first."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

import dgraph
from dgraph.backend.cpu.round import machine
from dgraph.backend.cpu.round.state import LAST_HINT, NO_EDGES
from dgraph.comm import SerialComm
from dgraph.result.columns import UNREACHED

PULLS = dgraph.Options(direction="pull")
N = 60


def edges_of(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the different arcs of a random directed graph in which hubs have low ids and some vertices no in-edges."""
    rng = np.random.default_rng(seed)
    arcs = np.unique(np.stack([rng.integers(0, N, 300) ** 2 // N, rng.integers(5, N, 300)], 1), axis=0)
    arcs = arcs[arcs[:, 0] != arcs[:, 1]]
    return arcs[:, 0], arcs[:, 1]


def levels_of(arcs: tuple[np.ndarray, np.ndarray], source: int) -> np.ndarray:
    """Return SciPy's hops from the source; infinite where there is no path."""
    return shortest_path(csr_array((np.ones(arcs[0].size), arcs), shape=(N, N)), unweighted=True, indices=source)


def loaded(arcs: tuple[np.ndarray, np.ndarray]) -> dgraph.Graph:
    return dgraph.Graph.from_edges(*arcs, n=N, directed=True, comm=SerialComm(), device=dgraph.Cpu(threads=1))


def hops(graph: dgraph.Graph, source: int, **parameters) -> np.ndarray:
    """Return levels as SciPy writes them, and check any predecessors."""
    columns = dgraph.run("bfs", graph, source=source, options=PULLS, **parameters).gather()
    levels = np.where(columns["distance"] == UNREACHED, np.inf, columns["distance"])
    if parameters.get("predecessors") == "any":
        below = np.flatnonzero((levels > 0) & (levels < np.inf))
        np.testing.assert_array_equal(levels[columns["predecessor"][below]] + 1, levels[below])
    return levels


@pytest.fixture
def hints(monkeypatch) -> list[np.ndarray]:
    """Hints of every machine that is made."""
    arrays, make = [], machine.work_arrays

    def recorded(*args, **kwargs):
        arrays.append(kwargs["hints"])
        return make(*args, **kwargs)

    monkeypatch.setattr(machine, "work_arrays", recorded)
    return arrays


def test_hints_are_in_neighbours_and_change_no_level(hints):
    arcs = edges_of(3)
    graph, pairs = loaded(arcs), set(zip(*(ids.tolist() for ids in arcs), strict=True))
    for source in (0, 7, 20, 0, 41):
        for parameters in ({"return_predecessors": False}, {"predecessors": "any"}):
            np.testing.assert_array_equal(hops(graph, source, **parameters), levels_of(arcs, source))
    assert all(array is hints[0] for array in hints[1:] if array.size), "a search forgets what others met"
    entered = np.isin(np.arange(N), arcs[1])
    assert not entered.all()
    np.testing.assert_array_equal(hints[0] == NO_EDGES, ~entered)
    met = np.flatnonzero(hints[0] > NO_EDGES)
    assert met.size > N // 2
    assert {(int(LAST_HINT - hints[0][v]), int(v)) for v in met} <= pairs


def test_a_search_looks_at_hints(hints):
    arcs = np.array([0, 1, 2]), np.array([1, 2, 3])
    graph = loaded(arcs)
    assert hops(graph, 0, return_predecessors=False)[3] == 3
    hints[0][3] = LAST_HINT - 0  # there is no arc 0 → 3
    assert hops(graph, 0, return_predecessors=False)[3] == 1


def test_a_graph_with_fewer_edges_has_hints_of_its_own():
    arcs = edges_of(5)
    graph = loaded(arcs)
    hops(graph, 0, return_predecessors=False)
    kept = (arcs[0] + arcs[1]) % 3 > 0
    fewer = graph.filter_edges(lambda e: (e.source + e.target) % 3 > 0)
    rest = arcs[0][kept], arcs[1][kept]
    assert (levels_of(rest, 0) != levels_of(arcs, 0)).any()
    np.testing.assert_array_equal(hops(fewer, 0, return_predecessors=False), levels_of(rest, 0))
