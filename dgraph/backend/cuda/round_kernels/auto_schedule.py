"""Which schedule walks the next broad round."""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.schedules import SCHEDULES

FEW, SHORT = 4, 64
"""Edges a vertex below which a thread may walk each vertex by itself, where none has more than SHORT."""


def schedule(options: Options, words: np.ndarray, wide: bool, whole: bool = False) -> str:
    """Its name: as asked for, or as chosen from the frontier.

    Args:
        words: a machine's control words.
        wide: whether the prefix sums of a frontier have to be scanned first.
        whole: whether every round walks all vertices, so that no largest degree is known.
    """
    if options.schedule in SCHEDULES:
        return options.schedule
    if options.schedule == "bfs-4k":
        return _bfs_4k(options, words)
    if wide or whole:
        return "alb" if wide else "warp_search"
    return _auto(int(words[at.QUEUED]), int(words[at.LOCAL_EDGES]), int(words[at.LARGEST]))


def ahead(options: Options, wide: bool) -> list[str]:
    """Those that rounds which push are likely to be walked by."""
    if options.schedule == "bfs-4k":
        return ["dynamic_warp", "edge_discover", "dynamic_parallelism", "vertex"]
    if options.schedule == "persistent":
        return []
    return ["alb", SCHEDULES["alb"].plain] if wide else ["warp_search", "vertex", "merge_path"]


def _auto(vertices: int, edges: int, largest: int) -> str:
    """Of all schedules ``warp_search`` never loses much (``benchmarks/tuning.py``), but where vertices without edges
    are in its way: its windows pass 31 of them at a time."""
    if largest <= SHORT and edges < FEW * vertices:
        return "vertex"
    return "merge_path" if edges < vertices else "warp_search"


def _bfs_4k(options: Options, words: np.ndarray) -> str:
    """What BFS-4K walks a round by, of its features that are on: a grid a huge vertex, edges of 32 vertices at a time
    where a warp would be too wide for one, else virtual warps."""
    on = options.features
    if "dynamic-parallelism" in on and words[at.LARGEST] > options["grid_threshold"]:
        return "dynamic_parallelism"
    if "edge-discover" in on and words[at.LOCAL_EDGES] < 32 * words[at.QUEUED]:
        return "edge_discover"
    return "dynamic_warp" if "dynamic-warps" in on else "vertex"
