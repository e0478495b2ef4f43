"""Schedules do in each round of a bfs what models of their papers' pseudo-code predict, and mutants of them do not.

Compared: rows and edges scanned, the frontier, and edges by block, warp and thread. Kernels run emulated.
"""

import re
from functools import cache

import numpy as np
import pytest
from devices import device_of, local_graph
from emulated import THREADS, Device, needs_compiler
from one_round import in_a_child
from paper_models import paper_000, paper_001, paper_002, paper_004
from paper_models.grid import Grid, edges_of

from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.delta_stepping import DataDriven
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.schedule_options import parse_schedule
from dgraph.program import trace

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

BLOCKS = 3


def graphs():
    """Return name → rows: (target, weight) of each vertex's edges. Vertex 0 is the source."""
    rng = np.random.default_rng(6)

    def drawn(degrees):
        return [[(int(v), int(rng.integers(1, 50))) for v in rng.integers(0, len(degrees), d)] for d in degrees]

    steps = [1, 32, 64, 50, 33, 31, 200, 90, 63, 2, *rng.integers(0, 9, 290).tolist()]
    layers = [
        [(10 * layer + j, int(rng.integers(1, 99))) for j in range(1, 11)] for layer in range(7) for _ in range(10)
    ]
    return {
        "path": [[(i + 1, 1)] for i in range(40)] + [[]],
        "star": [[(i, 3) for i in range(1, 301)], *[[(0, 1)]] * 300],
        "grid": [[(v, 1) for v in (i - 12, i + 12, i - 1, i + 1) if 0 <= v < 144] for i in range(144)],
        "steps": drawn(steps),
        "uniform": drawn([7] * 400),
        "layers": [layers[0], *layers[10:], *[[]] * 10],
    }  # fmt: skip


GRAPHS = graphs()

SYSTEMS = {
    "vertex": (paper_000.baseline, {}),
    "edge": (paper_000.edge_based, {}),
    "workload": (paper_000.workload_decomposition, {}),
    "split,mdt=6": (paper_000.node_splitting, {"mdt": 6}),
    "hierarchical,mdt=150,few=1": (paper_000.hierarchical, {"mdt": 150, "few": THREADS}),
    "virtual_warp": (paper_001.virtual_warps, {"size": 8}),
    "dynamic_warp,smallest=2": (paper_001.dynamic_virtual_warps, {"smallest": 2}),
    "dynamic_parallelism,threshold=40": (paper_001.dynamic_virtual_warps, {"smallest": 4, "threshold": 40}),
    "twc,small=scan": (paper_001.cta_warp_scan, {"cta": THREADS, "warp": 32}),
    "direct_search": (paper_001.direct_search, {}),
    "warp_search": (paper_001.local_warp_search, {}),
    "block_search,loaded=1": (paper_001.block_search, {"loaded": 1}),
    "two_phase,row=3": (paper_001.two_phase, {"row": 3}),
    "multi_phase,row=10,searches=3": (paper_001.multi_phase, {"row": 10, "searches": 3}),
    "twc": (paper_002.twc, {"large": THREADS, "medium": 32}),
    "alb,threshold=50": (paper_002.alb, {"threshold": 50, "blocked": False, "large": THREADS, "medium": 32}),
    "alb,threshold=9,distribution=blocked": (
        paper_002.alb, {"threshold": 9, "blocked": True, "large": THREADS, "medium": 32},
    ),
    "merge_path": (paper_004.merge_path, {"items": 8}),
    "expand_gather,tile=2": (paper_004.expand_gather, {"tile": 2 * THREADS}),
    "expand_balanced,tile=2": (paper_004.expand_balanced, {"tile": 2 * THREADS}),
    "expand_hybrid,tile=2,factor=10": (paper_004.expand_hybrid, {"tile": 2 * THREADS, "factor": 10}),
    "lb": (paper_002.lb, {"blocked": False}),
    "lb,distribution=blocked": (paper_002.lb, {"blocked": True}),
}  # fmt: skip
"""Schedule as a user writes it → model and its arguments."""

