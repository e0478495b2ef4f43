"""Variant ``gather`` of sssp on any number of ranks finds the distances and certificates of the variant ``buckets``.

Also tested: the rows of light edges, and when ``auto`` chooses ``gather``.
"""

from functools import cache

import emulated
import numpy as np
import oracles
import pytest
from battery import by_turns
from devices import device_of, local_graph, on_devices
from flat_run import flat_run

import dgraph
from dgraph.algorithms.delta_stepping import LimitedDistances
from dgraph.algorithms.sssp_parts import gather_near_hubs
from dgraph.backend.cuda import backend as cuda_backend
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.filtered_edges import light_edges as light
from dgraph.backend.cuda.filtered_edges.light_edges import LightEdgesMachine
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet
from dgraph.comm import world
from dgraph.engine.rounds.context import Context
from dgraph.errors import OutOfMemory, UsageError
from dgraph.program import trace

SOURCE = 1
GRAPHS = ("hubs", "path", "apart", "alike")


@cache
def edges(name):
    """Return n, sources, targets, weights: hubs among random edges; a path; many components; or equal weights."""
    rng = np.random.default_rng(len(name))
    n = 300
    if name == "path":
        src, dst = np.arange(1, n - 1), np.arange(2, n)
    else:
        src, dst = rng.integers(0, n, 400), rng.integers(0, n, 400)
        if name != "apart":
            hubs = rng.integers(0, 4, 1500)
            src, dst = np.append(src, hubs), np.append(dst, rng.integers(0, n - 50, 1500))
    weights = np.ones(len(src), np.int64) if name == "alike" else rng.integers(1, 256, len(src))
    return n, *oracles.simple(src, dst, weights)


def loaded(name, directed=True):
    n, src, dst, weights = edges(name)
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    ends_and_weights = src[mine], dst[mine], weights[mine].astype(np.int32)
    return dgraph.Graph.from_edges(*ends_and_weights, n=n, directed=directed, comm=comm)


def solved(name, backend, directed=True, **more):
    """Return a validated run, its distances, and the right ones."""
    graph = loaded(name, directed)
    more = {"allow_gpu_sharing": True} | more if backend != "cpu" else more
    result = flat_run("sssp", graph, source=SOURCE, backend=backend, validate=True, **more)
    assert result.report["outcome"]["validation"]["passed"]
    return result, _whole(result, "distance"), right(name, directed)


@cache
def right(name, directed):
    n, src, dst, weights = edges(name)
    if not directed:
        src, dst, weights = oracles.simple(*oracles.symmetric(src, dst, weights))
    return oracles.sssp(n, src, dst, weights, SOURCE)


def same(distances, wanted):
    end = np.inf if distances.dtype.kind == "f" else np.iinfo(np.int64).max
    np.testing.assert_array_equal(distances, np.array([end if right is None else right for right in wanted]))


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("far", [False, True])
def test_programs_that_follow_are_compiled_beside_the_first(directed, far, monkeypatch):
    """Check that programs are compiled ahead with exactly the texts that they use later."""
    asked = []
    compile = ModuleSet.compile

    def noted(self, names):
        asked.append((type(self.traced.program).__name__, {self.text(*name) for name in names}))
        compile(self, names)

    monkeypatch.setattr(ModuleSet, "compile", noted)
    monkeypatch.setattr(gather_near_hubs, "HUB", 10**6 if far else 1)
    monkeypatch.setattr(gather_near_hubs, "CROWD", 100)
    solved("hubs", emulated.backend(), directed, variant="gather")
    names = [name for name, _ in asked]
    first = {False: "LimitedDistances", True: "UntilHub"}[far]
    parents = "PushedNearerParents" if directed else "NearerParents"
    expected = ["ContinuedDistances"] * far + [max(names, key=lambda name: name.startswith("FarDistances")), parents]
    assert sorted(names[: len(expected) + 1]) == sorted([first, *expected])
    assert [name for name in names[len(expected) + 1 :] if name in expected] == expected
    for name in expected:
        one, *others = [texts for also, texts in asked if also == name]
        assert others == [one] * len(others)


