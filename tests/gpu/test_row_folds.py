"""Row reducers on one to three emulated GPUs: rows of all lengths fold to what loops over lists find."""

import gpu_ranks
import numpy as np
import pytest
import simulated
from emulated import needs_compiler
from row_models import (
    VALUES,
    Folded,
    Largest,
    Smallest,
    Summed,
    Weighed,
    edges,
    folded,
    greedy,
    hindex,
    mex,
    mode,
    propagated,
    summed,
)

import dgraph
from dgraph.algorithms.cdlp import CommunityLabels
from dgraph.algorithms.color import Greedy
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm
from dgraph.program import ALL, INF, Field, where
from dgraph.program.row_reducers import MODE

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
SIZE = 700, 6000
RANKS = [1, pytest.param(2, marks=pytest.mark.exhaustive), 3]


IN_TABLES = {"FOLD_LONG": 64, "FOLD_MIDDLE": 128, "TABLE_BYTES": 4096, "HINDEX_LONG": 256}
"""Limits under which blocks fold rows by MODE in tables of two sizes, the longest in three parts."""
IN_CHUNKS = {"FOLD_MIDDLE": 128, "FOLD_TABLES": 128, "HINDEX_LONG": 64, "HINDEX_CHUNK": 256, "HINDEX_SLOTS": 257}
"""Limits under which several warps fold a row by MODE, and by HINDEX."""


def limit(monkeypatch, limits):
    """Let shorter rows than usual be folded by blocks, or by several warps."""
    for name, value in limits.items():
        monkeypatch.setattr(control_block, name, value)


class Wide(Folded):
    """Keys of more than 32 bits."""

    def edge(self, u, e, v):
        out = (u.id >> 5) - (u.id >> 6) - (u.id >> 6) == 1
        return {"found": where(out, INF, u.key + v.id - (v.id >> 1) - (v.id >> 1) + FAR)}


FAR = 1 << 40


class Everywhere(Folded):
    """All vertices fold in each of two rounds, other keys in the second, so tables must be empty in between."""

    domain = ALL

    found = Field("int64", reduce=MODE)

    def init(self, v, g):
        return {"key": (v.id >> 2) - (v.id >> 4), "kept": -5}

    def apply(self, v, g):
        return {"kept": v.found, "key": v.key >> 1}

    def step(self, g):
        return {"done": g.round >= 2}


