"""Hand-written kernels of algorithms, for Numba and CUDA, entered in the backends' register."""

from pathlib import Path

from dgraph.algorithms.kernels.no_rows import ByPrograms, NoCounts, NoEdgeTriangles, NoForest
from dgraph.algorithms.kernels.wedges.wedges_memory import WedgeMemory
from dgraph.backend.kernel_register import FOLDERS, KERNELS, ROW_KERNELS, Kernel, RowKernel, RowMemory, VertexMemory

HERE = Path(__file__).parent


def _components_cpu():
    from dgraph.algorithms.kernels.components.components_cpu import UnionFind

    return UnionFind


def _components_arrays():
    from dgraph.algorithms.kernels.components import components_arrays

    return components_arrays


def _components_single():
    from dgraph.algorithms.kernels.components.components_cuda import ComponentsSingle

    return ComponentsSingle


def _components_multi():
    from dgraph.algorithms.kernels.components.cc_multi_cuda import ComponentsMulti

    return ComponentsMulti


def _greedy_cpu():
    from dgraph.algorithms.kernels.greedy.greedy_cpu import GreedyOnce

    return GreedyOnce


def _greedy_single():
    from dgraph.algorithms.kernels.greedy.greedy_cuda import GreedySingle

    return GreedySingle


def _independent_single():
    from dgraph.algorithms.kernels.independent.independent_cuda import IndependentSingle

    return IndependentSingle


def _wedges_cpu():
    from dgraph.algorithms.kernels.wedges.wedges_cpu import Wedges

    return Wedges


def _wedges_cuda():
    from dgraph.algorithms.kernels.wedges.wedges_cuda import GpuWedges

    return GpuWedges


def _reach():
    from dgraph.algorithms.many_sources.reach import Reach

    return Reach


def _reach_cuda():
    from dgraph.algorithms.many_sources.gpu.reach_cuda import GpuReach

    return GpuReach


def _reach_planned():
    from dgraph.algorithms.many_sources.results import NothingReached

    return NothingReached


def _draw():
    from dgraph.algorithms.many_sources.drawn_sources import HostDraw

    return HostDraw


def _draw_cuda():
    from dgraph.algorithms.many_sources.gpu.draw import GpuDraw

    return GpuDraw


def _dependencies():
    from dgraph.algorithms.many_sources.betweenness.dependencies import Dependencies

    return Dependencies


def _dependencies_cuda():
    from dgraph.algorithms.many_sources.betweenness.dependencies_cuda import GpuDependencies

    return GpuDependencies


def _dependencies_planned():
    from dgraph.algorithms.many_sources.results import NothingSummed

    return NothingSummed


def _path_sums():
    from dgraph.algorithms.many_sources.betweenness.path_sums import PathSummer

    return PathSummer


def _path_sums_beside_gpu():
    from dgraph.algorithms.many_sources.betweenness.path_sums import PathSummer

    return PathSummer.beside_gpu


def _searches():
    from dgraph.algorithms.many_sources.searches import Searches

    return Searches


def _searches_by_programs():
    from dgraph.algorithms.many_sources.searches import SearchesByPrograms

    return SearchesByPrograms


def _bfs_pass():
    from dgraph.algorithms.many_sources.bfs_pass import BfsPass

    return BfsPass


def _sssp_pass():
    from dgraph.algorithms.many_sources.sssp_pass import SsspPass

    return SsspPass


def _none():
    return lambda _: None


def _forest():
    from dgraph.algorithms.kernels.forest.forest_cpu import Forest

    return Forest


def _forest_cuda():
    from dgraph.algorithms.kernels.forest.forest_cuda import GpuForest

    return GpuForest


def _strong_cuda():
    from dgraph.algorithms.kernels.strong.strong_cuda import GpuStrong

    return GpuStrong


def _edge_triangles():
    from dgraph.algorithms.edge_triangles.edge_kernels import EdgeTriangles

    return EdgeTriangles


def _edge_triangles_beside_gpu():
    from dgraph.algorithms.edge_triangles.edge_kernels import EdgeTriangles

    return EdgeTriangles.beside_gpu


