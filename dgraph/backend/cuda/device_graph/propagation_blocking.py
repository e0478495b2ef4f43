"""Propagation blocking: edges in tiles of targets, for sums of values that are read at sources only.

A plain pull reads sources that lie far apart: of 32 bytes moved it uses four. Here a block accumulates the rows of one
tile of targets in shared memory. The tile's edges are roughly ordered by source, so lanes read neighbouring values and
only the accumulation is random. [Beamer, Asanović, Patterson: Reducing Pagerank Communication via Propagation Blocking,
IPDPS 2017] Unlike the paper, edges are binned once for a graph, not contributions in every iteration.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.own_kernels import own_text

ALIGNED = 32
"""Alignment of a piece's first edge; a thread loads four edges at a time."""

PIECES = 12
"""Pieces for each multiprocessor, at least, so that blocks finish together."""

LEAST, MOST = 1 << 14, 1 << 19
"""Bounds on the edges of a piece; each piece costs clearing a tile and adding its sums."""

WHOLE = -1
"""Number of the cut tile in a piece that is a whole tile."""


def tiles_of(vertices: int) -> int:
    """Return the tiles of ``vertices`` targets."""
    return -(-vertices // control.TILE)


def piece_of(edges: int, processors: int) -> int:
    """Return the edges of a piece on a GPU of ``processors`` multiprocessors."""
    return min(max(edges // (PIECES * processors), LEAST), MOST) // ALIGNED * ALIGNED


def most_pieces(size: int, edges: int, processors: int) -> tuple[int, int]:
    """Return upper bounds on pieces and on tiles of several pieces; masters and mirrors have separate tiles."""
    tiles, cuts = tiles_of(size) + 1, edges // piece_of(edges, processors)
    return tiles + cuts, min(tiles, cuts)


def held_bytes(size: int, edges: int, processors: int, weight: int = 0) -> int:
    """Return an upper bound on the bytes of a graph's tiles, including those needed only while they are built.

    Args:
        size: vertices.
        edges: edges.
        processors: multiprocessors of the GPU.
        weight: bytes of an edge's weight that the tiles hold.
    """
    tiles = tiles_of(size) + 1
    pieces, cuts = most_pieces(size, edges, processors)
    return (6 + weight) * (edges + ALIGNED * tiles) + 32 * pieces + 4 * cuts + (8 + 8 + 4 + 4) * tiles


def weight_type(kind: np.dtype, least: float, most: float) -> np.dtype:
    """Return the type in tiles of weights of type ``kind`` between two bounds: a byte if all are integers that fit."""
    fits = kind.kind in "iu" and least >= 0 and most <= np.iinfo(np.uint8).max
    return np.dtype(np.uint8) if fits else kind


class EdgeTiles:
    """Tiles of a graph on a GPU; those of masters first, then those of mirrors.

    Args:
        rows: edges by source: ``offsets`` (size + 1,), ``neighbours`` uint32, and the ``weights`` to hold, or None.
        masters: vertices before the mirrors.

    Attributes:
        sources: uint32; the source of each edge, by tile, roughly in the order of ``rows``.
        targets: uint16; its target relative to the tile's first vertex.
        weights: the weight of each edge, of :func:`weight_type`; None without.
        heaviest: largest magnitude of a weight, float; 0 without weights.
        pieces: (pieces, 4) int64: first edge, count, tile, and its number in ``cut`` or ``WHOLE``.
        bounds: (tiles,) uint32; upper bound on the edges of a row of the tile.
        cut: uint32; tiles of several pieces.
        masters: tiles of masters.
        mirrored: the first piece of a mirrors' tile.
    """

    def __init__(self, rows: Any, masters: int, device: Any):
        self.device, xp = device, device.xp
        size, edges = len(rows.offsets) - 1, len(rows.neighbours)
        self.masters = tiles_of(masters)
        tiles = self.masters + tiles_of(size - masters)
        self.weights, self.heaviest = None, 0.0
        kind: np.dtype = np.dtype(np.uint32)
        if rows.weights is not None and edges:
            least, most = rows.weights.min().item(), rows.weights.max().item()
            self.heaviest = float(np.maximum(abs(float(least)), abs(float(most))))
            kind = weight_type(rows.weights.dtype, least, most)
        self._module = device.module(_write_kernels(rows, kind.itemsize), "tiling")
        self._words = dict.fromkeys(MEMBERS, 0) | {
            "neighbours": device.address(rows.neighbours), "offsets": device.address(rows.offsets),
            "edges": edges, "rows": size, "masters": masters, "master_tiles": self.masters,
        }  # fmt: skip
        counts = xp.zeros(max(tiles, 1), np.uint64)
        self._pass("count_tiles", tiles, counts=device.address(counts))
        many = device.get(counts).astype(np.int64)[:tiles]
        starts = np.concatenate([[0], np.cumsum(-(-many // ALIGNED) * ALIGNED)])
        self.sources = xp.empty(int(starts[-1]) + ALIGNED, np.uint32)
        self.targets = xp.empty(len(self.sources), np.uint16)
        if rows.weights is not None and edges:
            self.weights = xp.empty(len(self.sources), kind)
            self._words |= {
                "edge_weights": device.address(rows.weights), "weights": device.address(self.weights),
            }  # fmt: skip
        taken, begins = xp.zeros(max(tiles, 1), np.uint32), device.put(starts)
        self._pass(
            "fill_tiles", tiles, taken=device.address(taken), starts=device.address(begins),
            sources=device.address(self.sources), targets=device.address(self.targets),
        )  # fmt: skip
        self._cut(many, starts[:-1], piece_of(edges, device.blocks))
        self.bounds = xp.zeros(max(tiles, 1), np.uint32)
        self._run(
            "bound_tiles", pieces=device.address(self.pieces), piece_count=len(self.pieces),
            bounds=device.address(self.bounds),
        )  # fmt: skip
        device.get(self.bounds[:1])  # waits: scratch arrays are freed after it

    def _cut(self, many: np.ndarray, starts: np.ndarray, piece: int) -> None:
        """Cut tiles of ``many`` edges that begin at ``starts`` into pieces."""
        parts = -(-many // piece)
        tile = np.repeat(np.arange(many.size), parts)
        number = np.arange(tile.size) - np.repeat(np.cumsum(parts) - parts, parts)
        cut = np.full(many.size, WHOLE, np.int64)
        several = np.flatnonzero(parts > 1)
        cut[several] = np.arange(several.size)
        count = np.minimum(many[tile] - number * piece, piece)
        pieces = np.stack([starts[tile] + number * piece, count, tile, cut[tile]], axis=1).astype(np.int64)
        self.mirrored = int(np.searchsorted(tile, self.masters))
        self.pieces, self.cut = self.device.put(pieces), self.device.put(several.astype(np.uint32))

    def _pass(self, kernel: str, tiles: int, **words: int) -> None:
        """Run a kernel whose blocks have a word for each tile, for as many tiles at a time as fit."""
        for first in range(0, tiles, control.TILES_AT_ONCE):
            self._run(kernel, first=first, many=min(tiles - first, control.TILES_AT_ONCE), **words)

    def _run(self, kernel: str, **words: int) -> None:
        self._words |= words
        self._module.set_environment(np.array([self._words[name] for name in MEMBERS], np.int64))
        self._module.launch(kernel, self.device.blocks * self._module.resident(kernel))


MEMBERS = (
    "neighbours", "offsets", "edges", "rows", "masters", "master_tiles", "first", "many", "counts", "taken", "starts",
    "sources", "targets", "edge_weights", "weights", "pieces", "piece_count", "bounds",
)  # fmt: skip
"""Members of ``Env`` in ``tile_building.cuh``, in order."""


def _write_kernels(rows: Any, narrow: int) -> str:
    """Return the text of the kernels for rows whose weights take ``narrow`` bytes in the tiles."""
    width = narrow if rows.weights is None else rows.weights.itemsize
    types = {"offset_t": TYPES["int64" if rows.offsets.dtype == np.int64 else "uint32"]}
    types |= {"weight_t": f"u{8 * width}", "narrow_weight_t": f"u{8 * narrow}"}
    return own_text("\n".join(f"typedef {dtype} {name};" for name, dtype in types.items()), "tile_building")
