"""k-core peeling: edge kernels for CPUs and GPUs."""

from dgraph.backend.kernel_register import Kernel

KERNELS = (Kernel("cores", edges="kcore_peel.py", peels=True), Kernel("shells", peels=True))
