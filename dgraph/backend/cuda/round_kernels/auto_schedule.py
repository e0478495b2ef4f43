"""Choice of the schedule that walks the next large round."""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.schedules import SCHEDULES

FEW, SHORT = 4, 64
"""A thread walks each vertex alone below FEW edges a vertex on average, if no vertex has more than SHORT."""


def schedule(options: GpuPlan, words: np.ndarray, wide: bool, whole: bool = False) -> str:
    """Return the schedule of the next round: the one asked for, or chosen by the frontier.

    Args:
        options: options of the run.
        words: control block of the machine.
        wide: True if prefix sums of a frontier have to be scanned first.
        whole: True if every round walks all vertices, so that no largest degree is known.
    """
    if options.schedule in SCHEDULES:
        return options.schedule
    if options.schedule == "bfs-4k":
        return _bfs_4k(options, words)
    if wide or whole:
        return "alb" if wide else "warp_shares"
    return _auto(int(words[control.QUEUED]), int(words[control.LOCAL_EDGES]), int(words[control.LARGEST]))


def ahead(options: GpuPlan, wide: bool) -> list[str]:
    """Return the schedules that pushing rounds are likely to use, to be compiled first."""
    if options.schedule == "bfs-4k":
        return ["dynamic_warp", "warp_search", "dynamic_parallelism", "vertex"]
    if options.schedule == "persistent":
        return []
    return ["alb", SCHEDULES["alb"].plain] if wide else ["warp_shares", "vertex", "merge_path"]


def _auto(vertices: int, edges: int, largest: int) -> str:
    """Return the schedule of ``auto`` for a frontier.

    ``warp_shares`` never loses much (``benchmarks/tuning.py``), except where vertices without edges abound: its windows
    pass 31 of them at a time.
    """
    if largest <= SHORT and edges < FEW * vertices:
        return "vertex"
    return "merge_path" if edges < vertices else "warp_shares"


def _bfs_4k(options: GpuPlan, words: np.ndarray) -> str:
    """Return the kernel of BFS-4K for a round, by the features that are on.

    A grid for each huge vertex; 32 vertices a warp where frontiers have few edges a vertex; else virtual warps.
    """
    on = options.features
    if "dynamic-parallelism" in on and words[control.LARGEST] > options["grid_threshold"]:
        return "dynamic_parallelism"
    if "edge-discover" in on and words[control.LOCAL_EDGES] < 32 * words[control.QUEUED]:
        return "warp_search"
    return "dynamic_warp" if "dynamic-warps" in on else "vertex"
