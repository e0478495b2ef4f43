"""Graphs after edges were added and removed, against a dictionary of edges: rows, partitions, ids, facts, refusals."""

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import agreed, joined, share
from simulated import on_ranks

from dgraph.comm import SerialComm
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.order import by_degree
from dgraph.graph.stored_graph import Graph

SPREAD = 1_000_003
"""Sparse ids are multiples of it."""

POLICIES = ("oec", "iec", "cvc", "hash", "hvc,threshold=2", "ldg")
EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 4)), max_size=25)
MORE = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14), st.integers(1, 4)), max_size=12)
CHANGES = st.lists(st.tuples(MORE, st.integers(0, 2**16)), min_size=1, max_size=3)
KINDS = {
    "directed": st.booleans(), "loops": st.booleans(), "parallel": st.booleans(), "weighted": st.booleans(),
    "merge": st.sampled_from(["min", "max", "sum", "first"]), "ids": st.sampled_from(["dense", "sparse", "names"]),
    "ordered": st.booleans(), "ranks": st.integers(1, 4), "policy": st.sampled_from(POLICIES),
}  # fmt: skip
RULES = {"min": min, "max": max, "sum": lambda old, new: old + new, "first": lambda old, new: old}


class Model:
    """Edges in a dictionary: ends → weights."""

    def __init__(self, directed, loops, parallel, merge, **_):
        self.directed, self.loops, self.parallel, self.merge = directed, loops, parallel, RULES[merge]
        self.edges: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.vertices: set[int] = set()

    def key(self, u, v):
        return (u, v) if self.directed else (min(u, v), max(u, v))

    def add(self, edges):
        for u, v, w in edges:
            self.vertices |= {u, v}
            if u == v and not self.loops:
                continue
            weights = self.edges[self.key(u, v)]
            if self.parallel or not weights:
                weights.append(w)
            else:
                weights[0] = self.merge(weights[0], w)

    def remove(self, pairs):
        for u, v in pairs:
            self.edges.pop(self.key(u, v), None)

    def arcs(self, weighted) -> Counter:
        arcs = Counter()
        for (u, v), weights in self.edges.items():
            for w in weights:
                arcs[u, v, w if weighted else 1] += 1
                if not self.directed and u != v:
                    arcs[v, u, w if weighted else 1] += 1
        return arcs


def check_partition(graph, comm) -> list:
    """Check this rank's part and its mirrors; return its arcs by original id."""
    local, ids = graph.partitions[graph.policy].local, graph.ids
    masters = local.gids[: local.masters]
    assert (np.diff(masters) > 0).all()
    assert local.original.tolist() == ids.to_original(local.gids, comm).tolist()
    assert local.out.offsets[-1] == local.out.arcs == len(local.out.neighbours)
    sources = np.repeat(np.arange(local.size), np.diff(local.out.offsets))
    for row in range(local.size):
        assert (np.diff(local.gids[local.out.neighbours[slice(*local.out.offsets[row : row + 2])]]) >= 0).all()
    owner = np.zeros(graph.n, np.int64)
    for rank, theirs in enumerate(comm.allgatherv(masters)):
        owner[theirs] += rank + 1
    assert (owner > 0).all()
    degrees = np.zeros(graph.n, np.int64)
    for rows in comm.allgatherv(local.gids[sources]):
        np.add.at(degrees, rows, 1)
    assert local.out_degree.tolist() == degrees[local.gids].tolist()
    position = local.masters
    lists = comm.allgather_json(
        {peer: [local.gids[m.lids].tolist(), m.columns, m.rows] for peer, m in local.peer_mirrors.items()}
    )
    for peer in sorted(local.own_mirrors):
        side = local.own_mirrors[peer]
        assert side.first == position
        theirs = local.gids[side.first : side.first + side.count]
        assert (owner[theirs] == peer + 1).all()
        for low, high in ((0, side.rows), (side.rows, side.columns), (side.columns, side.count)):
            assert (np.diff(theirs[low:high]) > 0).all()
        assert lists[peer][str(comm.rank)] == [theirs.tolist(), side.columns, side.rows]
        lids = np.arange(side.count) + side.first
        assert not np.isin(lids[slice(*side.span("row"))], lids[: side.rows]).any()
        assert not np.isin(sources, lids[: side.rows]).any()
        assert not np.isin(local.out.neighbours, lids[side.columns :]).any()
        position += side.count
    assert position == local.size
    weights = np.ones(local.out.arcs, np.int64) if local.out.weights is None else local.out.weights
    incoming = local.incoming
    back = np.repeat(np.arange(local.size), np.diff(incoming.offsets))
    carried = weights if local.out.weights is None else incoming.weights
    assert Counter(zip(sources.tolist(), local.out.neighbours.tolist(), weights.tolist(), strict=True)) == Counter(
        zip(incoming.neighbours.tolist(), back.tolist(), carried.tolist(), strict=True)
    )
    ends = local.original[sources], local.original[local.out.neighbours]
    return list(zip(*(end.tolist() for end in ends), weights.tolist(), strict=True))


