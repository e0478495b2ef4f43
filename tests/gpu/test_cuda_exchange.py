"""Exchanges between emulated GPUs: the oracles' answers under every policy, direction and sync, and every encoding."""

from functools import cache

import numpy as np
import oracles
import pytest
import simulated
from devices import device_of
from emulated import needs_compiler
from gpu_ranks import field, run

from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.cc import Labels, UnionFindLabels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.gpu_options import GpuPlan

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
SOURCE = 5
FAR = 2**31 - 1
PROGRAMS = {
    "level": Levels(source=SOURCE + 1),
    "dist": Distances(source=SOURCE + 1, delta=9.0).retype(dist="int32"),
    "label": Labels(),
    "rank": PageRank(tol=0.0, max_iter=6),
    "core": Peel(),
}
COMBINATIONS = [
    ("oec", "auto", "auto", 3, True), ("oec", "push", "poison", 2, True), ("iec", "flip", "full", 3, False),
    ("cvc", "push", "auto", 4, True), ("cvc", "flip", "poison", 4, False), ("hvc,threshold=4", "auto", "full", 3, True),
    ("hvc,threshold=4", "pull", "auto", 2, True), ("iec", "push", "poison", 3, True),
    ("hash", "pull", "poison", 3, True),
]  # fmt: skip


@cache
def mesh():
    """Return an undirected graph with hubs, a long path and integer weights: its frontiers are large and small."""
    some, path = simulated.skewed(90, 400, directed=False), np.arange(89, 120)
    src, dst = np.append(some.src, path), np.append(some.dst, path + 1)
    graph = simulated.graph(121, src[src != dst], dst[src != dst], directed=False)
    graph.weights = np.random.default_rng(3).integers(1, 60, graph.src.size).astype(np.int32)
    return graph


@cache
def answer(name):
    src, dst, weights = mesh().arcs()
    n = mesh().n
    if name == "level":
        levels = oracles.bfs(n, src, dst, SOURCE)
        return np.where(levels < 0, FAR, levels)
    if name == "dist":
        return np.array([FAR if d is None else d for d in oracles.sssp(n, src, dst, weights, SOURCE)])
    if name == "rank":
        return oracles.pagerank(n, src, dst, rounds=6)
    return oracles.components(n, src, dst) + 1 if name == "label" else oracles.core_numbers(n, src, dst)


@pytest.mark.parametrize(("name", "direct", "sync", "mutant"), [
    ("rank", True, "auto", ("if (a.reduces) reset(v[k]);", "")),
    ("level", True, "full", ("(u8)(FRESH(env.awake + (v[k] >> 5)) >> (v[k] & 31) & 1)", "0")),
    ("core", False, "auto", ("shuffle(header, HEADER_NUMBER) != number", "false")),
])  # fmt: skip
def test_mutants_fail(name, direct, sync, mutant):
    """Check mutants: sent proposals are not reset; no vertex is marked active; an old message is read again."""
    results = run(4, mesh(), [PROGRAMS[name]], policy="cvc", direction="push", sync=sync, direct=direct,
                  options=GpuPlan(small=-1, host_rounds=True), mutant=mutant)  # fmt: skip
    with pytest.raises(AssertionError):
        check(results, [name])


@pytest.mark.parametrize("direct", [True, False])
def test_mirrors_hear_of_active_masters_alone(direct):
    """Check the bytes before a first round that pulls: of many vertices with mirrors, one is active."""
    sent = []
    for sync in ("auto", "full"):
        (results,) = run(
            3, mesh(), [Levels(source=SOURCE + 1, limit=1)], policy="oec", direction="pull", sync=sync, direct=direct
        )  # fmt: skip
        sent.append(sum(size for _, _, record in results for size, _ in record.sent.values()))
    assert 0 < 4 * sent[0] < sent[1]


@pytest.mark.parametrize(("policy", "sync", "ranks", "direct"), [
    ("oec", "auto", 3, True), ("cvc", "poison", 4, True), ("iec", "full", 2, False), ("hash", "auto", 4, True),
])  # fmt: skip
def test_components_by_trees(policy, sync, ranks, direct):
    """Check that local trees spread labels in fewer rounds than edges, on a mesh and on islands."""
    islands = simulated.grid(15, seed=2)
    keep = np.random.default_rng(1).random(islands.src.size) < 0.6
    islands = simulated.graph(islands.n, islands.src[keep], islands.dst[keep], directed=False)
    for graph in (mesh(), islands):
        trees, edges = run(ranks, graph, [UnionFindLabels(), Labels()], policy=policy, sync=sync, direct=direct)
        src, dst, _ = graph.arcs()
        for results in (trees, edges):
            np.testing.assert_array_equal(field(results, "label", graph.n), oracles.components(graph.n, src, dst) + 1)
        assert trees[0][1].rounds <= edges[0][1].rounds
    assert trees[0][1].rounds < edges[0][1].rounds