KINDS = [(Folded, mode), (Largest, hindex), (Smallest, mex)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("limits", [{}, IN_TABLES, IN_CHUNKS], ids=["usual", "tables", "chunks"])
def test_rows_of_all_lengths(ranks, limits, monkeypatch):
    """A thread, a warp, a block, and several warps fold a row; the longest have several chunks or parts."""
    limit(monkeypatch, limits)
    n, src, dst = edges(*SIZE)
    assert ((np.bincount(dst) > 32) & (np.bincount(dst) <= 128)).any()
    assert np.bincount(dst).max() > control_block.FOLD_CHUNK
    graph = simulated.graph(n, src, dst, directed=True)
    results = gpu_ranks.run(ranks, graph, [kind() for kind, _ in KINDS], policy="iec")
    for (_, fold), result in zip(KINDS, results, strict=True):
        np.testing.assert_array_equal(gpu_ranks.field(result, "kept", n), folded(fold, n + 1, src + 1, dst + 1)[1:])


@pytest.mark.parametrize("mutant", [
    None,
    *(pytest.param(case, marks=pytest.mark.exhaustive) for case in (
        ("fits &= table.fits(key) && table.add(key, hash)", "fits &= table.add(key, hash)"),
        ("* parts >> 32) == part)", "* parts >> 32) == 0)"),
        ("votes += part == 0;", "votes += 1;"),
        ("table.take(at, best), table.empty(at)", "table.take(at, best)"),
        ("if (threadIdx.x == 0 && room.votes) take_better(best, likely, room.votes);", ""),
    )),
])  # fmt: skip
def test_keys_of_64_bits(mutant, monkeypatch):
    """Rows with wide keys are folded again in wider slots, in six parts; mutants of tables and parts fail."""
    limit(monkeypatch, IN_TABLES)
    n, src, dst = edges(*SIZE)
    graph = simulated.graph(n, src, dst, directed=True)
    (result,) = gpu_ranks.run(1, graph, [Wide()], policy="iec", mutant=mutant)
    wanted = folded(mode, n + 1, src + 1, dst + 1)[1:]
    wanted[(wanted != -5) & (wanted != 2**63 - 1)] += FAR
    assert np.array_equal(gpu_ranks.field(result, "kept", n), wanted) == (mutant is None)


class SummedTwice(Summed):
    """All vertices fold in each of two rounds, other keys in the second."""

    domain = ALL

    def init(self, v, g):
        return {"key": (v.id >> 2) - (v.id >> 4), "kept": -5, "sum": -5}

    def apply(self, v, g):
        return {"kept": v.found, "sum": v.total, "key": v.key >> 1}

    def step(self, g):
        return {"done": g.round >= 2}


def sums_of(ranks, program, weights=None, halved=0, mutant=None):
    """Run a program with BEST on GPUs; return keys and sums, and those of the oracle."""
    n, src, dst = edges(*SIZE)
    graph = simulated.graph(n, src, dst, directed=True)
    graph.weights = weights
    (result,) = gpu_ranks.run(ranks, graph, [program], policy="iec", mutant=mutant)
    values = VALUES[(src + 1) % 4] if weights is None else weights
    wanted = summed(n + 1, src + 1, dst + 1, values.astype(np.int64), halved)[:, 1:]
    return np.array([gpu_ranks.field(result, name, n) for name in ("kept", "sum")]), wanted


@pytest.mark.parametrize(
    ("ranks", "limits", "program"),
    [
        (1, {}, Summed()),
        (3, {}, Summed()),
        *(
            pytest.param(ranks, limits, program, marks=pytest.mark.exhaustive)
            for ranks in (1, 2, 3)
            for limits in ({}, {"FOLD_LONG": 32, "FOLD_CHUNK": 64}, {"FOLD_ALONE": 2})
            for program in (Summed(), Weighed())
        ),
    ],
)
def test_values_are_summed_by_key(ranks, limits, program, monkeypatch):
    """A thread, a warp, and several warps sum the values of a row."""
    limit(monkeypatch, limits)
    draw = np.random.default_rng(5)
    arcs = edges(*SIZE)[1].size
    weights = draw.integers(-(2**50), 2**50, arcs) if isinstance(program, Weighed) else None
    seen, wanted = sums_of(ranks, program, weights)
    np.testing.assert_array_equal(seen, wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("program", [Summed(), Weighed()], ids=["values", "weights"])
def test_values_are_summed_by_key_on_a_gpu(program):
    """A thread, a warp, and several warps sum the values of a row, on a GPU that is there."""
    pytest.importorskip("cupy")
    n, src, dst = edges(*SIZE)
    weights = np.random.default_rng(5).integers(-(2**50), 2**50, src.size) if isinstance(program, Weighed) else None
    graph = dgraph.Graph.from_edges(src, dst, weights, n=n, comm=SerialComm()).on("iec", device="cuda")
    result = dgraph.run(program, graph)
    keys, sums = summed(n, src, dst, VALUES[src % 4] if weights is None else weights)
    vertices = result.columns["vertex"]
    np.testing.assert_array_equal(result.columns["kept"], keys[vertices])
    np.testing.assert_array_equal(result.columns["sum"], sums[vertices])


@pytest.mark.parametrize("mutant", [
    None,
    ("other.sum > best.sum ||", "other.sum >= best.sum ||"),
    ("before != stored) continue;", "before != stored) break;"),
    *(pytest.param(mutant, marks=pytest.mark.exhaustive) for mutant in (
        ("env.fold_counts[at] = 0;", "if (!KNOWN(&env.control->round)) env.fold_counts[at] = 0;"),
        ("other.key < best.key)) best", "other.key > best.key)) best"),
        ("if (best.key == LEFT_OUT || other.sum", "if (other.sum"),
        ("(u64)mine.sum", "(u64)1"),
        ("if (lane_id() == 0) put_sum(table.v, best.sum);", ""),
        ("if (lane_id() == 0) put_sum(row.v, best.sum);", ""),
        ("put_sum(row.v, best.sum);\n    return best.key;\n}\n\n// Add", "return best.key;\n}\n\n// Add"),
    )),
])  # fmt: skip
def test_mutants_of_sums_fail(mutant):
    """Sums of the second of two rounds; each mutant of the text fails."""
    seen, wanted = sums_of(1, SummedTwice(), halved=1, mutant=mutant)
    n, _, dst = edges(*SIZE)
    entered = np.bincount(dst, minlength=n) > 0
    assert np.array_equal(seen[:, entered], wanted[:, entered]) == (mutant is None)


FULL_TABLES = "env.fold_counts[at] = 0;", "if (!KNOWN(&env.control->round)) env.fold_counts[at] = 0;"


@pytest.mark.parametrize(
    ("ranks", "limits", "mutant"),
    [
        (1, {}, None),
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in ((2, {}, None), (1, IN_TABLES, None), (1, IN_CHUNKS, None), (1, IN_CHUNKS, FULL_TABLES))
        ),
        (3, {}, None),
    ],
)
def test_all_vertices_fold_again(ranks, limits, mutant, monkeypatch):
    """Check that tables are empty before each round; a mutant that leaves them full fails."""
    limit(monkeypatch, limits)
    n, src, dst = edges(*SIZE)
    graph = simulated.graph(n, src, dst, directed=True)
    (result,) = gpu_ranks.run(ranks, graph, [Everywhere()], policy="iec", mutant=mutant)
    wanted = folded(mode, n + 1, src + 1, dst + 1, halved=1)[1:]
    wanted[np.bincount(dst, minlength=n) == 0] = 2**63 - 1
    assert np.array_equal(gpu_ranks.field(result, "kept", n), wanted) == (mutant is None)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("options", [None, GpuPlan(), GpuPlan(schedule="twc")], ids=["host", "auto", "schedule"])
def test_labels_and_colors(ranks, options):
    """Ten rounds of labels, and colours in as many rounds as it takes, where a third of all edges meet at hubs."""
    n, src, dst = edges(*SIZE)
    both = np.unique(np.concatenate([src * n + dst, dst * n + src]))
    src, dst = both // n, both % n
    half = src < dst
    graph = simulated.graph(n, src[half], dst[half], directed=False)
    labels, colors = gpu_ranks.run(ranks, graph, [CommunityLabels(), Greedy()], options=options)
    ids = np.arange(1, n + 1)
    np.testing.assert_array_equal(gpu_ranks.field(labels, "label", n), propagated(n, src, dst, ids))
    np.testing.assert_array_equal(gpu_ranks.field(colors, "color", n), greedy(n, src, dst, ids))


def two_cliques(own=64, path=6):
    """Return edges of a vertex whose neighbours are a clique and a path that leads to a smaller clique of smaller ids.

    The path's last vertex and the one with many neighbours swap labels, which decides between the cliques, until the
    smaller clique's label has walked along the path, a vertex a round. Few other vertices change in these rounds.
    """
    low, high = np.arange(own), np.arange(own, 2 * own + 1)
    last = 2 * own + 1
    ends = [[np.repeat(clique, clique.size), np.tile(clique, clique.size)] for clique in (low, high)]
    walk = np.concatenate([[0], last + 1 + np.arange(path), [last]])
    ends += [[walk[:-1], walk[1:]], [np.full(2 * own + 1, last), np.concatenate([low, high])]]
    src, dst = np.concatenate(ends, axis=1)
    return last + path + 1, src[src != dst], dst[src != dst]


MUTANTS = [
    (IN_CHUNKS, ("2 * (u64)votes > degree;", "2 * (u64)votes > degree / 2;")),
    (IN_CHUNKS, ("if (marks[v >> 5] >> (v & 31) & 1) stamp_row(FoldChunk(i).begin);", "")),
    ({}, ("return !marks || marks[v >> 5] >> (v & 31) & 1;", "return !marks;")),
    ({}, ("streamed(env.out_neighbours + e[k])", "streamed(env.out_neighbours + (e[k] | 1) - 1)")),
    (IN_CHUNKS, ("env.fold_stamps[begin] = fold_stamp(), env.fold_votes[begin] = 0;",
                 "env.fold_stamps[begin] = fold_stamp();")),
    ({}, ("if (2 * votes_of<FOLD_LONG / 32>(likely, mine) > count)",
          "if (2 * votes_of<FOLD_LONG / 32>(likely, mine) > 0)")),
    ({}, ("2 * votes_of<1>(first, mine) > count", "votes_of<1>(first, mine) > 0")),
    ({}, ("votes_of_row(row, degree, some, sample.likely.key, room) > degree", "degree > 0")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "mutant"),
    [
        ({}, None),
        *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in ((IN_CHUNKS, None), *MUTANTS)),
    ],
)
def test_a_long_row_changes_in_a_small_round(limits, mutant, monkeypatch):
    """Check rounds that mark rows; mutants of votes, marks, stamps and tables fail, if not on one graph on another."""
    limit(monkeypatch, limits)
    right = True
    for (n, src, dst), rounds in ((two_cliques(), 6), (two_cliques(20), 6), (edges(*SIZE), 10)):
        both = np.unique(np.concatenate([src * n + dst, dst * n + src]))
        src, dst = both // n, both % n
        half = src < dst
        graph = simulated.graph(n, src[half], dst[half], directed=False)
        (labels,) = gpu_ranks.run(1, graph, [CommunityLabels(rounds=rounds)], options=GpuPlan(), mutant=mutant)
        wanted = propagated(n, src, dst, np.arange(1, n + 1), rounds)
        right &= np.array_equal(gpu_ranks.field(labels, "label", n), wanted)
    assert right == (mutant is None)


