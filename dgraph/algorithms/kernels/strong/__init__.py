"""Strongly connected components: kernels for one GPU."""

from dgraph.backend.kernel_register import RowKernel, RowMemory

KERNELS = (
    RowKernel(
        "strong", cpu=".no_rows:ByPrograms", cuda="strong_cuda:GpuStrong", planned=".no_rows:ByPrograms",
        gpu=RowMemory(60, 5),
    ),
)  # fmt: skip
