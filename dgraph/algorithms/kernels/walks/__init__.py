"""Random walks: all steps of a walk by one thread where the whole graph is here, else a step of all walks at a time."""

from dgraph.backend.kernel_register import Solver

KERNELS = (Solver("random walks", cpu="walks_cpu:HostWalks", gpu="walks_cuda:GpuWalks"),)
