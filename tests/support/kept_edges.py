"""Graphs that keep loops and parallel edges, and the right answers of all algorithms by NetworkX or plain Python.

NetworkX gets the multigraph; functions that refuse multigraphs or loops get the simple graph.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import algorithm_cases
import networkx as nx
import numpy as np
from walk_model import all_walks

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.result.result import UNREACHED

FAR = float("inf")
KEPT = {"loops": (True, False), "parallel": (False, True), "both": (True, True)}
"""Name → whether loops and parallel edges are kept."""


@dataclass(frozen=True)
class Kept:
    """A graph as listed, with loops, parallel edges of several weights, and vertices that have only a loop or no edge.

    Attributes:
        directed: edges go one way.
        kept: a name of ``KEPT``.
        weighted: edges have weights 1 to 5.
        seed: of the edges.
    """

    directed: bool
    kept: str = "both"
    weighted: bool = True
    seed: int = 1
    n: int = 22

    @cached_property
    def edges(self):
        rng = np.random.default_rng(self.seed)
        src, dst = rng.integers(0, self.n - 3, (2, 34))
        some = rng.integers(0, src.size, 14)
        lone = [self.n - 2] * 2
        src = np.concatenate([src, src[some], dst[some[:5]], lone, [3, 3, 5]])
        dst = np.concatenate([dst, dst[some], src[some[:5]], lone, [3, 3, 5]])
        return src, dst, rng.integers(1, 6, src.size) if self.weighted else None

    def engine(self, comm, **changes):
        """Return the graph of all ranks, each of which lists every P-th edge."""
        loops, parallel = KEPT[self.kept]
        mine = slice(comm.rank, None, comm.size)
        src, dst, weights = (None if column is None else column[mine] for column in self.edges)
        options = {"keep_loops": loops, "keep_parallel": parallel} | changes
        return dgraph.Graph.from_edges(src, dst, weights, n=self.n, directed=self.directed, comm=comm, **options)

    @cached_property
    def multigraph(self):
        """The graph in NetworkX with its loops and parallel edges, where they are kept."""
        loops, parallel = KEPT[self.kept]
        src, dst, weights = self.edges
        weights = weights if self.weighted else np.ones(src.size, np.int64)
        graph = (nx.MultiDiGraph if self.directed else nx.MultiGraph)()
        graph.add_nodes_from(range(self.n))
        for u, v, w in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True):
            if u == v and not loops:
                continue
            if graph.has_edge(u, v) and not parallel:
                graph[u][v][0]["weight"] = min(graph[u][v][0]["weight"], w)
                continue
            graph.add_edge(u, v, weight=w)
        return graph

    @cached_property
    def simple(self):
        """The simple graph in NetworkX."""
        return lightest(self.multigraph, (nx.DiGraph if self.directed else nx.Graph)())

    @cached_property
    def neighbours(self):
        """The simple graph without directions."""
        return lightest(self.simple, nx.Graph())


def lightest(graph, simple):
    """Return ``simple`` with the nodes and edges of a graph, without its loops, of the smallest weights."""
    simple.add_nodes_from(graph)
    for u, v, w in graph.edges(data="weight"):
        if u != v:
            simple.add_edge(u, v, weight=min(w, simple.get_edge_data(u, v, {"weight": w})["weight"]))
    return simple


def labels(groups):
    return {v: min(group) for group in groups for v in group}


def propagated(graph: Kept, rounds: int = 10, arcs: bool = False, weighted: bool = False):
    """Labels by LDBC's rounds, on NetworkX's neighbours: a vertex with a loop is one of its own."""
    least: dict = {}
    for (u, v, _), weight in nx.get_edge_attributes(graph.multigraph, "weight", default=1).items():
        for pair in {(u, v), (v, u)}:
            least[pair] = min(weight, least.get(pair, weight))
    around: dict = {v: Counter() for v in range(graph.n)}
    for u, v in {(u, v) for u, v, _ in graph.multigraph.edges}:
        for a, b in {(u, v), (v, u)}:
            around[a][b] = around[a][b] + 1 if arcs and graph.directed and u != v else least[a, b] if weighted else 1
    label = {v: v for v in range(graph.n)}
    for _ in range(rounds):
        votes = {v: Counter({label[v]: 0}) for v in label}
        for v, times in around.items():
            for u, many in times.items():
                votes[v][label[u]] += many
        label = {v: min((-many, name) for name, many in votes[v].items())[1] for v in label}
    return label


def closed_arcs(graph: Kept):
    """LDBC's clustering coefficients of a directed graph."""
    both, shares = graph.neighbours, {}
    for v in both:
        pairs = [(a, b) for a in both[v] for b in both[v] if a != b]
        closed = sum(graph.simple.has_edge(a, b) for a, b in pairs)
        shares[v] = closed / len(pairs) if pairs else 0.0
    return shares


