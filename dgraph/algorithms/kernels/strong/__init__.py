"""Strongly connected components: kernels for one GPU."""
