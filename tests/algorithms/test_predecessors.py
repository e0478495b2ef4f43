"""Predecessors on any number of ranks: the smallest valid ids, for searches of any depth; and when they are pulled."""

from functools import cache

import emulated
import numpy as np
import oracles
import pytest
from battery import by_turns
from flat_run import flat_run

import dgraph
from dgraph.backend.cuda import backend
from dgraph.comm import world
from dgraph.engine.rounds.context import Context

pytestmark = pytest.mark.mpi
SOURCE, SIDE, LAYERS = 2, 4, 260
N = SIDE * LAYERS


@cache
def edges(directed):
    """Return sources, targets, right hops and predecessors of a graph of layers.

    Each layer is joined to itself and the next, so vertices have many edges and large distances. The directed graph
    also has arcs from the last layers to the first.
    """
    of = np.arange(N) // SIDE
    src, dst = np.nonzero(np.abs(of[:, None] - of) <= 1)
    if directed:
        src, dst = np.append(src, np.arange(N - 40, N)), np.append(dst, np.arange(40))
    name = np.random.default_rng(3).permutation(N)
    name[[0, np.flatnonzero(name == SOURCE)[0]]] = SOURCE, name[0]
    src, dst, ones = oracles.simple(name[src], name[dst], np.ones(src.size, np.int64))
    hops = oracles.bfs(N, src, dst, SOURCE)
    return src, dst, hops, oracles.predecessors(N, src, dst, ones, hops.tolist(), SOURCE)


def loaded(directed, weights=None):
    src, dst, *_ = edges(directed)
    comm = world()
    mine = np.flatnonzero(directed | (src < dst))[comm.rank :: comm.size]
    weights = None if weights is None else weights[mine]
    return dgraph.Graph.from_edges(src[mine], dst[mine], weights, n=N, directed=directed, comm=comm)


@pytest.fixture
def programs(monkeypatch):
    """Programs that ran, in order."""
    ran, run = [], Context.run

    def noted(self, program, state=None):
        ran.append(program)
        return run(self, program, state)

    monkeypatch.setattr(Context, "run", noted)
    return ran


@emulated.needs_compiler
@by_turns("backend, limit, directed, direction", ["cpu", "gpu"], [3, 253, 254, None], [False, True], ["auto", "push"],
          of=2)  # fmt: skip
def test_of_any_depth(backend, limit, directed, direction, programs):
    """Check limits of the deepest level in 8 bits, 253, and one more: vertices beyond the limit have no predecessor."""
    _, _, hops, tree = edges(directed)
    more = {"backend": "cpu"} if backend == "cpu" else {"backend": emulated.backend(), "allow_gpu_sharing": True}
    result = flat_run("bfs", loaded(directed), source=SOURCE, depth_limit=limit, direction=direction, **more)
    inside = hops <= (LAYERS if limit is None else limit)
    columns = result.columns
    np.testing.assert_array_equal(columns["predecessor"], np.where(inside, tree, -1)[columns["vertex"]])
    assert hops.max() == LAYERS - 1
    if type(programs[-1]).__name__ == "SmallestTree":  # one CPU rank finds predecessors with the levels
        assert (backend, world().size) == ("cpu", 1)
        return
    narrow = limit is not None and limit <= 253
    assert programs[-1].depth == ("hops" if narrow else "level")
    assert type(programs[-1]).__name__ == ("PushedParents" if directed and direction == "push" else "Parents")


@emulated.needs_compiler
@pytest.mark.parametrize("before", [None, "bfs", "undirected"])
def test_nearer_neighbours_are_looked_for_where_edges_by_target_are_there(before, programs, monkeypatch):
    """Check that predecessors are pulled if the graph has in-edges on its GPU, else from the third run on."""
    monkeypatch.setattr(backend, "PULLS_BEFORE_CSC", 2)
    directed = before != "undirected"
    src, dst, *_ = edges(directed)
    weights = 1 + (src + dst) % 7
    tree = oracles.predecessors(N, src, dst, weights, oracles.sssp(N, src, dst, weights, SOURCE), SOURCE)
    graph = loaded(directed, weights)
    more = {"source": SOURCE, "backend": emulated.backend(), "allow_gpu_sharing": True}
    if before == "bfs":
        flat_run("bfs", graph, **more)
    last = []
    for _ in range(3):
        columns = flat_run("sssp", graph, **more).columns
        np.testing.assert_array_equal(columns["predecessor"], tree[columns["vertex"]])
        last.append(type(programs[-1]).__name__)
    told, looked = "PushedNearerParents", "NearerParents"
    assert last == ([told, told, looked] if before is None else [looked] * 3)
