"""Breadth-first search in one persistent kernel on emulated GPUs: rounds that push and pull, small and large."""

from functools import cache

import numpy as np
import oracles
import pytest
import simulated
from emulated import needs_compiler
from gpu_ranks import field, run

from dgraph.algorithms.bfs_programs import Levels, Parents
from dgraph.algorithms.cc import Labels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.backend.cuda.codegen import exchange_state
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.launcher import Launcher
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.errors import InternalError
from dgraph.program import trace
from dgraph.program.analysis import sends_vertex_sets

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
FAR = 2**31 - 1
POLICIES = ("oec", "iec", "cvc", "hvc,threshold=4", "hash")
ALWAYS_BITS, ALWAYS_POSITIONS = 0, 1 << 18


@cache
def crowd(directed: bool):
    """Return a path into a dense part, and one out of it to a star.

    From 200, bfs pushes, pulls and pushes again, and a large round follows small ones.
    """
    some = simulated.skewed(150, 900, directed)
    into, out, back = np.arange(200, 206), np.arange(210, 240), np.arange(239, 245)
    src = np.concatenate([some.src, into, [206], [140], out, back, [245]])
    dst = np.concatenate([some.dst, into + 1, [0], [210], out + 1, back + 1, [300]])
    burst = np.arange(301, 390)
    src, dst = np.append(src, np.full(burst.size, 300)), np.append(dst, burst)
    src, dst = np.append(src, burst[:-1]), np.append(dst, burst[1:])
    return simulated.graph(400, src[src != dst], dst[src != dst], directed)


@cache
def stairs():
    """Return layers of ten vertices, each joined to all of the next: a twentieth of the edges per round."""
    width, layers = 10, 20
    here, there = np.arange(width).repeat(width), np.tile(np.arange(width), width)
    step = width * np.arange(layers).repeat(width * width)
    src, dst = np.tile(here, layers) + step, np.tile(there, layers) + step + width
    top = width * (layers + 1)
    return simulated.graph(top + 1, np.append(src, np.full(width, top)), np.append(dst, np.arange(width)))


@cache
def hubs():
    """Return four hubs with a third of all vertices each: from 399, these few pull all other vertices."""
    hub = np.arange(4) * 100
    leaves = np.setdiff1d(np.arange(398), hub)
    src = np.concatenate([hub.repeat(130), leaves[:-1], np.full(4, 399)])
    dst = np.concatenate([*(leaves[k : k + 390 : 3] for k in range(4)), leaves[1:], hub])
    return simulated.graph(400, src, dst)


def levels(graph, source, most=FAR):
    src, dst, _ = graph.arcs()
    distances = oracles.bfs(graph.n, src, dst, source)
    return np.where((distances < 0) | (distances > most), FAR, distances)


def kept(results):
    return [row[:4] for row in results[0][2].rounds.kept]


REFERENCES: dict = {}
"""Arguments → graph (kept alive, since its id is in the key) and result of rounds with the host's allreduce."""


def both(size, graph, source=200, **choices):
    """Return the search's result after a comparison with rounds that end in the host's allreduce.

    Frontiers are equal. Directions are equal, too, except of small rounds that are walked before the direction is known
    on all ranks (multi_gpu_rounds.cuh).
    """
    options = choices.pop("options", GpuPlan(reach=4))
    mutant = choices.pop("mutant", None)
    (ours,) = run(size, graph, [Levels(source=source + 1)], options=options, mutant=mutant, **choices)
    asked = size, id(graph), source, *sorted(choices.items())
    if asked not in REFERENCES:
        options_there = GpuPlan(host_rounds=True, small=-1)
        (hosts,) = run(size, graph, [Levels(source=source + 1)], options=options_there, **choices)
        REFERENCES[asked] = graph, hosts
    _, hosts = REFERENCES[asked]
    np.testing.assert_array_equal(field(ours, "level", graph.n), levels(graph, source))
    np.testing.assert_array_equal(field(hosts, "level", graph.n), levels(graph, source))
    ways = slice(0, 4, 1 if options.small <= 0 else 2)
    assert [row[ways] for row in kept(ours)] == [row[ways] for row in kept(hosts)]
    assert [row[3] for row in kept(ours)] == [row[3] for row in kept(hosts)]
    return ours


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_every_policy_comes_to_the_levels_of_the_oracle(size, policy, directed):
    ways = [row[1] for row in kept(both(size, crowd(directed), policy=policy))]
    changes = [traversal for traversal, before in zip(ways, [None, *ways], strict=False) if traversal != before]
    assert changes[:3] == ["push", "pull", "push"]


