"""Betweenness of vertices and edges: sums of dependencies of sources, by hops or by weights.

By hops, CPUs run ``dependencies.py`` with ``paths_kernel.py`` (a lane a source; ``paths_rounds.py`` where ranks
search together), one GPU ``dependencies_cuda.py`` with ``path_lanes.cuh``, several ``dependency_programs.py``.
By weights, and of edges, ``path_sums.py`` works on the rows of all vertices on every rank. ``sampling.py`` has the
error of drawn sources.
"""
