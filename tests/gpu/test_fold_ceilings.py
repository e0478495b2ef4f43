"""HINDEX below a ceiling on emulated GPUs: early ends, and the support that says which rows to fold again."""

import gpu_ranks
import numpy as np
import oracles
import pytest
import simulated
from emulated import needs_compiler
from row_models import Capped, Largest, capped, edges

from dgraph.algorithms.kcore_parts.estimates import Estimates
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.program import trace
from dgraph.program.analysis import falls_below_ceiling

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

IN_CHUNKS = {"HINDEX_LONG": 32, "HINDEX_CHUNK": 64, "HINDEX_SLOTS": 65}
"""Limits under which several warps fold a row, in short chunks."""
IN_LONG_CHUNKS = {"HINDEX_LONG": 64, "HINDEX_CHUNK": 512, "HINDEX_SLOTS": 513}
"""Limits under which a warp folds a chunk in several steps."""


@pytest.fixture(autouse=True)
def limits(request, monkeypatch):
    """Let bounds of degrees end rows of graphs of a few hundred vertices; set the limits that a test asks for."""
    for name, value in {"DEGREES_BITS": 2, **getattr(request, "param", {})}.items():
        monkeypatch.setattr(control_block, name, value)


def skewed(n, m, seed):
    """Return an undirected graph with hubs: vertices, sources and targets."""
    drawn = simulated.skewed(n, m, directed=False, seed=seed)
    apart = drawn.src != drawn.dst
    return n, drawn.src[apart], drawn.dst[apart]


def clique(size):
    """Return a clique whose vertices have some leaves, not equally many."""
    leaves = np.arange(20 * size)
    ends = np.concatenate([np.triu_indices(size, 1), [leaves * leaves % size, size + leaves]], axis=1)
    return size + leaves.size, *ends


def roads(columns, kept, seed):
    """Return a grid whose edges are kept with a probability: vertices, sources and targets."""
    points = np.arange(columns**2).reshape(columns, columns)
    ends = np.concatenate(
        [[points[:, :-1].ravel(), points[:, 1:].ravel()], [points[:-1].ravel(), points[1:].ravel()]], 1
    )
    return points.size, *ends[:, np.random.default_rng(seed).random(ends.shape[1]) < kept]


GRAPHS = skewed(700, 4000, seed=1), skewed(420, 16000, seed=2), clique(150)


def cores_are_right(graphs, mutant=None, ranks=1, options=None):
    """Return True if estimates end at the core numbers of all graphs."""
    right = True
    for n, src, dst in graphs:
        graph, program = simulated.graph(n, src, dst, directed=False), Estimates().retype(core="int32")
        (results,) = gpu_ranks.run(ranks, graph, [program], options=options, mutant=mutant)
        right &= np.array_equal(gpu_ranks.field(results, "core", n), oracles.core_numbers(n, src, dst))
    return right


@pytest.mark.parametrize("limits", [IN_CHUNKS, IN_LONG_CHUNKS, {}], ids=["chunks", "steps", "warps"], indirect=True)
@pytest.mark.parametrize(("ranks", "options"), [(1, GpuPlan()), (3, None), (3, GpuPlan())],
                         ids=["support", "host rounds", "device rounds"])  # fmt: skip
def test_core_numbers(ranks, options):
    """Rows of a thread, a warp and several warps; on one GPU with support, elsewhere without."""
    assert cores_are_right(GRAPHS, ranks=ranks, options=options)


@pytest.mark.parametrize("mutant", [None, ("(SUPPORTS || low < bound)", "(SUPPORTS || low + 64 < bound)")])
def test_rows_end_early(mutant):
    """Without support a row of a warp ends where enough keys have reached the bound; a mutant ends too early."""
    assert cores_are_right([clique(300)], mutant, ranks=2) == (mutant is None)


@pytest.mark.parametrize(("ranks", "options", "mutant"), [
    (1, GpuPlan(), None),
    (1, GpuPlan(), ("pull_with(how, room, 0);", "")),
    (1, GpuPlan(), ("pull_list_with(how, room, 0);", "")),
    (1, GpuPlan(), ("(u64)1), (u64)32);", "(u64)1), (u64)33);")),
    pytest.param(3, None, None, marks=pytest.mark.exhaustive),
])  # fmt: skip
def test_short_rows(ranks, options, mutant):
    """Kernels with few registers fold the rows of a graph that has no longer ones."""
    assert cores_are_right([roads(40, 0.9, seed=3)], mutant, ranks, options) == (mutant is None)


