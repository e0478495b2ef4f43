"""Hand-written kernels of algorithms, for Numba and CUDA, entered in the backends' register."""

from pathlib import Path

from dgraph.backend.kernel_register import FOLDERS, KERNELS, Kernel


def _union_find():
    from dgraph.algorithms.kernels.components_cpu import UnionFind

    return UnionFind


def _peeling():
    from dgraph.algorithms.kernels.kcore_peel_machine import KcorePeelMachine

    return KcorePeelMachine


def _hooking():
    from dgraph.algorithms.kernels.components_cuda import ComponentsSingle

    return ComponentsSingle


def _trees():
    from dgraph.algorithms.kernels.cc_multi_cuda import ComponentsMulti

    return ComponentsMulti


def _estimates():
    from dgraph.algorithms.kernels.hindex_cuda import HindexMachine

    return HindexMachine


def _hindex_arrays():
    from dgraph.algorithms.kernels import hindex_arrays

    return hindex_arrays


KERNELS["components"] = Kernel(cpu=_union_find, cuda=_hooking, cuda_ranks=_trees)
KERNELS["cores"] = Kernel(cpu=_peeling)
KERNELS["estimates"] = Kernel(cuda=_estimates, cuda_ranks=_estimates, arrays=_hindex_arrays)
FOLDERS.append(Path(__file__).parent)
