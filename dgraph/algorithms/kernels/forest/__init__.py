"""Minimum spanning forests by rows: on CPU threads, on a GPU, and on the GPUs of several ranks."""

from dgraph.backend.kernel_register import RowKernel, RowMemory

KERNELS = (
    RowKernel(
        "forest", cpu="forest_cpu:Forest", cuda="forest_cuda:GpuForest", planned=".no_rows:NoForest",
        host=RowMemory(120, 24), gpu=RowMemory(40, 24, whole=52), gpu_ranks=True,
    ),
)  # fmt: skip
