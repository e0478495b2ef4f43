"""Vertex colouring on any number of ranks finds the colours of the algorithm as printed in paper 003 (Che et al.)."""

from itertools import product

import emulated
import networkx as nx
import numpy as np
import pytest
from battery import CASES
from colored import by_hand
from flat_run import flat_run
from row_models import greedy, two_colored
from test_battery import backend, combinations, equal, graph_of, solve

import dgraph
from dgraph.algorithms.color_parts import priorities
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.graph.load_options import LoadOptions


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    """Let bounds of degrees end scans of rows in graphs of a few hundred vertices."""
    monkeypatch.setattr(control_block, "DEGREES_BITS", 2)


def wanted(name, variant, **more):
    """Return the right colours of a case of the battery."""
    n, src, dst, _ = CASES[name].arcs(directed=False)
    return by_hand(n, src, dst, variant, CASES[name].vertices, **more)


def never(turn, colored):
    """End the rounds by degree when one of them colours no vertex."""
    return False


@pytest.mark.exhaustive
@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_colors(name):
    for turn, (variant, scan) in enumerate(product(("jones-plassmann", "degree", "hybrid"), ("once", "each"))):
        colors = wanted(name, variant, over=never if scan == "each" else None)
        for chosen in combinations(name, (), turn):
            result, here = solve("color", name, combination=chosen, variant=variant, scan=scan)
            equal(result.columns["color"], colors, here, f"{variant} {chosen}")
            assert result.summary == {"colors": colors.max(initial=-1) + 1}
            assert result.converged


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_scanning_in_each_round_colors_alike(name):
    """Rows are scanned while they are uncoloured: the paper's work, and the colours of rows that are counted once."""
    n, src, *_ = CASES[name].arcs(directed=False)
    degrees = np.bincount(src, minlength=n)
    for turn, variant in enumerate(("jones-plassmann", "degree", "hybrid")):
        colors = wanted(name, variant, over=never)
        for chosen in combinations(name, (), turn):
            result, here = solve("color", name, combination=chosen, variant=variant, scan="each")
            equal(result.columns["color"], colors, here, f"{variant} {chosen}")
            if variant != "hybrid":
                rounds = result.report["rounds"]
                assert rounds["frontier_vertices"] == (colors + 1).sum()
                assert rounds["frontier_edges"] == (degrees * (colors + 1)).sum()


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_greedy_colors(name):
    n, src, dst, _ = CASES[name].arcs(directed=False)
    for state in (1, -7):
        colors = greedy(n, src, dst, CASES[name].vertices, state)
        colors = two_colored(n, src, dst, CASES[name].vertices, colors)
        for chosen in combinations(name, (), state):
            policy = chosen["policy"] if chosen["policy"] in ("auto", "hash", "metis") else "oec"
            result, here = solve(
                "color", name, combination=chosen | {"policy": policy}, variant="greedy", random_state=state
            )
            equal(result.columns["color"], colors, here, f"greedy {chosen}")
            assert result.summary == {"colors": colors.max(initial=-1) + 1}
            assert result.converged


def pieces():
    """Return a graph of two grids, of which one has a long odd cycle, and a clique: n and ends of arcs."""

    def grid(width, height, first):
        ids = np.arange(width * height).reshape(height, width) + first
        return [(ids[:, :-1].ravel(), ids[:, 1:].ravel()), (ids[:-1].ravel(), ids[1:].ravel())]

    edges = [*grid(13, 17, 0), *grid(90, 3, 300), (np.array([300]), np.array([301 + 90])), *grid(12, 12, 600)]
    edges += [(np.array([800, 801, 800]), np.array([801, 802, 802]))]
    src, dst = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    return 900, np.concatenate([src, dst]), np.concatenate([dst, src])


@pytest.mark.mpi
@pytest.mark.parametrize("state", [1, 2, 5])
def test_two_colors_suffice_without_odd_cycles(state):
    n, src, dst = pieces()
    comm, ids = world(), np.arange(n)
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], n=n, directed=False, comm=comm)
    run = {"backend": backend(), "allow_gpu_sharing": True, "random_state": state, "validate": True, "policy": "oec"}
    result = flat_run("color", graph, **run)
    colors = greedy(n, src, dst, ids, state)
    wanted = two_colored(n, src, dst, ids, colors)
    assert (colors != wanted).any()
    np.testing.assert_array_equal(result.columns["color"], wanted[result.columns["vertex"]])