@pytest.mark.exhaustive
@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_components_are_joined_by_rows_of_every_length(policy, monkeypatch):
    for name, edges in (("SHORT_ROW", 3), ("LONG_ROW", 6), ("CHUNK", 3)):
        monkeypatch.setattr(control_block, name, edges)
    graph = simulated.skewed(300, 260, directed=False)
    src, dst, _ = graph.arcs()
    assert np.bincount(src).max() > 12
    (results,) = run(3, graph, [UnionFindLabels()], policy=policy)
    np.testing.assert_array_equal(field(results, "label", graph.n), oracles.components(graph.n, src, dst) + 1)


def check(results, names=tuple(PROGRAMS)):
    for name, result in zip(names, results, strict=True):
        values = field(result, name, mesh().n)
        if name == "rank":
            np.testing.assert_allclose(values, answer(name), rtol=1e-12)
        else:
            np.testing.assert_array_equal(values, answer(name), err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("policy", "direction", "sync", "ranks", "direct"), COMBINATIONS[2:6])
def test_answers_where_vertices_are_numbered_by_degree(policy, direction, sync, ranks, direct):
    """Check that owners and mirrors order positions equally."""
    numbered = GpuPlan(renumber=True)
    check(run(ranks, mesh(), PROGRAMS.values(), policy=policy, direction=direction, sync=sync, direct=direct,
              options=numbered))  # fmt: skip


@pytest.mark.parametrize("room", [True, False])
def test_skewed_graphs_are_numbered_by_degree_on_all_ranks_or_none(room):
    star = simulated.graph(400, np.zeros(399, np.int64), np.arange(1, 400), directed=False)
    numbered = []

    def looked(context):
        backend, prepare = context.backend, context.backend.prepare
        if context.comm.rank == 1 and not room:
            backend._skewed = lambda local: (True, False)

        def noted(local, comm):
            prepare(local, comm)
            numbered.append(backend._renumber)

        backend.prepare = noted

    results = run(3, star, [Levels(source=1)], policy="hash", wrapped=looked)
    assert numbered == [room] * 3
    np.testing.assert_array_equal(field(results[0], "level", 400), np.minimum(np.arange(400), 1))


@pytest.mark.parametrize(("policy", "direction", "sync", "ranks", "direct"), COMBINATIONS)
def test_answers(policy, direction, sync, ranks, direct):
    check(run(ranks, mesh(), PROGRAMS.values(), policy=policy, direction=direction, sync=sync, direct=direct))


@pytest.mark.parametrize("mutant", [None, ("f, i % SHARES, SHARES);", "f, 0, SHARES);")])
def test_bits_of_many_positions_are_shared_by_warps(mutant):
    """Check bitsets of some 700 mirrors per rank, which are shorter than offsets."""
    graph = simulated.skewed(2500, 9000, directed=False)
    src, dst, _ = graph.arcs()
    levels = oracles.bfs(graph.n, src, dst, 0)
    options = GpuPlan(small=-1, host_rounds=True)
    (results,) = run(2, graph, [Levels(source=1)], policy="hash", direction="push", options=options, mutant=mutant)
    same = np.array_equal(field(results, "level", graph.n), np.where(levels < 0, FAR, levels))
    assert same == (mutant is None)


def test_slices_of_slices():
    """Check that slices are by lid under any numbering, and need no list of positions from the host."""
    place = np.array([2, 0, 1, 4, 3])
    column = FieldView(device_of("emulated", 2), np.arange(10, 15), place)
    assert np.asarray(column[1:4]).tolist() == [10, 11, 14]
    assert np.asarray(column[1:][1:3]).tolist() == [11, 14]
    column[3:][1:] = 7
    assert column.values.tolist() == [10, 11, 12, 7, 14]
    assert np.asarray(FieldView(column.device, column.values, None)[2:][1:]).tolist() == [7, 14]