class Named:
    """Vertices of a test as the graph has them: 0, 1, … ; their multiples; or names in another order."""

    def __init__(self, ids):
        self.ids = ids

    def of(self, vertices):
        if self.ids == "names":
            return np.array([f"v{vertex * 7 % 15:02}" for vertex in vertices], object)
        return np.array(vertices, np.int64) * (SPREAD if self.ids == "sparse" else 1)


@settings(max_examples=40, deadline=None)
@given(EDGES, CHANGES, st.fixed_dictionaries(KINDS))
def test_changed_graphs_equal_their_edges(edges, changes, kinds):
    if kinds["parallel"]:
        kinds["merge"] = "min"
    ids, weighted, ranks = Named(kinds["ids"]), kinds["weighted"], kinds["ranks"]
    if kinds["merge"] == "sum":
        weighted = True
    model = Model(**kinds)
    edges = [(0, 1, 2), *edges] if kinds["directed"] or kinds["merge"] != "sum" else [(0, 1, 2)]
    model.add(edges)
    if kinds["ids"] == "dense":
        model.vertices = set(range(max(model.vertices) + 1))
    steps = []
    for more, choice in changes:
        pairs = sorted(pair for pair, weights in model.edges.items() if weights)
        gone = [pair for index, pair in enumerate(pairs) if choice >> index % 16 & 1]
        model.remove(gone)
        model.add(more)
        if kinds["ids"] == "dense":
            model.vertices = set(range(max(model.vertices) + 1))
        steps.append((more, gone))

    def work(comm):
        mine = slice(comm.rank, None, comm.size)

        def columns(rows):
            in_order = kinds["merge"] == "first"  # rank 0 gives all
            rows = rows[slice(None if comm.rank == 0 else 0)] if in_order else rows[mine]
            u, v, w = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
            return ids.of(u), ids.of(v), np.array(w, np.int64)

        u, v, w = columns(edges)
        graph = Graph.from_edges(
            u, v, w if weighted else None, directed=kinds["directed"], keep_loops=kinds["loops"],
            keep_parallel=kinds["parallel"], sparse_ids=kinds["ids"] == "sparse", merge=kinds["merge"], comm=comm,
            policy=kinds["policy"],
        )  # fmt: skip
        if kinds["ordered"]:
            graph = Graph(by_degree(graph.block, comm), comm).on(kinds["policy"])
        ids_, before = graph.vertices(), graph.fingerprint()
        graph = graph.with_columns(text=(ids_, [str(vertex) for vertex in ids_]))
        first = graph
        graph.partition().local.incoming  # noqa: B018
        for more, gone in steps:
            u, v, w = columns(more)
            pairs = np.stack([u, v], axis=1) if len(u) else None
            ends = [ids.of([pair[side] for pair in gone]) for side in (0, 1)]
            graph = graph.with_edges(
                pairs,
                np.stack(ends, axis=1) if gone and comm.rank == 0 else None,
                weights=w if weighted and len(u) else None,
            )
            here = check_partition(graph, comm)
        assert "incoming" in graph.partitions[graph.policy].local.__dict__
        texts = dict(zip(first.vertices().tolist(), first.columns["text"].tolist(), strict=True))
        for every in comm.allgather_json([[str(k), x] for k, x in texts.items()]):
            texts |= dict(every)
        vertices = graph.vertices().tolist()
        assert graph.columns["text"].tolist() == [texts.get(str(vertex)) for vertex in vertices]
        assert first.fingerprint() == before
        names = [] if graph.ids.names is None else graph.ids.names.of(np.arange(graph.n), comm).tolist()
        hashed = graph.fingerprint()
        assert hashed == Graph(graph.block, comm).fingerprint() or kinds["ordered"]
        return share(graph.block, comm), here, names, hashed, rebuilt(comm).fingerprint()

    def rebuilt(comm):
        arcs = [(u, v, w) for (u, v), weights in model.edges.items() for w in weights] if comm.rank == 0 else []
        u, v, w = (list(column) for column in zip(*arcs, strict=True)) if arcs else ([], [], [])
        extra = ids.of(sorted(model.vertices)) if comm.rank == 0 else None
        return Graph.from_edges(
            ids.of(u), ids.of(v), np.array(w, np.int64) if weighted else None, directed=kinds["directed"],
            keep_loops=True, keep_parallel=True, sparse_ids=kinds["ids"] != "names", vertices=extra, comm=comm,
        )  # fmt: skip

    results = agreed(on_ranks(ranks, work))
    changed, names = joined([part for part, *_ in results]), results[0][2]
    read = names.__getitem__ if names else int
    shown = ids.of(range(15)).tolist()
    wanted = Counter({(shown[u], shown[v], w): count for (u, v, w), count in model.arcs(weighted).items()})
    assert sorted(map(read, changed.vertices)) == sorted(shown[vertex] for vertex in model.vertices)
    assert Counter((read(u), read(v), w) for u, v, w in changed.arcs) == wanted
    assert Counter((read(u), read(v), w) for _, here, *_ in results for u, v, w in here) == wanted
    assert changed.m == sum(map(len, model.edges.values()))
    loops = sum(len(weights) for (u, v), weights in model.edges.items() if u == v)
    if kinds["loops"]:
        assert changed.facts.loops == loops if kinds["parallel"] else changed.facts.loops >= loops
    if kinds["parallel"]:
        assert changed.facts.duplicates == sum(max(len(weights) - 1, 0) for weights in model.edges.values())
    assert all(mine == other for *_, mine, other in results)
    touched = {end for pair, weights in model.edges.items() if weights for end in pair}
    assert changed.facts.isolated == len(model.vertices - touched)
    degrees = Counter(u for u, _, _ in wanted.elements())
    assert changed.facts.largest_degree == max(degrees.values(), default=0)


