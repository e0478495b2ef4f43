"""Hand-written kernels of algorithms, for Numba and CUDA, entered in the backends' register."""

from pathlib import Path

from dgraph.backend.kernel_register import FOLDERS, KERNELS, Kernel, VertexMemory


def _components_cpu():
    from dgraph.algorithms.kernels.components_cpu import UnionFind

    return UnionFind


def _components_arrays():
    from dgraph.algorithms.kernels import components_arrays

    return components_arrays


def _kcore_peel():
    from dgraph.algorithms.kernels.kcore_peel_machine import KcorePeelMachine

    return KcorePeelMachine


def _components_single():
    from dgraph.algorithms.kernels.components_cuda import ComponentsSingle

    return ComponentsSingle


def _components_multi():
    from dgraph.algorithms.kernels.cc_multi_cuda import ComponentsMulti

    return ComponentsMulti


def _hindex():
    from dgraph.algorithms.kernels.hindex_cuda import HindexMachine

    return HindexMachine


def _hindex_arrays():
    from dgraph.algorithms.kernels import hindex_arrays

    return hindex_arrays


KERNELS["components"] = Kernel(
    cpu=_components_cpu,
    cuda=_components_single,
    cuda_ranks=_components_multi,
    arrays=_components_arrays,
    memory=VertexMemory(arrays=12, result=8),
    row_heads=True,
    phase_files=("in_kernel_exchange", "frontier_messages", "cc_multi", "cc_multi_round"),
)
KERNELS["cores"] = Kernel(cpu=_kcore_peel, peels=True)
KERNELS["shells"] = Kernel(peels=True)
KERNELS["estimates"] = Kernel(cuda=_hindex, cuda_ranks=_hindex, arrays=_hindex_arrays)
FOLDERS.append(Path(__file__).parent)
