"""Triangles of every edge: whole rows of vertices with a value for each edge (``full_rows.py``), and CPU kernels."""

from dgraph.backend.kernel_register import RowKernel, RowMemory

KERNELS = (
    RowKernel(
        "edge triangles", cpu="edge_kernels:EdgeTriangles", cuda="edge_kernels:EdgeTriangles.beside_gpu",
        planned=".kernels.no_rows:NoEdgeTriangles", host=RowMemory(100, 60),
    ),
)  # fmt: skip
