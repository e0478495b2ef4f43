"""The hybrid vertex-cut: arcs are at their source's owner, but those of hubs at their targets' owners.

Chen et al., PowerLyra: differentiated graph computation and partitioning on skewed graphs, EuroSys 2015; by out-degrees
as in CuSP: Hoang et al., IPDPS 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partitioning.placement import ASKED, LookUp, Placement, PolicyError
from partitioning.policies.edge_cut import Blocks, bounds_by_cost
from partitioning.policy_register import policy


@dataclass(frozen=True)
class HybridHolder(LookUp):
    """Holder of an arc: the target's owner if the source is a hub, else the source's.

    ``hubs``: gids, int64, ascending.
    """

    owner: Blocks
    hubs: np.ndarray

    def __call__(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the parts that hold these arcs."""
        positions = np.minimum(np.searchsorted(self.hubs, src), len(self.hubs) - 1)
        return self.owner(np.where(self.hubs[positions] == src, dst, src))


@policy("hvc", "hybrid vertex-cut: blocks as in oec, but the arcs of hubs at their targets' owners")
def hvc(edges, parts, comm, *, threshold: int = 100) -> Placement:
    """Place arcs of hubs by target, all others by source; collective.

    ``threshold``: out-degree above which a vertex is a hub; the default is the paper's.
    """
    if threshold < 0:
        raise PolicyError(f"policy 'hvc': threshold={threshold} is not a degree; take 0 or more")
    degrees = np.diff(edges.offsets)
    here = degrees > threshold
    hubs = np.concatenate(comm.allgatherv(np.flatnonzero(here) + edges.first))
    spread = int(comm.total(int(degrees[here].sum())))
    rest = np.concatenate([[0], np.cumsum(np.where(here, 0, degrees))])
    owner = Blocks(bounds_by_cost(rest, parts, comm))
    if not len(hubs):
        reason = f"{ASKED}; no vertex has more than {threshold} out-arcs, so every arc is at its source's owner"
        return Placement("hvc", "outgoing", parts, owner, reason=reason)
    share = spread / max(edges.arcs, 1)
    reason = f"{ASKED}; {len(hubs)} vertices have more than {threshold} out-arcs, {share:.0%} of all"
    return Placement("hvc", "vertex", parts, owner, HybridHolder(owner, hubs), reason)
