"""Parts of all-pairs shortest paths: plan, potentials, searches, eliminations, min-plus kernels."""

from dgraph.backend.kernel_register import Solver

KERNELS = (Solver("minplus", cpu="minplus_cpu:MinPlus", gpu="minplus_cuda:GpuMinPlus", gpus="minplus_cuda:GpuMinPlus"),)