ALWAYS_DISTINCT = "(how & ALL_DISTINCT) != 0", "true"


@pytest.mark.parametrize(
    ("ranks", "limits", "repeats", "mutant"),
    [
        (1, {}, False, None),
        (1, {}, True, None),
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in (
                *((1, limits, repeats, None) for limits in (IN_TABLES, IN_CHUNKS) for repeats in (False, True)),
                *((1, limits, True, ALWAYS_DISTINCT) for limits in ({}, IN_TABLES, IN_CHUNKS)),
                *((3, IN_CHUNKS, repeats, None) for repeats in (False, True)),
            )
        ),
    ],
)
def test_distinct_keys(ranks, limits, repeats, mutant, monkeypatch):
    """In the first round of labels the smallest is taken, but not where a row names a neighbour twice."""
    limit(monkeypatch, limits)
    n, src, dst = edges(*SIZE)
    src, dst = np.minimum(src, dst), np.maximum(src, dst)
    if not repeats:
        src, dst = np.divmod(np.unique(src * n + dst), n)
    src, dst = src[src != dst], dst[src != dst]
    graph = simulated.graph(n, src, dst, directed=False)
    for rounds in (1, 2):
        (labels,) = gpu_ranks.run(ranks, graph, [CommunityLabels(rounds=rounds)], options=GpuPlan(), mutant=mutant)
        ends = np.concatenate([src, dst]), np.concatenate([dst, src])
        wanted = propagated(n, *ends, np.arange(1, n + 1), rounds)
        assert np.array_equal(gpu_ranks.field(labels, "label", n), wanted) == (mutant is None)