def test_refusals(tmp_path):
    graph = Graph.from_edges([0, 1], [1, 2], comm=SerialComm())
    heavy = Graph.from_edges([0, 1], [1, 2], np.array([1, 2], np.int32), comm=SerialComm())
    named = Graph.from_edges(["a"], ["b"], comm=SerialComm())
    for call, error, text in (
        (lambda: graph.with_edges(remove=[[2, 1]]), UsageError, "has no edge 2 → 1"),
        (lambda: graph.with_edges(remove=[[0, 9]]), UsageError, "9 is not a vertex"),
        (lambda: graph.with_edges([[0, 2, 1]]), UsageError, r"shape \(1, 3\)"),
        (lambda: graph.with_edges([["a", "b"]]), UsageError, "holds strings"),
        (lambda: graph.with_edges([[0, 10**9]]), DataError, "sparse_ids=True"),
        (lambda: graph.with_edges([[0, 2]], weights=[1]), UsageError, "have no weights"),
        (lambda: heavy.with_edges([[0, 2]]), UsageError, "give one for every new edge"),
        (lambda: heavy.with_edges([[0, 2]], weights=[1.5]), DataError, "does not fit"),
        (lambda: heavy.with_edges([[0, 2]], weights=[1, 2]), UsageError, "weights has 2 values, add 1"),
        (lambda: named.with_edges([[0, 1]]), UsageError, "strings"),
        (lambda: named.with_edges(remove=[["b", "a"]]), UsageError, "no edge b → a"),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.quick
def test_an_added_edge_brings_at_most_16_unused_ids():
    def grown(edges, base=0, **options):
        graph = Graph.from_edges([base, base + 1], [base + 1, base + 2], comm=SerialComm(), **options)
        return graph.with_edges(edges)

    assert grown([[0, 19]]).n == 20
    assert grown([[19, 20]]).n == 21
    assert grown([[0, 35], [0, 1]]).n == 36
    for edges in ([[0, 20]], [[19, 21]], [[0, 36], [0, 1]], [[0, 10**6]], [[0, 2**62]], [[2**63 - 1, 2**63 - 1]]):
        with pytest.raises(DataError, match=r"whose ids end at 2, would have the [\d,]+ ids between .*sparse_ids=True"):
            grown(edges)
    assert grown([[0, 2**63 - 2]], sparse_ids=True).n == 4
    with pytest.raises(DataError, match=r"stands for no vertex; ids are at most 2\^63 - 2"):
        grown([[0, 2**63 - 1]], sparse_ids=True)
    far = Graph.from_edges([0], [5000], comm=SerialComm())
    assert far.with_edges([[5000, 5017]]).n == 5018
    with pytest.raises(DataError, match="ids end at 5000"):
        far.with_edges([[0, 5018]])


def test_tables_counts_and_stores(tmp_path):
    """A table of edges; weights that count; a changed graph in a store, changed again after it was opened."""
    comm = SerialComm()
    graph = Graph.from_edges([5, 5, 9], [9, 9, 7], sparse_ids=True, merge="count", comm=comm)
    table = pd.DataFrame({"source": [5, 2], "target": [9, 7]})
    grown = graph.with_edges(table, remove=pd.DataFrame({"src": [9], "dst": [7]}))
    assert (grown.n, grown.m, grown.vertices().tolist()) == (4, 2, [2, 5, 7, 9])
    assert sorted(share(grown.block, comm)[0].weights.tolist()) == [1, 3]
    grown.save_store(tmp_path / "store")
    opened = Graph.open(tmp_path / "store", comm=comm)
    assert opened.fingerprint() == grown.fingerprint()
    again = opened.with_edges([[6, 5]], weights=[4])
    twin = grown.with_edges([[6, 5]], weights=[4])
    assert again.fingerprint() == twin.fingerprint()
    assert again.vertices().tolist() == [2, 5, 6, 7, 9]
    graph.close()
    assert grown.m == 2
