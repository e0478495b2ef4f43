"""Entry point ``networkx.backend_info``: read when NetworkX is imported, so it imports nothing heavy."""

from __future__ import annotations

import os
from typing import Any

SERVICE = "DGRAPH_SERVICE"
"""Environment variable with the address of a service that runs the algorithms; ``service`` of the configuration."""

BFS = "runs bfs"
TREE = "runs bfs; one pass over the arcs then orders the nodes as NetworkX does"
SSSP = "runs sssp, or bfs if every edge weighs 1; negative weights are declined but for Bellman-Ford's lengths"
EACH = "runs bfs, or sssp with weights, once for each node"
MANY = (
    "runs multi_source_bfs, or multi_source_sssp with weights, for 64 nodes at a time; from a single node bfs or sssp"
)
SCC = "runs scc; one pass over the arcs then orders the components as NetworkX does"
CC, KCORE = "runs cc", "runs kcore"

RUNS = {
    BFS: "single_source_shortest_path_length single_target_shortest_path_length descendants_at_distance descendants "
    "ancestors is_strongly_connected is_aperiodic efficiency",
    TREE: "single_source_shortest_path single_target_shortest_path bidirectional_shortest_path predecessor has_path "
    "generic_bfs_edges bfs_edges bfs_tree bfs_predecessors bfs_successors bfs_layers",
    SSSP: "shortest_path shortest_path_length all_shortest_paths single_source_all_shortest_paths dijkstra_path "
    "dijkstra_path_length bidirectional_dijkstra single_source_dijkstra single_source_dijkstra_path "
    "single_source_dijkstra_path_length multi_source_dijkstra multi_source_dijkstra_path "
    "multi_source_dijkstra_path_length dijkstra_predecessor_and_distance astar_path astar_path_length "
    "bellman_ford_path bellman_ford_path_length single_source_bellman_ford single_source_bellman_ford_path "
    "single_source_bellman_ford_path_length voronoi_cells",
    EACH: "all_pairs_shortest_path all_pairs_shortest_path_length all_pairs_all_shortest_paths all_pairs_dijkstra "
    "all_pairs_dijkstra_path all_pairs_dijkstra_path_length all_pairs_bellman_ford_path "
    "all_pairs_bellman_ford_path_length johnson average_shortest_path_length",
    MANY: "eccentricity diameter radius periphery center barycenter centroid harmonic_diameter wiener_index "
    "hyper_wiener_index schultz_index gutman_index floyd_warshall harmonic_centrality global_efficiency",
    CC: "connected_components number_connected_components is_connected node_connected_component "
    "weakly_connected_components number_weakly_connected_components is_weakly_connected is_tree is_forest "
    "is_arborescence is_branching",
    SCC: "strongly_connected_components condensation attracting_components "
    "is_attracting_component number_attracting_components",
    "runs scc": "kosaraju_strongly_connected_components number_strongly_connected_components "
    "is_directed_acyclic_graph has_cycle is_semiconnected flow_hierarchy",
    "runs mst: of equal weights the edge that Kruskal takes, for every algorithm": "minimum_spanning_edges "
    "maximum_spanning_edges minimum_spanning_tree maximum_spanning_tree partition_spanning_tree",
    "runs one thread on the arrays of the converted graph; sort_neighbors=, root= and multigraphs of bridges, and "
    "strategies of greedy_color other than largest_first are declined": "topological_sort topological_generations "
    "dfs_edges dfs_tree dfs_preorder_nodes dfs_postorder_nodes dfs_predecessors dfs_successors articulation_points "
    "biconnected_components is_biconnected bridges has_bridges greedy_color label_propagation_communities",
    "runs bfs from the targets; NetworkX's search then turns back where none is near enough; edges of multigraphs are "
    "declined": "all_simple_paths all_simple_edge_paths",
    "runs bfs, or sssp with weights, from the target; Yen's searches for detours then follow the "
    "distances": "shortest_simple_paths",
    "runs scc or cc, which decide if there is a cycle that NetworkX then finds": "find_cycle",
    "runs ktruss": "k_truss",
    "runs similarity; loops are declined": "jaccard_coefficient adamic_adar_index resource_allocation_index "
    "preferential_attachment",
    "runs bfs, or sssp with distance=; one pass over the arcs then orders the nodes as NetworkX does": "ego_graph",
    "runs reachability for 64 nodes at a time": "transitive_closure",
    "runs sssp from all nodes at once": "negative_edge_cycle",
    "runs apsp": "floyd_warshall_numpy",
    KCORE: "core_number k_core k_shell k_crust k_corona",
    "runs triangles; directed graphs are declined": "triangles transitivity",
    "runs triangles, or clustering by directions and weights of 0 or more": "clustering average_clustering",
    "runs closeness, or bfs or sssp from one node with u=; sp= is declined": "closeness_centrality",
    "runs bc, by weights above 0 with weight=": "betweenness_centrality",
    "runs bc with sources and targets, by weights above 0 with weight=": "betweenness_centrality_subset",
    "runs edge_bc, by weights above 0 with weight=; multigraphs are declined": "edge_betweenness_centrality",
    "runs louvain or leiden: other communities than NetworkX's, each connected; directed graphs, max_level= and "
    "threshold= are declined": "louvain_communities leiden_communities louvain_partitions leiden_partitions",
    "adds up the edges within communities; weights below 0 are declined": "modularity partition_quality",
    "runs mis: the same set for every seed; nodes= and loops are declined": "maximal_independent_set",
    "runs cc, and bfs from a node of each component": "color is_bipartite sets",
    "runs degrees": "degree_centrality in_degree_centrality out_degree_centrality is_isolate isolates "
    "number_of_isolates",
    "runs neighbor_degree; multigraphs are declined": "average_neighbor_degree",
    "runs degrees; one pass over the arcs then counts those that lead both ways": "reciprocity",
    "runs nothing: one pass over the arcs counts those that lead both ways": "overall_reciprocity",
    "runs triangles; SciPy's products of sparse rows count squares; directed graphs are declined": "square_clustering",
    "runs SciPy's maximum_flow: of several flows of the same value it may return another; capacities that are not "
    "integers, flows of 2^30 or more, and flow_func= are declined": "maximum_flow maximum_flow_value minimum_cut "
    "minimum_cut_value",
    "runs SciPy's maximum_bipartite_matching, after cc and bfs without top_nodes=: another matching of the same "
    "size": "hopcroft_karp_matching",
    "runs eigenvector; negative weights are declined": "eigenvector_centrality",
    "runs eigenvector, and cc or bfs first; negative weights are declined": "eigenvector_centrality_numpy",
    "runs katz": "katz_centrality",
    "runs katz; alpha from 1 / the largest eigenvalue on is declined": "katz_centrality_numpy",
    "runs hits; negative weights, and normalized=False but with method='svd', are declined": "hits",
    "runs pagerank; negative weights are declined": "pagerank",
}
"""What the engine runs → names of the functions for which it does."""

