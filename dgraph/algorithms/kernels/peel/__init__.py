"""k-core peeling: edge kernels for CPUs and GPUs."""
