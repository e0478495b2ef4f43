"""Strongly connected components: kernels for one GPU."""

from dgraph.backend.kernel_register import Solver

KERNELS = (Solver("strong", gpu="strong_cuda:GpuStrong"),)
