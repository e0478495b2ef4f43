"""Common neighbours of pairs of vertices, on the rows of all vertices (``ctx.rows``) and a rank's threads."""

from dgraph.backend.kernel_register import Solver

KERNELS = (
    Solver("common neighbours", cpu="common_neighbours:CommonNeighbours", gpu="similar_cuda:GpuCommonNeighbours"),
)

MEASURES = (
    "jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "resource_allocation", "preferential_attachment",
)  # fmt: skip
"""Measures, in the order of their numbers in the kernels."""
