"""Neighbours of smallest ids, and the smallest predecessor by them: emulated and on a GPU, against NumPy."""

import numpy as np
import pytest
from devices import device_of, local_graph, on_devices
from emulated import needs_compiler

import dgraph
from dgraph.algorithms.bfs_programs import Parents
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen.control_block import ID_HEADS, NO_HEAD
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory import memory_plan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.comm import SerialComm
from dgraph.program import trace

pytestmark = pytest.mark.mpi_skip
FAR = 2**31 - 1


def skewed(n=2000, m=6000, seed=4):
    """Return arcs in both directions without loops: rows of no edge, of few, and of more than a thread walks."""
    rng = np.random.default_rng(seed)
    src, dst = (n * rng.random(m) ** 3).astype(np.int64), (n * rng.random(m) ** 2).astype(np.int64)
    keys = np.unique(np.concatenate([src * n + dst, dst * n + src])[np.tile(src != dst, 2)])
    return n, keys // n, keys % n


def device_graph(device):
    n, src, dst = skewed()
    local = local_graph(n, src, dst, directed=False)
    shuffled = np.random.default_rng(1).permutation(n)  # ids that do not ascend
    local.gids = local.original = shuffled.astype(np.int64)
    return local, DeviceGraph(local, device, True)


@on_devices
def test_heads_are_the_neighbours_of_smallest_ids(device):
    device = device_of(device)
    local, graph = device_graph(device)
    heads = device.get(graph.id_heads).reshape(ID_HEADS, local.size)
    place = device.get(graph.place)
    for lid in range(local.size):
        row = local.out.neighbours[local.out.offsets[lid] : local.out.offsets[lid + 1]]
        wanted = place[row[np.argsort(local.original[row])][:ID_HEADS]]
        chosen = heads[:, place[lid]]
        assert chosen[: wanted.size].tolist() == wanted.tolist()
        assert np.all(chosen[wanted.size :] == NO_HEAD)
    lengths = np.diff(local.out.offsets)
    assert lengths.min() == 0
    assert lengths.max() > 64


def levels(local, source):
    """Return hops from a vertex, by NumPy."""
    src = np.repeat(np.arange(local.size), np.diff(local.out.offsets))
    level = np.full(local.size, FAR, np.int32)
    level[source] = 0
    for depth in range(local.size):
        new = np.unique(local.out.neighbours[level[src] == depth])
        new = new[level[new] == FAR]
        if not new.size:
            return level, src
        level[new] = depth + 1
    raise AssertionError("unreachable")


MUTANTS = [None, ("id_now >= id[k]", "id[k] != NO_ID"), ("if (!is_looking(puller.G, (u32)v)) continue;", "continue;")]


@pytest.mark.parametrize("options", [GpuPlan(renumber=True), GpuPlan(renumber=True).without_edge_copies()])
@pytest.mark.parametrize(
    ("device", "mutant"),
    [
        *(pytest.param("emulated", mutant, marks=needs_compiler) for mutant in MUTANTS),
        pytest.param("gpu", None, marks=pytest.mark.gpu),
    ],
)
def test_the_smallest_predecessor(device, options, mutant):
    """Check mutants that keep hubs first, which is wrong, or test nothing first, which is right."""
    device = device_of(device, mutant=mutant)
    local, graph = device_graph(device)
    leaf = int(np.flatnonzero(np.diff(local.out.offsets) == 1)[0])
    level, src = levels(local, leaf)
    dst = local.out.neighbours
    tight = level[src].astype(np.int64) + 1 == level[dst]
    wanted = np.full(local.size, np.iinfo(np.int64).max)
    np.minimum.at(wanted, dst[tight], local.original[src[tight]])
    for first in (True, False):
        machine = GpuMachine(trace(Parents(source=int(local.original[leaf])), None), graph, device, "auto", options)
        assert machine.arrays.heads_by_id == (options.copies_edges and not first)
        machine.start({"level": level})
        machine.apply_totals(*machine.totals(), starting=True)
        machine.fused(10)
        right = np.array_equal(np.asarray(machine.fields()["parent"]), wanted)
        wrong = mutant and mutant[0].startswith("id_now") and machine.arrays.heads_by_id
        assert right == (not wrong)


@needs_compiler
def test_the_machine_of_the_second_call_is_kept():
    """Check that no machine without heads is kept, which would serve all later calls, and that answers are the same."""
    engine = CudaBackend(0, 1, True, GpuPlan(renumber=True), device_of("emulated"))
    graph = dgraph.Graph.load("rmat:6,symmetric", comm=SerialComm(), device=engine)
    wanted = dgraph.bfs(graph.on(device="cpu"), source=graph.hub()).columns["predecessor"]
    tested = []
    for _ in range(3):
        parents = dgraph.bfs(graph, source=graph.hub()).columns["predecessor"]
        assert np.array_equal(parents, wanted)
        ((_, device, machines),) = engine._graphs.values()
        kept = [machine for machine, _ in machines._machines.values()]
        tested.append([m.arrays.heads_by_id for m in kept if type(m.traced.program) is Parents])
        assert ("id_heads" in vars(device)) == bool(tested[-1])
    assert tested == [[], [True], [True]]


def test_heads_are_planned():
    device = device_of("emulated")
    _, graph = device_graph(device)
    planned = memory_plan.for_rounds(trace(Parents(), None), graph.extent, "auto", GpuPlan(), device.blocks)
    assert planned.id_heads == graph.id_heads.nbytes
    assert graph.held_bytes({"id_heads": 7, "incoming": 1, "heads": 1, "light": 1, "tiles": 1}) >= 7
    graph.forget("id_heads")
    assert "id_heads" not in vars(graph)
