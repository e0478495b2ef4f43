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
from dgraph.backend.cuda.gpu_options import Options
from dgraph.program import trace
from dgraph.program.analysis import falls_below_ceiling

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

IN_CHUNKS, BY_WARPS = 32, 1024
"""Longest rows that a warp folds; under IN_CHUNKS longer ones have a table."""


@pytest.fixture
def longest(request, monkeypatch):
    monkeypatch.setattr(control_block, "HINDEX_LONG", request.param)


def skewed(n, m, seed):
    """Return an undirected graph with hubs: vertices, sources and targets."""
    drawn = simulated.skewed(n, m, directed=False, seed=seed)
    apart = drawn.src != drawn.dst
    return n, drawn.src[apart], drawn.dst[apart]


def clique_with_leaves(size=300, leaves=3):
    """Return a clique in which each vertex has so many neighbours outside of it."""
    inside, all_leaves = np.triu_indices(size, 1), np.arange(size * leaves)
    ends = np.concatenate([inside, [all_leaves % size, size + all_leaves]], axis=1)
    return size + all_leaves.size, *ends


SKEWED = skewed(700, 4000, seed=1), skewed(420, 16000, seed=2)


def cores_are_right(graphs, mutant=None, ranks=1, options=None):
    """Return True if estimates end at the core numbers of all graphs."""
    right = True
    for n, src, dst in graphs:
        graph, program = simulated.graph(n, src, dst, directed=False), Estimates().retype(core="int32")
        (found,) = gpu_ranks.run(ranks, graph, [program], options=options, mutant=mutant)
        right &= np.array_equal(gpu_ranks.field(found, "core", n), oracles.core_numbers(n, src, dst))
    return right


@pytest.mark.parametrize("longest", [IN_CHUNKS, BY_WARPS], indirect=True)
@pytest.mark.parametrize(("ranks", "options"), [(1, Options()), (3, None), (3, Options())],
                         ids=["support", "host rounds", "device rounds"])  # fmt: skip
def test_core_numbers(longest, ranks, options):
    """Rows of a thread, a warp and several warps; on one GPU with support, elsewhere without."""
    assert cores_are_right(SKEWED, ranks=ranks, options=options)


@pytest.mark.parametrize("longest", [BY_WARPS], indirect=True)
@pytest.mark.parametrize("mutant", [None, ("(SUPPORTS || low < bound)", "(SUPPORTS || low + 64 < bound)")])
def test_rows_end_early(longest, mutant):
    """Without support a row of a warp ends where enough keys have reached the bound; a mutant ends too early."""
    assert cores_are_right([clique_with_leaves()], mutant, ranks=2) == (mutant is None)


MUTANTS = [
    ("return votes >= row_bound(v, degree)", "return votes + 1 >= row_bound(v, degree)"),
    ("(weight_t)1, v).p0 >= bound", "(weight_t)1, v).p0 + 1 >= bound"),
    ("bound > (i64)env.fold_was[u]", "bound >= (i64)env.fold_was[u]"),
    ("EVERY_LANE) == bound", "EVERY_LANE) == bound - 1"),
    ("count_from<K>(mine, low) : 0", "count_from<K>(mine, low) + 1 : 0"),
    ("h--, support += bins[j]", "h--, support += bins[j] + 1"),
    ("u64 above = table.votes", "u64 above = 0"),
    ("if (marks[v >> 5] >> (v & 31) & 1) put(FoldChunk(i).begin);", ""),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("longest", [IN_CHUNKS], indirect=True)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_fail(longest, mutant):
    """Comparisons that are off by one, of votes and of support, give other core numbers."""
    assert not cores_are_right(SKEWED, mutant, options=Options())


@pytest.mark.parametrize("longest", [64, BY_WARPS], indirect=True)
@pytest.mark.parametrize("ranks", [1, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_ceilings_of_any_program(longest, ranks):
    """A ceiling that no estimate is, in part negative."""
    n, src, dst = edges(700, 6000)
    graph = simulated.graph(n, src, dst, directed=True)
    (found,) = gpu_ranks.run(ranks, graph, [Capped()], policy="iec")
    np.testing.assert_array_equal(gpu_ranks.field(found, "kept", n), capped(n + 1, src + 1, dst + 1)[1:])


def changed(**changes):
    return trace(type("Changed", (Estimates,), changes)(), None)


def test_only_estimates_that_fall_keep_support():
    """Programs that could notice that a row is not folded again fold all rows with an active in-neighbour."""
    assert falls_below_ceiling(trace(Estimates(), None))
    assert not falls_below_ceiling(trace(Largest(), None))
    assert not falls_below_ceiling(changed(ceiling=None))
    assert not falls_below_ceiling(changed(edge=lambda self, u, e, v: {"found": u.core + 1}))
    assert not falls_below_ceiling(changed(monotone=True, cond=lambda self, v: v.core > 3))
    assert not falls_below_ceiling(changed(init=lambda self, v: {"core": v.out_degree, "active": v.id > 3}))
    assert not falls_below_ceiling(changed(apply=lambda self, v: {"core": v.found, "active": v.found <= v.core}))
    assert not falls_below_ceiling(changed(apply=lambda self, v: {"core": v.found - 1, "active": v.found < v.core}))