@pytest.mark.parametrize("policy", ["oec", "iec", "hash", "cvc"])
def test_few_hubs_are_told_of_as_they_are_listed(policy):
    ways = [row[1] for row in kept(both(3, hubs(), source=399, policy=policy))]
    assert ways[:2] == ["push", "pull"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("small", [ALWAYS_BITS, 5, ALWAYS_POSITIONS])
@pytest.mark.parametrize("direction", ["push", "pull", "flip"])
@pytest.mark.parametrize("policy", ["oec", "iec", "hash"])
def test_every_direction_and_kind_of_message(policy, direction, small):
    for directed in (True, False):
        both(3, crowd(directed), policy=policy, direction=direction, options=GpuPlan(reach=4, small=small))


@pytest.mark.exhaustive
@pytest.mark.parametrize("choice", [{"sync": "poison"}, {"sync": "full"}, {"blocks": 1}, {"blocks": 3}])
def test_syncs_and_grids(choice):
    for directed in (True, False):
        both(3, crowd(directed), policy="cvc", **choice)


def test_directions_change_as_hosts_would_change_them():
    for policy in ("oec", "cvc"):
        both(2, stairs(), source=210, policy=policy, options=GpuPlan(reach=4, small=0))


@pytest.mark.exhaustive
def test_where_vertices_are_numbered_by_degree():
    for policy in ("oec", "hash"):
        both(4, crowd(False), policy=policy, options=GpuPlan(reach=4, renumber=True))


@pytest.mark.parametrize(
    ("n", "m", "directed", "source", "without", "within"),
    [(200, 1600, True, 120, (19, 5), (7, 1)), (150, 900, False, 1, (26, 5), (14, 2))],
)
def test_a_search_asks_its_host_once(n, m, directed, source, without, within, monkeypatch, launched, late_ranks):
    """Compare launches and reads with those of rounds that end on the host; a first pull is launched again."""
    looks, read = [], GpuMachine.read

    def noted(self):
        looks.extend([self.round] if self.local.gids[0] == 0 else [])
        read(self)

    monkeypatch.setattr(GpuMachine, "read", noted)
    for reach, wanted in ((0, without), (4, within)):
        (results,) = run(2, simulated.skewed(n, m, directed), [Levels(source=source)], options=GpuPlan(reach=reach))
        pulls = kept(results)[0][1] == "pull"
        assert (len(launched), len(looks)) == wanted
        assert (pulls, launched.count("persistent_bfs")) == (source == 1, bool(reach) * (1 + pulls))
        launched.clear(), looks.clear()


@cache
def multitude(directed: bool):
    """Return a graph so large that a warp of one block takes 32 words at a time.

    Vertices from 20,000 on have few edges: leaves of hubs and of others, isolated vertices, and a ring that is not
    reachable.
    """
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 20_000, 100_000) ** 2 // 20_000, rng.integers(0, 20_000, 100_000)
    leaves = rng.permutation(np.arange(20_000, 35_000))[:7_500]
    parents = np.where(leaves % 3 == 0, rng.integers(0, 20_000, leaves.size), leaves % 7)
    strangers = np.arange(35_000, 36_000)
    src, dst = np.concatenate([src, parents, strangers]), np.concatenate([dst, leaves, np.roll(strangers, 1)])
    return simulated.graph(36_000, src[src != dst], dst[src != dst], directed)


SPARSE = {
    "one that looks is left out": (": at < all, dense);", ": at + 1 < all, dense);"),
    "first neighbours are taken for all": ("& env.in_multiple[first + lane_id()]", "& 0"),
    "nobody is thought to have edges": ("v < env.leaving", "false"),
}


@pytest.mark.parametrize("name", [pytest.param(None, marks=pytest.mark.exhaustive), *SPARSE])
def test_lanes_take_vertices_of_several_words(name):
    """Check late pulls, and vertices whose first neighbour is not active."""

    def search():
        for size, policy, directed in ((1, "oec", True), (1, "oec", False), (2, "oec", True), (2, "iec", False)):
            choices = {"policy": policy, "blocks": 1, "options": GpuPlan(reach=4, renumber=True)}
            results = both(size, multitude(directed), 0, mutant=SPARSE.get(name), **choices)
            assert [row[1] for row in kept(results)].count("pull") >= 2

    if name is None:
        search()
    else:
        with pytest.raises(AssertionError):
            search()


def test_small_rounds_in_a_row_are_left_to_their_kernel_and_broad_ones_taken_back(launched):
    """Check that the search hands small rounds over, and afterwards rebuilds its bitmap of reached vertices."""
    both(3, crowd(True), policy="oec", options=GpuPlan(reach=4, small=20))
    rounds = [name for name in launched if name in ("persistent_bfs", "multi_gpu_rounds")]
    assert rounds[0] == "persistent_bfs"
    assert "multi_gpu_rounds" in rounds
    assert "persistent_bfs" in rounds[rounds.index("multi_gpu_rounds") :]


