"""Rounds of the GPU backend, emulated and on a GPU, find the oracles' answers.

Covered: all kernels that can walk a round, any number of rounds per call, the reference loop, components by hooking.
"""

import itertools
import time
from dataclasses import replace
from functools import cache

import numpy as np
import oracles
import pytest
from devices import device_of, local_graph, on_devices
from emulated import needs_compiler
from flat_run import flat_run

import dgraph
from dgraph.algorithms.bfs_programs import Levels, Parents
from dgraph.algorithms.cc import Labels, UnionFindLabels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.kernels.components import components_cuda
from dgraph.algorithms.kernels.components.components_cuda import ComponentsSingle
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.auto_schedule import schedule
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet
from dgraph.comm import SerialComm
from dgraph.engine.rounds.drivers import HostDriven
from dgraph.engine.sync import Sync
from dgraph.errors import UsageError
from dgraph.program import trace
from dgraph.report import Progress, Record

pytestmark = pytest.mark.mpi_skip
SOURCE = 5
PROGRAMS = {
    "levels": (Levels(source=SOURCE), "level"),
    "distances": (Distances(source=SOURCE, delta=9.0).retype(dist="int32"), "dist"),
    "labels": (Labels(), "label"),
    "pagerank": (PageRank(tol=0.0, max_iter=8), "rank"),
    "peel": (Peel(), "core"),
}
WAYS = {
    "auto": GpuPlan(),
    "broad rounds alone": GpuPlan(small=-1),
    "both": GpuPlan(small=200),
    "persistent": GpuPlan(schedule="persistent"),
    "not renumbered": GpuPlan(renumber=False),
    "alb": GpuPlan(schedule="alb", alb_threshold=20, twc_small="scan"),
    "split": GpuPlan(schedule="split", mdt=3),
    "edges emitted": GpuPlan(schedule="edge", edge_emit="fused"),
}