MUTANTS = {
    "vertex": ("u64 i = thread_rank(); i - lane_id()", "u64 i = thread_in_order(); i - lane_id()"),
    "edge": ("u64 at = thread_in_order(); at - lane_id() < all", "u64 at = thread_rank(); at - lane_id() < all"),
    "workload": ("run = pieces_of(work.edges, threads())", "run = 1 + pieces_of(work.edges, threads())"),
    "split,mdt=6": ("degree(v) * k / siblings", "degree(v) * k / (siblings + 1)"),
    "hierarchical,mdt=150,few=1": ("(offset_t)smaller(left, most);", "(offset_t)smaller(left, most + 1);"),
    "virtual_warp": ("u64 i = thread_rank() / size;", "u64 i = thread_in_order() / size;"),
    "dynamic_warp,smallest=2": ("2 * threads() >= 3 * size * count", "2 * threads() >= 6 * size * count"),
    "dynamic_parallelism,threshold=40": ("at = 32 * warp_rank(); at", "at = 32 * (warps() - 1 - warp_rank()); at"),
    "twc,small=scan": ("last - e >= WARP_LEAST", "last - e > WARP_LEAST"),
    "direct_search": ("pieces_of(pieces_of(work.edges, BLOCK), gridDim.x)", "pieces_of(work.edges, BLOCK)"),
    "warp_search": ("u64 first = 32 * warp_rank()", "u64 first = 32 * (warps() - 1 - warp_rank())"),
    "block_search,loaded=1": ("run = pieces_of(edges, BLOCK)", "run = 1 + pieces_of(edges, BLOCK)"),
    "two_phase,row=3": ("threadIdx.x * IN_ROW", "(BLOCK - 1 - threadIdx.x) * IN_ROW"),
    "multi_phase,row=10,searches=3": ("((IN_ROW + ITERATED - 1) / ITERATED)", "(IN_ROW + ITERATED - 1)"),
    "twc": ("last - e >= CTA_EDGES", "last - e > CTA_EDGES"),
    "alb,threshold=50": (">= work.number;", "> work.number;"),
    "merge_path": ("u64 piece = thread_rank(); (piece", "u64 piece = thread_in_order(); (piece"),
    "expand_gather,tile=2": ("first = (u64)blockIdx.x * TILE", "first = (u64)(gridDim.x - 1 - blockIdx.x) * TILE"),
    "expand_balanced,tile=2": ("at = (u64)blockIdx.x * TILE", "at = (u64)(gridDim.x - 1 - blockIdx.x) * TILE"),
    "expand_hybrid,tile=2,factor=10": ("work.edges > (u64)work.number", "work.edges < (u64)work.number"),
    "alb,threshold=9,distribution=blocked": ("threads() - 1) / threads() : 1", "threads() - 1) / threads() + 1 : 1"),
    "lb": ("const u64 begin = thread_rank() * run", "const u64 begin = thread_in_order() * run"),
    "lb,distribution=blocked": ("threads() - 1) / threads() : 1", "threads() - 1) / threads() + 1 : 1"),
}  # fmt: skip
"""Schedule → replacement in its text. All but that of ``hierarchical`` walk the same edges by other threads."""


PAPERS = {"000", "001", "002", "003", "004"}
ELSEWHERE = {"steal"}
"""003's queues, whose model is in ``test_paper_003.py``."""


def test_every_schedule_has_a_model_and_a_mutant():
    printed = {name for name, row in SCHEDULES.items() if PAPERS & {*re.split("[; ]+", row.source)}}
    of_papers = printed - ELSEWHERE - {name for name, row in SCHEDULES.items() if row.source.startswith("after ")}
    assert {name.partition(",")[0] for name in SYSTEMS} == of_papers
    assert MUTANTS.keys() == SYSTEMS.keys()


def arcs(rows):
    """Return n, sources, targets and weights."""
    flat = [(u, v, w) for u, row in enumerate(rows) for v, w in row]
    return len(rows), *(np.array(column, np.int64) for column in zip(*flat, strict=True))


def started(device, rows, program, schedule, **recorded):
    n, src, dst, weights = arcs(rows)
    graph = DeviceGraph(local_graph(n, src, dst, weights.astype(np.int32)), device, renumber=False)
    plan = GpuPlan(**parse_schedule(schedule), **recorded)
    machine = GpuMachine(trace(program, np.dtype(np.int32)), graph, device, "push", plan)
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    return machine


