"""Schedules visit every edge of every active vertex exactly once, on grids smaller and larger than the work.

Edges per thread are compared with models of the papers' mappings. Kernels run as C++ on a CPU, and on a GPU if there is
one.
"""

import numpy as np
import pytest
from devices import device_of, local_graph, on_devices
from emulated import Device
from one_round import FRONTIERS, exactly_once, in_a_child, skewed, visited
from schedule_models import MODELS
from schedule_models.papers import shares_of

from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.schedule_options import parse_schedule

pytestmark = pytest.mark.mpi_skip


KNOBS = [
    ("two_phase", {"row_edges": 10}),
    ("multi_phase", {"row_edges": 10, "searches": 3}),
    ("block_search", {"loaded": 1}),
    ("dynamic_warp", {"smallest_warp": 1}),
    ("expand_balanced", {"tile": 3}),
]
OPTIONS = [(name, {}) for name in SCHEDULES] + [
    ("twc", {"twc_small": "scan"}),
    ("twc", {"twc_small": "scan", "twc_cta": 200, "twc_warp": 80}),
    ("warp_search", {"search_memory": "registers"}),
    ("edge", {"edge_chunk": "off"}),
    ("edge", {"edge_emit": "fused"}),
    ("split", {"mdt": 3}),
    ("split", {"mdt": 1}),
    ("split", {"mdt": 3, "split_by": "scan"}),
    ("hierarchical", {"mdt": 2}),
    ("hierarchical", {"mdt": 1}),
    ("virtual_warp", {"warp_size": 2}),
    ("virtual_warp", {"warp_size": 32}),
    ("dynamic_parallelism", {"grid_threshold": 0}),
    ("dynamic_parallelism", {"grid_threshold": 50}),
    ("expand_hybrid", {"expand_factor": 3}),
    ("merge_path", {"merge_by": "memory"}),
    ("alb", {"alb_threshold": 0}),
    ("alb", {"alb_threshold": 50, "alb_distribution": "blocked"}),
    ("alb", {"alb_threshold": "auto"}),
    ("alb", {"alb_threshold": 50, "twc_small": "scan"}),
    ("lb", {"alb_distribution": "blocked"}),
    ("hierarchical", {"mdt": 2, "few": 1}),
    ("expand_hybrid", {"deep": 0}),
    *KNOBS,
    ("steal", {"steal_stealing": "off", "steal_queues": 3}),
    ("steal", {"steal_task": 10, "steal_tasks": "all"}),
    ("steal", {"steal_task": 150, "steal_tasks": "all", "steal_stealing": "off"}),
]


@on_devices
@pytest.mark.parametrize("blocks", [1, 9])
@pytest.mark.parametrize(("schedule", "options"), OPTIONS)
def test_every_edge_exactly_once(device, schedule, options, blocks):
    device = device_of(device, blocks)
    for name, active in FRONTIERS.items():
        machine, _ = visited(device, schedule, active, record=True, **options)  # same text as in the next test
        assert exactly_once(machine, active), name
        assert machine.schedules(0) == [schedule]


@on_devices
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_backwards(device, schedule):
    """Check that a pull by a schedule walks the rows of all vertices."""
    active = FRONTIERS["some"]
    machine, _ = visited(device_of(device, 3), schedule, active, direction="pull")
    assert exactly_once(machine, active)


@pytest.mark.exhaustive
@on_devices
@pytest.mark.parametrize("schedule", [name for name, row in SCHEDULES.items() if row.sums or row.option])
def test_wide_offsets(device, schedule, monkeypatch):
    """Check 64-bit offsets and prefix sums from a scan, as for 2**31 edges."""
    monkeypatch.setattr(device_graph, "WIDE", 1)
    for blocks in (1, 5):
        machine, _ = visited(device_of(device, blocks), schedule, FRONTIERS["some"])
        assert machine.graph.wide
        assert exactly_once(machine, FRONTIERS["some"])


