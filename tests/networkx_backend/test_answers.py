"""Answers of the backend against NetworkX itself, and proof that the engine ran for each."""

import inspect
import random
import re
from collections.abc import Iterator, ValuesView
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
from cases import CASES, A, B

import dgraph
import dgraph.networkx_backend as ours
from dgraph.algorithms import ALGORITHMS
from dgraph.networkx_backend.backend_info import ENGINE, NOT_ANSWERED

pytestmark = pytest.mark.interpreted

VERSION = tuple(map(int, nx.__version__.split(".")[:2]))
MODULES = (nx, nx.bipartite, nx.dag, nx.community)
ROUNDED = {
    "betweenness_centrality", "betweenness_centrality_subset", "closeness_centrality", "edge_betweenness_centrality",
    "global_efficiency",
    "harmonic_centrality", "harmonic_diameter", "pagerank", "eigenvector_centrality", "eigenvector_centrality_numpy",
    "katz_centrality", "katz_centrality_numpy", "clustering", "average_neighbor_degree",
}  # fmt: skip
ARCS = {"overall_reciprocity"}
"""Functions that read the converted arcs alone."""
WITHOUT_LOOPS = {
    "core_number", "k_core", "k_shell", "k_crust", "k_corona", "k_truss", "maximal_independent_set",
    "jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "preferential_attachment",
}  # fmt: skip
LINKS = {"jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "preferential_attachment"}
SUMS = {"average_shortest_path_length", "wiener_index", "hyper_wiener_index", "schultz_index", "gutman_index"}
WEIGHED = {"bidirectional_dijkstra", "bellman_ford_path", "astar_path"}
ANY_PATH = {"bidirectional_shortest_path", "bidirectional_dijkstra", "bellman_ford_path", "shortest_path", "astar_path"}


@pytest.fixture(autouse=True)
def _quiet():
    if "dgraph" not in nx.utils.backends.backends:
        pytest.fail("NetworkX does not know the backend; install the checkout again: pip install -e .")
    nx.config.warnings_to_ignore.add("cache")


def random_graph(kind, seed, weights, connected):
    """A graph with nodes of several types in a mixed order, loops where ``connected`` is False, isolated nodes."""
    draw = random.Random(seed)
    graph, nodes = getattr(nx, kind)(), [3, "a", (1, 2), 0, "b", 7, 2.5, "c", 1]
    draw.shuffle(nodes)
    graph.add_nodes_from(nodes, colour="red")
    pairs = [(draw.choice(nodes), draw.choice(nodes)) for _ in range(14)]
    if connected:
        pairs += list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    kinds = {
        "none": lambda: {},
        "int": lambda: {"weight": draw.randint(0, 3)},
        "float": lambda: {"weight": draw.random()},
    }
    for u, v in pairs:
        if u != v or not connected:
            graph.add_edge(u, v, **kinds[weights]())
    return graph


def plain(value):
    """A value without iterators and graphs, and with its order; fails on a NumPy scalar, as NetworkX's tests do."""
    assert not isinstance(value, np.generic), value
    if isinstance(value, nx.Graph):
        keys = {"keys": True} if value.is_multigraph() else {}
        return value.graph, list(value.nodes(data=True)), [*value.edges(data=True, **keys)]
    if isinstance(value, (Iterator, ValuesView)):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return [(key, plain(element)) for key, element in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value)(plain(element) for element in value)
    return value


def outcome(call):
    try:
        return plain(call())
    except nx.NetworkXException as error:
        return type(error), str(error)


def filled(value, nodes):
    if isinstance(value, list):
        return [filled(element, nodes) for element in value]
    if isinstance(value, tuple):
        return tuple(filled(element, nodes) for element in value)
    if isinstance(value, dict):
        return {filled(key, nodes): element for key, element in value.items()}
    return nodes[0] if value is A else nodes[-1] if value is B else value


def as_good(name, graph, arguments, groups, others):
    """Return True if communities are connected, and of nearly the same quality as others."""
    weight, resolution = arguments.get("weight", "weight"), arguments.get("resolution", 1)

    def quality(sets):
        if name == "leiden_communities" and VERSION >= (3, 7):  # by default of the constant Potts model
            pairs = sum(len(group) * (len(group) - 1) / 2 for group in sets)
            return sum(graph.subgraph(group).size(weight=weight) for group in sets) - resolution * pairs
        return nx.community.modularity(graph, sets, weight=weight, resolution=resolution)

    theirs = quality(others)
    whole = all(nx.is_connected(graph.subgraph(group)) for group in groups)
    return whole and quality(groups) >= theirs - 0.03 * max(1, abs(theirs))


def is_flow(graph, arguments, value, flow):
    """Return True if the flow is within capacities, and only the source and the sink give or take some."""
    source, sink, capacity = arguments["_s"], arguments["_t"], arguments["capacity"]
    within = all(0 <= flow[u][v] <= graph[u][v].get(capacity, float("inf")) for u in graph for v in graph[u])
    rest = {u: sum(flow[u].values()) - sum(flow[v].get(u, 0) for v in graph) for u in graph}
    wanted = dict.fromkeys(graph, 0) | {source: value, sink: -value}
    return (
        within and list(flow) == list(graph) and all(list(flow[u]) == list(graph[u]) for u in graph) and rest == wanted
    )


def nested_and_good(name, graph, arguments, levels, others):
    """Return True if each part lies within one of the next level, and the last level is as good as the others'."""
    nested = all(any(part <= group for group in above) for i, above in enumerate(levels[1:]) for part in levels[i])
    return nested and as_good(name, graph, arguments, levels[-1], others[-1])


def same(name, graph, arguments, answer, want):
    if isinstance(want, tuple) and want and isinstance(want[0], type):
        return answer == want
    if name == "shortest_simple_paths":  # those of one length in any order
        weight = arguments.get("weight")
        length = lambda path: sum(graph[u][v].get(weight, 1) for u, v in pairwise(path))  # noqa: E731
        return sorted(map(str, answer)) == sorted(map(str, want)) and list(map(length, answer)) == pytest.approx(
            list(map(length, want))
        )
    if name == "maximum_flow":  # one of several
        return answer[0] == want[0] and is_flow(graph, arguments, answer[0], {u: dict(row) for u, row in answer[1]})
    if "communities" in name and "label" not in name:  # NetworkX draws others
        return as_good(name, graph, arguments, answer, want)
    if name.endswith("_partitions"):
        return nested_and_good(name.replace("partitions", "communities"), graph, arguments, answer, want)
    if name == "maximal_independent_set":
        around = set().union(*(graph[node] for node in answer))
        return (
            type(answer) is type(want)
            and not around & set(answer) - set(nx.nodes_with_selfloops(graph))
            and around | set(answer) == set(graph)
        )
    if name == "kosaraju_strongly_connected_components":  # its order is that of a search along reversed edges
        return set(map(frozenset, answer)) == set(map(frozenset, want)) and len(answer) == len(want)
    if isinstance(want, np.ndarray):
        return np.allclose(answer, want)
    if name == "floyd_warshall":
        return all(
            dict(ours_) == pytest.approx(dict(theirs))
            for ours_, theirs in zip(by_name(answer), by_name(want), strict=True)
        )
    if name == "hits":  # of two close singular values NetworkX takes either, by a random start
        matrix = nx.to_numpy_array(graph)
        hubs, authorities = ([dict(scores)[node] for node in graph] for scores in answer)
        again = [matrix @ authorities, matrix.T @ hubs]
        return all(
            ours_ == pytest.approx(scores / scores.sum(), abs=1e-4)
            for ours_, scores in zip((hubs, authorities), again, strict=True)
        )
    if name == "transitive_closure":  # NetworkX adds edges in the order of a set
        key = lambda edge: (str(edge[0]), str(edge[1]))  # noqa: E731
        edges = [(sorted(edge[2], key=key)) for edge in (answer, want)]
        return answer[:2] == want[:2] and edges[0] == edges[1]
    if "ebunch" in arguments or name in LINKS:
        return [row[:2] for row in answer] == [row[:2] for row in want] and [row[2] for row in answer] == pytest.approx(
            [row[2] for row in want]
        )
    if name in ROUNDED:
        ours_, theirs = (dict(path) if isinstance(path, list) else {0: path} for path in (answer, want))
        return ours_ == pytest.approx(theirs, abs=1e-6, nan_ok=True) and (
            name == "harmonic_centrality" or list(ours_) == list(theirs)  # NetworkX goes through a set
        )
    if name in ANY_PATH and "target" in arguments and "source" in arguments:
        ours_, theirs = (path[1] if isinstance(path, tuple) else path for path in (answer, want))
        weight = arguments.get("weight", "weight" if name in WEIGHED else None)
        length = lambda path: nx.path_weight(simple(graph), path, "w") if weight else len(path)  # noqa: E731
        return ours_[0] == theirs[0] and ours_[-1] == theirs[-1] and length(ours_) == pytest.approx(length(theirs))
    if "bellman_ford" in name or name in ("johnson", "all_shortest_paths") or "all_shortest" in name:
        return sizes(answer) == sizes(want)
    if isinstance(want, float) or name in (
        "average_shortest_path_length",
        "wiener_index",
        "hyper_wiener_index",
        "schultz_index",
        "gutman_index",
    ):
        return answer == pytest.approx(want)
    return in_any_order(answer) == in_any_order(want)


def by_name(rows):
    """Rows by node, in the order of names."""
    return [row for _, row in sorted(rows, key=lambda row: str(row[0]))]


def simple(graph):
    """The graph with the smallest of parallel weights as ``w``."""
    flat = nx.DiGraph() if graph.is_directed() else nx.Graph()
    for u, v, weight in graph.edges(data="weight", default=1):
        flat.add_edge(u, v, w=min(weight, flat[u][v]["w"]) if flat.has_edge(u, v) else weight)
    return flat


def in_any_order(value):
    """Pairs of node and length, or list of nodes with equal distance, have no order that NetworkX promises."""
    if isinstance(value, list) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return sorted(([str(key), in_any_order(nodes)] for key, nodes in value), key=str)
    if isinstance(value, tuple):
        return tuple(in_any_order(element) for element in value)
    return value


def sizes(value):
    """Lengths of paths in place of the paths, by node."""
    if isinstance(value, tuple):
        return tuple(sizes(path) for path in value)
    if isinstance(value, list) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return {key: sizes(path) for key, path in value}
    if isinstance(value, list) and value and isinstance(value[0], list):
        return sorted(map(str, value))
    return None if isinstance(value, list) else value


def sorted_by_node(pairs):
    """Pairs in the order of names: some dicts of NetworkX keep the order in which it first saw the nodes."""
    return tuple(map(sorted_by_node, pairs)) if isinstance(pairs, tuple) else sorted(pairs, key=str)


def implemented(name):
    """Return NetworkX's function; None: this version has none, or only its name, for backends."""
    named = next((getattr(module, name) for module in MODULES if hasattr(module, name)), None)
    return None if named is None or "networkx" not in named.backends else named


def cases():
    for name, (kinds, variants) in CASES.items():
        function = implemented(name)
        if function is not None:
            parameters = inspect.signature(function).parameters.keys()
            answered = [v for v in variants if v.keys() <= parameters and ("seed" not in v or VERSION >= (3, 6))]
            yield pytest.param(name, kinds, answered, id=name)


@pytest.mark.filterwarnings("ignore::FutureWarning:networkx", "ignore:\\s*bfs_predecessors:DeprecationWarning")
@pytest.mark.parametrize(("name", "kinds", "variants"), list(cases()))
def test_answers_equal_networkx(name, kinds, variants):
    loops = name not in WITHOUT_LOOPS and (name != "is_aperiodic" or VERSION >= (3, 5))
    tried = 0
    for kind in kinds:
        for seed, weights in enumerate(("int", "float")):
            for connected in (True, False) if loops else (True,):
                graph = random_graph(kind, seed, weights, connected)
                if "betweenness" in name:  # a weight of 0 is declined: NetworkX then counts paths in any order
                    more = {edge: data["weight"] + 1 for edge, data in graph.edges.items()}
                    nx.set_edge_attributes(graph, more, "weight")
                if "flow_value" in name or "cut" in name or name == "maximum_flow":
                    whole = {edge: type(w)(round(9 * w)) for edge, w in nx.get_edge_attributes(graph, "weight").items()}
                    nx.set_edge_attributes(graph, whole, "weight")
                    nx.set_edge_attributes(graph, dict(list(whole.items())[::2]), "some")
                for variant in variants:
                    arguments = {key: filled(value, list(graph)) for key, value in variant.items()}
                    function = next(getattr(module, name) for module in MODULES if hasattr(module, name))
                    want = outcome(lambda: function(graph, **arguments))  # noqa: B023
                    before = ours.calls.copy()
                    answer = outcome(lambda: function(graph, **arguments, backend="dgraph"))  # noqa: B023
                    ran = ours.calls - before
                    assert ran or name in ARCS, "the engine did not run: does NetworkX refuse this kind of graph?"
                    line = re.findall(r"\w+", ENGINE[name])
                    assert ran.keys() & ALGORITHMS.keys() <= set(line), "its line lacks an algorithm"
                    assert same(name, graph, arguments, answer, want), (kind, weights, connected, arguments, answer)
                    tried += 1
    assert tried >= 3


def test_every_function_has_a_case_and_a_line():
    from dgraph.networkx_backend.dispatch import FUNCTIONS  # of all files, which it imports

    assert set(CASES) == set(FUNCTIONS) == set(ENGINE)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_bipartite_graphs_are_coloured_as_networkx_does(kind):
    for graph in (
        nx.path_graph(5),
        nx.cycle_graph(6),
        nx.star_graph(3),
        nx.disjoint_union(nx.path_graph(3), nx.path_graph(2)),
    ):
        graph = kind(graph) if kind is nx.Graph else kind(list(graph.edges)[::-1])
        graph.add_node("alone")
        assert nx.bipartite.color(graph, backend="dgraph") == nx.bipartite.color(graph)
        graph.remove_node("alone")
        if nx.is_connected(graph.to_undirected()):
            assert nx.bipartite.sets(graph, backend="dgraph") == nx.bipartite.sets(graph)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("single_source_shortest_path", {}),
        ("single_source_dijkstra_path", {"weight": "weight"}),
        ("dijkstra_predecessor_and_distance", {"weight": "weight"}),
        ("bfs_edges", {}),
        ("bfs_successors", {}),
        ("predecessor", {}),
    ],
)
@pytest.mark.parametrize("weights", ["none", "int", "float"])
def test_order_and_ties_are_networkx(name, arguments, weights):
    for seed in range(3):
        graph = random_graph("Graph", seed, weights, False)
        call = getattr(nx, name)
        source = next(iter(graph))
        got, want = (plain(call(graph, source, **arguments, **more)) for more in ({"backend": "dgraph"}, {}))
        if isinstance(got, tuple) or (arguments and VERSION < (3, 6)):
            got, want = sorted_by_node(got), sorted_by_node(want)
        assert got == want


