"""Rounds on one GPU: the machine, its launches, and the kernels of their phases."""
