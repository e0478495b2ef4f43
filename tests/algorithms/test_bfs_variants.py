"""Every variant of bfs finds the oracle's levels: emulated, on a GPU and, where it is offered, on a CPU."""

from collections import Counter
from dataclasses import replace

import emulated
import gpu_ranks
import numpy as np
import pytest
from devices import device_of, local_graph, on_devices
from emulated import needs_compiler
from flat_run import flat_run
from oracles import bfs, symmetric
from simulated import skewed

import dgraph
from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.bfs_variants import FEATURES, VARIANTS, traversal
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.errors import UsageError
from dgraph.program import trace
from dgraph.program.traversal import EVERY

pytestmark = pytest.mark.mpi_skip
SOURCE = 3
N = 600


def arcs(directed):
    """Return arcs with a hub, short rows, empty rows and a path at the end."""
    rng = np.random.default_rng(2)
    src, dst = (rng.integers(0, 500, 2500) ** 2 // 500 for _ in range(2))
    src = np.concatenate([src, np.full(300, 7), np.arange(520, 560)])
    dst = np.concatenate([dst, rng.integers(0, 520, 300), np.arange(521, 561)])
    src, dst = np.append(src, [3, 3]), np.append(dst, [7, 520])
    return (src, dst) if directed else symmetric(src, dst)


def levels(src, dst):
    hops = bfs(N, src, dst, SOURCE)
    return np.where(hops < 0, 2**31 - 1, hops)


def solved(device, chosen, directed, **options):
    src, dst = arcs(directed)
    program = Levels(source=SOURCE).with_traversal(chosen)
    graph = DeviceGraph(local_graph(N, src, dst, None, directed), device)
    machine = GpuMachine(trace(program, None), graph, device, chosen.direction, GpuPlan(**options).under(chosen))
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(3)
    return machine


@on_devices
@pytest.mark.parametrize("variant", VARIANTS)
def test_levels(device, variant):
    for directed in (False, True):
        for blocks in (1, 5):
            machine = solved(device_of(device, blocks), traversal(variant, None), directed)
            np.testing.assert_array_equal(np.asarray(machine.state["level"]), levels(*arcs(directed)))


@on_devices
@pytest.mark.parametrize("feature", FEATURES)
def test_bfs_4k_without_a_feature(device, feature):
    machine = solved(device_of(device, 3), traversal("bfs-4k", feature), False)
    np.testing.assert_array_equal(np.asarray(machine.state["level"]), levels(*arcs(False)))


@on_devices
def test_bfs_4k_gives_huge_vertices_grids_of_their_own(device):
    chosen = replace(traversal("bfs-4k", "single-block"), options={"grid_threshold": 100})
    machine = solved(device_of(device, 3), chosen, False)
    assert "dynamic_parallelism" in machine.schedules(0)
    np.testing.assert_array_equal(np.asarray(machine.state["level"]), levels(*arcs(False)))


@on_devices(gpu=False)
def test_features_choose_schedules(device):
    device = device_of(device, 2)

    def schedules(without, **options):
        return set(solved(device, traversal("bfs-4k", without), False, **options).schedules(0))

    assert schedules("single-block") >= {"warp_search"}
    assert schedules("single-block,edge-discover") == {"dynamic_warp"}
    assert schedules("single-block,edge-discover,dynamic-warps") == {"vertex"}
    assert "persistent" in schedules(None)


@on_devices(gpu=False)
@pytest.mark.parametrize(
    "mutant",
    [
        ("(u64)(env.out_offsets[v + 1] - first) : 0", "(u64)(env.out_offsets[v + 1] - first) / 2 : 0"),
        ("v * 2654435761u >> 22), v) != v;", "v * 2654435761u >> 22), v) == v;"),
        ("near = near && first;", "near = near && !first;"),
    ],
)
def test_a_wrong_text_is_found(device, mutant):
    machine = solved(device_of(device, 2, mutant), traversal("contract-expand", None), False)
    assert not np.array_equal(np.asarray(machine.state["level"]), levels(*arcs(False)))


@pytest.mark.exhaustive
@on_devices(gpu=False)
def test_a_sweep_asks_every_vertex(device):
    """Check recorded edges: ``edge-topology`` visits all edges in each round, ``topology`` each reached row once."""
    src, dst = arcs(False)
    machine = solved(device_of(device, 2), traversal("edge-topology", None), False, record=True)
    touched = machine.device.get(machine.arrays.record).sum()
    assert touched == machine.round * src.size
    machine = solved(device_of(device, 2), traversal("topology", None), False, record=True)
    reached = levels(src, dst) < 2**31 - 1
    assert machine.device.get(machine.arrays.record).sum() == reached[src].sum()


def work(device, variant):
    """Return a variant's launches of modules by name, edges visited by thread, and edges appended to lists at once."""
    chosen = traversal(variant, None)
    if chosen.emit_limit:
        chosen = replace(chosen, emit_limit=min(chosen.emit_limit, 2000 if variant == "hybrid" else EVERY))
    launches, appended = Counter(), 0
    src, dst = arcs(False)
    graph = DeviceGraph(local_graph(N, src, dst, None, False), device)
    program = Levels(source=SOURCE).with_traversal(chosen)
    machine = GpuMachine(trace(program, None), graph, device, chosen.direction, GpuPlan(record=True).under(chosen))
    launch = machine.kernels.launch

    def counted(module, kernel, *arguments, **keywords):
        launches[module, kernel] += 1
        launch(module, kernel, *arguments, **keywords)

    machine.kernels.launch = counted
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(1)
        slot = (machine.words[control.TICK] - 1) % 4 * control.SLOT
        appended += int(device.get(machine.arrays.counters)[slot + control.EMITTED_TAIL])
    return sorted(launches.items()), device.get(machine.arrays.record).tolist(), appended


@pytest.mark.exhaustive
@on_devices(gpu=False)
def test_no_variant_is_another_by_name(device):
    """Check that any two variants differ in the kernels that they launch, and in edges by thread or edges listed."""
    seen = {variant: work(device_of(device, 2), variant) for variant in sorted({*VARIANTS} - {"direction-optimizing"})}
    for one, (launches, loads, appended) in seen.items():
        for other, (others, other_loads, others_appended) in seen.items():
            assert one == other or launches != others, (one, other)
            assert one == other or (loads, appended) != (other_loads, others_appended), (one, other)


def run(backend="cpu", **choices):
    src, dst = arcs(False)
    keep = src < dst
    graph = dgraph.Graph.from_edges(src[keep], dst[keep], n=N, directed=False)
    return flat_run("bfs", graph, source=SOURCE, backend=backend, **choices)


@pytest.mark.exhaustive
@needs_compiler
def test_a_whole_run_is_proved_right():
    """Check the certificate of parents, and that a requested schedule overrides the variant's."""
    assert run(emulated.backend(), variant="contract-expand", validate=True).report["outcome"]["validation"]["passed"]
    result = run(emulated.backend(schedule="lb"), variant="topology", return_predecessors=False)
    assert {row["schedule"] for row in result.report["rounds"]["kept"]} == {"lb"}


@pytest.mark.parametrize("variant", [name for name, variant in VARIANTS.items() if variant.on_cpu])
def test_on_a_cpu(variant):
    result = run(variant=variant)
    expected = levels(*arcs(False))
    np.testing.assert_array_equal(np.minimum(result.columns["distance"], 2**31 - 1), expected)
    directions = {row["direction"] for row in result.report["rounds"]["kept"][:-1]}  # the last round finds parents
    assert directions == {"matrix": {"pull"}, "queue": {"push"}}.get(variant, {"push", "pull"})


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"variant": "topology"}, "variant topology of bfs says how a GPU walks edges, and this run has none"),
        ({"variant": "topological"}, "unknown variant of bfs 'topological'"),
        (
            {"variant": "queue", "direction": "pull"},
            "variant queue of bfs always goes push; leave direction='pull' out",
        ),
        ({"variant": "bfs-4k", "without": "hash"}, "unknown feature of bfs-4k 'hash'"),
        ({"without": "hash64"}, "without= switches off features of bfs-4k, but the variant is direction-optimizing"),
    ],
)
def test_refusals(choices, told):
    with pytest.raises(UsageError, match=told):
        run(**choices)


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.parametrize("variant", ["topology", "edge-topology", "contract-expand", "bfs-4k"])
def test_on_ranks(variant):
    graph = skewed(90, 500, directed=False)  # original ids start at 1
    src, dst, _ = graph.arcs()
    expected = bfs(graph.n, src, dst, SOURCE)
    for policy in ("oec", "cvc"):
        rounds_of_ranks = gpu_ranks.run(
            2, graph, [Levels(source=SOURCE + 1).with_traversal(traversal(variant, None))], policy=policy
        )
        levels = gpu_ranks.field(rounds_of_ranks[0], "level", graph.n)
        np.testing.assert_array_equal(np.where(levels == 2**31 - 1, -1, levels), expected)
