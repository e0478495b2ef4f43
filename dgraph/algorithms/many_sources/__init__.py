"""Searches from many sources in one pass: whole rows on each rank, bits for reachability, lanes for path counts."""

from dgraph.algorithms.many_sources import (
    bc,
    closeness,
    edge_bc,
    multi_source_bfs,
    multi_source_pagerank,
    multi_source_sssp,
    reachability,
)
from dgraph.backend.kernel_register import Solver

__all__ = [
    "KERNELS", "bc", "closeness", "edge_bc", "multi_source_bfs", "multi_source_pagerank", "multi_source_sssp",
    "reachability",
]  # fmt: skip

RANKS_ON_GPUS = "gpu.rank_lanes_cuda:GpuRankLanes"

KERNELS = (
    Solver("draw", gpu="gpu.draw:GpuDraw"),
    Solver("reach", cpu="reach:Reach", gpu="gpu.reach_cuda:GpuReach", gpus="reach_programs:ReachByPrograms"),
    Solver("levels", cpu="reach:DistanceReach", gpu="gpu.reach_cuda:GpuLevels", gpus="reach_programs:LevelsByPrograms"),
    Solver(
        "dependencies",
        cpu="betweenness.dependencies:Dependencies",
        gpu="betweenness.dependencies_cuda:GpuDependencies",
        gpus="betweenness.dependency_programs:DependenciesByPrograms",
    ),
    Solver("path sums", cpu="betweenness.path_sums:PathSummer"),
    Solver("searches", cpu="searches:Searches", gpu="searches:SearchesByPrograms", gpus="searches:SearchesByPrograms"),
    Solver("rank lanes", cpu="rank_lanes:RankLanes", gpu=RANKS_ON_GPUS, gpus=RANKS_ON_GPUS),
    Solver("bfs pass", cpu="passes.bfs_pass:BfsPass", beside_gpu=False),
    Solver("sssp pass", cpu="passes.sssp_pass:SsspPass", beside_gpu=False),
)