def hubs_colored(renumber, *mutants):
    """Return the greedy colours of a graph with a clique of hubs as a GPU finds them, and the model's."""
    n, rng = 300, np.random.default_rng(4)
    clique = np.triu_indices(70, 1)
    src = np.concatenate([clique[0], (rng.random(2500) ** 3 * n).astype(np.int64)])
    dst = np.concatenate([clique[1], rng.integers(0, n, 2500)])
    graph = dgraph.Graph.from_edges(3 * src, 3 * dst, n=3 * n, directed=False, comm=SerialComm(), device="cpu")
    backend = emulated.backend(renumber=renumber)
    backend.device.mutants = mutants
    result = flat_run("color", graph, backend=backend)
    assert result.rounds == 1
    sources = np.repeat(np.arange(3 * n), np.diff(graph.block.offsets))
    return result.columns["color"], greedy(3 * n, sources, np.asarray(graph.block.targets), np.arange(3 * n), 1)


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("renumber", [False, True])
@pytest.mark.parametrize("window", [64, pytest.param(32, marks=pytest.mark.exhaustive)])
def test_a_gpu_colors_without_rounds(renumber, window):
    np.testing.assert_array_equal(*hubs_colored(renumber, ("WINDOW_WORDS 64", f"WINDOW_WORDS {window}")))


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ["color", "mis"])
def test_graphs_built_on_a_gpu(name):
    """Check graphs whose vertices are not quite in the order of degrees, since parallel arcs were merged."""
    spec, backend = "rmat:9,symmetric,seed=2", emulated.backend()
    built = backend.build(spec, SerialComm(), "auto", LoadOptions())
    coloring, wanted = (
        flat_run(name, graph, backend=b)
        for graph, b in ((built, backend), (dgraph.Graph.load(spec, comm=SerialComm(), device="cpu"), "cpu"))
    )
    for column, values in wanted.columns.items():
        np.testing.assert_array_equal(coloring.columns[column], values)


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("renumber", "mutant"),
    [
        (True, ("tile_bits] < own", "tile_bits] <= own")),
        (False, ("theirs == own && u != v &&", "false &&")),
        (False, ("taken |= 1u << color[k]", "taken |= 0")),
    ],
)
def test_another_order_gives_other_colors(renumber, mutant):
    colors, wanted = hubs_colored(renumber, mutant)
    assert (colors != wanted).any()


@pytest.mark.mpi_skip
def test_greedy_needs_few_colors():
    """Check that the colours are at most 1.1 times those of NetworkX in the order of degrees, and one more."""
    graph = dgraph.Graph.load("rmat:9,symmetric", comm=SerialComm())
    src, dst = np.repeat(np.arange(512), np.diff(graph.block.offsets)), np.asarray(graph.block.targets)
    by_networkx = nx.greedy_color(nx.Graph(list(zip(src.tolist(), dst.tolist(), strict=True))), "largest_first")
    assert dgraph.run("color", graph, variant="greedy").summary["colors"] <= 1.1 * (max(by_networkx.values()) + 1) + 1


@pytest.mark.mpi
@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_rounds_by_degree_end_when_they_are_asked_to(rounds, name):
    colors = wanted(name, "hybrid", over=lambda turn, colored: turn >= rounds)
    if rounds == 0:
        colors = wanted(name, "jones-plassmann")
    result, here = solve("color", name, variant="hybrid", switch_round=rounds)
    equal(result.columns["color"], colors, here, f"{rounds} rounds")


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_a_function_of_the_user_may_end_them(name):
    colors = wanted(name, "hybrid", over=lambda turn, colored: turn >= 2 and colored < 5)
    result, here = solve("color", name, variant="hybrid", switch_round=lambda g: (g.round >= 2) & (g.active < 5))
    equal(result.columns["color"], colors, here, "a function")
    rescanning = {"scan": "each", "switch_round": lambda g: (g.round >= 2) & (g.colored < 5)}
    result, here = solve("color", name, variant="hybrid", **rescanning)
    equal(result.columns["color"], colors, here, "a function, each")


@pytest.mark.mpi
def test_they_end_by_themselves_where_they_color_few(monkeypatch):
    monkeypatch.setattr(priorities, "FEW", 20)
    few = CASES["skewed"].vertices.size // 20
    colors = wanted("skewed", "hybrid", over=lambda turn, colored: colored < few)
    assert (colors != wanted("skewed", "hybrid")).any()
    result, here = solve("color", "skewed", variant="hybrid")
    equal(result.columns["color"], colors, here, "few")