def trusses(graph: Kept):
    most, k = {v: 2 if graph.neighbours[v] else 0 for v in range(graph.n)}, 2
    while (left := nx.k_truss(graph.neighbours, k)).number_of_edges():
        most.update(dict.fromkeys((v for v in left if left[v]), k))
        k += 1
    return most


def counted(graph: Kept):
    """Degrees by NetworkX, which has no in-degree in undirected graphs."""
    whole = graph.multigraph
    ends = {"in_degree": whole.in_degree, "out_degree": whole.out_degree} if graph.directed else {}
    columns = {"degree": whole.degree, "in_degree": whole.degree, "out_degree": whole.degree} | ends
    return {name: dict(view) for name, view in columns.items()} | {
        "weighted_degree": dict(whole.degree(weight="weight"))
    }


def around(graph: Kept):
    """Average degrees of neighbours over all out-edges, by weight: NetworkX has parallel edges once among these."""
    whole, averages = graph.multigraph, {}
    ends = dict(whole.out_degree if graph.directed else whole.degree)
    sums = dict((whole.out_degree if graph.directed else whole.degree)(weight="weight"))
    for v in whole:
        rows = (w * ends[u] for _, u, w in whole.edges(v, data="weight"))
        averages[v] = sum(rows) / sums[v] if sums[v] else 0.0
    return averages


def dominant(graph: Kept):
    """Limit of the power iteration on the sums of weights, from equal scores: squarings of its matrix."""
    matrix = nx.to_numpy_array(graph.multigraph, nodelist=range(graph.n)).T
    power = np.eye(graph.n) + matrix * (np.count_nonzero(matrix) / matrix.sum())
    for _ in range(60):
        power = power @ power
        power /= power.sum()
    scores = power.sum(axis=1)
    return dict(enumerate(scores / np.linalg.norm(scores)))


def walks(graph: Kept, alpha: float):
    """Katz centrality by solving equations with the sums of weights."""
    matrix = nx.to_numpy_array(graph.multigraph, nodelist=range(graph.n)).T
    scores = np.linalg.solve(np.eye(graph.n) - alpha * matrix, np.ones(graph.n))
    return dict(enumerate(scores / np.linalg.norm(scores)))


def powers(graph: Kept):
    """Hubs and authorities by power iteration on the sums of weights."""
    matrix = nx.to_numpy_array(graph.multigraph, nodelist=range(graph.n))
    hubs = np.full(graph.n, 1 / graph.n)
    for _ in range(3000):
        authorities = matrix.T @ hubs
        hubs = matrix @ authorities
        hubs, authorities = hubs / hubs.sum(), authorities / authorities.sum()
    return {"hubs": dict(enumerate(hubs)), "authorities": dict(enumerate(authorities))}


def unit(graph: Kept):
    """Hubs and authorities as singular vectors: authorities of norm 1, hubs the sums of theirs."""
    authorities = np.array(list(powers(graph)["authorities"].values()))
    authorities /= np.linalg.norm(authorities)
    hubs = nx.to_numpy_array(graph.multigraph, nodelist=range(graph.n)) @ authorities
    return {"hubs": dict(enumerate(hubs)), "authorities": dict(enumerate(authorities))}


def distances(graph: Kept, sources, weight=None):
    """Distances by NetworkX in columns of the sources."""
    lengths = {s: nx.single_source_dijkstra_path_length(graph.multigraph, s, weight=weight) for s in sources}
    return {f"distance_{s}": {v: lengths[s].get(v, FAR) for v in range(graph.n)} for s in sources}


def all_pairs(graph: Kept):
    far = dict(nx.all_pairs_dijkstra_path_length(graph.multigraph, weight="weight"))
    return {
        "reached": {v: len(far[v]) for v in far},
        "farthest": {v: max(far[v].values()) for v in far},
    }


def of_edges(graph: Kept, weight=None):
    """Betweenness of pairs of ends: NetworkX shares it out among parallel edges, and lists loops with 0."""
    sums: Counter = Counter()
    for (u, v, _), value in nx.edge_betweenness_centrality(graph.multigraph, weight=weight).items():
        if u != v:
            sums[(u, v) if graph.directed else (min(u, v), max(u, v))] += value
    return dict(sums)


