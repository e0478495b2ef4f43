"""Minimum spanning forests by rows: on CPU threads, on a GPU, and on the GPUs of several ranks."""

from dgraph.backend.kernel_register import Solver

KERNELS = (
    Solver(
        "forest",
        cpu="forest_cpu:Forest",
        gpu="forest_cuda:GpuForest",
        gpus="forest_between_gpus:ForestBetweenGpus",
    ),
)
