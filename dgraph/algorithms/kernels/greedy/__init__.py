"""Greedy colouring: a CPU machine, and kernels for one GPU."""

from dgraph.backend.kernel_register import Kernel, VertexMemory

KERNELS = (
    Kernel(
        "greedy",
        cpu="greedy_cpu:GreedyOnce",
        cuda="greedy_cuda:GreedySingle",
        memory=VertexMemory(arrays=18, result=8),
    ),
)