def cores(graph: Kept, arcs: bool = False):
    return nx.core_number(graph.simple if arcs else graph.neighbours)


def between(graph: Kept, weight=None, normalized=True):
    return nx.betweenness_centrality(graph.multigraph, weight=weight, normalized=normalized)


def visits(graph: Kept, weighted: bool):
    """Visits of the model's walks, which take parallel edges one by one."""
    edges = graph.multigraph.edges
    rows = {v: sorted((u, float(w)) for _, u, w in edges(v, "weight")) for v in range(graph.n)}
    paths, _ = all_walks(rows, range(graph.n), 2, 5, weighted=weighted)
    return Counter(v for path in paths for v in path)


def column(name: str, oracle: Callable) -> Callable:
    """Return the check that a column of the answer is what the oracle gives."""
    return lambda graph: {name: oracle(graph)}


SOURCES = [0, 3]
SINKS = {0: 1.0, 3: 2.0}
(COMMUNITIES,) = ALGORITHMS["cdlp"].columns
BY_WEIGHT = {"weighted": True}

ORACLES: list[tuple[str, dict, Callable]] = [  # a new algorithm: KEPT of its cases
    ("apsp", {}, all_pairs),
    ("bc", {}, column("bc", between)),
    ("bc", {"k": None, **BY_WEIGHT}, column("bc", lambda g: between(g, "weight"))),
    ("bfs", {"source": 0}, lambda g: {"distance": distances(g, [0])["distance_0"]}),
    ("cc", {}, column("labels", lambda g: labels(nx.connected_components(nx.Graph(g.multigraph))))),
    ("cdlp", {}, column(COMMUNITIES, propagated)),
    ("cdlp", BY_WEIGHT, column(COMMUNITIES, lambda g: propagated(g, weighted=True))),
    ("cdlp", {"count": "arcs"}, column(COMMUNITIES, lambda g: propagated(g, arcs=True))),
    ("closeness", {}, column("closeness", lambda g: nx.closeness_centrality(g.multigraph))),
    ("closeness", BY_WEIGHT, column("closeness", lambda g: nx.closeness_centrality(g.multigraph, distance="weight"))),
    ("clustering", {}, column("clustering", lambda g: nx.clustering(g.simple))),
    ("clustering", BY_WEIGHT, column("clustering", lambda g: nx.clustering(g.simple, weight="weight"))),
    ("degrees", {}, counted),
    ("eigenvector", {"tol": 1e-12, "max_iter": 20000}, column("eigenvector", dominant)),
    ("hits", {"tol": 1e-13, "max_iter": 3000}, powers),
    ("hits", {"tol": 1e-13, "max_iter": 3000, "normalized": False, "nstart": {v: 1.0 + v for v in range(22)}}, unit),
    ("katz", {"alpha": 0.02, "tol": 1e-13}, column("katz", lambda g: walks(g, 0.02))),
    ("kcore", {}, column("core_number", cores)),
    ("kcore", {"variant": "shells"}, column("core_number", cores)),
    ("kcore", {"variant": "estimates"}, column("core_number", cores)),
    ("kcore", {"count": "arcs"}, column("core_number", lambda g: cores(g, arcs=True))),
    ("kcore", {"k": 2}, column("in_core", lambda g: {v: int(c >= 2) for v, c in cores(g).items()})),
    ("ktruss", {}, column("truss", trusses)),
    ("lcc", {}, column("lcc", lambda g: nx.clustering(g.neighbours))),
    ("lcc", {"count": "arcs"}, column("lcc", lambda g: closed_arcs(g) if g.directed else nx.clustering(g.neighbours))),
    ("multi_source_bfs", {"sources": SOURCES}, lambda g: distances(g, SOURCES)),
    ("multi_source_pagerank", {"sources": SOURCES, "tol": 1e-13, "max_iter": 500}, lambda g: {
        f"pagerank_{s}": nx.pagerank(g.multigraph, personalization={s: 1}, tol=1e-15, max_iter=2000) for s in SOURCES}),
    ("multi_source_sssp", {"sources": SOURCES}, lambda g: distances(g, SOURCES, "weight")),
    ("neighbor_degree", {}, column("neighbor_degree", around)),
    ("pagerank", {"tol": 1e-13, "max_iter": 500},
     column("pagerank", lambda g: nx.pagerank(g.multigraph, tol=1e-15, max_iter=2000))),
    ("pagerank", {"tol": 1e-13, "max_iter": 500, "dangling": SINKS},
     column("pagerank", lambda g: nx.pagerank(g.multigraph, tol=1e-15, max_iter=2000, dangling=SINKS))),
    ("random_walks", {"walks": 2, "length": 5}, column("visits", lambda g: visits(g, weighted=False))),
    ("random_walks", {"walks": 2, "length": 5, **BY_WEIGHT}, column("visits", lambda g: visits(g, weighted=True))),
    ("reachability", {"sources": SOURCES}, lambda g: {
        f"reached_{s}": {v: int(v == s or v in nx.descendants(g.multigraph, s)) for v in range(g.n)} for s in SOURCES}),
    ("scc", {}, column("labels", lambda g: labels(nx.strongly_connected_components(
        g.multigraph if g.directed else nx.DiGraph(g.multigraph))))),
    ("sssp", {"source": 0}, lambda g: {"distance": distances(g, [0], "weight")["distance_0"]}),
    ("sssp", {"source": 0, "variant": "bellman-ford"},
     lambda g: {"distance": distances(g, [0], "weight")["distance_0"]}),
    ("triangles", {}, column("triangles", lambda g: nx.triangles(nx.MultiGraph(g.multigraph)))),
    *algorithm_cases.rows("KEPT"),
]  # fmt: skip
"""Algorithm, parameters, and a function of the graph that returns column → {vertex: value}."""

