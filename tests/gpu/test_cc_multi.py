"""Connected components between emulated GPUs: exchange of the members of the ranks' largest trees.

If these trees are one component, edges between members are skipped.
"""

import numpy as np
import oracles
import pytest
import simulated
from emulated import needs_compiler
from gpu_ranks import field, run

from dgraph.algorithms.cc import UnionFindLabels
from dgraph.algorithms.kernels.components.cc_multi_cuda import ComponentsMulti
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.gpu_options import GpuPlan

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

UNCLEAR, CLEAR = (("OUTSIDE * room.outside < room.all", clear) for clear in ("false", "true"))
"""Mutants that force or skip joining a random edge of every vertex after the first hooking."""


@pytest.fixture
def united(monkeypatch):
    """Rank → True if ranks found that their largest trees are one component."""
    flags, join = {}, ComponentsMulti.prepare

    def told(self):
        join(self)
        flags[self.device_exchange.comm.rank] = bool(self.device.get(self.arrays.forest)[control_block.FOREST_UNITED])

    monkeypatch.setattr(ComponentsMulti, "prepare", told)
    return flags


def hubs(n: int, edges: int, seed: int):
    """Return a graph in which few vertices have most edges, some have none, and some are separate."""
    rng = np.random.default_rng(seed)
    a, b = ((rng.random(edges) ** power * n).astype(np.int64) for power in (3, 2))
    return simulated.graph(n, a[a != b], b[a != b], directed=False)


def cliques(*sizes: int):
    """Return separate cliques with consecutive ids."""
    src, dst, first = [], [], 0
    for size in sizes:
        a, b = np.triu_indices(size, 1)
        src, dst, first = [*src, a + first], [*dst, b + first], first + size
    return simulated.graph(first, np.concatenate(src), np.concatenate(dst), directed=False)


def side_by_side(one, other):
    src, dst = (np.concatenate([a, b + one.n]) for a, b in ((one.src, other.src), (one.dst, other.dst)))
    return simulated.graph(one.n + other.n, src, dst, directed=False)


def bridged(many: int = 20):
    """Return two cliques, one per rank, and a vertex between them that has leaves.

    Its only edge to its own rank's clique is not among the edges that are tried first; edges to the other clique are.
    """
    a, b = np.triu_indices(many, 1)
    bridge = 8 + many
    src = np.concatenate([a + 8, np.full(9 + many, bridge), a + bridge + 1])
    dst = np.concatenate([b + 8, np.arange(8), [bridge - 1], np.arange(many) + bridge + 1, b + bridge + 1])
    return simulated.graph(bridge + 1 + many, src, dst, directed=False)


def check(results, graph):
    src, dst, _ = graph.arcs()
    np.testing.assert_array_equal(field(results, "label", graph.n), oracles.components(graph.n, src, dst) + 1)


@pytest.mark.parametrize("options", [GpuPlan(), GpuPlan(small=-1), GpuPlan(host_rounds=True), GpuPlan(renumber=True)])
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_whose_largest_trees_are_one(ranks, options, united):
    for seed, edges in ((1, 700), (2, 2000)):
        graph = hubs(600, edges, seed)
        (results,) = run(ranks, graph, [UnionFindLabels()], options=options)
        check(results, graph)
        assert united == dict.fromkeys(range(ranks), True)


def test_who_is_inside_needs_no_message(united):
    """Check the bytes for a star whose hub is on the last rank: bits of members instead of every leaf's label."""
    star = simulated.graph(400, np.full(399, 399), np.arange(399), directed=False)
    (told,) = run(3, star, [UnionFindLabels()], policy="oec")
    assert all(united.values())
    check(told, star)
    (labels,) = run(3, star, [UnionFindLabels()], policy="iec")
    sent = [sum(b for _, _, record in results for b, _ in record.sent.values()) for results in (told, labels)]
    assert 0 < sent[0] < sent[1] / 4


def test_the_smallest_label_is_found_at_once(united):
    """Check one round if the vertex of smallest label joins late, by an edge to another rank's vertex."""
    a, b = np.triu_indices(30, 1)
    src, dst = np.concatenate([a + 1, b + 31, np.arange(1, 31)]), np.concatenate([b + 1, a + 31, np.arange(31, 61)])
    graph = simulated.graph(61, np.append(src, 0), np.append(dst, 45), directed=False)
    (results,) = run(2, graph, [UnionFindLabels()])
    check(results, graph)
    assert all(united.values())
    assert results[0][1].rounds == 1


