"""Who tells and who looks, where predecessors are found on GPUs: on any number of ranks, the smallest id among those
that will do."""

from functools import cache
from pathlib import Path

import emulated
import numpy as np
import oracles
import pytest
from battery import by_turns

import dgraph
from dgraph.algorithms import bfs
from dgraph.backend import cuda
from dgraph.backend.cuda import CudaBackend
from dgraph.comm import world
from dgraph.engine import Context
from dgraph.errors import UsageError

pytestmark = pytest.mark.mpi
SOURCE, N = 211, 300
WAYS = {
    "one kernel": {}, "hosts agree": {"host_rounds": True}, "ranks agree": {"reach": 0}, "overlap": {"overlap": True},
    "ahead": {"local_rounds": True},
}  # fmt: skip


@cache
def edges(directed):
    """Sources, targets and what is right: a path leads from the source to hubs that most vertices lie behind."""
    rng = np.random.default_rng(5)
    name = rng.permutation(N)
    name[[np.flatnonzero(name == SOURCE)[0], 0]] = name[[0, np.flatnonzero(name == SOURCE)[0]]]
    src = np.concatenate([[0, 0, 1, 2], rng.integers(3, 9, 900), rng.integers(9, N - 20, 300)])
    dst = np.concatenate([[1, 2, 3, 4], rng.integers(3, N - 60, 900), rng.integers(3, N - 20, 300)])
    src, dst, _ = oracles.simple(name[src], name[dst], np.ones(src.size, np.int64))
    if not directed:
        src, dst, _ = oracles.simple(*oracles.symmetric(src, dst), np.ones(2 * src.size, np.int64))
    ones = np.ones(src.size, np.int64)
    hops = oracles.bfs(N, src, dst, SOURCE)
    tree = oracles.predecessors(N, src, dst, ones, [None if hop < 0 else int(hop) for hop in hops], SOURCE)
    leaving = np.bincount(hops[src][hops[src] >= 0], minlength=hops.max() + 1)
    return src, dst, tree, leaving.tolist()


@pytest.fixture
def programs(monkeypatch):
    """Names of programs, in order, and edges by round after the first."""
    ran, run = [], Context.run

    def noted(self, program, state=None):
        left = run(self, program, state)
        ran.append((type(program).__name__, self.record.rounds.frontier_edges()))
        return left

    monkeypatch.setattr(Context, "run", noted)
    return ran


def found(directed, backend, **more):
    """Whether every predecessor is right."""
    src, dst, tree, _ = edges(directed)
    comm = world()
    keep = slice(None) if directed else src < dst
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[keep][mine], dst[keep][mine], n=N, directed=directed, comm=comm)
    sharing = {"allow_gpu_sharing": True} if backend != "cpu" else {}
    result = dgraph.run("bfs", graph, source=SOURCE, backend=backend, **sharing, **more)
    columns = result.columns
    np.testing.assert_array_equal(columns["predecessor"], tree[columns["vertex"]])


@pytest.fixture
def eager(monkeypatch):
    """Vertices tell where that saves any edge at all."""
    monkeypatch.setattr(bfs, "SAVED", 0)
    monkeypatch.setattr(bfs, "LEAST", 1)


@emulated.needs_compiler
@by_turns("way, directed, policy", [*WAYS], [False, True], ["oec", "iec", "cvc", "hash"], of=4)
def test_some_tell_and_others_look(way, directed, policy, eager, programs):
    found(directed, emulated.backend(**WAYS[way]), policy=policy)
    names, (first, *_) = [name for name, _ in programs], [leaving for _, leaving in programs]
    if way == "ahead" and world().size > 1:
        assert names == ["Hops", "PushedParents" if directed else "Parents"]
    else:
        assert names == ["Levels", "PushedParents", "LaterParents"]
        assert first == edges(directed)[3]


@emulated.needs_compiler
@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_all_look_where_little_is_saved(policy, programs):
    found(False, emulated.backend(), policy=policy)
    assert [name for name, _ in programs] == ["Levels", "Parents"]


@emulated.needs_compiler
def test_all_look_where_telling_has_no_room(eager, programs, monkeypatch):
    plan = CudaBackend._plan

    def refused(self, traced, *more):
        if type(traced.program) is bfs.PushedParents:
            raise UsageError("no room")
        return plan(self, traced, *more)

    monkeypatch.setattr(CudaBackend, "_plan", refused)
    found(False, emulated.backend())
    assert [name for name, _ in programs] == ["Levels", "Parents"]


@emulated.needs_compiler
def test_all_look_where_a_checkpoint_may_go_on(eager, programs, tmp_path):
    found(False, emulated.backend(), checkpoint=Path(world().bcast_json(str(tmp_path))) / "ck")
    assert [name for name, _ in programs] == ["Levels", "Parents"]


@pytest.mark.parametrize("directed", [False, True])
def test_cpus_look(directed, eager, programs):
    found(directed, "cpu")
    assert [name for name, _ in programs] == ["Levels", "Parents"]


@pytest.mark.parametrize(
    ("leaving", "least", "last"),
    [
        ([], 0, 1),
        ([5], 0, 1),
        ([1, 10, 900], 0, 2),
        ([1, 10, 900, 9000], 0, 3),
        ([1, 10, 900, 9000, 10], 0, 3),
        ([1, 10, 900], 840, 2),
        ([1, 10, 900], 841, 1),
        ([900, 10, 20], 0, 1),
        ([1000, 500, 400, 300], 0, 1),
    ],
)
def test_split(leaving, least, last):
    assert bfs.split(leaving, least) == last


@emulated.needs_compiler
@pytest.mark.parametrize("before", [None, "bfs", "undirected"])
def test_nearer_neighbours_are_looked_for_where_edges_by_target_are_there(before, programs, monkeypatch):
    """Else once they have been wished for often enough: not on the first run, before the graph is on its GPUs."""
    monkeypatch.setattr(cuda, "WISHES", 2)
    directed = before != "undirected"
    src, dst, _, _ = edges(directed)
    weights = 1 + (src + dst) % 7
    tree = oracles.predecessors(N, src, dst, weights, oracles.sssp(N, src, dst, weights, SOURCE), SOURCE)
    comm, backend = world(), emulated.backend()
    keep = np.flatnonzero(directed | (src < dst))[comm.rank :: comm.size]
    graph = dgraph.Graph.from_edges(src[keep], dst[keep], weights[keep], n=N, directed=directed, comm=comm)
    more = {"source": SOURCE, "backend": backend, "allow_gpu_sharing": True}
    if before == "bfs":
        dgraph.run("bfs", graph, **more)
    last = []
    for _ in range(3):
        columns = dgraph.run("sssp", graph, **more).columns
        np.testing.assert_array_equal(columns["predecessor"], tree[columns["vertex"]])
        last.append(programs[-1][0])
    told, looked = "PushedNearerParents", "NearerParents"
    assert last == ([told, told, looked] if before is None else [looked] * 3)
