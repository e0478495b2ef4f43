"""Placement of vertices and arcs of a graph that is not drawn yet.

Possible for policies that depend on degrees alone. :func:`place` is the entry; ``drawn_arcs.cuh`` evaluates the
placement on the GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import partitioning
from dgraph.backend.cuda.graph_build import build_kernels
from dgraph.backend.cuda.graph_build.build_kernels import BuildKernels
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.comm import Comm
from dgraph.errors import UsageError, option
from partitioning import Placement
from partitioning.policies.cvc import GridHolder
from partitioning.policies.edge_cut import Blocks
from partitioning.policies.hashed import Hashed
from partitioning.policies.hvc import HybridHolder

ABLE = ("oec", "iec", "cvc", "hvc", "hash")
"""Policies that can place a graph before it is drawn."""

SAMPLE = 1 << 26
"""Items of the sample from which block bounds are computed; hvc counts all, to know the hubs."""

HEAVY = 1.5
"""Arcs of one vertex, in multiples of a part's share, from which on ``auto`` spreads hubs."""


@dataclass
class Outline:
    """Row lengths ``first …`` of a graph whose arcs are not stored, as policies read them.

    Lengths count parallel arcs each time, and may be estimated from a sample. Attributes are those of
    :class:`~dgraph.graph.block.EdgeBlock` that the policies of ``ABLE`` read.
    """

    n: int
    arcs: int
    directed: bool
    first: int
    offsets: np.ndarray

    def in_offsets(self) -> np.ndarray:
        """Return the offsets of in-edges: the lengths are in-degrees where a policy asks for them."""
        return self.offsets


def places(policy: str) -> bool:
    """Return True if a policy can place a graph before it is drawn."""
    try:
        return partitioning.choose(policy).policy.name in (*ABLE, "auto")
    except partitioning.PolicyError:
        return False


def place(policy: str, draft: BuildPlan, kernels: BuildKernels, comm: Comm) -> Placement:
    """Compute the placement of a policy and pass it to the kernels; collective.

    Raises:
        UsageError: no such policy, or one that needs the arcs first.
    """
    try:
        name = partitioning.choose(policy).policy.name
        if comm.size == 1:
            return partitioning.plan(policy, None, 1, comm)
    except partitioning.PolicyError as wrong:
        raise UsageError(str(wrong)) from wrong
    if not places(policy):
        raise UsageError(
            f"policy {name!r} must see a graph before it places it, and GPUs draw each arc where it stays: "
            f"take {', '.join(ABLE)}, or {option('build', 'host')}"
        )
    if name == "hash":
        return _set_placement(partitioning.plan(policy, None, comm.size, comm), kernels, draft)
    with comm.together():
        step = 1 if name == "hvc" else max(draft.items // SAMPLE, 1)
        seen = _outline(draft, kernels, comm.rank, comm.size, name == "iec", step)
    seen.arcs = comm.total(int(seen.offsets[-1]))
    if name == "auto":
        return _set_placement(_auto(seen, draft, kernels, comm), kernels, draft)
    try:
        return _set_placement(partitioning.plan(policy, seen, comm.size, comm), kernels, draft)
    except partitioning.PolicyError as wrong:
        raise UsageError(str(wrong)) from wrong


def _auto(seen: Outline, draft: BuildPlan, kernels: BuildKernels, comm: Comm) -> Placement:
    largest = comm.largest(int(np.diff(seen.offsets).max(initial=0)))
    if largest * comm.size > HEAVY * seen.arcs:
        reason = f"one vertex has {largest} of {seen.arcs} arcs: too many for one GPU's share"
        with comm.together():
            arcs, seen = seen.arcs, _outline(draft, kernels, comm.rank, comm.size)
        seen.arcs = arcs
        return partitioning.plan("hvc", seen, comm.size, comm).because(reason, reason)
    return partitioning.plan("oec", seen, comm.size, comm).because(
        "GPUs draw each arc where it stays, and degrees are even enough for blocks"
    )


def _outline(
    draft: BuildPlan, kernels: BuildKernels, rank: int, parts: int, entering: bool = False, step: int = 1
) -> Outline:
    """Count the degrees of this rank's equal share of the vertices.

    Args:
        draft: the graph to build.
        kernels: the kernels.
        rank: index of the share.
        parts: number of shares.
        entering: count in-degrees.
        step: draw every ``step``-th item only, and scale by ``step``.
    """
    first, stop = (draft.n * r // parts for r in (rank, rank + 1))
    offsets = kernels.device.xp.zeros(max(stop - first, 1) + 1, np.uint64)
    counts = offsets[1:]
    kernels.take(counts=counts)
    kernels.set(low=first, high=stop, step=step)
    kernels.launch("degrees_of_slice", int(entering and draft.directed))
    kernels.set(step=1)
    kernels.take(counts=None)
    kernels.device.xp.cumsum(counts, out=counts)
    counts *= np.uint64(step)
    host_offsets = kernels.device.get(offsets).view(np.int64)[: stop - first + 1]
    return Outline(draft.n, 0, draft.directed, first, host_offsets)


def _set_placement(placement: Placement, kernels: BuildKernels, draft: BuildPlan) -> Placement:
    """Pass a placement to the kernels; return it."""
    device, holder = kernels.device, placement.holder
    cut = {
        "outgoing": build_kernels.CUT_OUTGOING,
        "incoming": build_kernels.CUT_INCOMING,
        "vertex": build_kernels.CUT_GRID,
    }[placement.cut]
    if isinstance(holder, HybridHolder):
        cut = build_kernels.CUT_HUBS
        kernels.take(hubs=device.put(_bits(holder.hubs, draft.n)))
    elif isinstance(holder, GridHolder):
        kernels.set(columns=holder.columns)
    if isinstance(placement.owner, Blocks):
        kernels.take(bounds=device.put(placement.owner.bounds.astype(np.int64)))
    elif not isinstance(placement.owner, Hashed):
        raise UsageError(f"policy {placement.policy!r} has no form that GPUs know; give {option('build', 'host')}")
    kernels.set(cut=cut)
    return placement


def _bits(gids: np.ndarray, n: int) -> np.ndarray:
    """Return a set of gids as a bitmap of 32-bit words."""
    words = np.zeros(build_kernels.words(n), np.uint32)
    np.bitwise_or.at(words, gids >> 5, np.uint32(1) << (gids & 31).astype(np.uint32))
    return words
