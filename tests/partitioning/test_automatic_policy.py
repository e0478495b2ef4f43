"""METIS, and the policy that ``auto`` chooses."""

import itertools
import sys

import numpy as np
import pytest
from placements import balance, placed
from simulated import battery, graph, grid, on_ranks, skewed, star, succeed

from partitioning import PolicyError, plan, samples
from partitioning.policies import automatic, metis
from partitioning.policies import gather_root as whole
from partitioning.policies.edge_cut import oec
from partitioning.quality import cut

GRAPHS = battery()


def test_metis_cuts_little_evenly_and_the_same_every_time():
    case = grid(40, seed=5)
    src, dst, _ = case.arcs()
    first, again = placed(case, "metis", 4)[0], placed(case, "metis", 4)[0]
    owner = first.owner(np.arange(case.n))
    assert np.mean(owner[src] != owner[dst]) < 0.06
    assert balance(np.bincount(owner[src], minlength=4)) < 1.05
    assert np.array_equal(owner, again.owner(np.arange(case.n)))


def test_metis_weighs_vertices_by_their_arcs():
    case = skewed(600, 6000, directed=True)
    arcs_of_parts = np.bincount(placed(case, "metis", 4)[0].edge_owner(*case.arcs()[:2]), minlength=4)
    assert balance(arcs_of_parts) < 1.15


def test_metis_gets_an_undirected_graph_without_loops_or_parallel_edges():
    starts, neighbours = metis.adjacency(4, np.array([3, 1, 0, 2]), np.array([0, 1, 1, 0, 3, 0]), directed=True)
    rows = [neighbours[a:b].tolist() for a, b in itertools.pairwise(starts)]
    assert rows == [[1, 3], [0], [], [0]]
    starts, neighbours = metis.adjacency(3, np.array([3, 2, 0]), np.array([0, 1, 1, 0, 0]), directed=False)
    assert (starts.tolist(), neighbours.tolist()) == ([0, 1, 2, 2], [1, 0])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda patch: patch.setattr(whole, "free_memory", lambda: 1000.0), "need about"),
        (lambda patch: patch.setitem(sys.modules, "pymetis", None), "pip install pymetis"),
        (lambda patch: patch.setattr(metis, "_partition", lambda *_, **__: 1 // 0), "METIS gave up (ZeroDivisionError"),
    ],
)
def test_metis_refuses_on_every_rank(change, text, monkeypatch):
    change(monkeypatch)
    for error in on_ranks(3, lambda comm: plan("metis", GRAPHS["mesh"].block(comm), comm.size, comm)):
        assert isinstance(error, PolicyError)
        assert text in str(error)
        assert "take 'oec'" in str(error)


def random_ends(n, edges):
    """Return the ends of random edges between ``n`` vertices."""
    return np.random.default_rng(2).integers(0, n, (2, edges))


def communities():
    """Return a hundred cliques of 20, each joined to the next, with permuted ids."""
    inside = np.array([(20 * c + u, 20 * c + v) for c in range(100) for u in range(20) for v in range(u)])
    between = np.array([(20 * c, 20 * c + 21) for c in range(99)])
    ids = np.random.default_rng(3).permutation(2000)
    return graph(2000, *ids[np.concatenate([inside, between])].T, directed=False)


@pytest.mark.parametrize(
    ("case", "ranks", "taken", "reason"),
    [
        (grid(80, seed=5), 4, "metis", "blocks would cut"),
        (graph(9000, np.arange(8999), np.arange(1, 9000)), 4, "oec", "near ids"),
        (grid(40, seed=5), 4, "oec", "too few"),
        (skewed(3000, 60_000, directed=True), 4, "oec", "not a road's or a mesh's"),
        (graph(3000, *random_ends(3000, 30_000)), 4, "ldg", "LDG cuts"),
        (communities(), 4, "ldg", "LDG cuts"),
        (star(1000, directed=True), 4, "hvc", "1000 of 1000 arcs"),
        (star(1000, directed=False), 4, "hvc", "1000 of 2000 arcs"),
        (star(1000, directed=False), 5, "hvc", "1000 of 2000 arcs"),
        (star(90, directed=True), 4, "cvc", "90 of 90 arcs"),
        (star(2, directed=True), 4, "oec", "would not improve it"),
        (graph(9001, np.arange(1, 9001), np.zeros(9000)), 4, "oec", "largest 9000"),
        (graph(5, [], []), 4, "oec", "too few"),
        (grid(40, seed=5), 1, "oec", "one rank"),
    ],
    ids=[
        "mesh",
        "path",
        "small mesh",
        "skewed",
        "sparse",
        "communities",
        "hub",
        "hub both ways",
        "hub, prime P",
        "small hub",
        "two arcs",
        "into a hub",
        "no arcs",
        "one rank",
    ],
)
def test_auto(case, ranks, taken, reason):
    first = placed(case, "auto", ranks)[0]
    assert first.policy == taken
    assert reason in first.reason
    assert bool(first.warning) == reason.endswith((" arcs", "improve it"))


