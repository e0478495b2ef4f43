"""Machines and kernels of connected components: union-find on CPUs, one GPU and several GPUs."""