def test_wide_offsets(monkeypatch):
    """Prefix sums of a frontier are scanned before rows are marked along its edges."""
    monkeypatch.setattr(device_graph, "WIDE", 1)
    assert cores_are_right(GRAPHS, options=GpuPlan())


MUTANTS = [
    ("return votes >= row_bound(v, degree)", "return votes + 1 >= row_bound(v, degree)"),
    ("if (key >= bound ||", "if (key + 1 >= bound ||"),
    ("bound > was) return", "bound >= was) return"),
    ("EVERY_LANE) == bound", "EVERY_LANE) == bound - 1"),
    ("count_from<K>(mine, low) : 0", "count_from<K>(mine, low) + 1 : 0"),
    ("h--, support += bins[j]", "h--, support += bins[j] + 1"),
    ("u64 above = table.votes", "u64 above = 0"),
    ("u >> DEGREES_BITS] <= least", "u >> DEGREES_BITS] <= least + 9"),
    ("bound, (i64)bound - 1, [&]", "bound, (i64)bound + 60, [&]"),
    ("bound, table.votes, [&]", "bound, table.votes + 200, [&]"),
    ("keys_end(v[k], key[k])", "keys_end(v[k], key[k] + 9)"),
    ("if (room && mine && !hit) stamp_row", "if (0) stamp_row"),
    ("(room ? warps() : 1)", "(room ? warps() + 1 : 1)"),
    ("awake = apply(G, v).awake, reset(v);", ";"),
    ("front.add(awake, v);\n    }\n    front.close();", "}\n    front.close();"),
    ("front.add(hit && value < fold_ceiling(v), v);", "front.add(hit && value < fold_ceiling(v) - 1, v);"),
    ("? (u32)value : IN_FIELD", "? (u32)value + 1 : IN_FIELD"),
    ("marking.rows.close();", ""),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("limits", [IN_CHUNKS], ids=["chunks"], indirect=True)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_fail(mutant):
    """Comparisons that are off by one, of votes and of support, give other core numbers."""
    assert not cores_are_right(GRAPHS, mutant, options=GpuPlan())


@pytest.mark.parametrize("limits", [IN_CHUNKS, {}], ids=["chunks", "warps"], indirect=True)
@pytest.mark.parametrize("ranks", [1, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_ceilings_of_any_program(ranks):
    """A ceiling that no estimate is, in part negative."""
    n, src, dst = edges(700, 6000)
    graph = simulated.graph(n, src, dst, directed=True)
    (results,) = gpu_ranks.run(ranks, graph, [Capped()], policy="iec")
    np.testing.assert_array_equal(gpu_ranks.field(results, "kept", n), capped(n + 1, src + 1, dst + 1)[1:])


def changed(**changes):
    return trace(type("Changed", (Estimates,), changes)(), None)


def test_only_estimates_that_fall_keep_support():
    """Programs that could notice that a row is not folded again fold all rows with an active in-neighbour."""
    assert falls_below_ceiling(trace(Estimates(), None))
    assert not falls_below_ceiling(trace(Largest(), None))
    assert not falls_below_ceiling(changed(ceiling=None))
    assert not falls_below_ceiling(changed(init=lambda self, v: {"core": v.out_degree + 1, "active": True}))
    assert not falls_below_ceiling(changed(edge=lambda self, u, e, v: {"found": u.core + 1}))
    assert not falls_below_ceiling(changed(monotone=True, cond=lambda self, v: v.core > 3))
    assert not falls_below_ceiling(changed(init=lambda self, v: {"core": v.out_degree, "active": v.id > 3}))
    assert not falls_below_ceiling(changed(apply=lambda self, v: {"core": v.found, "active": v.found <= v.core}))
    assert not falls_below_ceiling(changed(apply=lambda self, v: {"core": v.found - 1, "active": v.found < v.core}))
