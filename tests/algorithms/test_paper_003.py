"""Rounds of ``color --scan each`` and queues of ``steal`` are those of paper 003's printed algorithms (Che et al.)."""

from itertools import combinations, pairwise

import emulated
import gpu_ranks
import numpy as np
import pytest
import simulated
from colored import splitmix
from emulated import needs_compiler
from flat_run import flat_run
from paper_models import paper_003

import dgraph
from dgraph.algorithms.color_parts.priorities import ByKeyEachRound
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm

pytestmark = pytest.mark.mpi_skip

GRAPHS = ("rmat:7,symmetric", "uniform:6,symmetric", "grid:9x7", "star:70", "path:40", "rmat:6,symmetric,seed=5")
SWITCH = 3

VARIANTS = {
    "jones-plassmann": ({"variant": "jones-plassmann"}, lambda round, colored: False),
    "hybrid": ({"variant": "hybrid"}, lambda round, colored: colored > 0),
    "hybrid after N": (
        {"variant": "hybrid", "switch_round": SWITCH},
        lambda round, colored: colored > 0 and round < SWITCH,
    ),
    "hybrid by a function": (
        {"variant": "hybrid", "switch_round": lambda g: g.colored < 8},
        lambda round, colored: colored >= 8,
    ),
}
"""Parameters of a run, and when Algorithm 3 stays with degrees."""


def places(ids):
    """Return the places of vertices in the order of their random numbers."""
    keys = [splitmix(i, 1) for i in ids]
    place = dict(zip(sorted(keys), range(len(keys)), strict=True))
    return [place[key] for key in keys]


def loaded(spec):
    """Return a graph, its rows and the places of its vertices."""
    graph = dgraph.Graph.load(spec, comm=SerialComm(), device="cpu")
    offsets, targets = np.asarray(graph.block.offsets), np.asarray(graph.block.targets)
    rows = [targets[a:b].tolist() for a, b in pairwise(offsets)]
    return graph, rows, places(range(len(rows)))


def rounds_of(report):
    """Return rows and edges scanned in each round, as the rounds and, summed, the kernels count them."""
    rounds = [{"rows": row["frontier_vertices"], "edges": row["frontier_edges"]} for row in report["rounds"]["kept"]]
    return rounds, report["ranks"][0]["load"]["edges"] if "load" in report["ranks"][0] else None


def right(result, colors, rounds):
    """Return True if a run has the colours and the rounds of the model."""
    counted, visited = rounds_of(result.report)
    if [row.get("colored") for row in result.report["rounds"]["kept"]] != [one["colored"] for one in rounds]:
        return False
    names = {color: number for number, color in enumerate(sorted(set(colors)))}
    return (
        result.columns["color"].tolist() == [names[color] for color in colors]
        and counted == [{"rows": one["rows"], "edges": one["edges"]} for one in rounds]
        and visited in (None, sum(one["edges"] for one in rounds))
    )


def on_a_gpu(graph, mutants=(), schedule="vertex", scan="each", **more):
    """Color a graph on an emulated GPU, a thread for each vertex; edges are counted by thread."""
    parameters = {name: more.pop(name) for name in ("variant", "switch_round") if name in more}
    backend = emulated.backend(schedule=schedule, record=True, **more)
    backend.device.mutants = mutants
    return flat_run("color", graph, backend=backend, scan=scan, **parameters)


@needs_compiler
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("spec", GRAPHS)
def test_rounds_are_those_of_the_paper(spec, variant):
    graph, rows, numbers = loaded(spec)
    parameters, stays = VARIANTS[variant]
    model = paper_003.hybrid(rows, numbers, stays)
    result = on_a_gpu(graph, **parameters)
    assert right(result, *model)
    largest = [max(len(row) for row, color in zip(rows, model[0], strict=True) if color >= k) for k in set(model[0])]
    assert largest == [row["largest_degree"] for row in result.report["rounds"]["kept"] if row["colored"]]
    assert right(flat_run("color", graph, scan="each", **parameters), *model)


@needs_compiler
@pytest.mark.parametrize(
    ("variant", "mutant"),
    [
        ("jones-plassmann", ("for (; ballot(e < last); e += 4)", "for (; ballot(e < last); e += 5)")),
        ("hybrid", ("const bool x2 = x0 >= x1;", "const bool x2 = x0 > x1;")),
    ],
)
def test_a_wrong_kernel_is_found(variant, mutant):
    """Check an edge that is left out, and neighbours of equal degree that do not block each other."""
    graph, rows, numbers = loaded(GRAPHS[0])
    parameters, stays = VARIANTS[variant]
    assert not right(on_a_gpu(graph, mutants=(mutant,), **parameters), *paper_003.hybrid(rows, numbers, stays))