@pytest.mark.mpi
def test_other_random_numbers_give_other_colors():
    for state in (2, -7, 2**63 - 1):
        colors = wanted("skewed", "jones-plassmann", state=state)
        result, here = solve("color", "skewed", variant="jones-plassmann", random_state=state)
        equal(result.columns["color"], colors, here, f"random_state {state}")


@pytest.mark.mpi
def test_directed_graphs_are_colored_as_undirected_ones():
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    src, dst = np.array([3, 1, 2, 0, 2]), np.array([0, 3, 1, 2, 2])
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], n=4, directed=True, keep_loops=True, comm=comm)
    result = flat_run("color", graph, backend=backend(), allow_gpu_sharing=True, validate=True)
    assert result.report["outcome"]["validation"]["passed"]


@pytest.mark.mpi
def test_an_unfinished_coloring_says_so():
    result, _ = solve("color", "skewed", variant="jones-plassmann", max_rounds=2)
    assert not result.converged
    assert result.summary == {"colors": 2}


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_colors_are_colors_by_networkx():
    """Check that neighbours differ, and that there are at least as many colours as vertices in a largest clique."""
    graph = dgraph.Graph.load("rmat:8,symmetric", comm=SerialComm())
    block = graph.block
    src, dst = np.repeat(np.arange(block.n), np.diff(block.offsets)), np.asarray(block.targets)
    columns = dgraph.run("color", graph).gather()
    nx_graph = nx.Graph(list(zip(src.tolist(), dst.tolist(), strict=True)))
    colors = dict(zip(columns["vertex"].tolist(), columns["color"].tolist(), strict=True))
    assert all(colors[u] != colors[v] for u, v in nx_graph.edges)
    assert len(set(colors.values())) >= max(map(len, nx.find_cliques(nx_graph)))


@pytest.mark.mpi_skip
@pytest.mark.parametrize(("parameters", "told"), [
    ({"variant": "degree", "switch_round": 3}, "switch_round is for the variant hybrid, and this one is degree"),
    ({"variant": "hybrid", "switch_round": -1}, "switch_round = -1 is not valid for color: give an integer, 0 or more"),
    ({"scan": "each"}, "scan = each is for the variants jones-plassmann, degree, hybrid, steal, and this one is"),
    ({"random_state": 2**63}, "random_state = 9223372036854775808 is not valid for color: give an integer of 64 bits"),
    ({"variant": "steal"}, "variant steal of color says how a GPU walks edges"),
])  # fmt: skip
def test_what_cannot_be_is_refused(parameters, told):
    with pytest.raises(UsageError, match=told):
        flat_run("color", dgraph.Graph.load("path:5", comm=SerialComm()), backend="cpu", **parameters)


@pytest.mark.exhaustive
@pytest.mark.interpreted
@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize(("variant", "same"), [("steal", "jones-plassmann"), ("hybrid", "hybrid")])
def test_blocks_that_steal_find_the_same_colors(variant, same):
    graph = graph_of("skewed", None)
    result = flat_run("color", graph, backend=emulated.backend(schedule="steal"), variant=variant)
    on_cpu = flat_run("color", graph, backend="cpu", variant=same)
    np.testing.assert_array_equal(result.columns["color"], on_cpu.columns["color"])
    assert {row["schedule"] for row in result.report["rounds"]["kept"]} == {"steal"}


@emulated.needs_compiler
@pytest.mark.mpi_skip
def test_one_gpu_colors_greedily_level_by_level():
    """Rows of a lane, of a warp, and vertices without neighbours; the colours are those of the CPU."""
    graph = dgraph.Graph.load("rmat:9", comm=SerialComm())
    result = flat_run("color", graph, backend=emulated.backend(), variant="greedy", validate=True)
    on_cpu = flat_run("color", graph, backend="cpu", variant="greedy")
    np.testing.assert_array_equal(result.columns["color"], on_cpu.columns["color"])
    assert result.rounds == 1


@emulated.needs_compiler
@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_colors_beyond_the_first_window():
    """A clique has more colours than a warp looks for at a time, here 1,024."""
    first, second = np.triu_indices(1040, 1)
    graph = dgraph.Graph.from_edges(first, second, n=1040, comm=SerialComm())
    device = emulated.Device(2, seed=1, mutant=("WINDOW_WORDS 64", "WINDOW_WORDS 32"))
    result = flat_run("color", graph, backend=CudaBackend(0, 1, True, GpuPlan(), device), variant="greedy")
    assert sorted(result.columns["color"].tolist()) == list(range(1040))
    assert device.changed
