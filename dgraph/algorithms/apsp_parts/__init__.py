"""Parts of all-pairs shortest paths: plan, potentials, searches, eliminations, min-plus kernels."""

from dgraph.backend.kernel_register import RowKernel, RowMemory

KERNELS = (
    RowKernel(
        "minplus", cpu="minplus_cpu:MinPlus", cuda="minplus_cuda:MinPlus", planned=".kernels.no_rows:NoDistances",
        host=RowMemory(64, 28, pair=8), gpu=RowMemory(16, 0, pair=8), gpu_ranks=True,
    ),
)  # fmt: skip
