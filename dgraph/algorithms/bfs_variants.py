"""Ways to search breadth-first, each of a paper: which frontier, which schedule, what is culled, which direction."""

from __future__ import annotations

from dataclasses import replace

from dgraph.errors import UsageError, unknown
from dgraph.program.traversal import EVERY, Traversal

BOTH = ("warp", "hash")
FEATURES = ("dynamic-warps", "dynamic-parallelism", "edge-discover", "single-block", "hash64")
"""Of BFS-4K, each a switch."""

VARIANTS = {
    "direction-optimizing": Traversal("direction-optimizing", anywhere=True),
    "topology": Traversal("topology", "push", "vertex", sweeps=True),
    "edge-topology": Traversal("edge-topology", "push", "edge", sweeps=True),
    "matrix": Traversal("matrix", "pull", "virtual_warp", {"warp_size": 32}, anywhere=True),
    "queue": Traversal("queue", "push", "vertex", anywhere=True),
    "expand-contract": Traversal("expand-contract", "push", "twc", culling=BOTH),
    "contract-expand": Traversal("contract-expand", "push", "edge", pours=EVERY, culling=BOTH),
    "two-phase": Traversal("two-phase", "push", "edge", culling=BOTH),
    "hybrid": Traversal("hybrid", "push", "edge", pours=1 << 20, culling=BOTH),
    "bfs-4k": Traversal("bfs-4k", "push", "bfs-4k", features=FEATURES),
    "expand-gather": Traversal("expand-gather", "push", "expand_gather"),
    "expand-balanced": Traversal("expand-balanced", "push", "expand_balanced"),
    "expand-hybrid": Traversal("expand-hybrid", "push", "expand_hybrid"),
}
"""Name → way.

topology: Harish & Narayanan 2007. edge-topology: a thread an edge of the whole graph. matrix: every row times the
frontier as a vector of bits, a warp a row. queue: Luo et al. 2010. expand-contract, contract-expand, two-phase, hybrid:
Merrill et al. 2012. bfs-4k: Busato & Bombieri 2015. expand-…: 004. direction-optimizing: Beamer et al. 2012.
"""


def traversal(variant: str, without: str | None) -> Traversal:
    """The way of a variant, ``without`` some features of BFS-4K, separated by commas.

    Raises:
        UsageError: a variant or feature that is not known, features of another variant.
    """
    if variant not in VARIANTS:
        raise unknown("variant of bfs", variant, VARIANTS)
    found = VARIANTS[variant]
    if without:
        if variant != "bfs-4k":
            raise UsageError(f"--without switches features of bfs-4k off, and the variant is {variant}; leave it out")
        names = without.split(",")
        for name in names:
            if name not in FEATURES:
                raise unknown("feature of bfs-4k", name, FEATURES)
        found = replace(found, features=tuple(name for name in FEATURES if name not in names))
    culling = ("hash",) if "hash64" in found.features else found.culling
    return replace(found, name=f"bfs --variant {variant}", culling=culling)
