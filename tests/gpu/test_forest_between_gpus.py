"""Minimum spanning forests between emulated GPUs, which list their own edges and join the same trees."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from building_checks import built
from emulated import Device, needs_compiler
from flat_run import flat_run
from linked import links_for
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from simulated import Graph, succeed
from test_on_replicas import answers, contexts

import dgraph
from dgraph.algorithms.base import ALGORITHMS
from dgraph.algorithms.kernels.forest import forest_between_gpus as between
from dgraph.algorithms.kernels.forest import forest_cpu
from dgraph.algorithms.mst import Mst
from dgraph.algorithms.on_replicas import solved
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.gathered.numbering import Numbering, numbering_of
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.transports import bulk_moves
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.errors import InternalError
from dgraph.graph.ids import VertexIds
from dgraph.report import Progress, Record

pytestmark = [needs_compiler, pytest.mark.mpi_skip]
N = 90
WAYS = [(2, "oec", "p2p"), (3, "cvc", "mpi-host"), (4, "iec", "p2p"), (3, "metis", "p2p"), (4, "hash", "mpi-host")]


def weights_of(kind, count):
    """Return weights: None, or of a dtype; floats are negative, too, and have both zeros."""
    rng = np.random.default_rng(6)
    if kind is None:
        return None
    if kind == "wide":
        return rng.integers(-(2**62), 2**62, count)
    if kind == "word":  # the largest that share a word with two places of 7 bits
        return np.concatenate([[-3, 2**50 - 4], rng.integers(2**50 - 9, 2**50 - 3, count - 2)])
    if kind.startswith("float"):
        return np.concatenate([[0.0, -0.0, 0.0, -0.0], rng.normal(size=count - 4)]).astype(kind)
    return rng.integers(1 if kind.startswith("u") else -5, 9, count).astype(kind)


@dataclass(frozen=True)
class Table(VertexIds):
    """Original ids by gid, in any order."""

    table: np.ndarray
    ascending = False

    def to_original(self, gids, comm):
        return self.table[np.asarray(gids)]

    def to_gid(self, originals, comm):
        raise NotImplementedError

    grown = to_gid


class Renamed(Graph):
    """Graph whose ids are in another order than its gids, and of 32 or 64 bits."""

    most = 10**6

    def block(self, comm, **kwargs):
        ids = np.random.default_rng(7).choice(self.most, self.n, replace=False)
        return replace(super().block(comm, **kwargs), ids=Table(ids))


class Wide(Renamed):
    """Likewise, with ids of 64 bits."""

    most = 10**12


def graph_of(kind, edges=260, cls=Graph):
    """Return an undirected graph with a hub, loops, parallel edges, isolated vertices and several components."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 70, edges), rng.integers(0, 70, edges) ** 2 // 70
    src, dst = (
        np.concatenate([src, np.full(40, 3), [75, 76, 80]]),
        np.concatenate([dst, np.arange(30, 70), [76, 77, 80]]),
    )
    return cls(N, src, dst, False, weights_of(kind, src.size))


def agree(answer, wanted, graph, placement="GPUs"):
    """Check columns and summary against one CPU's, and the sum against SciPy's."""
    (columns, summary, choices), (values_wanted, total) = answer, wanted
    assert choices.get("placement", "GPUs") == placement
    assert summary == total
    for name, values in values_wanted.items():
        assert columns[name].dtype == values.dtype
        np.testing.assert_array_equal(columns[name], values)
    weights = np.ones(graph.src.size) if graph.weights is None else graph.weights.astype(np.float64)
    lightest = {}
    for u, v, w in zip(graph.src.tolist(), graph.dst.tolist(), weights.tolist(), strict=True):
        pair = min(u, v), max(u, v)
        lightest[pair] = min(w, lightest.get(pair, np.inf))
    src, dst, w = np.array([(*pair, w) for pair, w in lightest.items() if pair[0] != pair[1]]).T
    above = w - w.min() + 1  # SciPy takes 0 for no edge
    matrix = coo_matrix((above, (src.astype(int), dst.astype(int))), (graph.n, graph.n)).tocsr()
    tree = minimum_spanning_tree(matrix)
    components = connected_components(matrix, directed=False)[0]
    assert summary["edges"] == tree.nnz == graph.n - components
    assert summary["weight"] == pytest.approx(tree.sum() + tree.nnz * (w.min() - 1))


