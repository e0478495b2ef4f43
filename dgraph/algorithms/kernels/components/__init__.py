"""Machines and kernels of connected components: union-find on CPUs, one GPU and several GPUs."""

from dgraph.backend.kernel_register import Kernel, VertexMemory

KERNELS = (
    Kernel(
        "components",
        cpu="components_cpu:UnionFind",
        cuda="components_cuda:ComponentsSingle",
        cuda_ranks="cc_multi_cuda:ComponentsMulti",
        arrays="components_arrays",
        memory=VertexMemory(arrays=12, result=8),
        row_heads=True,
        phase_files=("in_kernel_exchange", "frontier_messages", "cc_multi", "cc_multi_round"),
        multi_gpu_files=("frontier_messages", "cc_multi"),
        multi_gpu_walk="cc_multi_walk",
        cooperative=("send_inside", "label_inside"),
    ),
)
