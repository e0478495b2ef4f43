"""Arrays of connected components on GPUs: union-find parents, labels of roots, and the control words of the forest.

They replace arrays that a machine plans with length 0, since every module's ``env`` names them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.program import Traced


def constants() -> str:
    """Return no C++ constants: those of components are in the control block."""
    return ""


def members(t: Traced) -> list[tuple[str, str]]:
    """Return no members of ``env``: every program has those of components."""
    return []


def wanted(t: Traced, extent: GraphSize) -> dict[str, tuple[int, Any]]:
    """Return arrays as name → (length, dtype); both bitmaps of the frontier are needed even if no round pulls."""
    bits = 0 if t.all else (extent.size + 31) // 32
    return {
        "parent": (extent.size, np.uint32), "lowest": (extent.size, np.int64),
        "forest": (control_block.FOREST_WORDS, np.int64),
        "bits0": (bits, np.uint32), "bits1": (bits, np.uint32),
    }  # fmt: skip