def on_cpu(graph):
    """Return the answer of one rank on a CPU."""
    columns, weight, edges = contexts(1, graph, forest_cpu.Forest(None).whole)[0]
    return columns, {"weight": weight, "edges": edges, "components": graph.n - edges}


@pytest.mark.parametrize("kind", ["int32", None, "word", "wide", "float64", "float32", "uint32", "uint8", "int64"])
@pytest.mark.parametrize("cls", [Renamed, Graph, Wide])
def test_gpus_find_the_rows_of_one_cpu(kind, cls, monkeypatch):
    monkeypatch.setattr(bulk_moves, "PIECE", 256)
    graph = graph_of(kind, cls=cls)
    wanted = on_cpu(graph)
    for size, policy, transport in WAYS:
        agree(answers(size, graph, "mst", policy=policy, transport=transport), wanted, graph)


@pytest.mark.parametrize("kind", ["int32", None, "float64"])
def test_light_edges_and_whole_rows_come_first_in_rows_of_every_length(kind, monkeypatch):
    monkeypatch.setattr(control_block, "LONG_ROW", 40)
    monkeypatch.setattr(control_block, "CHUNK", 8)
    graph = graph_of(kind, 3000, Renamed)
    wanted = on_cpu(graph)
    for size, policy, transport in WAYS[:3]:
        agree(answers(size, graph, "mst", policy=policy, transport=transport), wanted, graph)


@pytest.mark.parametrize(
    ("policy", "size", "weights", "renumber"),
    [("oec", 3, None, True), ("cvc", 4, "1..9", False), ("hvc,threshold=9", 2, "0.5..2.0", None)],
)
def test_rows_that_gpus_built_stay_on_them(policy, size, weights, renumber):
    spec = "rmat:7,symmetric"

    def work(comm):
        local = built(spec, comm, policy, renumber, weights=weights, directed=False).partitions[policy].local
        backend = CudaBackend(0, 1, False, GpuPlan(), local.device)
        backend.links = links_for(comm, "p2p")
        answer = Mst().run(Context(local, comm, backend, Record(comm, ["test"]), Progress()))
        assert not {"_ends", "offsets"} & vars(local.out).keys(), "rows were copied to the host"
        return local.gids[: local.masters], {name: column() for name, column in answer.columns.items()}, answer.summary

    graph = dgraph.Graph.load(spec, weights=weights, directed=False, comm=SerialComm(), device="cpu")
    wanted = flat_run("mst", graph, backend="cpu")
    for gids, columns, summary in succeed(size, work):
        assert summary == wanted.summary
        for name, values in columns.items():
            np.testing.assert_array_equal(values, wanted.columns[name][gids])


def test_a_graph_that_a_gpu_built_needs_no_memory_for_an_upload(monkeypatch):
    local = built("rmat:7,symmetric", policy="oec", weights="1..9", directed=False).partitions["oec"].local
    backend = CudaBackend(0, 1, True, GpuPlan(), local.device)
    monkeypatch.setattr(local.device, "free", lambda *_: 0)
    assert backend.graph_of(local).edges == local.out.arcs


def test_an_order_of_ids_that_failed_on_one_rank_is_made_again_by_all():
    class Full:
        def __getattr__(self, name):
            return getattr(np, name)

        def sort(self, _):
            raise MemoryError("none is left")

    def work(ctx):
        part = ctx.backend.graph_of(ctx.local)
        numbering = numbering_of(part, ctx.comm)
        if ctx.comm.rank == 1:
            part.device.xp = Full()
        with pytest.raises(InternalError, match="none is left"):
            numbering.id_order()
        part.device.xp = np
        places, ids = numbering.id_order()
        np.testing.assert_array_equal(ids[places], part.original)
        return bool(np.all(ids[1:] > ids[:-1]))

    assert contexts(3, graph_of(None, cls=Renamed), work, policy="cvc") == [True] * 3