MUTANTS = {
    "vertex": ("e < last); e += 4)", "e < last); e += 5)"),
    "twc": ("at += BLOCK) {\n            const offset_t here", "at += 2 * BLOCK) {\n            const offset_t here"),
    "twc,small=scan": ("< smaller(start + degree, stop); k++)", "< smaller(start + degree, stop - 1); k++)"),
    "lb": ("bool has = edge < end;", "bool has = edge + 1 < end;"),
    "alb": ("aside ? last : first", "first"),
    "merge_path": ("> diagonal - i - 1", ">= diagonal - i - 1"),
    "warp_shares": ("window += 31;", "window += 32;"),
    "edge": ("for (u64 k = mine; k < degree;", "for (u64 k = mine; k + 1 < degree;"),
    "workload": ("stop = smaller(at + run, work.edges);", "stop = smaller(at + run - 1, work.edges);"),
    "split,mdt=3": ("born ? child + 1 == end", "born ? child == end"),
    "split,mdt=3,by=scan": ("degree * (k + 1) / siblings", "degree * (k + 1) / (siblings + 1)"),
    "hierarchical": ("rest.add(left > most, u);", "rest.add(left > most + 1, u);"),
    "virtual_warp": ("e += smaller((offset_t)(2 * size)", "e += smaller((offset_t)(3 * size)"),
    "dynamic_warp": ("in_group = lane_id() & (size - 1)", "in_group = lane_id() & (size - 2)"),
    "dynamic_parallelism": ("return degree > threshold;", "return degree >= threshold;"),
    "warp_search": ("if (next <= edge)", "if (next < edge)"),
    "warp_search,memory=registers": ("start = through - degree", "start = through"),
    "direct_search": ("const bool has = edge < stop;", "const bool has = edge < stop - 1;"),
    "block_search": ("last_up_to(room.starts, loaded, at)", "last_up_to(room.starts, loaded, at + 1)"),
    "two_phase": ("last_up_to(starts, high - low, edge)", "last_up_to(starts, high - low, edge + 1)"),
    "multi_phase": ("edge >= work.end(i)) i++", "edge > work.end(i)) i++"),
    "expand_gather": ("<= first + edge) i++", "< first + edge) i++"),
    "expand_balanced": ("count = stop - high - first;", "count = stop - high - first - (stop == total);"),
    "expand_hybrid": ("at < count; at += BLOCK", "at < count; at += 2 * BLOCK"),
    "steal": ("(tasks * blockIdx.x / gridDim.x) << 32", "(tasks * (blockIdx.x + 1) / gridDim.x - 1) << 32"),
    "steal,task=150": ("at - lane_id() < TASK; at += BLOCK", "at - lane_id() < TASK; at += 2 * BLOCK"),
    "steal,task=10,tasks=all": ("at < TASK && i < work.count", "i < work.count"),
}
MUTANT_OPTIONS = {
    "alb": {"alb_threshold": 50}, "dynamic_parallelism": {"grid_threshold": 90}, "hierarchical": {"mdt": 2},
}  # fmt: skip


@on_devices(gpu=False)
@pytest.mark.parametrize("schedule", MUTANTS)
def test_a_wrong_template_is_found(device, schedule):
    mutant, options = MUTANTS[schedule], MUTANT_OPTIONS.get(schedule, {}) | parse_schedule(schedule)
    schedule = options.pop("schedule")

    def right():
        return all(
            exactly_once(visited(device_of(device, blocks, mutant), schedule, active, **options)[0], active)
            for blocks in (1, 3)
            for active in FRONTIERS.values()
        )

    assert not in_a_child(right)


@on_devices(gpu=False)
@pytest.mark.parametrize("narrow", ["(signed char)", "(u8)"])
@pytest.mark.parametrize(
    ("schedule", "wide", "options"),
    [("lb", "(prefix_t)here", {}), ("split", "sums[i] = (u64)here", {"mdt": 1, "split_by": "scan"})],
)
def test_a_narrow_scan_is_found(device, schedule, wide, options, narrow, monkeypatch):
    """Check mutants whose prefix sums overflow; on a small graph only a narrow type does."""
    monkeypatch.setattr(device_graph, "WIDE", 1)
    mutant = wide, wide.replace("here", f"{narrow}here")

    def right():
        machine, _ = visited(device_of(device, 2, mutant), schedule, FRONTIERS["all"], **options)
        return exactly_once(machine, FRONTIERS["all"])

    assert not in_a_child(right)