def test_auto_does_without_metis(monkeypatch):
    monkeypatch.setattr(automatic, "MOST", 100)
    first = placed(grid(80, seed=5), "auto", 4)[0]
    assert (first.policy, "too large to wait" in first.reason) == ("oec", True)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pymetis", None)
    first = placed(grid(80, seed=5), "auto", 4)[0]
    assert (first.policy, "pip install pymetis" in first.reason) == ("oec", True)


def never(*_):
    raise AssertionError("a partitioner was called")


class Counted:
    """Communicator that counts its collectives."""

    def __init__(self, comm):
        self.comm, self.calls = comm, []

    def __getattr__(self, name):
        value = getattr(self.comm, name)
        if callable(value):
            self.calls.append(name)
        return value


def test_auto_takes_blocks_after_five_collectives():
    def calls(comm):
        counted = Counted(comm)
        edges = skewed(2000, 200_000, directed=False).block(comm)
        assert plan("auto", edges, comm.size, counted).policy == "oec"
        return counted.calls

    assert succeed(4, calls)[0] == ["allgather", "allreduce", "allreduce", "allgatherv", "allreduce"]


@pytest.mark.parametrize(
    "case",
    [
        grid(40, seed=5),
        skewed(300, 3000, directed=True),
        skewed(2000, 120_000, directed=True),
        skewed(2000, 200_000, directed=False),
        graph(9000, np.arange(8999), np.arange(1, 9000)),
    ],
    ids=["small mesh", "small and skewed", "hubs", "hubs both ways", "path"],
)
def test_auto_sees_in_a_sample_that_no_partitioner_wins(case, monkeypatch):
    for name in ("ldg", "metis", "in_offsets"):
        monkeypatch.setattr(automatic, name, never)
    assert {placement.policy for placement in placed(case, "auto", 3)} == {"oec"}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("case", [communities(), skewed(2000, 60_000, directed=True), graph(5, [], [])])
def test_samples_estimate_what_all_arcs_say(case, ranks, monkeypatch):
    exact = succeed(ranks, lambda comm: cut(case.block(comm), oec(case.block(comm), 4, comm), comm))
    monkeypatch.setattr(samples, "ARCS", 4000)
    estimates = succeed(ranks, lambda comm: samples.cut(case.block(comm), oec(case.block(comm), 4, comm), comm))
    assert estimates == pytest.approx(exact, abs=0.02)
    assert len(set(estimates)) == 1


def test_communities_close_wedges_and_hubs_do_not():
    inside, by_chance = succeed(3, lambda comm: samples.closed_wedges(communities().block(comm), comm))[0]
    assert inside > 0.9 * samples.WEDGES > 0.1 * samples.WEDGES > by_chance
    hubs = skewed(2000, 60_000, directed=True)
    closed, by_chance = succeed(3, lambda comm: samples.closed_wedges(hubs.block(comm), comm))[0]
    assert closed == pytest.approx(by_chance, rel=0.2)
    whole = graph(5, *np.argwhere(np.eye(5) == 0).T)
    assert succeed(2, lambda comm: samples.closed_wedges(whole.block(comm), comm))[0][0] > 0.99 * samples.WEDGES
    assert succeed(2, lambda comm: samples.closed_wedges(graph(5, [], []).block(comm), comm))[0] == (0, 0)