def test_several_runs_and_algorithms_share_the_mailboxes(monkeypatch):
    monkeypatch.setattr(bulk_moves, "PIECE", 256)

    def work(ctx):
        answers_of_runs = []
        for name in ("mst", "mis", "mst", "triangles", "mst"):
            columns = solved(ALGORITHMS[name](), ctx).columns
            answers_of_runs.append(
                {key: np.array(column() if callable(column) else column) for key, column in columns.items()}
            )
            part = ctx.backend.graph_of(ctx.local)
            assert part.whole is None or part.whole.replicas.moves is part.numbering.moves
        for again in (answers_of_runs[2], answers_of_runs[4]):
            for name, values in answers_of_runs[0].items():
                np.testing.assert_array_equal(again[name], values)
        return True

    assert all(contexts(3, graph_of(None, cls=Renamed), work))


def test_parts_without_vertices_or_edges_send_nothing():
    for src, dst in (([], []), ([0], [1]), ([89], [89])):
        graph = Graph(N, np.array(src, np.int64), np.array(dst, np.int64), False)
        columns, summary, _ = answers(4, graph, "mst", policy="oec")
        joined = len(src) if src != dst else 0
        assert summary == {"weight": joined, "edges": joined, "components": N - joined}
        assert np.count_nonzero(columns["source"] >= 0) == joined


def test_hosts_join_the_trees_where_gpus_lack_memory(monkeypatch):
    monkeypatch.setattr(bulk_moves, "PIECE", 256)
    graph = graph_of("int32")
    agree(answers(3, graph, "mst", memory=15_000), on_cpu(graph), graph, "hosts")


@pytest.mark.parametrize("method", ["join", "_list", "_rounds", "_turn", "columns"])
def test_the_error_of_one_rank_is_raised_on_all(method, monkeypatch):
    whole = getattr(between.SharedSearch, method)

    def broken(self, *args, **limits):
        if 0 in self.graph.local.gids[: self.graph.local.masters]:
            raise MemoryError("none is left")
        return whole(self, *args, **limits)

    def error(ctx):
        with pytest.raises(InternalError, match="none is left"):
            solved(ALGORITHMS["mst"](), ctx)

    monkeypatch.setattr(between.SharedSearch, method, broken)
    contexts(3, graph_of("int32"), error)


MUTANTS = {
    "every rank drops the arcs to larger positions": ("PART || v[k] < u", "v[k] < u"),
    "every row is in the giant tree": ("env.tree[u] == (u32)env.giant", "true"),
    "words of other GPUs are lost": ("i < (u64)env.arrived", "i + 1 < (u64)env.arrived"),
    "both ranks of an edge choose the other": ("stands_for_edge(from, to)", "stands_for_edge(u, v[k])"),
    "columns are those of the first vertices": ("chosen_pair, vertex_of((u32)u))", "chosen_pair, u)"),
}  # fmt: skip


def test_an_order_by_gid_gives_other_rows(monkeypatch):
    def by_gid(self):
        ids, originals = np.zeros(N, np.uint32), self.collected(np.int64, self.ids())
        for peer, gids in self.collected(np.uint32, self.gids[: self.part.local.masters]).items():
            ids[gids] = originals[peer]
        return self.gids, ids

    graph = graph_of(None, 600, Renamed)
    wanted = on_cpu(graph)
    monkeypatch.setattr(Numbering, "id_order", by_gid)
    with pytest.raises(AssertionError):
        agree(answers(3, graph, "mst", policy="cvc"), wanted, graph)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_give_other_rows(name, monkeypatch):
    graph = graph_of(*(("int32", 3000) if "giant" in name else (None, 600)), Renamed)
    if "choose the other" in name:  # lists matter after the second round
        graph = Renamed(N, np.arange(N - 1), np.arange(1, N), False, weights_of("int32", N - 1))
    wanted = on_cpu(graph)
    monkeypatch.setattr("test_on_replicas.Device", partial(Device, mutant=MUTANTS[name]))
    answers_of_ways = [
        answers(size, graph, "mst", policy=policy, transport=transport) for size, policy, transport in WAYS
    ]
    with pytest.raises(AssertionError):
        [agree(answer, wanted, graph) for answer in answers_of_ways]