def searched(device, schedule, rows):
    """Run a bfs by a schedule; return the parts of its rounds that differ from the model's."""
    model, options = SYSTEMS[schedule]
    degree, reached, frontier = [len(row) for row in rows], {0}, [0]
    machine = started(device, rows, Levels(source=0), schedule, record=True)
    differing, before = [], np.zeros(BLOCKS * THREADS, np.int64)
    grid = Grid(machine.kernels.grid(f"{machine.options.schedule}:push", fused=True), THREADS)
    while not machine.done:
        worklist = machine.frontier().tolist()
        if sorted(worklist) != sorted(frontier):
            return ["frontier"]
        machine.fused(1)
        if model is paper_000.node_splitting:
            options = options | {"joined": joined(machine, degree, worklist, options["mdt"])}
        walked = list(model(degree, worklist, grid, **options))
        assert sorted((u, k) for _, u, k in walked) == sorted(edges_of(worklist, degree))
        vertices, edges = machine.figures(machine.round - 1)[0][:2].tolist()
        counted = device.get(machine.arrays.record)[: grid.all].astype(np.int64)
        by_thread = (counted - before).tolist()
        before = counted
        recorded = grid.loads(
            [(t, 0, 0) for t, edges_of_thread in enumerate(by_thread) for _ in range(edges_of_thread)]
        )
        differing += ["rows"] * (vertices != len(worklist)) + ["edges"] * (edges != len(walked))
        differing += ["loads"] * (recorded != grid.loads(walked))
        frontier = sorted({rows[u][k][0] for _, u, k in walked} - reached)
        reached |= set(frontier)
    return differing


def joined(machine, degree, worklist, mdt):
    """Return the children in the list of the round before, as (vertex, child), from their numbers in it."""
    numbered = [(u, c) for u, parts in paper_000.split_nodes(degree, mdt).items() for c in range(1, len(parts))]
    listed = sum(len(paper_000.split_nodes([degree[u]], mdt)[0]) - 1 for u in worklist)
    return [numbered[child] for child in machine.device.get(machine.arrays.scratch0)[:listed].tolist()]


@pytest.mark.parametrize("schedule", SYSTEMS)
def test_rounds_are_those_of_the_model(schedule):
    for name, rows in GRAPHS.items():
        assert searched(device_of("emulated", BLOCKS), schedule, rows) == [], name


@pytest.mark.parametrize("schedule", MUTANTS)
def test_a_mutant_is_not_the_model(schedule):
    def right():
        return not any(
            searched(device_of("emulated", BLOCKS, MUTANTS[schedule]), schedule, rows) for rows in GRAPHS.values()
        )

    assert not in_a_child(right)


def test_each_model_differs_from_each_other():
    """Compare edges by thread of whole graphs, and of the vertices of 10 edges or more."""

    @cache
    def loads(schedule, name):
        degree, (model, options) = [len(row) for row in GRAPHS[name]], SYSTEMS[schedule]
        lists = [list(range(len(degree))), [u for u in range(len(degree)) if degree[u] > 9]]
        of_round = []
        for worklist in lists:
            if model is paper_000.node_splitting:
                family = paper_000.split_nodes(degree, options["mdt"])
                children = [(u, c) for u in worklist for c in range(1, len(family[u]))]
                options = options | {"joined": children}
            of_round.append(Grid(BLOCKS, THREADS).loads(model(degree, worklist, Grid(BLOCKS, THREADS), **options)))
        return of_round

    for schedule in SYSTEMS:
        for other in SYSTEMS:
            assert other == schedule or any(loads(schedule, name) != loads(other, name) for name in GRAPHS), (
                schedule,
                other,
            )


COUNTED = 1 << 16
"""Counted in the record of edges by thread for each step of a search."""

STEP = "return start(i) <= edge;"
COUNTING = f"if (RECORD) env.record[blockIdx.x * (u64)BLOCK + threadIdx.x] += {COUNTED};"


def steps_differ(distribution, step=COUNTING):
    """Return True if the steps of searches in some round of lb, by thread, are not those of the model."""
    for rows in GRAPHS.values():
        device = device_of("emulated", BLOCKS, (STEP, f"{step} {STEP}"))
        machine = started(device, rows, Levels(source=0), f"lb,distribution={distribution}", record=True)
        degree, before = [len(row) for row in rows], np.zeros(BLOCKS * THREADS, np.int64)
        grid = Grid(machine.kernels.grid("lb:push", fused=True), THREADS)
        while not machine.done:
            worklist = machine.frontier().tolist()
            machine.fused(1)
            counted = device.get(machine.arrays.record)[: grid.all].astype(np.int64)
            steps, before = (counted - before) // COUNTED, counted
            if steps.tolist() != paper_002.searches(degree, worklist, grid, distribution == "blocked")[0]:
                return True
    return False