@cache
def arcs(directed=False):
    """Return n, src, dst, weights of a graph like R-MAT with a path at its end: large and small frontiers."""
    rng = np.random.default_rng(9)
    src, dst = (rng.integers(0, 400, 4000) ** 2 // 400 for _ in range(2))
    path = np.arange(400, 460)
    src, dst = np.concatenate([src, [0], path[:-1]]), np.concatenate([dst, [400], path[1:]])
    key = np.unique(np.minimum(src, dst) * 461 + np.maximum(src, dst))
    src, dst = key // 461, key % 461
    src, dst = src[src != dst], dst[src != dst]
    weights = rng.integers(1, 60, src.size).astype(np.int32)
    return (461, src, dst, weights) if directed else (461, *oracles.symmetric(src, dst, weights))


@cache
def answer(name, directed=False):
    n, src, dst, weights = arcs(directed)
    if name == "levels":
        levels = oracles.bfs(n, src, dst, SOURCE)
        return np.where(levels < 0, 2**31 - 1, levels)
    if name == "distances":
        return np.array([2**31 - 1 if d is None else d for d in oracles.sssp(n, src, dst, weights, SOURCE)])
    if name == "pagerank":
        return oracles.pagerank(n, src, dst, rounds=8)
    return oracles.components(n, src, dst) if name == "labels" else oracles.core_numbers(n, src, dst)


def machine_for(device, name, direction, options, directed=False):
    n, src, dst, weights = arcs(directed)
    local = local_graph(n, src, dst, weights, directed)
    graph = device_graph.DeviceGraph(local, device, options.renumber)
    return GpuMachine(trace(PROGRAMS[name][0], weights.dtype), graph, device, direction, options)


def solved(machine, limit=1 << 20):
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(limit)
    return machine


def check(machine, name, directed=False):
    values = np.asarray(machine.state[PROGRAMS[name][1]])
    if name == "pagerank":
        np.testing.assert_allclose(values, answer(name, directed), rtol=1e-12)
    else:
        np.testing.assert_array_equal(values, answer(name, directed))


@on_devices
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("direction", ["auto", "push", "pull", "flip"])
def test_answers(device, name, direction):
    for traversal, options in WAYS.items():
        machine = solved(machine_for(device_of(device, 3), name, direction, options))
        check(machine, name)
        assert len(machine.figures(0)) == machine.round, traversal


@on_devices
@pytest.mark.parametrize("name", ["levels", "distances", "pagerank"])
def test_directed(device, name):
    for direction in ("auto", "pull"):
        check(solved(machine_for(device_of(device, 2), name, direction, GpuPlan(), True)), name, True)


@on_devices
@pytest.mark.parametrize("name", PROGRAMS)
def test_rounds_a_call_and_grids_do_not_show(device, name):
    rounds = set()
    for limit, blocks in ((1, 1), (3, 4), (1 << 20, 2)):
        machine = solved(machine_for(device_of(device, blocks), name, "auto", GpuPlan(small=300)), limit)
        check(machine, name)
        rounds.add(machine.round)
    assert len(rounds) == 1 or name in ("labels", "distances")  # these may read a value in the round that sets it


@pytest.mark.parametrize(("largest", "record", "wanted"), [
    (2047, False, ["twc:push edges"]), (2048, False, ["alb:push edges", "alb:push edges_huge"]),
    (2047, True, ["alb:push edges"]),
])  # fmt: skip
def test_alb_leaves_a_round_without_huge_vertices_to_twc(largest, record, wanted):
    """Check that alb uses twc without huge vertices, unless edges by thread are recorded."""
    machine = machine_for(
        device_of("emulated", 2), "levels", "push", GpuPlan("alb", alb_threshold="auto", record=record)
    )
    words = machine.words.copy()
    words[control.LOCAL_EDGES], words[control.LARGEST] = 3000, largest
    calls = machine.kernels.edges("alb", False, fused=True, words=words)
    assert [f"{module} {kernel}" for module, kernel, *_ in calls] == wanted


@on_devices
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("direction", ["push", "pull", "flip"])
def test_the_reference_loop(device, name, direction):
    machine = machine_for(device_of(device, 2), name, direction, GpuPlan())
    comm = SerialComm()
    record = Record(comm, ["test"])
    sync, arcs = Sync(machine, machine.local, comm, "auto", record), machine.local.arcs
    run = HostDriven(machine, sync, arcs, comm, record, Progress())
    run.start({})
    run.run(1 << 20)
    check(machine, name)


@pytest.mark.exhaustive
@on_devices
@pytest.mark.parametrize("name", ["levels", "distances", "peel"])
def test_wide_offsets(device, name, monkeypatch):
    """Check 64-bit offsets, as for 2**31 edges."""
    monkeypatch.setattr(device_graph, "WIDE", 1)
    for options in (GpuPlan(), GpuPlan(small=-1), GpuPlan(schedule="merge_path")):
        machine = solved(machine_for(device_of(device, 2), name, "auto", options))
        assert machine.graph.wide
        check(machine, name)


@on_devices
def test_rows_that_nothing_is_behind(device):
    """Check the ends of rows: with more than one edge, with edges, with in-edges."""
    device = device_of(device, 2)
    src = np.array([0, 0, 5, 70, 70, 300, 301])
    dst = np.array([1, 2, 6, 71, 72, 7, 8])
    for directed, renumber in itertools.product((False, True), (False, True)):
        arcs = (src, dst) if directed else oracles.symmetric(src, dst)
        graph = device_graph.DeviceGraph(local_graph(400, *arcs, directed=directed), device, renumber)
        rows, back = (
            np.diff(device.get(rows_of_side.offsets).astype(np.int64)) for rows_of_side in (graph.out, graph.incoming)
        )
        assert graph.rows_of_many == np.flatnonzero(rows > 1)[-1] + 1
        assert graph.rows_with_edges(400) == np.flatnonzero(rows)[-1] + 1
        assert graph.rows_pulled == np.flatnonzero(back)[-1] + 1


def components_found(device, src, dst, renumber=False, original=None):
    local = local_graph(500, src, dst, directed=False)
    if original is not None:
        local = replace(local, original=original)
    graph = device_graph.DeviceGraph(local, device, renumber)
    single = ComponentsSingle(trace(UnionFindLabels(), None), graph, device, GpuPlan())
    single.start({})
    assert single.fused(1) == 1
    assert single.done
    return single.fields()["label"]


@on_devices
@pytest.mark.parametrize("kind", ["windows", "rows", "renumbered"])
def test_components(device, kind, monkeypatch):
    """Check random graphs, and a path on which every vertex hooks to the one before it."""
    monkeypatch.setattr(components_cuda, "WINDOW", 50)
    monkeypatch.setattr(components_cuda, "FEW_EDGES", 8 if kind == "windows" else 0)
    device = device_of(device, 3)
    for edges in (100, 450, 2000, None):
        rng = np.random.default_rng(edges)
        ends = (np.arange(400), np.arange(1, 401)) if edges is None else rng.integers(0, 500, (2, edges))
        src, dst = oracles.symmetric(*ends)
        labels = components_found(device, src, dst, kind == "renumbered")
        np.testing.assert_array_equal(labels, oracles.components(500, src, dst))


@on_devices
def test_components_by_windows_of_ids_that_do_not_ascend(device):
    src, dst = oracles.symmetric(*np.random.default_rng(1).integers(0, 500, (2, 300)))
    ids = np.random.default_rng(2).permutation(500)
    least = np.full(500, 500)
    parts = oracles.components(500, src, dst)
    np.minimum.at(least, parts, ids)
    np.testing.assert_array_equal(components_found(device_of(device, 3), src, dst, original=ids), least[parts])


@needs_compiler
@pytest.mark.parametrize("mutant", [("several |= bit", "several |= 0"), ("u < first &&", "u + 9 < first &&")])
def test_components_by_windows_need_every_edge(mutant, monkeypatch):
    monkeypatch.setattr(components_cuda, "WINDOW", 50)
    grid = np.arange(400).reshape(20, 20)
    pairs = [np.stack([grid[:, 1:], grid[:, :-1]]), np.stack([grid[1:], grid[:-1]])]
    pairs = np.concatenate([pair.reshape(2, -1) for pair in pairs], axis=1)
    src, dst = oracles.symmetric(*pairs[:, np.random.default_rng(1).random(pairs.shape[1]) < 0.6])
    device = device_of("emulated", 3, mutant)
    assert (components_found(device, src, dst) != oracles.components(500, src, dst)).any()
    assert device.changed


@pytest.mark.parametrize(
    ("vertices", "edges", "largest", "name"),
    [
        (1, 10**8, 10**8, "warp_shares"),
        (10**6, 8 * 10**6, 30, "warp_shares"),
        (10**6, 2 * 10**6, 30, "vertex"),
        (10**7, 10**5, 3, "vertex"),
        (10**7, 10**5, 10**5, "merge_path"),
    ],
)
def test_what_auto_walks_a_broad_round_by(vertices, edges, largest, name):
    words = np.zeros(control.CONTROLS, np.int64)
    words[[control.QUEUED, control.LOCAL_EDGES, control.LARGEST]] = vertices, edges, largest
    assert schedule(GpuPlan(), words, wide=False) == name
    assert schedule(GpuPlan(), words, wide=False, whole=True) == "warp_shares"
    assert schedule(GpuPlan(), words, wide=True) == "alb"
    assert schedule(GpuPlan("lb"), words, wide=True) == "lb"


@pytest.mark.exhaustive
@on_devices(gpu=False)
def test_what_a_round_has_compiled_is_no_computation(device, monkeypatch):
    """Check that a schedule compiled during a run counts as compilation."""
    monkeypatch.setattr(ModuleSet, "_schedule_modules", lambda sources, fused: [])
    emulated_device, slow = device_of(device, 2), 1.5
    module = emulated_device.module

    def compiled(text, name):
        time.sleep(slow * ("_lb_" in name))
        return module(text, name)

    graph = dgraph.Graph.from_edges(*np.array([[0, 1], [1, 2]]).T, n=3, comm=SerialComm())
    backend = CudaBackend(0, 1, True, GpuPlan(schedule="lb", small=0), emulated_device)
    flat_run("bfs", graph, source=0, backend=backend)
    monkeypatch.setattr(emulated_device, "module", compiled)
    result = flat_run("bfs", graph, source=0, backend=backend, return_predecessors=False, direction="push")
    (seconds,) = (rank["seconds"] for rank in result.report["ranks"])
    assert seconds["compile"] > slow
    assert 0 <= seconds["compute"] < slow


@on_devices
def test_a_schedule_that_is_asked_for_walks_components_as_labels(device):
    """Check that a requested schedule runs label propagation: union-find has no rounds that it could walk."""
    n, src, dst, _ = arcs()
    local = local_graph(n, src, dst, directed=False)
    for asked, kind in (("auto", ComponentsSingle), ("twc", GpuMachine)):
        backend = CudaBackend(0, 1, True, GpuPlan(asked), device_of(device, 2))
        assert type(backend.machine(trace(UnionFindLabels(), None), local, "auto")) is kind


@on_devices
def test_long_rows_are_added_in_chunks(device):
    """Check PageRank of a star: the hub's row is cut, and the bits are equal on every grid."""
    leaves = np.arange(1, 9001)
    src, dst = oracles.symmetric(np.zeros(9000, np.int64), leaves)
    local = local_graph(9001, src, dst, directed=False)
    ranks = []
    for blocks in (1, 4):
        device_now = device_of(device, blocks)
        graph = device_graph.DeviceGraph(local, device_now)
        assert len(graph.chunks[0]) == 5
        machine = solved(GpuMachine(trace(PageRank(tol=0.0, max_iter=5), None), graph, device_now, "auto", GpuPlan()))
        ranks.append(np.asarray(machine.state["rank"]))
        np.testing.assert_allclose(ranks[-1], oracles.pagerank(9001, src, dst, rounds=5), rtol=1e-12)
    np.testing.assert_array_equal(*ranks)


@on_devices
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("renumber", [False, True])
def test_the_smallest_of_several_above(device, directed, renumber):
    """Check parents for rows of a thread, of a warp and of several warps.

    Rows not renumbered are sorted by id, so their scan ends at the first valid parent.
    """
    n, hubs, rng = 6000, [70, 700, 5000], np.random.default_rng(4)
    level = rng.integers(1, 5, n).astype(np.int32)
    level[hubs] = 4
    src, dst = rng.integers(0, n, (2, 4 * n))
    near = np.tile(np.arange(n), 2), np.append(np.full(n, 70), np.where(np.arange(n) % 9 == 4, 700, 5000))
    src, dst = np.concatenate([src, near[0]]), np.concatenate([dst, near[1]])
    arcs = np.unique(src * n + dst if directed else np.concatenate([src * n + dst, dst * n + src]))
    src, dst = arcs // n, arcs % n
    graph = device_graph.DeviceGraph(local_graph(n, src, dst, directed=directed), device_of(device, 2), renumber)
    options = GpuPlan(record=True)
    machine = GpuMachine(trace(Parents(source=8), None), graph, graph.device, "auto", options)
    machine.start({"level": level})
    machine.apply_totals(*machine.totals(), True)
    machine.fused(1)
    above, parents = level[src] + 1 == level[dst], np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(parents, dst[above], src[above])
    parents[level == 1] = 8  # only the source is above them
    np.testing.assert_array_equal(np.asarray(machine.state["parent"]), parents)
    (note,) = machine.notes()
    looked = sum(int(edges.sum()) for edges in note.edges.values())
    every = (level[dst] > 1).sum()
    assert looked == every if renumber else looked < 0.7 * every


@on_devices(gpu=False)
def test_what_does_not_fit_is_refused_with_figures(device):
    from emulated import Device

    small = Device(memory=20_000)
    with pytest.raises(UsageError, match=r"Levels needs [\d,]+ bytes of GPU memory beside the graph, 20,000 are free"):
        machine_for(small, "levels", "auto", GpuPlan())


@pytest.mark.parametrize("small", [-1, 1 << 20], ids=["launch by launch", "in one kernel"])
@on_devices
def test_a_vertex_that_waits_joins_once(device, small):
    """Check a bucket of more waiting vertices than threads: each enters the frontier once."""
    gpu = device_of(device, 2)
    leaves = 40 * gpu.threads
    arcs = np.zeros(leaves, np.int64), np.arange(1, leaves + 1), np.full(leaves, 50, np.int32)
    graph = device_graph.DeviceGraph(local_graph(leaves + 1, *arcs, directed=True), gpu)
    program = Distances(source=0, delta=1.0).retype(dist="int32")
    machine = solved(GpuMachine(trace(program, np.dtype(np.int32)), graph, gpu, "auto", GpuPlan(small=small)))
    assert machine.figures(0)[:, 0].tolist() == [1, leaves]