ENGINE = {name: text for text, names in RUNS.items() for name in names.split()}
"""Function → what the engine runs for it, as NetworkX's documentation shows it."""

NOT_ANSWERED = {
    "density": "NetworkX has no backends for it; `dgraph.degrees` has the density in its summary",
    "max_weight_matching": "no library that dgraph depends on has it for general graphs",
}
"""Function that users ask for → why NetworkX computes it."""

LEIDEN = {
    "metric : str": '"modularity" or "cpm"; the default is NetworkX\'s, before 3.7 "modularity"',
    "theta : float": "randomness of the refinement, in units of weight",
}
PRECISION = {"precision : str": '"double", or "single" for ranks of half the memory'}


def get_info() -> dict[str, Any]:
    """Return the description of the backend, for NetworkX's documentation and configuration."""
    from dgraph.networkx_backend.configuration import BackendConfig  # NetworkX is being imported

    functions: dict[str, dict] = {name: {"additional_docs": f"dgraph {text}."} for name, text in ENGINE.items()}
    functions["pagerank"]["additional_parameters"] = PRECISION
    for name in ("leiden_communities", "leiden_partitions"):
        functions[name]["additional_parameters"] = LEIDEN
    return {
        "backend_name": "dgraph",
        "project": "dgraph-analytics",
        "package": "dgraph.networkx_backend",
        "short_summary": "Parallel CPU and GPU algorithms of dgraph.",
        "default_config": BackendConfig(service=os.environ.get(SERVICE, "")),
        "functions": functions,
    }
