"""Entry point ``networkx.backend_info``: read when NetworkX is imported, so it imports nothing heavy."""

from __future__ import annotations

import os
from typing import Any

SERVICE = "DGRAPH_SERVICE"
"""Environment variable with the address of a service that runs the algorithms; ``service`` of the configuration."""

BFS = "runs bfs"
TREE = "runs bfs; one pass over the arcs then orders the nodes as NetworkX does"
SSSP = "runs sssp, or bfs if every edge weighs 1; negative weights are declined"
EACH = "runs bfs, or sssp with weights, once for each node"
CC, KCORE = "runs cc", "runs kcore"

ENGINE: dict[str, str] = {
    **dict.fromkeys(
        (
            "single_source_shortest_path_length", "single_target_shortest_path_length", "descendants_at_distance",
            "descendants", "ancestors", "is_strongly_connected", "efficiency",
        ),
        BFS,
    ),
    **dict.fromkeys(
        (
            "single_source_shortest_path", "single_target_shortest_path", "bidirectional_shortest_path", "predecessor",
            "has_path", "generic_bfs_edges", "bfs_edges", "bfs_tree", "bfs_predecessors", "bfs_successors",
            "bfs_layers",
        ),
        TREE,
    ),
    **dict.fromkeys(
        (
            "shortest_path", "shortest_path_length", "all_shortest_paths", "single_source_all_shortest_paths",
            "dijkstra_path", "dijkstra_path_length", "bidirectional_dijkstra", "single_source_dijkstra",
            "single_source_dijkstra_path", "single_source_dijkstra_path_length", "multi_source_dijkstra",
            "multi_source_dijkstra_path", "multi_source_dijkstra_path_length", "dijkstra_predecessor_and_distance",
            "bellman_ford_path", "bellman_ford_path_length", "single_source_bellman_ford",
            "single_source_bellman_ford_path", "single_source_bellman_ford_path_length",
        ),
        SSSP,
    ),
    **dict.fromkeys(
        (
            "all_pairs_shortest_path", "all_pairs_shortest_path_length", "all_pairs_all_shortest_paths",
            "all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length",
            "all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length", "johnson",
            "average_shortest_path_length", "eccentricity", "diameter", "radius", "periphery", "center", "barycenter",
            "harmonic_diameter", "wiener_index", "hyper_wiener_index", "schultz_index",
            "gutman_index", "floyd_warshall", "closeness_centrality", "harmonic_centrality", "global_efficiency",
        ),
        EACH,
    ),
    **dict.fromkeys(
        (
            "connected_components", "number_connected_components", "is_connected", "node_connected_component",
            "weakly_connected_components", "number_weakly_connected_components", "is_weakly_connected", "is_tree",
            "is_forest", "is_arborescence", "is_branching",
        ),
        CC,
    ),
    **dict.fromkeys(("core_number", "k_core", "k_shell", "k_crust", "k_corona"), KCORE),
    **dict.fromkeys(("color", "is_bipartite", "sets"), "runs cc, and bfs from a node of each component"),
    "pagerank": "runs pagerank; nstart, and dangling other than personalization, are declined",
}  # fmt: skip
"""Function → what the engine runs for it, as NetworkX's documentation shows it."""

PRECISION = {"precision : str": '"double", or "single" for ranks of half the memory'}


def get_info() -> dict[str, Any]:
    """Return the description of the backend, for NetworkX's documentation and configuration."""
    functions: dict[str, dict] = {name: {"additional_docs": f"dgraph {text}."} for name, text in ENGINE.items()}
    functions["pagerank"]["additional_parameters"] = PRECISION
    return {
        "backend_name": "dgraph",
        "project": "dgraph-analytics",
        "package": "dgraph.networkx_backend",
        "short_summary": "Parallel CPU and GPU algorithms of dgraph.",
        "default_config": {"device": "auto", "min_edges": 10_000, "service": os.environ.get(SERVICE, "")},
        "functions": functions,
    }
