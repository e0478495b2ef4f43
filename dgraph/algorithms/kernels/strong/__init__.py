"""Strongly connected components: kernels for one GPU, and a depth-first search of small graphs and of remainders."""

from dgraph.backend.kernel_register import Solver

KERNELS = (
    Solver("strong", gpu="strong_cuda:GpuStrong"),
    Solver("strong search", cpu="strong_search:StrongSearch", beside_gpu=False),
)
