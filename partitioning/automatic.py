"""The default policy: what the degrees call for, and why."""

from __future__ import annotations

import numpy as np

from partitioning.blocks import in_offsets, oec
from partitioning.grid import cvc
from partitioning.metis import metis, obstacle
from partitioning.placement import Placement
from partitioning.quality import cut, edge_balance
from partitioning.register import policy

OVERLOAD = 1.5
"""An edge-cut may load the rank of one hub with this times the mean before a vertex-cut is considered."""

MEAN, LARGEST = 8, 64
"""Degrees up to which a graph looks like a road or a mesh; beyond them METIS takes long and gains little."""

LOCAL = 0.01
"""Share of arcs cut by blocks below which there is nothing for METIS to gain."""

MOST = 1 << 26
"""Vertices and arcs that METIS partitions within half a minute."""


@policy("auto", "METIS where it pays and fits, cvc where one hub would overload a rank, else oec")
def auto(edges, comm) -> Placement:
    largest = _largest(edges.offsets, comm)
    if largest * comm.size > OVERLOAD * edges.arcs:
        return _for_hub(edges, largest, comm)
    mean = edges.arcs / max(edges.n, 1)
    if mean <= MEAN and largest <= LARGEST and edges.directed:
        largest = max(largest, _largest(in_offsets(edges, comm), comm))
    degrees = f"degrees (mean {mean:.1f}, largest {largest})"
    if mean > MEAN or largest > LARGEST:
        return oec(edges, comm, f"{degrees} are not a road's or a mesh's: METIS would take long and gain little")
    share = cut(edges, oec(edges, comm), comm)
    if share <= LOCAL:
        return oec(edges, comm, f"near vertices have near ids: blocks cut only {share:.2%} of the arcs")
    if edges.n + edges.arcs > MOST:
        return oec(edges, comm, f"too large to wait for METIS, though {degrees} are a road's or a mesh's")
    wrong = obstacle(edges, comm)
    if wrong:
        return oec(edges, comm, f"{degrees} are a road's or a mesh's, but METIS cannot serve: {wrong}")
    return metis(edges, comm, f"{degrees} are a road's or a mesh's, and blocks would cut {share:.1%} of the arcs")


def _largest(offsets, comm) -> int:
    return comm.largest(int(np.diff(offsets).max(initial=0)))


def _for_hub(edges, largest, comm) -> Placement:
    """Where a single vertex is too much for one rank: the vertex-cut, if that helps."""
    hub = f"one vertex has {largest} of {edges.arcs} arcs"
    edge_cut, vertex_cut = oec(edges, comm), cvc(edges, comm)
    before, after = (edge_balance(edges, placement, comm) for placement in (edge_cut, vertex_cut))
    if after < before:
        return cvc(
            edges, comm, f"{hub}: an edge-cut's fullest rank would hold {before:.2f} × the mean, this {after:.2f}"
        )
    return oec(edges, comm, f"{hub}: its rank holds {before:.2f} × the mean, and a vertex-cut would not better it")