def late():
    """Return two joined cliques, one per rank, and a path to the smallest label.

    The path's first vertex has edges only to the other rank's clique; the label behind it is unknown to all members.
    """
    a, b = np.triu_indices(30, 1)
    src = np.concatenate([a + 2, b + 32, np.arange(2, 32), [0, 1, 62]])
    return simulated.graph(63, src, np.concatenate([b + 2, a + 32, np.arange(32, 62), [1, 62, 7]]), directed=False)


@pytest.mark.parametrize(
    "mutant", [None, ("giant, whole, [&]", "giant, false, [&]"), ("? root : root_of(v)", "? root_of(v) : root_of(v)")]
)
@pytest.mark.parametrize("options", [GpuPlan(), GpuPlan(small=-1)])
def test_a_smaller_label_that_comes_late_reaches_all(options, mutant, united):
    """Check that a late smaller label is spread over the whole tree, including mirrors of known members."""
    (results,) = run(2, late(), [UnionFindLabels()], options=options, mutant=(CLEAR, mutant or CLEAR))
    assert all(united.values())
    if mutant:
        with pytest.raises(AssertionError):
            check(results, late())
    else:
        check(results, late())


@pytest.mark.parametrize("options", [GpuPlan(), GpuPlan(small=-1)])
@pytest.mark.parametrize("holds", [True, False])
def test_a_smaller_label_of_a_mirror_reaches_all(options, holds, united):
    """Check that a mirror's smaller label spreads if the mirror is in a largest tree unknown to its owner."""
    a, b = np.triu_indices(30, 1)
    src, dst = np.concatenate([a + 1, b + 31, np.arange(1, 31)]), np.concatenate([b + 1, a + 31, np.arange(31, 61)])
    graph = simulated.graph(62, np.append(src, [0, 61]), np.append(dst, [61, 6]), directed=False)
    unheard = None if holds else ("FRESH(env.lowest + giant.root) < env.forest[FOREST_LEAST]", "false")
    (results,) = run(2, graph, [UnionFindLabels()], options=options, mutant=unheard)
    assert all(united.values())
    if holds:
        check(results, graph)
    else:
        with pytest.raises(AssertionError):
            check(results, graph)


def pairs(many: int = 40):
    """Return a clique that all ranks share, and ``many`` separate pairs of vertices."""
    a, b = np.triu_indices(many, 1)
    src = np.concatenate([3 * a, 3 * np.arange(many) + 1])
    dst = np.concatenate([3 * b, 3 * (many - 1 - np.arange(many)) + 2])
    return simulated.graph(3 * many, src, dst, directed=False)


def test_pairs_are_known_at_once(united):
    """Check that one round suffices: each end of a pair knows the other's label."""
    (results,) = run(2, pairs(), [UnionFindLabels()])
    check(results, pairs())
    assert all(united.values())
    assert results[0][1].rounds == 1


@pytest.mark.parametrize(
    ("options", "variant"), [(GpuPlan(), None), (GpuPlan(small=-1), CLEAR), (GpuPlan(host_rounds=True), UNCLEAR)]
)
@pytest.mark.parametrize("ranks", [2, *(pytest.param(ranks, marks=pytest.mark.exhaustive) for ranks in (3, 4))])
def test_graphs_at_random(ranks, options, variant):
    """Check rounds in one kernel, kernel by kernel, and with the host's allreduce; with and without random edges."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, edges = int(rng.integers(20, 400)), int(rng.integers(20, 900))
        src, dst = rng.integers(0, n, edges), rng.integers(0, n, edges)
        for graph in (hubs(n, edges, seed), simulated.graph(n, src[src != dst], dst[src != dst], directed=False)):
            whole = side_by_side(graph, hubs(60, 90, seed)) if seed % 2 else graph
            (results,) = run(ranks, whole, [UnionFindLabels()], options=options, mutant=variant)
            check(results, whole)


def untold(many: int = 100):
    """Return a clique per rank, with edges to the first, and on the third rank a hub with leaves on the others.

    One leaf is in the first clique's tree; the hub has no other edge to a clique.
    """
    a, b = np.triu_indices(many, 1)
    second, hub, third = many + 4200, 2 * many + 4200, 2 * many + 4201
    few = np.arange(many)
    src = np.concatenate([a, [50], np.full(4200, hub), a + second, a + third, few, few])
    dst = np.concatenate([b, [many], np.arange(4200) + many, b + second, b + third, few + second, few + third])
    whole = dst < third + many - 4  # fewer vertices for the last rank, so that it owns the hub
    return simulated.graph(third + many - 4, src[whole], dst[whole], directed=False)


@pytest.mark.parametrize("mutant", [None, ("&& outside.has(v);", "&& false;")])
def test_a_hub_that_nobody_said_to_be_inside(mutant, united):
    """Check that all chunks of the hub's row are walked, although one edge shows that it is a member."""
    (results,) = run(3, untold(), [UnionFindLabels()], mutant=mutant)
    assert all(united.values())
    if mutant:
        with pytest.raises(AssertionError):
            check(results, untold())
    else:
        check(results, untold())


