"""Algorithms that each of several emulated GPUs runs: the whole graph, and answers against one rank's."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from emulated import Device, needs_compiler
from linked import links_for
from simulated import Graph, succeed

import partitioning
from dgraph._support.compile_clock import clock
from dgraph.algorithms.base import ALGORITHMS
from dgraph.algorithms.communities import gpu_contraction, gpu_engine, gpu_shares, gpu_steps, search_steps
from dgraph.algorithms.kernels.independent import independent_cuda
from dgraph.algorithms.kernels.strong import strong_cuda
from dgraph.algorithms.on_replicas import solved
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gathered import gathered_graph, row_assembly, small_replica
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.transports import bulk_moves
from dgraph.engine.rounds.context import Context
from dgraph.errors import InternalError, OutOfMemory, UsageError
from dgraph.graph.build.local_graph import build
from dgraph.report import Progress, Record

pytestmark = [needs_compiler, pytest.mark.mpi_skip]
N = 90


def graph_of(directed, weights=None):
    """Return a graph with a hub, chains, and isolated vertices; if it is directed, with loops and parallel arcs."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 70, 260), rng.integers(0, 70, 260) ** 2 // 70
    src, dst = np.concatenate([src, np.full(40, 3)]), np.concatenate([dst, np.arange(30, 70)])
    if not directed:
        ends = np.stack([np.minimum(src, dst), np.maximum(src, dst)], 1)
        src, dst = np.unique(ends[src != dst], axis=0).T
    return Graph(N, src, dst, directed, None if weights is None else rng.integers(1, 9, src.size).astype(weights))


def contexts(size, graph, work, policy="oec", transport="p2p", memory=1 << 30):
    """Return what ``work(context)`` returns on each of ``size`` ranks with an emulated GPU each."""

    def on_rank(comm):
        block = graph.block(comm)
        local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
        device = Device(2, seed=3 * comm.rank + 1, memory=memory)
        backend = CudaBackend(0, 1, comm.size == 1, GpuPlan(), device)
        backend.links = links_for(comm, transport) if comm.size > 1 else None
        return work(Context(local, comm, backend, Record(comm, ["test"]), Progress()))

    return succeed(size, on_rank)


def answers(size, graph, name, changed=lambda _: None, parameters=(), **kwargs):
    """Return the columns of the whole graph by gid, the summary, and the choices of rank 0."""

    def run(ctx):
        changed(ctx)
        answer = solved(ALGORITHMS[name](**dict(parameters)), ctx)
        columns = {key: np.array(column() if callable(column) else column) for key, column in answer.columns.items()}
        return ctx.local.gids[: ctx.local.masters], columns, answer.summary, ctx.record.choices, ctx.rounds

    ranks = contexts(size, graph, run, **kwargs)
    whole = {}
    for gids, columns, *_ in ranks:
        for key, values in columns.items():
            whole.setdefault(key, np.zeros(N, values.dtype))[gids] = values
    assert all(answer[2] == ranks[0][2] and answer[4] == ranks[0][4] for answer in ranks)
    return whole, ranks[0][2], {choice["what"]: choice["taken"] for choice in ranks[0][3]}


def spread_ids(ctx):
    """Give the vertices of a partition ids that are no gids and do not ascend with them."""
    ctx.local.original = (ctx.local.gids * 37 + 11) % 1009


@pytest.mark.parametrize("name", ["color", "mis", "scc"])
@pytest.mark.parametrize(
    ("size", "policy", "transport"), [(2, "oec", "p2p"), (3, "cvc", "mpi-host"), (4, "iec", "p2p")]
)
def test_replicas_find_what_one_gpu_finds(name, size, policy, transport, monkeypatch):
    monkeypatch.setattr(bulk_moves, "PIECE", 256)
    monkeypatch.setattr(row_assembly, "PIECE", 50)
    graph = graph_of(name == "scc")
    alone, summary, _ = answers(1, graph, name)
    columns, again, choices = answers(size, graph, name, policy=policy, transport=transport)
    assert choices["placement"] == "replicas"
    assert again == summary
    for key, values in alone.items():
        assert columns[key].dtype == values.dtype
        np.testing.assert_array_equal(columns[key], values)


