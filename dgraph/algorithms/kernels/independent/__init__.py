"""Maximal independent set: kernels for one GPU."""

from dgraph.backend.kernel_register import Kernel, VertexMemory

KERNELS = (Kernel("independent", cuda="independent_cuda:IndependentSingle", memory=VertexMemory(arrays=6, result=8)),)