@emulated.needs_compiler
@pytest.mark.mpi
@by_turns("name, how, policy", GRAPHS, [
    {}, {"small": -1}, {"host_rounds": True}, {"local_rounds": True},
], ["oec", "iec at once", "hash directed at once", "cvc"], of=5)  # fmt: skip
def test_gathered_distances(name, how, policy, monkeypatch):
    """Check distances; ``how``: options of an emulated GPU. "at once": without the first phase over all edges."""
    policy, *kind = policy.split()
    monkeypatch.setattr(gather_near_hubs, "HUB", 1 if "once" in kind else 10**9)
    monkeypatch.setattr(gather_near_hubs, "CROWD", 20)
    more = {"policy": policy, "variant": "gather"}
    _, distances, wanted = solved(name, emulated.backend(**how), "directed" in kind, **more)
    same(distances, wanted)


@pytest.mark.mpi
@pytest.mark.parametrize("direction", ["push", "pull", "flip"])
@pytest.mark.parametrize("sync", ["full", "poison"])
def test_gathered_in_every_direction(direction, sync, monkeypatch):
    monkeypatch.setattr(gather_near_hubs, "CROWD", 20)
    more = {"direction": direction, "sync": sync, "policy": "hash", "variant": "gather"}
    _, distances, wanted = solved("hubs", "cpu", False, **more)
    same(distances, wanted)


@cache
def path_to_a_hub(dtype):
    """Return n, sources, targets, weights and right distances of a path to a hub with connected leaves.

    A heavy edge joins the path to the last leaf. For floats, sums along the path are rounded.
    """
    n, hub = 400, 30
    rng = np.random.default_rng(2)
    leaves = np.arange(hub + 1, n)
    src = np.concatenate([np.arange(hub), np.full(leaves.size, hub), leaves[:-1], [5]])
    dst = np.concatenate([np.arange(1, hub + 1), leaves, leaves[1:], [n - 1]])
    light = rng.integers(1, 256, len(src) - hub - 1)
    weights = np.concatenate([np.full(hub, 40), light, [9000]]).astype(dtype)
    if dtype == "float32":
        weights *= np.float32(1 / 3)
    return n, src, dst, weights, oracles.sssp(n, *oracles.simple(*oracles.symmetric(src, dst, weights)), 0)


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize(("how", "dtype", "margin"), [
    (None, "int32", 0.01), ({}, "int32", 0.01), ({}, "float32", 0.01), ({}, "float32", 0.0),
])  # fmt: skip
def test_a_source_far_from_hubs(how, dtype, margin, monkeypatch):
    """Check the phases: all edges up to the bucket with many active vertices, then light edges, then a pull.

    The last leaf has a distance early, which is too large. Without a margin, rounding might make a heavy edge look
    light, so plain buckets are used.
    """
    monkeypatch.setattr(gather_near_hubs, "CROWD", 10)
    monkeypatch.setattr(gather_near_hubs, "MARGIN", margin)
    n, src, dst, weights, wanted = path_to_a_hub(dtype)
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], weights[mine], n=n, directed=False, comm=comm)
    more = {"backend": "cpu"} if how is None else {"backend": emulated.backend(**how), "allow_gpu_sharing": True}
    more |= {"return_predecessors": False}
    result = flat_run("sssp", graph, source=0, variant="gather", validate=True, **more)
    assert result.report["outcome"]["validation"]["passed"]
    same(_whole(result, "distance"), wanted)
    assert ("pull" in result.report["rounds"]["by_direction"]) == (margin > 0 and how is not None)


