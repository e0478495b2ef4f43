"""Core numbers as estimates: sizes, and the arrays and members of ``env`` that they need beside a machine's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.program import Traced

KERNEL = "estimates"
"""Of a program: its ``kernel``."""

TINY_ROW, WARP_ROW, PIECE = 15, 1024, 8192
"""A thread looks at a vertex of up to TINY_ROW edges, a warp up to WARP_ROW; longer rows are cut into pieces of up to
PIECE edges, a block each. A thread counts in hexadecimal digits, of which a word has 16."""

BINS, EXACT = 256, 192
"""Bins in which neighbours' estimates are counted, and how many of them are of one estimate each."""

TURNS, MOST_CLAIMED = 4, 256
"""How often a warp takes vertices of a round, if all take as many; how many it takes at most."""

CLAIMED, PIECES_TAIL, HUBS_TAIL = control_block.LIVE_TAIL, control_block.LISTED_TAIL, control_block.SWEPT_TAIL
"""Counters of a round: vertices that warps took; pieces of long rows; rows of several pieces."""

TURN, MOST_TURNS = control_block.BUCKET, 40
"""The control word that counts exchanges of all ranks; the bit of an argument from which on it says how many may be."""


def constants() -> str:
    """These names as C++ constants."""
    known = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
    return "".join(f"#define {name} {value}\n" for name, value in known.items())


def members(t: Traced) -> list[tuple[str, str]]:
    """Members of ``env``: (C++ type, name)."""
    if t.program.kernel != KERNEL:
        return []
    return [
        (f"{TYPES[t.fields['core'].dtype]}*", "before"), ("u32*", "pieces"), ("u32*", "piece_at"),
        ("u32*", "piece_hubs"), ("u32*", "hub_bins"), ("offset_t*", "back_offsets"), ("u32*", "back_neighbours"),
    ]  # fmt: skip


def wanted(t: Traced, extent: GraphSize) -> dict[str, tuple[int, Any]]:
    """Arrays: name → length and dtype. Of edges into mirrors there may be as many as edges."""
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