@pytest.mark.parametrize("policy", ["iec", "cvc"])
def test_mirrors_with_edges_of_their_own_are_not_told(policy, united):
    graph = hubs(600, 2000, 3)
    (results,) = run(3, graph, [UnionFindLabels()], policy=policy)
    check(results, graph)
    assert not any(united.values())


@pytest.mark.parametrize(
    ("graph", "ranks", "one"),
    [
        (cliques(20, 20), 4, False),  # two pairs of ranks without edges between them
        (cliques(100), 4, True),
        (bridged(), 2, False),
        (cliques(20, 20), 3, False),  # the second rank has vertices of both
        (side_by_side(hubs(300, 900, 3), hubs(300, 900, 23)), 4, False),
        (cliques(2), 4, True),  # ranks without vertices do not count
    ],
)
def test_largest_trees_that_are_not_one(graph, ranks, one, united):
    (results,) = run(ranks, graph, [UnionFindLabels()])
    check(results, graph)
    assert united == dict.fromkeys(range(ranks), one)


@pytest.mark.parametrize("options", [GpuPlan(renumber=True), GpuPlan(renumber=True, host_rounds=True)])
def test_ranks_whose_vertices_have_no_edges(options, united):
    """Check that the last two of four ranks elect a tree although none of their vertices was hooked."""
    busy = hubs(100, 400, 1)
    graph = simulated.graph(2000, busy.src, busy.dst, directed=False)
    (results,) = run(4, graph, [UnionFindLabels()], options=options)
    assert min(gids.min() for gids, *_ in results[2:]) >= 100
    check(results, graph)
    assert united == dict.fromkeys(range(4), True)


@pytest.mark.parametrize(("graph", "ranks", "mutant"), [
    (cliques(20, 20), 4, ("return found == members;", "return true;")),
    (bridged(13), 3, (CLEAR, ("if (one)\n", "if (true)\n"))),
    (hubs(600, 2000, 2), 4, (("how != NONEMPTY_ONLY && v < n", "v < n"), ("is_member(u[k]);", "false;"),
                             ("= joins[k] && is_member(head[k]);", "= false;"))),
    (hubs(600, 2000, 2), 4, ("if (joins[k]) add_member(v[k]);", "")),
    (hubs(600, 2000, 2), 4, ("~own ? mirrors_labelled(down, all.number, (i64)i) : 0", "0")),
    (side_by_side(hubs(300, 900, 3), hubs(300, 900, 23)), 3, ("if (window(bits_in", "if (true || window(bits_in")),
    (hubs(600, 2000, 2), 4, ("& ~(env.inside[i] | env.apart[i]);", "& 0;")),
    (hubs(600, 2000, 2), 4, ("if (joins && marks) add_member(v);\n        join(joins, v, largest);", "")),
    (hubs(600, 2000, 2), 4, ("if (id < FRESH(env.forest + FOREST_LEAST))", "if (false)")),
    (hubs(600, 2000, 2), 4, ("if (inside && v + k < (u64)env.masters) least", "if (false) least")),
    (late(), 2, ("if (env.apart && u >=", "if (false && u >=")),
])  # fmt: skip
def test_mutants_fail(graph, ranks, mutant):
    """Check that every mutant gives wrong labels.

    Mutants take separate trees for one, ignore or misuse received members, skip vertices outside the largest tree or
    their edges to members, or lose the smallest label.
    """
    (results,) = run(ranks, graph, [UnionFindLabels()], mutant=mutant)
    with pytest.raises(AssertionError):
        check(results, graph)
