"""Certificate of components where two arcs a row leave a component in several trees: all arcs are visited then."""

import itertools

import numpy as np
import pytest
from simulated import Graph, on_ranks

from dgraph.validate import validate
from dgraph.validate.component_forest import ComponentForest

pytestmark = pytest.mark.mpi_skip
RANKS = 3


def cliques() -> np.ndarray:
    """Return the edges of three cliques, one a rank, of which the last one's rows begin with two arcs to the first."""
    inside = [pair for first in (0, 4, 8) for pair in itertools.combinations(range(first, first + 4), 2)]
    return np.array(inside + [(v, u) for v in range(8, 12) for u in (0, 1, 4)]).T


@pytest.mark.parametrize("algorithm", ["scc", "cc"])
@pytest.mark.parametrize(("labels", "passed"), [([0] * 12, True), ([0] * 4 + [4] * 4 + [0] * 4, False)])
def test_labels_of_several_trees(labels, passed, algorithm, monkeypatch):
    graph = Graph(12, *cliques(), directed=False)
    calls, lowest = [], ComponentForest.lowest

    def counted(self, quick=False):
        values = lowest(self, quick)
        calls.append((quick, values.max()))
        return values

    monkeypatch.setattr(ComponentForest, "lowest", counted)

    def work(comm):
        mine = np.arange(comm.rank, 12, comm.size)
        columns = {"vertex": mine + 1, "labels": np.array(labels)[mine] + 1}
        return validate(algorithm, graph.block(comm), columns, comm, parameters={}, rounds=1).passed

    assert on_ranks(RANKS, work) == [passed] * RANKS
    assert max(most for quick, most in calls if quick) == 4  # the second clique is a tree of its own
    assert {most for quick, most in calls if not quick} == ({0} if passed else set())  # else its arcs refuse the label


@pytest.mark.parametrize(("algorithm", "lacking"), [("scc", "and no arcs inside lead"), ("cc", "but no path joins")])
def test_one_label_of_two_components(algorithm, lacking):
    graph = Graph(12, *cliques()[:, :18], directed=False)

    def work(comm):
        columns = {"vertex": np.arange(comm.rank, 12, comm.size) + 1}
        columns["labels"] = np.where(columns["vertex"] > 8, 9, 1)
        return validate(algorithm, graph.block(comm), columns, comm, parameters={}, rounds=1).failure

    (failure,) = set(on_ranks(RANKS, work))
    assert f"vertex 5 has label 1, {lacking}" in failure
