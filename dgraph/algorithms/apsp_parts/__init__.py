"""Parts of all-pairs shortest paths: plan, potentials, searches, eliminations, min-plus kernels."""

from pathlib import Path

from dgraph.algorithms.kernels.no_rows import NoDistances
from dgraph.backend.kernel_register import FOLDERS, ROW_KERNELS, RowKernel, RowMemory


def _cpu():
    from dgraph.algorithms.apsp_parts.minplus_cpu import MinPlus

    return MinPlus


def _cuda():
    from dgraph.algorithms.apsp_parts.minplus_cuda import MinPlus

    return MinPlus


ROW_KERNELS["minplus"] = RowKernel(
    cpu=_cpu, cuda=_cuda, host=RowMemory(64, 28, pair=8), gpu=RowMemory(16, 0, pair=8), gpu_ranks=True,
    planned=lambda: NoDistances,
)  # fmt: skip
FOLDERS.append(Path(__file__).parent)
