"""What of a rank's graph decides how much of a GPU's memory it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dgraph.backend.cuda.codegen.message_layout import CHUNK_BITS
from dgraph.graph.local import LocalGraph, Mirrors

WIDE = 2**31
"""Local edges from which on positions of edges need 64 bits."""

SKEWED = 16
"""Vertices are numbered by falling degree where the largest is so many times the mean: hubs then share cache lines."""


@dataclass(frozen=True)
class GraphSize:
    """What memory depends on, of one rank's graph.

    Attributes:
        size: masters and mirrors.
        edges: local arcs.
        weight, ids: bytes of a weight (0: none) and of an original id.
        directed: whether arcs lack their reverse.
        masters: vertices that this rank owns.
        peers: ranks that share vertices with this one.
        chunks: of positions of shared vertices, of the larger side.
        shared: positions of this rank's masters on others; ``positions``: of the larger side of each peer, added up.
        entered: mirrors that edges lead into.
        renumbered: whether vertices are numbered by falling degree.
        wide: whether offsets and prefix sums are 64-bit.
        largest: local degree; 0 where that is not known.
        spare: bytes that stay taken behind the arcs, where a graph was built on the GPU and arcs merged.
    """

    size: int
    edges: int
    weight: int = 0
    ids: int = 4
    directed: bool = True
    masters: int = 0
    peers: int = 0
    chunks: int = 0
    shared: int = 0
    positions: int = 0
    entered: int = 0
    renumbered: bool = False
    wide: bool = False
    largest: int = 0
    spare: int = 0

    @staticmethod
    def of(local: LocalGraph, renumber: bool | None = None) -> GraphSize:
        """Of a graph; of one on the host ``renumber``: None: where degrees are skewed, and no rank has a part of it."""
        built = getattr(local, "extent", None)
        if built is not None:
            return built
        edges, size = int(local.out.neighbours.size), local.size
        degrees = local.out.offsets[1:] - local.out.offsets[:-1]
        largest = int(degrees.max()) if degrees.size else 0
        whole = local.masters == local.n and not local.theirs and not local.mirrors
        if renumber is None:
            renumber = whole and size > 1 and largest > SKEWED * max(edges, 1) / max(size, 1)
        return GraphSize(
            size, edges,
            weight=0 if local.out.weights is None else local.out.weights.itemsize,
            ids=4 if fits_32(local.original) else 8,
            directed=local.directed,
            masters=local.masters,
            **sharing(local),
            renumbered=bool(renumber),
            wide=edges >= WIDE,
            largest=largest,
        )  # fmt: skip

    @property
    def mirrored(self) -> bool:
        """Whether some vertex is a mirror."""
        return self.size > self.masters

    @property
    def rows(self) -> int:
        """Bytes of a CSR."""
        return self.edges * (4 + self.weight) + (self.size + 1) * (8 if self.wide else 4)


def sharing(local: LocalGraph) -> dict[str, int]:
    """Of an extent, what depends on who shares vertices with whom."""
    peers = {*local.mine, *local.theirs}
    return {
        "peers": len(peers),
        "chunks": max(_chunks(local.mine), _chunks(local.theirs)),
        "shared": sum(side.count for side in local.theirs.values()),
        "positions": sum(
            max(side[peer].count for side in (local.mine, local.theirs) if peer in side) for peer in peers
        ),
        "entered": sum(side.columns for side in local.mine.values()),
    }


def chunks_of(count: int) -> int:
    """Chunks of so many positions."""
    return (count + (1 << CHUNK_BITS) - 1) >> CHUNK_BITS


def _chunks(side: Mapping[int, Mirrors]) -> int:
    return sum(chunks_of(mirrors.count) for mirrors in side.values())


def fits_32(values: np.ndarray) -> bool:
    """Whether none is negative, or 2³² or more."""
    return values.size == 0 or (int(values.min()) >= 0 and int(values.max()) < 2**32)