@pytest.mark.parametrize("changed", [lambda _: None, spread_ids], ids=["gids", "ids"])
@pytest.mark.parametrize("name", ["scc", "color", "mis", "louvain"])
def test_hosts_gather_a_small_graph(name, changed, monkeypatch):
    """Check answers of hosts that gather rows, those of scc with loops and parallel arcs, against one GPU's."""
    monkeypatch.setattr(small_replica, "FEW", 1 << 10)
    monkeypatch.setattr(gathered_graph, "numbering_of", None)
    graph = graph_of(name == "scc")
    alone, summary, _ = answers(1, graph, name, changed=changed)
    columns, again, choices = answers(3, graph, name, changed=changed, policy="cvc")
    assert (choices["placement"], again) == ("replicas", summary)
    for key, values in alone.items():
        assert columns[key].dtype == values.dtype
        np.testing.assert_array_equal(columns[key], values)


@pytest.fixture
def shared_rows(monkeypatch):
    """Let GPUs share out small levels, in balanced rounds and with chunks of rows, and some contractions to few groups.

    Return the ranks of launches.
    """
    ranks, begin = [], gpu_shares.RowShares.begin
    monkeypatch.setattr(gpu_shares, "LEAST_ARCS", 0)
    monkeypatch.setattr(gpu_steps, "WARP_SLOTS", {True: 64, False: 64})
    monkeypatch.setattr(gpu_steps, "SIDE_BY_SIDE", 2)
    monkeypatch.setattr(search_steps, "FEW", 3)
    monkeypatch.setattr(search_steps, "FREE", 0)
    monkeypatch.setattr(gpu_contraction, "PAIRS", 0.2)
    monkeypatch.setattr(gpu_shares.RowShares, "begin", lambda self: ranks.append(self.number) or begin(self))
    return ranks


ONCE = {"louvain": {}, "leiden": {"n_iterations": 1}}
"""Parameters of communities found in one iteration, of which moves differ if a GPU misses a mover."""


@pytest.fixture
def gains(monkeypatch):
    """Return what moves gained and how many vertices could gain, and rows listed to see that, by calls of all ranks."""
    logged, listed, move, gaining = [], [], gpu_engine.GpuEngine.move, gpu_engine.GpuEngine.gaining
    grid = gpu_engine.GpuEngine._grid

    def logged_move(self, *arguments, **named):
        logged.append(move(self, *arguments, **named))
        return logged[-1]

    def logged_gaining(self, partition):
        flags, count = gaining(self, partition)
        logged.append((count, int(flags.sum())))
        return flags, count

    monkeypatch.setattr(gpu_engine.GpuEngine, "move", logged_move)

    def logged_grid(self, kernel, rows, n):
        listed.append(rows if kernel == "find_gaining" else 0)
        return grid(self, kernel, rows, n)

    monkeypatch.setattr(gpu_engine.GpuEngine, "gaining", logged_gaining)
    monkeypatch.setattr(gpu_engine.GpuEngine, "_grid", logged_grid)
    return logged, listed


def check_communities(name, size, gains, mutants=(), **parameters):
    """Compare the communities of several GPUs, what moves gain on each, and all listed rows, with those of one."""

    def changed(ctx):
        ctx.backend.device.mutants = mutants

    graph, (logged, listed) = graph_of(False), gains
    alone, summary, _ = answers(1, graph, name, parameters=parameters)
    wanted = Counter(size * logged), sum(listed)
    logged.clear(), listed.clear()
    columns, again, choices = answers(size, graph, name, changed, parameters, policy="cvc")
    assert (choices["placement"], again) == ("replicas", summary)
    np.testing.assert_array_equal(columns["community"], alone["community"])
    assert (Counter(logged), sum(listed)) == wanted


def test_compilation_on_a_replica_is_counted_once(monkeypatch):
    def compiled(self):
        clock.seconds += 100.0
        return solve(self)

    solve = independent_cuda.IndependentSingle.solve
    monkeypatch.setattr(independent_cuda.IndependentSingle, "solve", compiled)

    def seconds(ctx):
        with ctx.record("solve"):
            solved(ALGORITHMS["mis"](), ctx)
        return ctx.record.seconds["compile"]

    assert all(100.0 <= spent < 200.0 for spent in contexts(2, graph_of(False), seconds))


