"""Names of the functions of ``dgraph``; written by python -m dgraph.tools.typed_functions."""

FUNCTIONS = (
    "apsp",
    "bc",
    "bfs",
    "cc",
    "cdlp",
    "closeness",
    "color",
    "edge_bc",
    "hits",
    "kcore",
    "ktruss",
    "lcc",
    "mis",
    "mst",
    "multi_source_bfs",
    "multi_source_sssp",
    "pagerank",
    "reachability",
    "scc",
    "sssp",
    "triangles",
)
"""Algorithms that are functions of ``dgraph``."""

ALIASES = {
    "betweenness_centrality": "bc",
    "closeness_centrality": "closeness",
    "clustering": "lcc",
    "connected_components": "cc",
    "core_number": "kcore",
    "edge_betweenness_centrality": "edge_bc",
    "greedy_color": "color",
    "k_core": "kcore",
    "k_truss": "ktruss",
    "ktruss_subgraph": "ktruss",
    "label_propagation": "cdlp",
    "maximal_independent_set": "mis",
    "minimum_spanning_forest": "mst",
    "minimum_spanning_tree": "mst",
    "strongly_connected_components": "scc",
    "triangle_count": "triangles",
    "weakly_connected_components": "cc",
}
"""Other names of these functions, such as NetworkX's and cuGraph's → their names."""
