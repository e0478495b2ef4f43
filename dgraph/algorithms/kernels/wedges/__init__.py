"""Triangles: wedges of oriented rows, on CPU threads, one GPU and several GPUs."""

from dgraph.algorithms.kernels.wedges.wedges_memory import WedgeMemory
from dgraph.backend.kernel_register import RowKernel, RowMemory

KERNELS = (
    RowKernel(
        "wedges", cpu="wedges_cpu:Wedges", cuda="wedges_cuda:GpuWedges", planned=".no_rows:NoCounts",
        host=RowMemory(100, 40), gpu=WedgeMemory(28, 2),
    ),
)  # fmt: skip
