"""Triangles of every edge: whole rows of vertices with a value for each edge (``full_rows.py``), and CPU kernels."""

from dgraph.backend.kernel_register import Solver

KERNELS = (
    Solver("trusses", cpu="truss_levels:Trusses"),
    Solver("neighbour arcs", cpu="edge_kernels:NeighbourArcs"),
)