@emulated.needs_compiler
@pytest.mark.mpi
def test_a_gpu_looks_back_from_far_vertices_and_leaves_heavy_edges_out(monkeypatch):
    """Check that one round pulls from near vertices, and that the rounds before it walk light edges only."""
    monkeypatch.setattr(gather_near_hubs, "NEAR", 1.5)
    monkeypatch.setattr(light, "LIGHTEST", 1)
    backend, more = emulated.backend(), {"variant": "gather", "return_predecessors": False}
    result, distances, wanted = solved("hubs", backend, False, **more)
    same(distances, wanted)
    assert result.report["rounds"]["by_direction"]["pull"] == 1
    monkeypatch.setattr(light, "LIGHTEST", 10**9)
    whole, distances, _ = solved("hubs", backend, False, **more)
    same(distances, wanted)
    assert _pushed(result) < 0.8 * _pushed(whole)


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("before", [None, "bfs", "a lack of room"])
def test_edges_by_target_are_brought_into_order_once_that_pays(before, monkeypatch):
    """Check when a directed graph gets in-edges.

    At the third run; at once if another program has them; not if one rank lacks memory.
    """
    monkeypatch.setattr(cuda_backend, "PULLS_BEFORE_CSC", 3)
    monkeypatch.setattr(gather_near_hubs, "NEAR", 1.5)
    backend, graph, wanted = emulated.backend(), loaded("hubs"), right("hubs", True)
    more = {"source": SOURCE, "backend": backend, "allow_gpu_sharing": True}
    if before == "bfs":
        flat_run("bfs", graph, **more)
    elif before and world().rank == 0:
        monkeypatch.setattr(type(backend), "_plan", _no_room(type(backend)._plan))
    pulls = []
    for _ in range(4):
        result = flat_run("sssp", graph, variant="gather", return_predecessors=False, **more)
        same(_whole(result, "distance"), wanted)
        pulls.append("pull" in result.report["rounds"]["by_direction"])
    assert pulls == {None: [False, False, True, True], "bfs": [True] * 4}.get(before, [False] * 4)


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("policy", ["oec", "iec", "cvc"])
def test_mirrors_that_look_back_hear_who_need_not(policy, directed, monkeypatch):
    """Check that near vertices are sent to mirrors before a pull exactly if some mirror has in-edges.

    A mirror has no distance, so it would pull although its master is near.
    """
    monkeypatch.setattr(gather_near_hubs, "NEAR", 1.5)
    monkeypatch.setattr(cuda_backend, "PULLS_BEFORE_CSC", 1)
    started, run = [], Context.run

    def noted(ctx, program, *rest):
        if program.gathers:
            rows = ctx.local.incoming if directed else ctx.local.out
            have = np.diff(np.asarray(rows.offsets))[ctx.local.masters :]
            started.append((hasattr(program, "far"), world().total(int(have.sum())) > 0))
        return run(ctx, program, *rest)

    monkeypatch.setattr(Context, "run", noted)
    result = solved("hubs", emulated.backend(), directed, variant="gather", policy=policy)[0]
    assert result.report["rounds"]["by_direction"].get("pull")
    assert started
    assert all(told == look_back for told, look_back in started), started


def _no_room(plan):
    def planned(backend, traced, *rest):
        if traced.program.gathers:
            raise OutOfMemory("there is no room")
        return plan(backend, traced, *rest)

    return planned


def _pushed(result):
    """Return the edges of rounds before the one that pulls."""
    rounds = result.report["rounds"]["kept"]
    return sum(round["frontier_edges"] for round in rounds[: [round["direction"] for round in rounds].index("pull")])


