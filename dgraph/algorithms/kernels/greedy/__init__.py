"""Greedy colouring: a CPU machine, and kernels for one GPU."""