@pytest.mark.parametrize(
    ("name", "size"),
    [("leiden", 2), *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in [("louvain", 2), ("leiden", 4)])],
)
def test_replicas_find_the_communities_of_one_gpu(name, size, shared_rows, gains):
    check_communities(name, size, gains, **ONCE[name])
    assert set(shared_rows) == set(range(size))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "mutant"), [
    ("leiden", ("env.active[v] = MOVING, env.crossed", "env.crossed")),
    ("louvain", (", own = group + (u32)env.first_group", ", own = group")),
    ("leiden", ("!env.others && !is_own(u)", "false")),
    ("leiden", ("(is_shared() && env.others ? env.others[v] : 0)", "0")),
    ("louvain", ("is_own((u32)v) && !alone", "!alone")),
    ("leiden", ("if (!is_own(v)) return;", "")),
    ("leiden", ("!= piece) join_in", "!= piece && false) join_in")),
], ids=["moving", "group", "owner", "others", "candidates", "pairs", "pieces"])  # fmt: skip
def test_mutants_of_shared_rows_give_other_communities(name, mutant, shared_rows, gains, monkeypatch):
    """A GPU may also wait for another one, where these count different rows."""
    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "0.5")
    with pytest.raises((AssertionError, InternalError)):
        check_communities(name, 2, gains, (mutant,), **ONCE[name])


def test_small_levels_and_mailboxes_share_nothing_out(shared_rows, monkeypatch):
    monkeypatch.setattr(bulk_moves, "PIECE", gpu_shares.SPARE * gpu_shares.MOVER - 16)
    _, summary, _ = answers(2, graph_of(False), "louvain")
    texts, text = [], gpu_steps.text
    monkeypatch.setattr(bulk_moves, "PIECE", 1 << 20)
    monkeypatch.setattr(gpu_shares, "LEAST_ARCS", 1 << 10)
    monkeypatch.setattr(gpu_steps, "text", lambda *args: texts.append(args[2]) or text(*args))
    assert answers(2, graph_of(False), "louvain")[1] == summary
    assert not shared_rows
    assert not any(texts)


@pytest.mark.parametrize(
    ("late", "error", "message"), [(False, UsageError, "no room"), (True, InternalError, "waited")]
)
def test_an_error_of_a_gpu_that_shares_rows_is_raised_on_all(late, error, message, shared_rows, monkeypatch):
    """Let rank 1 fail before all agree on a launch, or behind that, where the other GPU waits for it."""
    begin = gpu_shares.RowShares.begin

    def failing(self):
        if late:
            begin(self)
        raise UsageError("no room")

    def run(ctx):
        with pytest.raises(error, match=message):
            solved(ALGORITHMS["louvain"](), ctx)
        return True

    monkeypatch.setenv("DGRAPH_PEER_TIMEOUT", "0.05")
    monkeypatch.setattr(gpu_shares.RowShares, "begin", lambda self: (failing if self.number == 1 else begin)(self))
    assert contexts(2, graph_of(False), run) == [True, True]


@pytest.fixture
def small_shares(monkeypatch):
    """Let shares of 16 successive vertices be decided by each GPU."""
    monkeypatch.setattr(independent_cuda, "PIECE", 16)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_replicas_share_out_an_independent_set(size, small_shares):
    graph = graph_of(False)
    alone, summary, _ = answers(1, graph, "mis")
    columns, again, _ = answers(size, graph, "mis")
    assert again == summary
    np.testing.assert_array_equal(columns["in_set"], alone["in_set"])


def test_shares_are_decided_before_what_is_left(small_shares, monkeypatch):
    """Decide nothing after the shared pass: chains are left, most members are found, and no other vertex."""
    graph, launch = graph_of(False), independent_cuda.IndependentSingle.launch
    alone, summary, _ = answers(1, graph, "mis")

    def without_the_last(self, kernel, together=False):
        if kernel != "decide":
            launch(self, kernel, together)

    monkeypatch.setattr(independent_cuda.IndependentSingle, "launch", without_the_last)
    columns, _, _ = answers(3, graph, "mis")
    assert not np.any((columns["in_set"] == 1) & (alone["in_set"] == 0))
    assert 2 * np.count_nonzero(columns["in_set"] == 1) > summary["members"]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_before_a_shared_pass_is_raised_on_all(rank, monkeypatch):
    def run(ctx):
        def failing(self):
            if self.graph.replicas.number == rank:
                raise UsageError("no room")
            solve(self)

        monkeypatch.setattr(independent_cuda.IndependentSingle, "solve", failing)
        with pytest.raises(UsageError, match="no room"):
            solved(ALGORITHMS["mis"](), ctx)
        monkeypatch.setattr(independent_cuda.IndependentSingle, "solve", solve)
        return solved(ALGORITHMS["mis"](), ctx).summary

    solve, graph = independent_cuda.IndependentSingle.solve, graph_of(False)
    _, summary, _ = answers(1, graph, "mis")
    assert contexts(2, graph, run) == [summary, summary]