@emulated.needs_compiler
@pytest.mark.mpi
def test_gpus_gather_where_there_are_hubs(monkeypatch):
    graph = dgraph.Graph.load("rmat:8", weights="1..255", comm=world())
    backend = emulated.backend()

    def taken(backend, **more):
        sharing = backend != "cpu"
        result = flat_run("sssp", graph, source=SOURCE, backend=backend, allow_gpu_sharing=sharing, **more)
        return [choice["taken"] for choice in result.report["choices"] if choice["what"] == "variant"]

    assert taken(backend) == [], "no vertex has so many edges"
    monkeypatch.setattr(gather_near_hubs, "HUB", 16)
    assert taken(backend) == ["gather"]
    for more in ({"cutoff": 300.0}, {"delta": 20.0}, {"variant": "buckets"}):
        assert taken(backend, **more) == []
    assert taken("cpu") == []
    monkeypatch.setattr(gather_near_hubs, "FEW", 1 << 20)
    assert taken(backend) == [], "rounds over few edges cost less than programs"
    monkeypatch.setattr(gather_near_hubs, "FEW", 0)
    monkeypatch.setattr(gather_near_hubs, "MEAN", 100)
    assert taken(backend) == []


@pytest.mark.mpi
@pytest.mark.parametrize("more", [{"cutoff": 300.0}, {"delta": 20.0}])
def test_who_gathers_has_no_width_and_no_end(more):
    with pytest.raises(UsageError, match="leave delta and cutoff out"):
        flat_run("sssp", "rmat:4", source=SOURCE, variant="gather", comm=world(), **more)


@on_devices
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.mpi_skip
def test_rows_of_light_edges(device, dtype, wide, monkeypatch):
    """Check rows of edges up to a weight, inclusive; ``wide``: with 64-bit offsets, as above 2³¹ edges."""
    monkeypatch.setattr(device_graph, "WIDE", 1 if wide else device_graph.WIDE)
    rng = np.random.default_rng(3)
    n = 700
    src, dst = (rng.integers(0, n - 50, 3000) ** 2 // n for _ in range(2))
    src, dst = np.append(src, np.full(n - 60, 7)), np.append(dst, np.arange(n - 60))
    weights = rng.integers(1, 9, len(src)).astype(dtype)
    graph = DeviceGraph(local_graph(n, src, dst, weights), device_of(device), renumber=False)
    order = np.argsort(src, kind="stable")
    src, dst, weights = src[order], dst[order], weights[order]
    for heaviest, share in ((3, 2), (3, 1), (5, 1), (8, 1), (0, 1), (0, 9)):
        monkeypatch.setattr(light, "LIGHTEST", share)
        before = graph.light
        offsets, kept, carried = _light(graph, heaviest, dtype) or (None,) * 3
        if before and before[0] == heaviest:
            assert graph.light is before, "it stays, whatever it is"
            continue
        stays = weights <= heaviest
        assert (offsets is None) == (stays.sum() > len(src) // share)
        if offsets is not None:
            np.testing.assert_array_equal(offsets, np.append(0, np.cumsum(np.bincount(src[stays], minlength=n))))
            np.testing.assert_array_equal(kept, dst[stays])
            np.testing.assert_array_equal(carried, weights[stays])


def _light(graph, heaviest, dtype):
    """Return offsets, targets and weights that kernels walk; None if they walk all edges."""
    field = "int32" if dtype[0] == "i" else dtype
    program = LimitedDistances(source=7, cutoff=heaviest, delta=100.0).retype(dist=field).with_light_edges(heaviest)
    machine = LightEdgesMachine(trace(program, np.dtype(dtype)), graph, graph.device, "auto", GpuPlan())
    machine.compile()
    machine.start({})
    env, get, rows = machine.kernels._values, graph.device.get, graph.light[1]
    if rows is None:
        assert env["out_edges"] == graph.edges
        return None
    offsets = get(rows.offsets)
    assert env["out_edges"] == offsets[-1] == len(rows.neighbours) == len(rows.weights)
    assert env["out_offsets"] == graph.device.address(rows.offsets)
    return offsets, get(rows.neighbours), get(rows.weights)


def _whole(result, column):
    """Return a column of the whole graph, by vertex, on every rank."""
    vertex, values = (result.comm.allgatherv(np.ascontiguousarray(result.columns[name])) for name in ("vertex", column))
    return np.concatenate(values)[np.argsort(np.concatenate(vertex))]