@on_devices
def test_the_number_of_blocks_may_be_chosen(device):
    """Check one block, and more blocks than there is work for."""
    for blocks in (1, 31):
        machine, _ = visited(device_of(device, 2), "two_phase", FRONTIERS["some"], blocks=blocks)
        assert machine.kernels.grid("two_phase:push", fused=True) == blocks
        assert exactly_once(machine, FRONTIERS["some"])


MAPPED = {
    "split": {"mdt": 3, "split_by": "scan"}, "hierarchical": {"mdt": 90}, "dynamic_parallelism": {"grid_threshold": 50},
    "alb": {"alb_threshold": 256},
}  # fmt: skip
"""Options that change a mapping on a small graph, if the defaults do not."""


def model_options(options):
    """Return a schedule's options as arguments of its model."""
    names = {
        "grid_threshold": "threshold",
        "alb_threshold": "threshold",
        "warp_size": "size",
        "expand_factor": "factor",
        "twc_cta": "cta",
        "row_edges": "row",
        "smallest_warp": "smallest",
        "twc_warp": "warp",
        "steal_task": "task",
    }
    words = {"alb_distribution": ("blocked", "blocked"), "twc_small": ("scan", "scanned")}
    flags = {key: options.get(name) == word for name, (word, key) in words.items() if name in options}
    return flags | {names.get(name, name): value for name, value in options.items() if isinstance(value, int)}


@on_devices
@pytest.mark.parametrize(
    ("schedule", "options"),
    [
        *[(name, MAPPED.get(name, {})) for name in SCHEDULES],
        ("lb", {"alb_distribution": "blocked"}),
        ("alb", {"alb_threshold": 50, "alb_distribution": "blocked"}),
        ("split", {"mdt": 3}),
        ("twc", {"twc_small": "scan"}),
        ("twc", {"twc_small": "scan", "twc_cta": 80, "twc_warp": 4}),
        ("alb", {"alb_threshold": 80, "twc_small": "scan"}),
        ("warp_search", {"search_memory": "registers"}),
        ("edge", {"edge_chunk": "off"}),
        ("virtual_warp", {"warp_size": 32}),
        ("expand_hybrid", {"expand_factor": 3}),
        *KNOBS,
        ("steal", {"steal_task": 10}),
        ("steal", {"steal_task": 150}),
    ],
)
def test_threads_as_the_paper_maps_them(device, schedule, options):
    device = device_of(device, 3)
    machine, listed = visited(device, schedule, FRONTIERS["all"], record=True, **options)
    n, src, *_ = skewed()
    mapped(machine, schedule, np.bincount(src, minlength=n)[listed], model_options(options))


