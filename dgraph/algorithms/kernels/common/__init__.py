"""Common neighbours of pairs of vertices, on the rows of all vertices (``ctx.rows``) and a rank's threads."""

from dgraph.backend.kernel_register import Solver

KERNELS = (Solver("common neighbours", cpu="common_neighbours:CommonNeighbours"),)
