"""Variants of sssp from the papers: rounds and relaxations of the pseudo-code, and the oracle's answers.

``sssp_models.py`` has the pseudo-code. Combinations of graph, policy and number of ranks are those of the battery.
"""

from functools import cache

import emulated
import numpy as np
import pytest
from battery import CASES
from devices import device_of, local_graph, on_devices
from flat_run import flat_run
from oracles import symmetric
from sssp_models import MODELS, Graph
from test_battery import combinations, equal, shortest_paths, solve

import dgraph
from dgraph.algorithms.sssp_parts.bellman_ford import PackedWord
from dgraph.algorithms.sssp_parts.variants import VARIANTS
from dgraph.algorithms.sssp_parts.waiting_buckets import HEAVY, DeltaStepping
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.comm import world
from dgraph.errors import DataError, UsageError
from dgraph.program import ADD, Field, Global, trace, where

DELTA = 30.0


@cache
def edges(name):
    """Return n, sources, targets and weights: hubs, loops and tails; a grid; a chain with heavy short cuts."""
    rng = np.random.default_rng(len(name))
    if name == "hubs":
        n = 90
        tail, loops = np.arange(60, 80), np.arange(0, 60, 9)
        src = np.concatenate([rng.integers(0, 60, 200) ** 2 // 60, np.full(30, 5), tail, loops, [0, 5]])
        dst = np.concatenate([rng.integers(0, 60, 200), rng.integers(0, 60, 30), tail + 1, loops, [5, 60]])
    elif name == "grid":
        n, ids = 100, np.arange(100).reshape(10, 10)
        src = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
        dst = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
        src, dst, _ = symmetric(src, dst, np.ones(src.size, np.int64))
    else:
        n = 80
        src = np.concatenate([np.arange(n - 1), np.arange(0, n - 10, 3)])
        dst = np.concatenate([np.arange(1, n), np.arange(10, n, 3)])
    weights = rng.integers(1, 100 if name == "grid" else 20, src.size)
    if name == "chain":
        weights[n - 1 :] = rng.integers(60, 200, src.size - n + 1)
    keys = np.unique(src * n + dst, return_index=True)[1]
    return n, src[keys], dst[keys], weights[keys]


GRAPHS = ("hubs", "grid", "chain")


@cache
def loaded(name):
    n, src, dst, weights = edges(name)
    mine = slice(world().rank, None, world().size)
    return dgraph.Graph.from_edges(
        src[mine], dst[mine], weights[mine].astype(np.int32), n=n, keep_loops=True, comm=world()
    )


@cache
def model(variant, name):
    return MODELS[variant](Graph(*edges(name)), 0, DELTA)


def figures(variant, result):
    """Return a run's figures by the models' names."""
    summary = result.summary
    counted = {"rounds": summary["search_rounds"], "relaxed": summary["walked"]}
    counted |= {name: summary[name] for name in ("queued", "direct", "skipped") if name in summary}
    if variant == "bellman-ford":
        counted |= {"relaxed": summary["relaxations"], "walked": summary["walked"]}
    if variant == "h-bf":
        counted["relaxed"] -= summary["direct"] + summary["skipped"]
    if variant == "delta-stepping":
        counted["walked"] = counted.pop("relaxed")
    return counted


def agrees(variant, name, **more):
    distance, counted = model(variant, name)
    settings = {"delta": DELTA} if VARIANTS[variant].buckets else {}
    result = flat_run("sssp", loaded(name), source=0, variant=variant, validate=True, **settings, **more)
    assert result.report["outcome"]["validation"]["passed"]
    wanted = np.array([np.iinfo(np.int64).max if d is None else d for d in distance])
    equal(result.columns["distance"], wanted, result.columns["vertex"], f"{variant} {name} {more}")
    if variant == "delta-stepping":
        counted = {name: value for name, value in counted.items() if name != "relaxed"}
    assert figures(variant, result) == counted, f"{variant} {name} {more}"


@pytest.mark.mpi
@pytest.mark.parametrize("variant", MODELS)
@pytest.mark.parametrize("policy", ["oec", "cvc", "hash"])
def test_rounds_and_relaxations_are_those_of_the_pseudo_code(variant, policy):
    for name in GRAPHS:
        agrees(variant, name, policy=policy)


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("variant", ["h-bf", *(name for name in MODELS if name != "h-bf")])
def test_a_gpu_runs_the_same_rounds(variant):
    agrees(variant, "hubs", backend=emulated.backend(), allow_gpu_sharing=True)


@emulated.needs_compiler
@pytest.mark.mpi_skip
def test_h_bf_gives_hubs_grids_of_their_own():
    """Check 001's H-BF with dynamic parallelism: the same rounds and relaxations, and hubs by a second kernel."""
    kernels = emulated.backend(schedule="dynamic_parallelism", grid_threshold=20, record=True)
    agrees("h-bf", "hubs", backend=kernels)
    report = flat_run("sssp", loaded("hubs"), source=0, variant="h-bf", backend=kernels).report
    assert "dynamic_parallelism" in {row["schedule"] for row in report["rounds"]["kept"]}
    by_block = [row["by_block"] for row in report["ranks"][0]["load"]["rounds"]]
    assert sum(sum(blocks.get("edges_huge", [])) for blocks in by_block) > 0


@on_devices(gpu=False)
@pytest.mark.mpi_skip
@pytest.mark.parametrize("mutant", [None, ("if (p.p0 < (i64)c.c0) env.f_best[v] = (i64)(p.p0);", ";")])
def test_the_only_edge_to_a_vertex_is_stored_without_an_atomic(device, mutant):
    """Check the distances of a tail behind the source; the mutant leaves that store out."""
    n, src = 40, np.arange(39)
    graph = DeviceGraph(local_graph(n, src, src + 1, np.full(39, 3, np.int32), True), device_of(device, 2, mutant))
    machine = GpuMachine(trace(PackedWord(source=0), np.dtype("int32")), graph, graph.device, "push", GpuPlan())
    machine.start({"arriving": np.minimum(np.arange(n), 1), "loops": np.zeros(n, np.int64)})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(9)
    distances = np.asarray(machine.state["dist"])
    assert (distances == 3 * np.arange(n)).all() == (mutant is None)


@pytest.mark.mpi_skip
def test_no_variant_is_another_by_name():
    """Check that any two variants differ in rounds or relaxations on some graph."""
    counted = {variant: [model(variant, name)[1] for name in GRAPHS] for variant in MODELS}
    told = {tuple((run["rounds"], run["relaxed"]) for run in runs) for runs in counted.values()}
    assert len(told) == len(MODELS) == len(VARIANTS)


class Counted(DeltaStepping):
    """Δ-stepping that counts the edges that it relaxes, not those that it walks."""

    hits = Field("int64", reduce=ADD)
    relaxed = Global("int64", reduce=ADD, keep=True)

    def edge(self, u, e, v, g):
        return super().edge(u, e, v, g) | {"hits": where((g.phase == HEAVY) == (e.weight > self.delta), 1, 0)}

    def apply(self, v, g):
        return super().apply(v, g) | {"relaxed": v.hits}


@pytest.mark.exhaustive
@pytest.mark.mpi
@pytest.mark.parametrize("name", GRAPHS)
def test_delta_stepping_relaxes_heavy_edges_once_a_bucket(name):
    result = dgraph.run(Counted(source=0, delta=DELTA), loaded(name))
    assert result.summary["relaxed"] == model("delta-stepping", name)[1]["relaxed"]


@pytest.mark.exhaustive
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("variant", "name", "dtype"),
    [
        (variant, name, "int64" if variant == "h-bf" else "float32")
        for name in ("plateaus", "skewed", "rounded_sums", "all_zero")
        for variant in MODELS
        if variant != "h-bf" or "int64" in CASES[name].dtypes
    ],
)
def test_the_battery(variant, name, dtype):
    """Check the answers of each variant; h-bf takes integers alone."""
    distance, predecessor = shortest_paths(name, dtype)
    for chosen in combinations(name):
        result, vertices = solve("sssp", name, dtype, chosen, source=CASES[name].source, variant=variant)
        equal(result.columns["distance"], distance, vertices, f"distance {chosen}")
        equal(result.columns["predecessor"], predecessor, vertices, f"predecessor {chosen}")


@pytest.mark.mpi
@pytest.mark.parametrize("variant", MODELS)
def test_a_cutoff_and_a_round_limit(variant):
    distance, _ = model(variant, "grid")
    result = flat_run("sssp", loaded("grid"), source=0, variant=variant, cutoff=150.0, validate=True)
    wanted = np.array([np.iinfo(np.int64).max if d > 150 else d for d in distance])
    equal(result.columns["distance"], wanted, result.columns["vertex"], variant)
    assert result.report["outcome"]["validation"]["passed"]
    stopped = flat_run("sssp", loaded("grid"), source=0, variant=variant, max_rounds=3, return_predecessors=False)
    assert not stopped.converged
    assert stopped.summary["search_rounds"] == 3


@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("variant", "more", "told"),
    [
        ("workfront", {"delta": 3.0}, "variant='workfront' has no buckets; leave delta out"),
        ("near-far", {"delta": 0.0}, "delta = 0.0 is not a bucket width"),
        ("near-far", {"cutoff": -1.0}, "cutoff = -1.0 is not valid"),
    ],
)
def test_refusals(variant, more, told):
    with pytest.raises(UsageError, match=told):
        flat_run("sssp", loaded("chain"), source=0, variant=variant, **more)


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_variants_start_from_scratch():
    graph = dgraph.Graph.load("path:4", weights="1..9")
    before = dgraph.run("sssp", graph, source=0, variant="near-far")
    with pytest.raises(UsageError, match="variant='near-far' starts from scratch; leave previous out"):
        dgraph.run("sssp", graph, source=0, variant="near-far", previous=before)


@pytest.mark.mpi
def test_packed_words_hold_integers_that_fit():
    with pytest.raises(UsageError, match="packs an integer distance and a round in 64 bits, and the weights are"):
        flat_run("sssp", "path:4", weights="0.5..2", source=0, variant="h-bf", comm=world())
    n = 4
    mine = slice(world().rank, None, world().size)
    long = dgraph.Graph.from_edges(
        np.arange(n - 1)[mine], np.arange(1, n)[mine], np.full(n - 1, 1 << 42)[mine], n=n, comm=world()
    )
    with pytest.raises(DataError, match=r"variant='h-bf' holds distances below 2\*\*43"):
        flat_run("sssp", long, source=0, variant="h-bf")
