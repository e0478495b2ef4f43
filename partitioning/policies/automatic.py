"""The default policy: choose by the graph's degrees, and give the reason.

:func:`auto` decides in four cases: a hub that overloads an edge-cut; a graph on which no partitioner can win, which
its size, its degrees and samples of its arcs show in milliseconds; a skewed graph; a road or a mesh.
"""

from __future__ import annotations

import numpy as np

from partitioning import samples
from partitioning.placement import Placement
from partitioning.policies.cvc import cvc
from partitioning.policies.edge_cut import in_offsets, oec, out_blocks, share
from partitioning.policies.hvc import hvc
from partitioning.policies.metis import metis, obstacle
from partitioning.policies.streaming import ldg
from partitioning.policy_register import policy
from partitioning.quality import cut, edge_balance

OVERLOAD = 1.5
"""Load of one hub's part, relative to the mean, above which a vertex-cut is considered."""

SMALL = 1 << 14
"""Vertices and arcs up to which rounds last as long on blocks as on any other edge-cut: messages are short."""

MEAN, LARGEST = 8, 64
"""Mean and largest degree up to which a graph resembles a road or a mesh; beyond, METIS is slow and gains little."""

LOCAL = 0.01
"""Share of arcs cut by blocks below which METIS is not worth its time."""

HUBS, CHANCE = 100, 1.5
"""LDG gains little if half of the arcs leave vertices of this degree, and no more than ``CHANCE`` times as many wedges
are closed as degrees alone explain: neighbours of a hub are in all parts, and there are no communities."""

MOST = 1 << 26
"""Vertices and arcs that METIS partitions within half a minute."""

TRIED = 1 << 24
"""Vertices and arcs that LDG streams within half a second: up to this size it is always tried."""

GAIN, UNEVEN = 0.15, 1.5
"""Share of the cut arcs that LDG must save, and its largest imbalance, to justify moving rows."""

NEAR = 1.05
"""Ratio of balances below which the vertex-cut with fewer mirrors is taken."""


@policy("auto", "METIS where it pays and fits, cvc or hvc where a hub would overload a part, else ldg or oec")
def auto(edges, parts, comm) -> Placement:
    """Choose a policy by the largest degree, the mean degree, and the share of arcs that blocks cut; collective."""
    shares, largest, at_hubs = _outline(edges, comm)
    if largest * parts > OVERLOAD * edges.arcs:
        return _for_hub(edges, parts, largest, comm)
    blocks = out_blocks(edges, parts, shares, comm)
    if edges.n + edges.arcs <= SMALL:
        return blocks.because(f"{edges.n} vertices and {edges.arcs} arcs are too few for a partitioner to pay")
    crossing = samples.cut(edges, blocks, comm)
    if crossing <= LOCAL:
        return blocks.because(f"near vertices have near ids: blocks cut only about {crossing:.2%} of the arcs")
    mean = edges.arcs / max(edges.n, 1)
    if mean <= MEAN and largest <= LARGEST and edges.directed and edges.n + edges.arcs <= MOST:
        starts = np.arange(comm.size + 1, dtype=np.int64) * edges.n // comm.size
        largest = max(largest, comm.largest(int(np.diff(in_offsets(edges, starts, comm)).max(initial=0))))
    shape = f"degrees (mean {mean:.1f}, largest {largest})"
    if mean > MEAN or largest > LARGEST:
        return _for_skew(edges, parts, blocks, shape, at_hubs, comm)
    if edges.n + edges.arcs > MOST:
        return blocks.because(f"too large to wait for METIS, though {shape} are a road's or a mesh's")
    wrong = obstacle(edges, comm)
    if wrong:
        return blocks.because(f"{shape} are a road's or a mesh's, but METIS cannot serve: {wrong}")
    return metis(edges, parts, comm).because(
        f"{shape} are a road's or a mesh's, and blocks would cut about {crossing:.1%} of the arcs"
    )


def _outline(edges, comm) -> tuple[np.ndarray, int, int]:
    """Return every rank's share of rows, the largest degree and the arcs at hubs; one collective.

    Where ranks share cores, a collective costs milliseconds.
    """
    degrees = np.diff(edges.offsets)
    at_hubs = degrees[degrees >= HUBS / (1 + edges.directed)].sum()
    ranks = comm.allgather(np.array([*share(edges.offsets), degrees.max(initial=0), at_hubs], np.int64))
    return ranks[:, :2], int(ranks[:, 2].max()), int(ranks[:, 3].sum())


def _for_hub(edges, parts, largest, comm) -> Placement:
    """Place a graph with a vertex too large for one part: a vertex-cut if that is better balanced."""
    hub = f"one vertex has {largest} of {edges.arcs} arcs"
    blocks = oec(edges, parts, comm)
    before = edge_balance(edges, blocks, comm)
    cuts = [place(edges, parts, comm) for place in (hvc, cvc)]
    after = [edge_balance(edges, cut, comm) for cut in cuts]
    best = 1 if after[0] > NEAR * after[1] else 0
    alone = f"an edge-cut's fullest part would hold {before:.2f} × the mean of the arcs"
    if after[best] < before:
        warning = f"{hub}: {alone}, so a vertex-cut was taken: mirrors both send and receive in every round"
        return cuts[best].because(f"{hub}: {alone}, this {after[best]:.2f}", warning)
    reason = f"{hub}: its part holds {before:.2f} × the mean, and a vertex-cut would not improve it"
    return blocks.because(reason, f"{reason}; the other parts will wait for it")


def _for_skew(edges, parts, blocks, shape, at_hubs, comm) -> Placement:
    """Place a graph on which METIS is slow and gains little: LDG if it saves enough cut arcs, else blocks."""
    why = f"{shape} are not a road's or a mesh's: METIS would take long and gain little"
    if edges.n + edges.arcs > TRIED:
        return blocks.because(why)
    closed, by_chance = samples.closed_wedges(edges, comm) if 2 * at_hubs >= edges.arcs else (1, 0)
    if closed <= CHANCE * by_chance:
        hubs = f"half of the arcs leave vertices of degree {HUBS} or more, and communities do not show in a sample"
        return blocks.because(f"{why}, and so would LDG: {hubs}")
    stream = ldg(edges, parts, comm)
    before, after = (cut(edges, placement, comm) for placement in (blocks, stream))
    gain = f"LDG would cut {after:.1%} of the arcs where blocks cut {before:.1%}"
    if after > (1 - GAIN) * before:
        return blocks.because(f"{why}, and {gain}")
    uneven = edge_balance(edges, stream, comm)
    if uneven > max(UNEVEN, edge_balance(edges, blocks, comm)):
        return blocks.because(f"{why}; {gain}, but load a part with {uneven:.2f} × the mean")
    return stream.because(f"{why}; LDG cuts {after:.1%} of the arcs, blocks would cut {before:.1%}")