def mapped(machine, schedule, degrees, options):
    """Compare recorded edges by thread with a model."""
    device = machine.device
    threads = device.threads
    blocks = machine.kernels.grid(f"{schedule}:push", fused=True)
    if schedule == "steal":
        options["takers"] = device.get(machine.arrays.scratch0)[: -(-len(degrees) // options.get("task", threads))]
    if machine.options["split_by"] == "graph" and schedule == "split":
        n, src, *_ = skewed()
        shares = [shares_of(degree, options["mdt"])[1:] for degree in np.bincount(src, minlength=n).tolist()]
        children = device.get(machine.arrays.scratch0)[: sum(map(len, shares))]
        assert np.array_equal(np.sort(children), np.arange(children.size))
        options["joined"] = np.concatenate(shares)[children].astype(np.int64)
    recorded = device.get(machine.arrays.record)[: blocks * threads]
    np.testing.assert_array_equal(recorded, MODELS[schedule](degrees, blocks, threads, **options))


@on_devices
def test_sweeps(device):
    """Check three sweeps over a list of many vertices with equally many edges left."""
    rng = np.random.default_rng(4)
    n = 4 * 256 + 5
    arcs = n, np.repeat(np.arange(n), 6), rng.integers(0, n, 6 * n), rng.integers(1, 1 << 40, 6 * n)
    every = np.ones(n, bool)
    machine, listed = visited(device_of(device, 3), "hierarchical", every, arcs=arcs, record=True, mdt=2)
    assert exactly_once(machine, every, arcs)
    mapped(machine, "hierarchical", np.full(listed.size, 6), {"mdt": 2})


def one_slow_block(device, **options):
    """Walk a graph whose first third has all edges by three queues; return the machine, takers and owners of tasks."""
    n, task = 39 * 256, options.get("steal_task", device.threads)
    src = np.repeat(np.arange(n // 3), 12)
    arcs = n, src, np.random.default_rng(5).integers(0, n, src.size), np.ones(src.size, np.int64)
    every = np.ones(n, bool)
    machine, listed = visited(device, "steal", every, arcs=arcs, record=True, steal_queues=3, **options)
    assert machine.kernels.grid("steal:push", fused=True) == 3
    assert exactly_once(machine, every, arcs)
    if "steal_tasks" in options:  # its list is that of the rows
        np.testing.assert_array_equal(np.sort(listed), np.arange(n))
        listed = np.arange(n)
    mapped(machine, "steal", np.bincount(src, minlength=n)[listed], model_options(options))
    takers = device.get(machine.arrays.scratch0)[: -(-n // task)].astype(np.int64)
    return machine, takers, np.searchsorted(takers.size * np.arange(1, 4) // 3, np.arange(takers.size), side="right")


@on_devices
@pytest.mark.parametrize("options", [{}, {"steal_task": 20, "steal_tasks": "all"}])
def test_stealing(device, options):
    """Check that blocks steal if one block has all edges, and that every task is taken once."""
    machine, takers, owners = one_slow_block(device_of(device, 3), **options)
    taken = np.bincount(takers, minlength=3)
    stolen = np.bincount(takers[takers != owners], minlength=3)
    queues = machine.tasks().facts()
    assert (queues.pop("taken"), queues.pop("thefts")) == (taken.tolist(), stolen.tolist())
    (only,) = queues.pop("rounds")
    assert only | {"queues": 3} == queues
    assert queues == pytest.approx(
        {
            "queues": 3, "tasks": takers.size, "stolen": stolen.sum(),
            "most": taken.max(), "least": taken.min(), "mean": taken.mean(), "deviation": taken.std(),
        }
    )  # fmt: skip
    assert queues["stolen"] > 0


@on_devices
def test_without_stealing_no_task_changes_its_block(device):
    machine, takers, owners = one_slow_block(device_of(device, 3), steal_stealing="off", steal_task=20)
    np.testing.assert_array_equal(takers, owners)
    assert machine.tasks().facts()["thefts"] == [0, 0, 0]


@on_devices(gpu=False)
def test_a_thief_that_stealing_off_leaves_is_found(device):
    mutant = "STEALING && task == NO_TASK", "task == NO_TASK"
    _, takers, owners = one_slow_block(device_of(device, 3, mutant), steal_stealing="off", steal_task=20)
    assert (takers != owners).any()


def test_no_two_models_alike():
    """Check that models differ on two rounds, of the whole graph and of its largest vertices.

    On one round a hybrid equals one of its parts.
    """
    n, src, *_ = skewed()
    degrees = np.bincount(src, minlength=n)
    rounds = degrees, np.sort(degrees)[-40:]
    counts_of_models = {
        name: np.concatenate([model(d, 5, 64, **model_options(MAPPED.get(name, {}))) for d in rounds])
        for name, model in MODELS.items()
    }
    assert counts_of_models.keys() == SCHEDULES.keys(), "write a model in tests/support/schedule_models"
    for name, one in counts_of_models.items():
        assert one.sum() == sum(d.sum() for d in rounds)
        for other, counts in counts_of_models.items():
            assert other == name or not np.array_equal(one, counts), (name, other)


@pytest.mark.parametrize(
    ("degrees", "mdt"),
    [
        ([1181] + [8] * 900 + [300] * 50, 118),
        (np.repeat(np.arange(11), [18, 73, 147, 196, 195, 156, 104, 59, 30, 13, 5]), 3),
        ([], 1),
        ([0, 0, 1], 1),
    ],
)
def test_split_degree_of_the_paper(degrees, mdt):
    """Check the paper's examples.

    rmat20: the lowest of ten bins below 1,181; ER23: degrees of a Poisson distribution of mean 4, up to 10.
    """
    degrees = np.asarray(degrees, np.int64)
    n = degrees.size
    src = np.repeat(np.arange(n), degrees)
    local = local_graph(n, src, np.zeros_like(src))
    assert device_graph.DeviceGraph(local, Device(), renumber=False).split_degree(10) == mdt