@pytest.mark.exhaustive
@pytest.mark.parametrize("few", ["-1", "1 << 40"])
def test_behind_which_round_it_leaves_does_not_show(few):
    for directed in (True, False):
        mutant = ("MAILED * (env.others + 1)", few)
        both(3, crowd(directed), policy="oec", options=GpuPlan(reach=4, small=20), mutant=mutant)


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_limit_of_rounds_is_met_exactly(limit):
    """Check rounds and levels; the frontier is left as a list."""

    def limited(context):
        context.max_rounds = limit

    (results,) = run(2, crowd(True), [Levels(source=201)], wrapped=limited, options=GpuPlan(reach=4))
    np.testing.assert_array_equal(field(results, "level", 400), levels(crowd(True), 200, limit))
    assert [(state.rounds, state.finished) for _, state, _ in results] == [(limit, False)] * 2


def test_a_limit_of_the_program_is_not_overrun():
    (results,) = run(2, crowd(True), [Levels(source=201, limit=9)], options=GpuPlan(reach=4))
    np.testing.assert_array_equal(field(results, "level", 400), levels(crowd(True), 200, 9))


@pytest.mark.exhaustive
def test_ranks_that_want_to_see_their_hosts_after_every_round(monkeypatch):
    monkeypatch.setattr(exchange_state, "HOST_CHECK_TIME", -1)
    for policy in ("oec", "cvc"):
        for directed in (True, False):
            both(3, crowd(directed), policy=policy)


def test_programs_of_which_only_who_is_reached_travels():
    weight = np.dtype(np.int32)
    may = {type(p).__name__: sends_vertex_sets(trace(p, weight)) for p in (Levels(), Parents(), Labels(), Distances())}
    assert may == {"Levels": True, "Parents": False, "Labels": False, "Distances": False}


@pytest.mark.parametrize("hub", [True, False])
def test_skewed_graphs_are_searched_so_unless_told_otherwise(hub, launched):
    to = np.arange(1, 400)
    graph = simulated.graph(400, np.zeros(399, np.int64) if hub else to - 1, to, directed=False)
    (results,) = run(3, graph, [Levels(source=1)], policy="hash", options=GpuPlan())
    np.testing.assert_array_equal(
        field(results, "level", 400), np.minimum(np.arange(400), 1) if hub else np.arange(400)
    )
    assert ("persistent_bfs" in launched) == hub


def test_hosts_that_agree_keep_their_rounds(launched):
    run(2, crowd(True), [Levels(source=201)], options=GpuPlan(reach=4, host_rounds=True))
    assert "persistent_bfs" not in launched


def test_a_rank_that_does_not_answer_is_named(monkeypatch):
    """Check the error if rank 1 skips the kernel, as if it hung.

    Rank 1 then waits for rank 0 in the next kernel, so either may give up first.
    """
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "0.3")
    launch = Launcher.launch

    def skips(self, module, kernel, *args, **more):
        if not (module == "persistent_bfs" and self.graph.local.gids[0]):
            launch(self, module, kernel, *args, **more)

    monkeypatch.setattr(Launcher, "launch", skips)
    with pytest.raises(InternalError, match=r"rank 0 waited for .* rank 1( gave up| for more than 0.3 s)"):
        run(2, crowd(True), [Levels(source=201)], options=GpuPlan(reach=4))


MUTANTS = {
    "what was reached is not looked up again": ("if (FRESH(&post->seen) != round) look_again();", "", True),
    "bits are no list": ("if (mode == PUSH && was_mode == PULL) bits_to_list();", "", False),
    "a list is no bits": ("if (is_listed) list_to_bits(active);", "", False),
    "mirrors do not hear": ("& masters_in((u64)i)) | word;", "& masters_in((u64)i));", False),
    "mirrors' bits are not moved to positions": ("peer.first + 32 * w);", "32 * w);", False),
    "hits on mirrors stay": ("env.hits[i] = word & ~own;", "env.hits[i] = 0;", False),
    "what is bits is taken for positions": ("if (many != COUNT_IN_HEAD) {", "if (false) {", False),
    "masters that are listed are not told": ("if (mask) out[w] = word & mask;", "if (mask) out[w] = 0;", False),
    "edges that are walked stay unexplored": ("if (mode == PUSH) s.unexplored = s.unexplored - edges;", "", False),
    "edges behind the first are not looked at": ("smaller(env.in_offsets[v] + after, last)", "last", False),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_fail(name):
    old, new, returns = MUTANTS[name]

    def search():
        for policy in ("oec", "hash"):
            for directed in (True, False):
                for small in [20] if returns else [ALWAYS_BITS, ALWAYS_POSITIONS]:
                    options = GpuPlan(reach=4, small=small)
                    both(3, crowd(directed), policy=policy, options=options, mutant=(old, new))
        both(2, stairs(), source=210, options=GpuPlan(reach=4, small=0), mutant=(old, new))
        both(3, hubs(), source=399, policy="iec", mutant=(old, new))
        both(4, crowd(False), options=GpuPlan(reach=4, renumber=True), mutant=(old, new))

    with pytest.raises(AssertionError):
        search()