def test_the_order_of_levels_is_checked_against_the_distances():
    from dgraph.networkx_backend.visit_order import visit_order

    offsets, targets = np.array([0, 1, 2]), np.array([1, 0], np.uint32)
    with pytest.raises(AssertionError, match="no shortest path"):
        visit_order(offsets, targets, None, np.array([0, 2]), np.array([0]))


def test_weighted_ego_graphs_without_directions():
    """NetworkX merges a directed multigraph's arcs of one key, with the later arc's weight."""
    asked = {"n": 3, "radius": 0.8, "undirected": True, "distance": "weight"}
    for kind in ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph"):
        graph = random_graph(kind, 1, "float", True)
        assert plain(nx.ego_graph(graph, **asked, backend="dgraph")) == plain(nx.ego_graph(graph, **asked))
    merged = nx.MultiDiGraph()
    merged.add_edge(0, 1, "far", weight=5.0, name="kept")
    merged.add_edge(1, 0, "far", weight=0.5)
    merged.add_edge(1, 2, weight=0.25)
    merged.add_edge(2, 3, weight=0.25)
    for n, radius, center in product(merged, (0.25, 0.5, 0.75, 5.0, None), (True, False)):
        asked |= {"n": n, "radius": radius, "center": center}
        assert plain(nx.ego_graph(merged, **asked, backend="dgraph")) == plain(nx.ego_graph(merged, **asked))
    with pytest.raises(NotImplementedError) as refused:
        nx.ego_graph(dgraph.networkx_backend.from_networkx(merged), **asked, backend="dgraph")
    assert "keys" in str(refused.value.__cause__ or refused.value)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_graphs_without_a_cycle(kind):
    graph = kind(nx.balanced_tree(2, 3).edges)
    graph.add_node("alone")
    for call in (nx.find_cycle, lambda G, **more: list(nx.topological_sort(G, **more))):
        assert outcome(lambda: call(graph, backend="dgraph")) == outcome(lambda: call(graph))  # noqa: B023
    bridges = {} if graph.is_directed() else {"bridges": nx.bridges, "cuts": nx.articulation_points}
    for call in bridges.values():
        assert list(call(graph, backend="dgraph")) == list(call(graph))