KERNELS["components"] = Kernel(
    cpu=_components_cpu,
    cuda=_components_single,
    cuda_ranks=_components_multi,
    arrays=_components_arrays,
    memory=VertexMemory(arrays=12, result=8),
    row_heads=True,
    phase_files=("in_kernel_exchange", "frontier_messages", "cc_multi", "cc_multi_round"),
    multi_gpu_files=("frontier_messages", "cc_multi"),
    multi_gpu_walk="cc_multi_walk",
    cooperative=("send_inside", "label_inside"),
)
KERNELS["cores"] = Kernel(edges=HERE / "peel" / "kcore_peel.py", peels=True)
KERNELS["shells"] = Kernel(peels=True)
KERNELS["greedy"] = Kernel(cpu=_greedy_cpu, cuda=_greedy_single, memory=VertexMemory(arrays=18, result=8))
KERNELS["independent"] = Kernel(cuda=_independent_single, memory=VertexMemory(arrays=6, result=8))
ROW_KERNELS["wedges"] = RowKernel(
    cpu=_wedges_cpu, cuda=_wedges_cuda, host=RowMemory(100, 40), gpu=WedgeMemory(28, 2),
    planned=lambda: NoCounts,
)  # fmt: skip
ROW_KERNELS["forest"] = RowKernel(
    cpu=_forest, cuda=_forest_cuda, host=RowMemory(120, 24), gpu=RowMemory(40, 24, whole=52),
    planned=lambda: NoForest, gpu_ranks=True,
)  # fmt: skip
ROW_KERNELS["strong"] = RowKernel(
    cpu=lambda: ByPrograms, cuda=_strong_cuda, host=RowMemory(0, 0), gpu=RowMemory(60, 5),
    planned=lambda: ByPrograms,
)  # fmt: skip
ROW_KERNELS["draw"] = RowKernel(
    cpu=_draw, cuda=_draw_cuda, host=RowMemory(0, 0), gpu=RowMemory(0, 0),
    planned=_draw,
)  # fmt: skip
ROW_KERNELS["reach"] = RowKernel(
    cpu=_reach,
    cuda=_reach_cuda,
    host=RowMemory(450, 40),
    gpu=RowMemory(100, 0),
    planned=_reach_planned,
)
ROW_KERNELS["dependencies"] = RowKernel(
    cpu=_dependencies,
    cuda=_dependencies_cuda,
    host=RowMemory(450, 40),
    gpu=RowMemory(190, 0),
    planned=_dependencies_planned,
)
ROW_KERNELS["levels"] = RowKernel(
    cpu=_reach,
    cuda=_reach_cuda,
    host=RowMemory(1200, 40),
    gpu=RowMemory(120, 0),
    planned=_reach_planned,
)
ROW_KERNELS["path sums"] = RowKernel(
    cpu=_path_sums, cuda=_path_sums_beside_gpu, host=RowMemory(700, 130), gpu=RowMemory(0, 0),
    planned=_dependencies_planned, replicated=True,
)  # fmt: skip
ROW_KERNELS["searches"] = RowKernel(
    cpu=_searches, cuda=_searches_by_programs, host=RowMemory(900, 90), gpu=RowMemory(40, 0),
    planned=_reach_planned, replicated=True,
)  # fmt: skip
ROW_KERNELS["bfs pass"] = RowKernel(cpu=_bfs_pass, cuda=_none, host=RowMemory(0, 0), gpu=RowMemory(0, 0), planned=_none)
ROW_KERNELS["sssp pass"] = RowKernel(
    cpu=_sssp_pass, cuda=_none, host=RowMemory(0, 0), gpu=RowMemory(0, 0), planned=_none
)
ROW_KERNELS["edge triangles"] = RowKernel(
    cpu=_edge_triangles, cuda=_edge_triangles_beside_gpu, host=RowMemory(100, 60), gpu=RowMemory(0, 0),
    planned=lambda: NoEdgeTriangles,
)  # fmt: skip
FOLDERS += [HERE / name for name in ("components", "forest", "greedy", "independent", "peel", "strong", "wedges")]
FOLDERS += [HERE.parent / "many_sources" / name for name in ("gpu", "betweenness")]
