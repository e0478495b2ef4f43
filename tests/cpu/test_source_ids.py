"""Pulls of predecessors: ids of in-neighbours, which are not loaded where vertices are numbered by them."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

import dgraph
from dgraph.backend.cpu.round import machine
from dgraph.backend.cpu.round.state import NUMBERED
from dgraph.comm import SerialComm

N = 60


@pytest.fixture
def numbered(monkeypatch) -> list[bool]:
    """Return a list with True for each machine that starts and takes vertices as numbered by ids, else False."""
    words, start = [], machine.CpuMachine.start

    def recorded(self, initial):
        words.append(bool(self.words[NUMBERED]))
        start(self, initial)

    monkeypatch.setattr(machine.CpuMachine, "start", recorded)
    return words


def test_predecessors_are_original_ids(numbered):
    positions = np.arange(N)
    for ids in (positions, 3 * positions + 1, positions + (positions == N - 1)):
        numbered.clear()
        check_predecessors(ids)
        assert set(numbered) == {ids[-1] == N - 1}


def check_predecessors(ids):
    """Compare both kinds of predecessors on a random graph of these ids with its levels."""
    rng = np.random.default_rng(5)
    dense = rng.random((N, N)) < 0.2
    np.fill_diagonal(dense, False)
    arcs = np.nonzero(dense)
    graph = dgraph.Graph.from_edges(
        ids[arcs[0]], ids[arcs[1]], sparse_ids=True, comm=SerialComm(), device=dgraph.Cpu(threads=1)
    )
    levels = shortest_path(csr_array(dense.astype(float)), unweighted=True, indices=7)
    closer = dense & (levels[:, None] + 1 == levels[None, :])
    below = np.flatnonzero(levels > 0)
    for kind in ("smallest", "any"):
        columns = dgraph.run(
            "bfs", graph, source=int(ids[7]), predecessors=kind, options=dgraph.Options(direction="pull")
        ).gather()
        np.testing.assert_array_equal(columns["vertex"], ids)
        parents = np.searchsorted(ids, columns["predecessor"][below])
        np.testing.assert_array_equal(ids[parents], columns["predecessor"][below])
        assert closer[parents, below].all()
        if kind == "smallest":
            np.testing.assert_array_equal(parents, closer.argmax(axis=0)[below])