@needs_compiler
def test_rows_that_are_counted_once_are_other_work():
    graph, rows, numbers = loaded(GRAPHS[0])
    parameters, stays = VARIANTS["jones-plassmann"]
    colors, rounds = paper_003.hybrid(rows, numbers, stays)
    once = on_a_gpu(graph, scan="once", **parameters)
    assert once.columns["color"].tolist() == colors
    assert once.report["rounds"]["frontier_edges"] == 2 * sum(map(len, rows)) < sum(one["edges"] for one in rounds)


def queues_of(graph, steal, mutants=()):
    """Return the queue statistics of a run with four queues of 8 vertices an element over all vertices."""
    result = on_a_gpu(
        graph, mutants, "steal", variant="steal", steal_queues=4, steal_task=8, steal_tasks="all",
        steal_stealing="on" if steal else "off",
    )  # fmt: skip
    return result, result.report["ranks"][0]["queues"]


@needs_compiler
@pytest.mark.parametrize("spec", GRAPHS)
def test_queues_are_those_of_the_paper(spec):
    graph, rows, numbers = loaded(spec)
    model = paper_003.hybrid(rows, numbers, VARIANTS["jones-plassmann"][1])
    dealt, taken, none = paper_003.stealing(rows, [-1] * len(rows), 4, 8, steal=False)
    rounds = len(model[1])
    result, queues = queues_of(graph, steal=False)
    assert right(result, *model)
    assert (queues["taken"], queues["thefts"]) == ([rounds * count for count in taken], none)
    assert [row["tasks"] for row in queues["rounds"]] == [sum(dealt)] * rounds
    result, queues = queues_of(graph, steal=True)
    assert right(result, *model)
    assert [row["tasks"] for row in queues["rounds"]] == [sum(dealt)] * rounds
    own = np.subtract(queues["taken"], queues["thefts"])
    assert (own <= rounds * np.array(dealt)).all()
    assert own.sum() + queues["stolen"] == rounds * sum(dealt)


@needs_compiler
def test_wrong_queues_are_found():
    graph, rows, _ = loaded(GRAPHS[0])
    _, taken, _ = paper_003.stealing(rows, [-1] * len(rows), 4, 8, steal=False)
    _, queues = queues_of(graph, steal=False, mutants=(("pieces_of(frontier_work(0).count, TASK)", "4"),))
    assert queues["rounds"][0]["tasks"] != sum(taken)
    _, queues = queues_of(graph, steal=False, mutants=(("STEALING && task == NO_TASK", "task == NO_TASK"),))
    assert queues["stolen"] > 0


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_several_gpus_color_alike(policy):
    """Check rounds that the host ends, rounds of GPUs alone, and queues over all vertices."""
    graph, rows, _ = loaded(GRAPHS[0])
    colors, rounds = paper_003.hybrid(rows, places(range(1, len(rows) + 1)), VARIANTS["jones-plassmann"][1])
    n, src, dst = len(rows), graph.block.sources().astype(np.int64), graph.block.targets.astype(np.int64)
    half = src < dst
    queues = GpuPlan(schedule="steal", steal_tasks="all", steal_task=8, steal_queues=3, record=True)
    for options in (GpuPlan(host_rounds=True), GpuPlan(), queues):
        spread = simulated.Graph(n, src[half], dst[half], directed=False)
        (ranks,) = gpu_ranks.run(3, spread, [ByKeyEachRound()], policy=policy, options=options)
        assert gpu_ranks.field(ranks, "color", n).tolist() == colors
        assert ranks[0][2].rounds.edges == sum(one["edges"] for one in rounds)


def test_no_model_is_another_by_name():
    """Models differ on some graph in rows, edges or colours by round, and those of queues in the elements by queue."""
    seen = {name: [] for name in (*VARIANTS, "stealing", "no stealing")}
    for spec in GRAPHS:
        _, rows, numbers = loaded(spec)
        for name, (_, stays) in VARIANTS.items():
            seen[name].append(paper_003.hybrid(rows, numbers, stays)[1])
        for name, steal in (("stealing", True), ("no stealing", False)):
            seen[name].append(paper_003.stealing(rows, [-1] * len(rows), 4, 8, steal)[1:])
    for one, other in combinations(seen, 2):
        assert seen[one] != seen[other], (one, other)
