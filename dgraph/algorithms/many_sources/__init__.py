"""Searches from many sources in one pass: whole rows on each rank, bits for reachability, lanes for path counts."""

from dgraph.algorithms.many_sources import bc, closeness, edge_bc, multi_source_bfs, multi_source_sssp, reachability
from dgraph.backend.kernel_register import RowKernel, RowMemory

__all__ = ["KERNELS", "bc", "closeness", "edge_bc", "multi_source_bfs", "multi_source_sssp", "reachability"]

KERNELS = (
    RowKernel("draw", cpu="drawn_sources:HostDraw", cuda="gpu.draw:GpuDraw", planned="drawn_sources:HostDraw"),
    RowKernel(
        "reach", cpu="reach:Reach", cuda="gpu.reach_cuda:GpuReach", planned="results:NothingReached",
        host=RowMemory(450, 40), gpu=RowMemory(100, 0),
    ),
    RowKernel(
        "levels", cpu="reach:Reach", cuda="gpu.reach_cuda:GpuReach", planned="results:NothingReached",
        host=RowMemory(1200, 40), gpu=RowMemory(120, 0),
    ),
    RowKernel(
        "dependencies", cpu="betweenness.dependencies:Dependencies",
        cuda="betweenness.dependencies_cuda:GpuDependencies", planned="results:NothingSummed",
        host=RowMemory(450, 40), gpu=RowMemory(190, 0),
    ),
    RowKernel(
        "path sums", cpu="betweenness.path_sums:PathSummer", cuda="betweenness.path_sums:PathSummer.beside_gpu",
        planned="results:NothingSummed", host=RowMemory(700, 130), replicated=True,
    ),
    RowKernel(
        "searches", cpu="searches:Searches", cuda="searches:SearchesByPrograms", planned="results:NothingReached",
        host=RowMemory(900, 90), gpu=RowMemory(40, 0), replicated=True,
    ),
    RowKernel("bfs pass", cpu="bfs_pass:BfsPass"),
    RowKernel("sssp pass", cpu="sssp_pass:SsspPass"),
)  # fmt: skip
