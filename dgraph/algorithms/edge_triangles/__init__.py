"""Triangles of every edge: rows of both ends with a value for each edge (``ctx.rows``), and CPU kernels."""

from dgraph.backend.kernel_register import Solver

KERNELS = (
    Solver("trusses", cpu="truss_levels:Trusses"),
    Solver("neighbour arcs", cpu="edge_kernels:NeighbourArcs"),
    Solver("neighbour products", cpu="edge_products:NeighbourProducts"),
)
