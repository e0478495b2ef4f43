"""Searches from many sources on one GPU: kernels by rows of each length, and results that stay there until read."""
