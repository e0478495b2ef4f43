"""One call of every function that the backend answers, with the graph that it fits; plus variants of their arguments.

A row is function → (kinds of graphs, list of arguments). ``A`` and ``B`` stand for two nodes of the graph.
"""

A, B = "first node", "last node"
ALL = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")
UNDIRECTED, DIRECTED, SIMPLE = ("Graph", "MultiGraph"), ("DiGraph", "MultiDiGraph"), ("Graph", "DiGraph")
EITHER = [{}, {"weight": "weight"}]
SOURCE = [{"source": A}, {"source": A, "cutoff": 2}]
PAIR = [{"source": A, "target": B}]
WEIGHED = [{**arguments, **more} for arguments in SOURCE for more in ({}, {"weight": None}, {"weight": "absent"})]
WEIGHED_PAIR = [{**PAIR[0], **more} for more in ({}, {"weight": None})]
MANY = [{"sources": [A, B]}, {"sources": [A, B], "cutoff": 3}]
TREE = [{"source": A}, {"source": A, "depth_limit": 1}]
ENDS = [{}, {"source": A}, {"target": B}, PAIR[0]]
WEIGHED_ENDS = [{**ends, **more} for ends in ENDS for more in EITHER]

CASES = {
    "single_source_shortest_path_length": (ALL, SOURCE),
    "single_target_shortest_path_length": (ALL, [{"target": A}]),
    "all_pairs_shortest_path_length": (ALL, [{}, {"cutoff": 1}]),
    "single_source_shortest_path": (ALL, SOURCE),
    "single_target_shortest_path": (UNDIRECTED, [{"target": A}]),
    "all_pairs_shortest_path": (ALL, [{}]),
    "bidirectional_shortest_path": (ALL, PAIR),
    "predecessor": (ALL, [*SOURCE, PAIR[0], {"source": A, "return_seen": True}]),
    "has_path": (ALL, PAIR),
    "shortest_path": (ALL, [case for case in WEIGHED_ENDS if case.keys() & {"source"} or not case]),
    "shortest_path_length": (ALL, WEIGHED_ENDS),
    "average_shortest_path_length": (ALL, EITHER),
    "all_shortest_paths": (ALL, [{**PAIR[0], **more} for more in EITHER]),
    "single_source_all_shortest_paths": (ALL, [{"source": A}]),
    "all_pairs_all_shortest_paths": (ALL, [{}]),
    "dijkstra_path": (ALL, WEIGHED_PAIR),
    "dijkstra_path_length": (ALL, WEIGHED_PAIR),
    "bidirectional_dijkstra": (ALL, WEIGHED_PAIR),
    "single_source_dijkstra": (ALL, [*WEIGHED, PAIR[0]]),
    "single_source_dijkstra_path": (ALL, WEIGHED),
    "single_source_dijkstra_path_length": (ALL, WEIGHED),
    "multi_source_dijkstra": (ALL, MANY),
    "multi_source_dijkstra_path": (ALL, MANY),
    "multi_source_dijkstra_path_length": (ALL, MANY),
    "all_pairs_dijkstra": (ALL, [{}]),
    "all_pairs_dijkstra_path": (ALL, [{}]),
    "all_pairs_dijkstra_path_length": (ALL, [{}]),
    "dijkstra_predecessor_and_distance": (ALL, WEIGHED),
    "johnson": (ALL, [{}]),
    "bellman_ford_path": (ALL, PAIR),
    "bellman_ford_path_length": (ALL, PAIR),
    "single_source_bellman_ford": (ALL, [{"source": A}]),
    "single_source_bellman_ford_path": (ALL, [{"source": A}]),
    "single_source_bellman_ford_path_length": (ALL, [{"source": A}]),
    "all_pairs_bellman_ford_path": (ALL, [{}]),
    "all_pairs_bellman_ford_path_length": (ALL, [{}]),
    "generic_bfs_edges": (ALL, TREE),
    "bfs_edges": (ALL, TREE),
    "bfs_tree": (ALL, TREE),
    "bfs_predecessors": (ALL, TREE),
    "bfs_successors": (ALL, TREE),
    "bfs_layers": (ALL, [{"sources": A}, {"sources": [A, B]}]),
    "descendants_at_distance": (ALL, [{"source": A, "distance": 2}, {"source": A, "distance": 0}]),
    "descendants": (ALL, [{"source": A}]),
    "ancestors": (ALL, [{"source": A}]),
    "connected_components": (UNDIRECTED, [{}]),
    "number_connected_components": (UNDIRECTED, [{}]),
    "is_connected": (UNDIRECTED, [{}]),
    "node_connected_component": (UNDIRECTED, [{"n": A}]),
    "weakly_connected_components": (DIRECTED, [{}]),
    "number_weakly_connected_components": (DIRECTED, [{}]),
    "is_weakly_connected": (DIRECTED, [{}]),
    "is_strongly_connected": (DIRECTED, [{}]),
    "is_tree": (ALL, [{}]),
    "is_forest": (ALL, [{}]),
    "is_arborescence": (DIRECTED, [{}]),
    "is_branching": (DIRECTED, [{}]),
    "color": (ALL, [{}]),
    "is_bipartite": (ALL, [{}]),
    "sets": (ALL, [{}]),
    "schultz_index": (("Graph",), EITHER),
    "gutman_index": (("Graph",), EITHER),
    "floyd_warshall": (ALL, [{}]),
    "core_number": (SIMPLE, [{}]),
    "k_core": (SIMPLE, [{}, {"k": 2}]),
    "k_shell": (SIMPLE, [{}, {"k": 1}]),
    "k_crust": (SIMPLE, [{}, {"k": 1}]),
    "k_corona": (SIMPLE, [{"k": 2}]),
    "pagerank": (ALL, [{}, {"weight": None}, {"alpha": 0.5, "personalization": {A: 1, B: 3}}]),
    "eccentricity": (ALL, [*EITHER, {"v": A}, {"v": [A, B]}]),
    "diameter": (ALL, EITHER),
    "radius": (ALL, EITHER),
    "periphery": (ALL, EITHER),
    "center": (ALL, EITHER),
    "barycenter": (ALL, EITHER),
    "harmonic_diameter": (ALL, EITHER),
    "wiener_index": (ALL, EITHER),
    "hyper_wiener_index": (("Graph",), EITHER),
    "closeness_centrality": (ALL, [{}, {"u": A}, {"distance": "weight"}, {"wf_improved": False}]),
    "harmonic_centrality": (ALL, [{}, {"nbunch": [A, B]}, {"distance": "weight"}]),
    "efficiency": (("Graph", "MultiGraph"), [{"u": A, "v": B}]),
    "global_efficiency": (UNDIRECTED, [{}]),
}
