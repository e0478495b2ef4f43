"""Sizes, arrays and ``env`` members of the H-index k-core kernels, beside those of every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.program import Traced

KERNEL = "estimates"
"""Value of ``Program.kernel``."""

TINY_ROW, WARP_ROW, PIECE = 15, 1024, 8192
"""Row lengths by which work is divided.

A thread evaluates a vertex of up to TINY_ROW edges (its counters are 16 hexadecimal digits of a word), a warp up to
WARP_ROW. Longer rows are cut into pieces of up to PIECE edges, one a block.
"""

BINS, EXACT = 256, 192
"""Bins of neighbours' estimates, and how many of them hold a single estimate."""

TURNS, MOST_CLAIMED = 4, 256
"""Chunks that a warp claims in a round, on average (TURNS), and the largest chunk in vertices."""

CLAIMED, PIECES_TAIL, HUBS_TAIL = control_block.LIVE_TAIL, control_block.LISTED_TAIL, control_block.SWEPT_TAIL
"""Counters of a round: vertices claimed by warps, pieces of long rows, rows of several pieces."""

TURN, MOST_TURNS = control_block.BUCKET, 40
"""Control word that counts exchanges of all ranks (TURN); bit of the argument above which their limit is given."""


def constants() -> str:
    """Return these names as C++ constants."""
    known = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
    return "".join(f"#define {name} {value}\n" for name, value in known.items())


def members(t: Traced) -> list[tuple[str, str]]:
    """Return the members of ``env``: (C++ type, name)."""
    if t.program.kernel != KERNEL:
        return []
    return [
        (f"{TYPES[t.fields['core'].dtype]}*", "before"), ("u32*", "pieces"), ("u32*", "piece_at"),
        ("u32*", "piece_hubs"), ("u32*", "hub_bins"), ("offset_t*", "back_offsets"), ("u32*", "back_neighbours"),
    ]  # fmt: skip


def wanted(t: Traced, extent: GraphSize) -> dict[str, tuple[int, Any]]:
    """Return the arrays: name → (length, dtype). Edges into mirrors are bounded by all edges."""
    if t.program.kernel != KERNEL:
        return {}
    hubs = extent.edges // PIECE
    pieces = hubs + extent.edges // WARP_ROW + 1
    mirrors = extent.size - extent.masters
    return {
        "before": (extent.size, t.fields["core"].dtype), "pieces": (pieces, np.uint32), "piece_at": (pieces, np.uint32),
        "piece_hubs": (pieces, np.uint32), "hub_bins": (hubs * (BINS + 1), np.uint32),
        "back_offsets": (mirrors + 1 if extent.peers else 0, np.uint32),
        "back_neighbours": (extent.edges if extent.peers else 0, np.uint32),
    }  # fmt: skip
