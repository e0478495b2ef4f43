"""Triangles: wedges of oriented rows, on CPU threads, one GPU and several GPUs."""

from dgraph.backend.kernel_register import Solver

KERNELS = (
    Solver(
        "wedges",
        cpu="wedges_cpu:Wedges",
        gpu="wedges_cuda:GpuWedges",
        gpus="wedges_between_gpus:WedgesBetweenGpus",
    ),
)
