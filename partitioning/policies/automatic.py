"""The default policy: what the degrees call for, and why."""

from __future__ import annotations

import numpy as np

from partitioning.placement import Placement
from partitioning.policies.cvc import cvc
from partitioning.policies.edge_cut import in_offsets, oec
from partitioning.policies.hvc import hvc
from partitioning.policies.metis import metis, obstacle
from partitioning.policies.streaming import ldg
from partitioning.policy_register import policy
from partitioning.quality import cut, edge_balance

OVERLOAD = 1.5
"""An edge-cut may load the part of one hub with this times the mean before a vertex-cut is considered."""

MEAN, LARGEST = 8, 64
"""Degrees up to which a graph looks like a road or a mesh; beyond them METIS takes long and gains little."""

LOCAL = 0.01
"""Share of arcs cut by blocks below which there is nothing for METIS to gain."""

MOST = 1 << 26
"""Vertices and arcs that METIS partitions within half a minute."""

TRIED = 1 << 24
"""Vertices and arcs that LDG streams within half a second: so many are tried in passing."""

GAIN, UNEVEN = 0.15, 1.5
"""LDG must save this share of the arcs that blocks cut, and be no less even than this, to be worth moving rows for."""

NEAR = 1.05
"""Of two vertex-cuts whose balances differ by less than this the one with fewer mirrors is taken."""


@policy("auto", "METIS where it pays and fits, cvc or hvc where a hub would overload a part, else ldg or oec")
def auto(edges, parts, comm) -> Placement:
    largest = _largest(edges.offsets, comm)
    if largest * parts > OVERLOAD * edges.arcs:
        return _for_hub(edges, parts, largest, comm)
    mean = edges.arcs / max(edges.n, 1)
    if mean <= MEAN and largest <= LARGEST and edges.directed:
        starts = np.arange(comm.size + 1, dtype=np.int64) * edges.n // comm.size
        largest = max(largest, _largest(in_offsets(edges, starts, comm), comm))
    degrees = f"degrees (mean {mean:.1f}, largest {largest})"
    blocks = oec(edges, parts, comm)
    if mean > MEAN or largest > LARGEST:
        return _for_skew(edges, parts, blocks, degrees, comm)
    share = cut(edges, blocks, comm)
    if share <= LOCAL:
        return blocks.because(f"near vertices have near ids: blocks cut only {share:.2%} of the arcs")
    if edges.n + edges.arcs > MOST:
        return blocks.because(f"too large to wait for METIS, though {degrees} are a road's or a mesh's")
    wrong = obstacle(edges, comm)
    if wrong:
        return blocks.because(f"{degrees} are a road's or a mesh's, but METIS cannot serve: {wrong}")
    return metis(edges, parts, comm).because(
        f"{degrees} are a road's or a mesh's, and blocks would cut {share:.1%} of the arcs"
    )


def _largest(offsets, comm) -> int:
    return comm.largest(int(np.diff(offsets).max(initial=0)))


def _for_hub(edges, parts, largest, comm) -> Placement:
    """Where a single vertex is too much for one part: a vertex-cut, if that is better balanced."""
    hub = f"one vertex has {largest} of {edges.arcs} arcs"
    blocks = oec(edges, parts, comm)
    before = edge_balance(edges, blocks, comm)
    cuts = [place(edges, parts, comm) for place in (hvc, cvc)]
    after = [edge_balance(edges, each, comm) for each in cuts]
    best = 1 if after[0] > NEAR * after[1] else 0
    alone = f"an edge-cut's fullest part would hold {before:.2f} × the mean of the arcs"
    if after[best] < before:
        warning = f"{hub}: {alone}, so a vertex-cut was taken: mirrors both send and hear in every round"
        return cuts[best].because(f"{hub}: {alone}, this {after[best]:.2f}", warning)
    told = f"{hub}: its part holds {before:.2f} × the mean, and a vertex-cut would not better it"
    return blocks.because(told, f"{told}; the other parts will wait for it")


def _for_skew(edges, parts, blocks, degrees, comm) -> Placement:
    """Where METIS takes long and gains little: the stream where it saves enough, else blocks."""
    why = f"{degrees} are not a road's or a mesh's: METIS would take long and gain little"
    if edges.n + edges.arcs > TRIED:
        return blocks.because(why)
    stream = ldg(edges, parts, comm)
    before, after = (cut(edges, placement, comm) for placement in (blocks, stream))
    told = f"LDG would cut {after:.1%} of the arcs where blocks cut {before:.1%}"
    if after > (1 - GAIN) * before:
        return blocks.because(f"{why}, and {told}")
    uneven = edge_balance(edges, stream, comm)
    if uneven > max(UNEVEN, edge_balance(edges, blocks, comm)):
        return blocks.because(f"{why}; {told}, but load a part with {uneven:.2f} × the mean")
    return stream.because(f"{why}; LDG cuts {after:.1%} of the arcs, blocks would cut {before:.1%}")
