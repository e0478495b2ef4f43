"""Triangles between emulated GPUs: oriented rows of all ranks, against a dense count and NetworkX."""

import tracemalloc
from dataclasses import replace
from functools import partial

import networkx
import numpy as np
import pytest
from building_checks import built
from emulated import Device, needs_compiler
from linked import links_for
from simulated import Graph, succeed
from test_on_replicas import N, answers, contexts, spread_ids

import dgraph
from dgraph.algorithms.base import ALGORITHMS
from dgraph.algorithms.kernels.wedges import wedges_between_gpus as between
from dgraph.algorithms.kernels.wedges import wedges_memory, wedges_search
from dgraph.algorithms.on_replicas import solved
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.gathered import gathered_rows, numbering, row_assembly
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.transports import bulk_moves
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.errors import InternalError, UsageError
from dgraph.report import Progress, Record

pytestmark = [needs_compiler, pytest.mark.mpi_skip]
WAYS = [
    (2, "oec", "p2p"), (3, "cvc", "mpi-host"), (4, "iec", "p2p"), (3, "metis", "p2p"), (2, "cvc", "p2p"),
    (4, "hvc,threshold=9", "mpi-host"), (4, "hash", "p2p"),
]  # fmt: skip


def graph_of(edges=400, skewed=True):
    """Return an undirected graph with loops, parallel edges and isolated vertices; if ``skewed``, with a hub."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 70, edges), rng.integers(0, 70, edges) ** (1 + skewed) // 70**skewed
    if skewed:
        src, dst = np.concatenate([src, np.full(60, 69)]), np.concatenate([dst, np.arange(10, 70)])
    return Graph(N, np.concatenate([src, [80, 80]]), np.concatenate([dst, [80, 81]]), False)


def counted(n, src, dst):
    """Return the triangles at each vertex and the shares of joined pairs of neighbours, from a dense matrix."""
    joined = np.zeros((n, n), np.int64)
    joined[src, dst] = joined[dst, src] = 1
    np.fill_diagonal(joined, 0)
    triangles, degree = np.diag(joined @ joined @ joined) // 2, joined.sum(1)
    return triangles, np.where(degree > 1, 2 * triangles / np.maximum(degree * (degree - 1), 1), 0.0)


def agree(graph, way, placement="every GPU", **kwargs):
    """Check both algorithms on some GPUs."""
    size, policy, transport = way
    triangles, shares = counted(graph.n, graph.src, graph.dst)
    columns, summary, choices = answers(size, graph, "triangles", policy=policy, transport=transport, **kwargs)
    assert choices["placement"] == placement
    assert columns["triangles"].dtype == np.int64
    np.testing.assert_array_equal(columns["triangles"], triangles)
    assert summary == {"triangles": triangles.sum() // 3}
    columns, summary, _ = answers(size, graph, "lcc", policy=policy, transport=transport, **kwargs)
    np.testing.assert_array_equal(columns["lcc"], shares)
    assert summary == {"mean": pytest.approx(shares.mean())}


@pytest.fixture
def pieces(monkeypatch):
    """Make pieces and the bitmap small."""
    monkeypatch.setattr(bulk_moves, "PIECE", 256)
    monkeypatch.setattr(row_assembly, "PIECE", 50)
    monkeypatch.setattr(numbering, "PLACED", 32)
    monkeypatch.setattr(wedges_memory, "MOST_HUBS", 12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("edges", [400, 1500])
@pytest.mark.parametrize("skewed", [True, False])
def test_gpus_count_what_a_dense_matrix_does(way, edges, skewed, pieces):
    agree(graph_of(edges, skewed), way)


@pytest.mark.parametrize("way", WAYS[:3])
@pytest.mark.parametrize("wide", [2**31, 1])
def test_one_bitmap_and_one_piece_hold_everything(way, wide, monkeypatch):
    monkeypatch.setattr(device_graph, "WIDE", wide)
    agree(graph_of(900), way)


@pytest.mark.parametrize("way", [(1, "oec", "p2p"), *WAYS[:3]])
@pytest.mark.parametrize("piece", [16, 7])
def test_parallel_arcs_of_rows_that_are_sorted_in_pieces_count_once(way, piece, monkeypatch):
    monkeypatch.setattr(device_graph, "RENUMBERED", piece)
    for module in ("cuda.device_graph.graph_size", "cuda.gpu_graphs"):
        monkeypatch.setattr(f"dgraph.backend.{module}.is_skewed", lambda *_: True)
    graph = graph_of(1500)
    triangles, _ = counted(graph.n, graph.src, graph.dst)
    size, policy, transport = way
    columns, *_ = answers(size, graph, "triangles", policy=policy, transport=transport)
    np.testing.assert_array_equal(columns["triangles"], triangles)


@pytest.mark.parametrize("way", WAYS[:3])
def test_original_ids_change_nothing(way, pieces):
    agree(graph_of(), way, changed=spread_ids)


def test_networkx_counts_the_same():
    graph = graph_of(700)
    whole = networkx.Graph((u, v) for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True) if u != v)
    whole.add_nodes_from(range(graph.n))
    columns, *_ = answers(3, graph, "triangles", policy="cvc")
    assert networkx.triangles(whole) == dict(enumerate(columns["triangles"].tolist()))
    columns, *_ = answers(3, graph, "lcc", policy="cvc")
    assert networkx.clustering(whole) == pytest.approx(dict(enumerate(columns["lcc"].tolist())))


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(89, 89)], [(0, 1), (1, 2), (2, 0)]])
def test_small_graphs(edges):
    src, dst = np.array(edges, np.int64).reshape(-1, 2).T
    for policy in ("oec", "cvc"):
        agree(Graph(N, src, dst, False), (4, policy, "p2p"))


@pytest.mark.parametrize(
    ("policy", "size", "renumber", "options"),
    [
        ("oec", 3, None, {}), ("cvc", 4, True, {"keep_parallel": True, "keep_loops": True}),
        ("iec", 2, False, {"keep_parallel": True}), ("hvc,threshold=9", 4, None, {}), ("oec", 2, False, {}),
    ],
)  # fmt: skip
def test_rows_that_gpus_built_stay_on_them(policy, size, renumber, options):
    spec = "rmat:7,symmetric"

    def work(comm):
        local = built(spec, comm, policy, renumber, directed=False, **options).partitions[policy].local
        backend = CudaBackend(0, 1, False, GpuPlan(), local.device)
        backend.links = links_for(comm, "p2p")
        answer = solved(ALGORITHMS["triangles"](), Context(local, comm, backend, Record(comm, ["test"]), Progress()))
        assert not {"_ends", "offsets"} & vars(local.out).keys(), "rows were copied to the host"
        return local.gids[: local.masters], answer.columns["triangles"]()

    block = dgraph.Graph.load(spec, directed=False, comm=SerialComm(), device="cpu", **options).block
    wanted, _ = counted(len(block.offsets) - 1, block.sources(), block.targets)
    for gids, values in succeed(size, work):
        np.testing.assert_array_equal(values, wanted[gids])


@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_rows_are_gathered_once_and_again_where_one_rank_dropped_them(policy, monkeypatch, pieces):
    gathered = []
    real = between._gathered

    def counting(ctx, *args):
        gathered.append(ctx.comm.rank)
        return real(ctx, *args)

    monkeypatch.setattr(between, "_gathered", counting)
    graph = graph_of()
    triangles, _ = counted(N, graph.src, graph.dst)

    def work(ctx):
        mine = ctx.local.gids[: ctx.local.masters]
        for turn, name in enumerate(("triangles", "lcc", "mis", "triangles", "mst", "triangles")):
            answer = solved(ALGORITHMS[name](), ctx)
            if name == "triangles":
                np.testing.assert_array_equal(answer.columns["triangles"](), triangles[mine])
            part = ctx.backend.graph_of(ctx.local)
            assert part.whole is None or part.whole.replicas.moves is part.numbering.moves
            if turn == 3 and ctx.comm.rank == 1:
                part.forget("oriented")
        part.forget("numbering")  # as where memory is short: rows stay
        np.testing.assert_array_equal(solved(ALGORITHMS["triangles"](), ctx).columns["triangles"](), triangles[mine])

    contexts(3, graph, work, policy=policy)
    assert sorted(gathered) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("lacking", ["_bytes_to_orient", "_bytes_to_gather"])
def test_hosts_count_where_one_gpu_lacks_memory(lacking, monkeypatch):
    real, lacks = getattr(between, lacking), between._lacks

    def lacking_on_one(ctx, part, need):
        return lacks(ctx, part, need if need < 1 << 40 or 0 in part.local.gids[: part.local.masters] else 0)

    monkeypatch.setattr(between, lacking, lambda *args: real(*args) + (1 << 40))
    monkeypatch.setattr(between, "_lacks", lacking_on_one)
    agree(graph_of(), (3, "oec", "p2p"), "hosts")


def test_gathered_arrays_of_other_algorithms_are_freed_first(monkeypatch):
    """Check that no GPU keeps both the whole graph and oriented rows where memory is short."""

    def work(ctx):
        kept, part = [], ctx.backend.graph_of(ctx.local)
        ctx.backend.device.free = lambda need=0: 1 << (15 if part.whole or part.oriented else 30)
        for name in ("triangles", "mis", "triangles"):
            solved(ALGORITHMS[name](), ctx)
            kept.append((part.whole is not None, part.oriented is not None))
        return kept

    assert contexts(2, graph_of(), work)[0] == [(False, True), (True, False), (False, True)]


def test_a_later_call_needs_memory_for_counts(monkeypatch):
    def work(ctx):
        first = solved(ALGORITHMS["triangles"](), ctx).summary
        monkeypatch.setattr(between, "_bytes_to_count", lambda *_: 1 << 40)
        return first, solved(ALGORITHMS["triangles"](), ctx).summary, ctx.record.choices[-1]["taken"]

    for first, second, taken in contexts(2, graph_of(), work):
        assert first == second
        assert taken == "hosts"


@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_the_estimate_is_above_the_peak_of_all_ranks(policy, monkeypatch):
    monkeypatch.setattr(bulk_moves, "PIECE", 4096)
    monkeypatch.setattr(row_assembly, "PIECE", 1024)
    n, needs = 6000, []
    graph = Graph(n, *np.random.default_rng(2).integers(0, n, (2, 50_000)), False)
    real = between.lacking

    def asked(part, comm, need, spared):
        needs.append((comm.rank, need, part.local.size))
        return real(part, comm, need, spared)

    monkeypatch.setattr(between, "lacking", asked)

    def work(ctx):
        solved(ALGORITHMS["mst"](), ctx)  # makes the mailboxes and uploads the part
        ctx.comm.barrier()
        if ctx.comm.rank == 0:
            tracemalloc.start()
        ctx.comm.barrier()
        solved(ALGORITHMS["triangles"](), ctx)
        ctx.comm.barrier()
        return tracemalloc.get_traced_memory()[1]

    try:
        peak = contexts(3, graph, work, policy=policy)[0]
    finally:
        tracemalloc.stop()
    first, second = sorted(needs[:3]), sorted(needs[3:])  # before rows are oriented, and before they are gathered
    assert [row[0] for row in first + second] == [0, 1, 2] * 2
    estimate = sum(max(one[1], 24 * one[2] + other[1]) for one, other in zip(first, second, strict=True))
    assert 0.4 * estimate < peak < estimate


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_of_one_gpu_is_raised_on_all(rank):
    def run(ctx):
        real = ctx.backend.device.module

        def failing(text, name):
            if name == "wedges" and ctx.comm.rank == rank:
                raise UsageError(f"no triangles on rank {rank}")
            return real(text, name)

        ctx.backend.device.module = failing
        with pytest.raises(UsageError, match=f"no triangles on rank {rank}"):
            solved(ALGORITHMS["triangles"](), ctx)
        return True

    assert contexts(2, graph_of(), run) == [True, True]


@pytest.mark.parametrize("method", ["oriented", "targets", "wedges", "triangles", "shares"])
def test_an_error_in_any_step_of_one_rank_is_raised_on_all(method, monkeypatch):
    whole = getattr(wedges_search.WedgeCounter, method)

    def broken(self, *args):
        if 0 in self.graph.local.gids[: self.graph.local.masters]:
            raise MemoryError("none is left")
        return whole(self, *args)

    def error(ctx):
        with pytest.raises(InternalError, match="none is left"):
            solved(ALGORITHMS["triangles"](), ctx)

    monkeypatch.setattr(wedges_search.WedgeCounter, method, broken)
    contexts(3, graph_of(), error)


MUTANTS = {
    "targets have other places": ("(1u << lane_id()) - 1))] = v", "(1u << lane_id()) - 1))] = v / 2"),
    "all arcs are distinct neighbours": ("distinct += once", "distinct += 1"),
    "parallel arcs count": ("env.neighbours[e - 1] != v", "true"),
    "every GPU counts all rows": ("next = shuffle(next, 0) * env.parts + env.part", "next = shuffle(next, 0)"),
    "hubs are not marked": ("u < (u64)env.hubs; u += gridDim.x", "u + 1 < (u64)env.hubs; u += gridDim.x"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_give_other_counts(name, monkeypatch, pieces):
    graph = graph_of(900)
    monkeypatch.setattr("test_on_replicas.Device", partial(Device, mutant=MUTANTS[name]))
    with pytest.raises(AssertionError):
        [agree(graph, way) for way in WAYS[:4]]


@pytest.mark.parametrize("broken", ["rows", "order"])
def test_unsorted_rows_and_another_order_on_each_rank_give_other_counts(broken, monkeypatch, pieces):
    monkeypatch.setattr(wedges_memory, "MOST_HUBS", 0)  # bits of wrong targets may not be in the bitmap
    by_degree = numbering.Numbering.by_degree

    def other(self):
        order = by_degree(self)
        return replace(order, numbers=order.ending - 1 - order.numbers) if self.moves.comm.rank else order

    if broken == "order":
        monkeypatch.setattr(numbering.Numbering, "by_degree", other)
    else:
        monkeypatch.setattr(gathered_rows, "sort_rows", lambda *_: None)
    with pytest.raises(AssertionError):
        agree(graph_of(900, skewed=False), (3, "cvc", "p2p"))
