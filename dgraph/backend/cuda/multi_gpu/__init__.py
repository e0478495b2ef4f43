"""Rounds that several GPUs run without the host: totals and messages travel between kernels."""