@pytest.mark.parametrize("distribution", ["cyclic", "blocked"])
def test_searches_take_the_steps_of_the_model(distribution):
    assert not steps_differ(distribution)


def test_a_search_of_the_whole_list_takes_other_steps():
    whole = f"{COUNTING} if (low == 1) {COUNTING[COUNTING.index('env') :]}"
    assert not in_a_child(lambda: not steps_differ("cyclic", whole))


def test_lanes_of_a_warp_follow_few_paths_where_vertices_are_as_wide_as_a_warp():
    """Check section 4.2 as printed: two paths if cyclic. From the vertex before they have two starts: three paths."""
    degree, work = [32 + 7 * i for i in range(40)], list(range(40))
    printed, ours = (
        [paper_002.searches(degree, work, Grid(2, 64), blocked, form)[1] for blocked in (False, True)]
        for form in (True, False)
    )
    assert max(printed[0]) == 2 < max(printed[1])
    assert sum(ours[0]) < sum(printed[0]) < sum(printed[1])
    assert max(ours[0]) == 3


class InOrder(Device):
    """Emulated GPU whose threads run one after the other, up to warp operations and barriers."""

    @property
    def seed(self):
        return 0

    @seed.setter
    def seed(self, value):
        pass


def listed(machine):
    """Return the entries (source, edge) of the list that the next round walks."""
    words, arrays, device = machine.words, machine.arrays, machine.device
    size, skipped = machine.graph.edges, machine.graph.edges * bool(words[control.SWAPPED])
    sources = device.get(arrays.scratch0)[skipped : skipped + size]
    positions = device.get(arrays.scratch2).view(np.uint32)[skipped : skipped + size]
    offsets = device.get(machine.graph.out.offsets)
    return list(zip(sources.tolist(), (positions - offsets[sources]).tolist(), strict=True))


def relaxed(device, rows, chunk):
    """Run sssp by ``edge,emit=fused``; return what differs from Figure 2, and how many entries were repeated."""
    machine = started(device, rows, DataDriven(source=0).retype(dist="int32"), f"edge,emit=fused,chunk={chunk}")
    dist, entries, all_entries, distinct = {0: 0}, [(0, k) for k in range(len(rows[0]))], 0, 0
    differing = []
    while not machine.done:
        following = paper_000.edge_relaxation(rows, dist, entries)
        machine.fused(1)
        if machine.done or len(following) > machine.graph.edges:
            break
        entries = listed(machine)[: len(following)]
        differing += ["list"] * (sorted(entries) != sorted(following))
        all_entries, distinct = all_entries + len(following), distinct + len(set(following))
        if machine.round > len(rows):
            return ["rounds"], 0
    counts = machine.schedule_counts()
    if not machine.done:
        while not machine.done:
            machine.fused(1)
        differing += ["not condensed"] * (machine.schedule_counts()["condensed_lists"] == 0)
    else:
        wanted = {"listed_edges": all_entries, "repeated_edges": all_entries - distinct, "condensed_lists": 0}
        differing += [name for name, count in wanted.items() if counts[name] != count]
        values = np.asarray(machine.state["dist"])
        differing += ["dist"] * any(values[v] != d for v, d in dist.items())
    return differing, all_entries - distinct


@pytest.mark.parametrize("chunk", ["on", "off"])
def test_fused_emission_lists_what_figure_2_pushes(chunk):
    repeated = 0
    for name, rows in GRAPHS.items():
        differing, more = relaxed(InOrder(40), rows, chunk)
        assert differing == [], name
        repeated += more
    assert repeated > 0


def test_emission_without_duplicates_is_not_figure_2():
    mutant = ("EMIT_REPEATED ? improved[k] : near[k]", "near[k]")
    assert not in_a_child(
        lambda: not any(relaxed(InOrder(40, mutant=mutant), rows, "on")[0] for rows in GRAPHS.values())
    )
