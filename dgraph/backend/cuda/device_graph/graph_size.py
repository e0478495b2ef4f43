"""Sizes of a rank's graph on which its GPU memory depends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dgraph._support.affinity import cores
from dgraph._support.threads import extremes
from dgraph.backend import wire
from dgraph.graph.local import LocalGraph, Mirrors

WIDE = 2**31
"""Local edges from which on positions of edges need 64 bits."""

SKEWED = 16
"""Largest ÷ mean degree above which vertices are renumbered by degree: hubs then share cache lines."""


def is_skewed(largest: int, edges: int, vertices: int) -> bool:
    """Return True if degrees are so skewed that vertices are renumbered."""
    return largest > SKEWED * max(edges, 1) / max(vertices, 1)


@dataclass(frozen=True)
class GraphSize:
    """Sizes of one rank's graph that decide its memory.

    Attributes:
        size: masters and mirrors.
        edges: local arcs.
        weight, ids: bytes of a weight (0: none) and of an original id.
        directed: True if arcs lack their reverse.
        masters: vertices that this rank owns.
        peers: ranks that share vertices with this one.
        chunks: chunks of shared positions, of the larger side.
        shared: positions of this rank's masters on other ranks; ``positions``: sum over peers of the larger side.
        renumbered: True if vertices are numbered by descending degree.
        wide: True if offsets and prefix sums are 64-bit.
        largest: largest local degree; 0 if not known.
        spare: bytes of merged arcs that stay allocated, if the graph was built on the GPU.
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
    renumbered: bool = False
    wide: bool = False
    largest: int = 0
    spare: int = 0

    @staticmethod
    def of(local: LocalGraph, renumber: bool | None = None) -> GraphSize:
        """Return the sizes of a graph.

        Args:
            local: on the host, or built on a GPU.
            renumber: of a graph on the host; None: if degrees are skewed and one rank has the whole graph.
        """
        built = getattr(local, "extent", None)
        if built is not None:
            return built
        edges, size = int(local.out.neighbours.size), local.size
        largest = local.largest_degree if is_whole(local) else int(np.diff(local.out.offsets).max(initial=0))
        if renumber is None:
            renumber = is_whole(local) and size > 1 and is_skewed(largest, edges, size)
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
        """True if there are mirrors."""
        return self.size > self.masters

    @property
    def rows(self) -> int:
        """Bytes of a CSR."""
        return self.edges * (4 + self.weight) + (self.size + 1) * (8 if self.wide else 4)


def is_whole(local: LocalGraph) -> bool:
    """Return True if all vertices and arcs are on this rank."""
    return local.masters == local.n and not (local.mirrors or local.peer_mirrors)


def sharing(local: LocalGraph) -> dict[str, int]:
    """Return the members of :class:`GraphSize` that depend on the vertices shared with peers."""
    peers = {*local.own_mirrors, *local.peer_mirrors}
    return {
        "peers": len(peers),
        "chunks": max(_chunks(local.own_mirrors), _chunks(local.peer_mirrors)),
        "shared": sum(side.count for side in local.peer_mirrors.values()),
        "positions": sum(
            max(side[peer].count for side in (local.own_mirrors, local.peer_mirrors) if peer in side) for peer in peers
        ),
    }


def chunks_of(count: int) -> int:
    """Return the chunks of ``count`` positions."""
    return (count + (1 << wire.GPU.chunk_bits) - 1) >> wire.GPU.chunk_bits


def _chunks(side: Mapping[int, Mirrors]) -> int:
    return sum(chunks_of(mirrors.count) for mirrors in side.values())


def fits_32(values: np.ndarray) -> bool:
    """Return True if all values fit uint32."""
    low, high = extremes(values, cores()) if values.size else (0, 0)
    return low >= 0 and high < 2**32