def test_bridges_of_sparse_graphs():
    """Trees with chords, forests and loops, in which bridges end at vertices with other edges before and after them."""
    draw, some = random.Random(7), 0
    for n in (1, 2, 5, *range(8, 40)):
        graph = nx.Graph()
        graph.add_nodes_from(draw.sample(range(n), n))
        graph.add_edges_from((draw.randrange(n), draw.randrange(n)) for _ in range(draw.randrange(n, 3 * n // 2 + 1)))
        wanted = list(nx.bridges(graph))
        assert list(nx.bridges(graph, backend="dgraph")) == wanted
        assert nx.has_bridges(graph, backend="dgraph") == bool(wanted)
        some += len(wanted)
    assert some > 100


def test_reasons_of_functions_that_are_not_answered_hold():
    assert set(NOT_ANSWERED) == {"density", "max_weight_matching"}
    assert not set(NOT_ANSWERED) & set(ENGINE)
    assert not hasattr(nx.density, "orig_func")
    assert dgraph.degrees("complete:5", validate=True).summary["density"] == nx.density(nx.complete_graph(5))


def _outcome(function, graph, **options):
    """Return what a function returns, or the class of its exception with its message."""
    try:
        return function(graph, **options)
    except Exception as refusal:
        return type(refusal), str(refusal)


@pytest.mark.parametrize("edges", [[(0, 0)], [(0, 0), (0, 1)], [(0, 0), (1, 2)], [(0, 0), (1, 1), (0, 1)]])
def test_independent_sets_of_graphs_with_loops_are_those_of_networkx(edges):
    """NetworkX refuses a set that begins with a looped node: the same seed has the same outcome."""
    for seed in range(6):
        sets = [
            _outcome(nx.maximal_independent_set, nx.Graph(edges), seed=seed, backend=name) for name in (None, "dgraph")
        ]
        assert sets[0] == sets[1]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
@pytest.mark.parametrize(("nodes", "edges"), [([0], []), ([0], [(0, 0)]), ([0, 1], [])])
def test_hits_of_one_node_and_without_edges_are_those_of_networkx(kind, nodes, edges):
    graph = kind(edges)
    graph.add_nodes_from(nodes)
    theirs, own = (_outcome(nx.hits, graph, backend=name) for name in (None, "dgraph"))
    assert own == theirs