@pytest.mark.parametrize("name", ["color", "scc", "mst"])
def test_original_ids_order_and_name_vertices_of_the_whole_graph(name):
    graph = graph_of(name == "scc")
    alone, summary, _ = answers(1, graph, name, changed=spread_ids)
    columns, again, _ = answers(3, graph, name, changed=spread_ids)
    assert again == summary
    for key, values in alone.items():
        np.testing.assert_array_equal(columns[key], values)


def test_without_memory_for_the_whole_graph_parts_work(monkeypatch):
    graph = graph_of(False)
    alone, summary, _ = answers(1, graph, "mis")
    monkeypatch.setattr(gathered_graph, "bytes_needed", lambda *_: 1 << 40)
    columns, again, choices = answers(2, graph, "mis")
    assert choices["placement"] == "parts"
    assert again == summary
    np.testing.assert_array_equal(columns["in_set"], alone["in_set"])


@pytest.mark.parametrize("shared", [False, True])
def test_ranks_that_share_a_gpu_share_its_memory(shared, monkeypatch):
    """Give a GPU memory for the replica of one rank: two that share it work on parts."""
    monkeypatch.setattr(gathered_graph, "bytes_needed", lambda *_: 600 << 20)

    def share(ctx):
        ctx.backend.device.raw.name = "GPU-shared" if shared else f"GPU-{ctx.comm.rank}"

    _, _, choices = answers(2, graph_of(False), "mis", changed=share)
    assert choices["placement"] == ("parts" if shared else "replicas")


def test_the_graph_is_gathered_once(monkeypatch):
    gathered = []

    def counted(part, numbering):
        gathered.append(numbering.moves.comm.rank)
        return gather(part, numbering)

    gather = gathered_graph.gathered_graph
    monkeypatch.setattr(gathered_graph, "gathered_graph", counted)

    def run(ctx):
        return [solved(ALGORITHMS[name](), ctx).summary for name in ("color", "mis", "triangles", "scc", "color")]

    first, second = contexts(2, graph_of(False), run)
    assert first == second
    assert first[0] == first[4]
    assert sorted(gathered) == [0, 1]


@pytest.mark.parametrize("arcs", [1024, 8])
def test_rows_of_two_ranks_are_joined(arcs):
    """Check rows in any order, many of them empty, in pieces that end inside rows."""
    rng = np.random.default_rng(3)
    device = Device(2, seed=1, mutant=("ARCS 1024", f"ARCS {arcs}"))
    sent = [(rng.permutation(300)[:200], np.where(rng.random(200) < 0.8, 0, rng.integers(0, 90, 200))) for _ in "ab"]
    lengths = sum(np.bincount(rows, sizes, 300).astype(np.int64) for rows, sizes in sent)
    assembly, wanted = row_assembly.RowAssembly(device, lengths), [[] for _ in lengths]
    for rows, sizes in sent:
        targets = rng.integers(0, 2**32, sizes.sum()).astype(np.uint32)
        assembly.begin(rows.astype(np.uint32), sizes.astype(np.uint32))
        for first in range(0, len(targets), 50):
            assembly.fill(first, targets[first : first + 50].copy())
        for row, part in zip(rows, np.split(targets, np.cumsum(sizes)[:-1]), strict=True):
            wanted[row] += part.tolist()
    assert assembly.targets.tolist() == list(chain.from_iterable(wanted))
    row_assembly.sort_rows(device, assembly.starts, assembly.targets)
    assert assembly.targets.tolist() == list(chain.from_iterable(map(sorted, wanted)))


def test_an_error_of_the_gpu_with_the_graph_is_raised_on_all(monkeypatch):
    def failing(*_):
        raise UsageError("no rows")

    def run(ctx):
        with pytest.raises(UsageError, match="no rows"):
            solved(ALGORITHMS["mis"](), ctx)
        return True

    monkeypatch.setattr(gathered_graph, "GatheredLocal", failing)
    assert contexts(2, graph_of(False), run) == [True, True]


@pytest.mark.parametrize("fails", [1, 2])
def test_components_by_programs_where_kernels_lack_memory(fails, monkeypatch):
    ring, calls = np.arange(40), []
    graph = Graph(N, np.concatenate([ring, 40 + ring]), np.concatenate([(ring + 1) % 40, 40 + (ring + 1) % 40]))
    alone, summary, choices = answers(1, graph, "scc")
    assert "components" not in choices

    def require(device, need, what):
        calls.append(need)
        if len(calls) == fails:
            raise OutOfMemory("no memory")

    monkeypatch.setattr(strong_cuda, "require", require)
    columns, again, choices = answers(1, graph, "scc")
    assert (choices["components"], again, len(calls)) == ("programs", summary, fails)
    np.testing.assert_array_equal(columns["labels"], alone["labels"])