FREE: list[tuple[str, dict]] = [
    ("color", {}), ("color", {"variant": "degree"}), ("color", {"variant": "hybrid"}), ("mis", {}), ("mst", {}),
    ("edge_bc", {}), ("edge_bc", BY_WEIGHT), ("similarity", {"k": 100}),
]  # fmt: skip
"""Algorithms with several right answers, or one on edges: :func:`check_free` has what must hold."""


def check(graph: Kept, result, oracle: Callable) -> None:
    """Assert that this rank's rows are what the oracle gives."""
    vertex = result.columns["vertex"].tolist()
    for name, wanted in oracle(graph).items():
        values = result.columns[name].astype(float)
        values[values == float(UNREACHED)] = FAR
        np.testing.assert_allclose(values, [wanted[v] for v in vertex], rtol=1e-9, atol=1e-9, err_msg=name)


def check_free(graph: Kept, algorithm: str, parameters: dict, result, plain) -> None:
    """Assert on rank 0 that an answer is right, and that of the graph loaded simple, ``plain``; collective."""
    joined, table, simple = graph.neighbours.edges, result.gather(), plain.gather()
    ends = None if result.edges is None else result.edges.gather()
    if table is None:
        return
    for name in table:
        np.testing.assert_array_equal(table[name], simple[name], err_msg=name)
    if algorithm == "color":
        color = dict(zip(table["vertex"].tolist(), table["color"].tolist(), strict=True))
        assert all(color[u] != color[v] for u, v in joined)
    elif algorithm == "mis":
        inside = set(table["vertex"][table["in_set"] == 1].tolist())
        assert all(u not in inside or v not in inside for u, v in joined)
        assert all(v in inside or inside & set(graph.neighbours[v]) for v in graph.neighbours)
    elif algorithm == "mst":
        both = nx.MultiGraph()
        both.add_weighted_edges_from(graph.multigraph.edges(data="weight"))
        assert result.summary["weight"] == nx.minimum_spanning_tree(both).size("weight")
    elif algorithm == "similarity":
        pairs = list(zip(ends["source"].tolist(), ends["target"].tolist(), strict=True))
        near = {(u, v) for w in graph.neighbours for u in graph.neighbours[w] for v in graph.neighbours[w] if u != v}
        assert sorted(pairs) == sorted(near)
        wanted = [value for *_, value in nx.jaccard_coefficient(graph.neighbours, pairs)]
        np.testing.assert_allclose(ends["similarity"], wanted, rtol=1e-12)
    elif ends is not None:
        edges = zip(ends["source"].tolist(), ends["target"].tolist(), strict=True)
        shares = dict(zip(edges, ends["edge_bc"], strict=True))
        exact = of_edges(graph, "weight" if parameters else None)
        assert set(shares) == set(exact)
        np.testing.assert_allclose([shares[edge] for edge in exact], list(exact.values()), rtol=1e-9)
