"""Variants of breadth-first search from the literature: frontier, GPU schedule, culling and direction of each."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from dgraph.errors import UsageError, option, unknown
from dgraph.program.traversal import EVERY, Traversal

BOTH = ("warp", "hash")
"""Both culling filters of Merrill et al."""

FEATURES = ("dynamic-warps", "dynamic-parallelism", "edge-discover", "single-block", "hash64")
"""Features of BFS-4K that can be switched off."""

VARIANTS = {
    "direction-optimizing": Traversal("direction-optimizing", on_cpu=True),
    "topology": Traversal("topology", "push", "vertex", sweeps=True),
    "edge-topology": Traversal("edge-topology", "push", "edge", sweeps=True),
    "matrix": Traversal("matrix", "pull", "virtual_warp", {"warp_size": 32}, on_cpu=True),
    "queue": Traversal("queue", "push", "vertex", on_cpu=True),
    "expand-contract": Traversal("expand-contract", "push", "twc", {"twc_small": "scan"}, culling=BOTH),
    "contract-expand": Traversal("contract-expand", "push", "edge", emit_limit=EVERY, culling=BOTH),
    "two-phase": Traversal("two-phase", "push", "edge", culling=BOTH),
    "hybrid": Traversal("hybrid", "push", "edge", emit_limit=1 << 20, culling=BOTH),
    "bfs-4k": Traversal("bfs-4k", "push", "bfs-4k", {"search_memory": "registers"}, features=FEATURES),
    "expand-gather": Traversal("expand-gather", "push", "expand_gather"),
    "expand-balanced": Traversal("expand-balanced", "push", "expand_balanced"),
    "expand-hybrid": Traversal("expand-hybrid", "push", "expand_hybrid"),
}
"""Variant → traversal strategy.

- direction-optimizing: Beamer et al., SC 2012
- topology: Harish & Narayanan, HiPC 2007
- edge-topology: one thread per edge of the whole graph
- matrix: sparse matrix times the frontier as a bit vector, one warp per row
- queue: Luo et al., DAC 2010
- expand-contract, contract-expand, two-phase, hybrid: Merrill et al., PPoPP 2012
- bfs-4k: Busato & Bombieri, TPDS 2015
- expand-gather, expand-balanced, expand-hybrid: paper 004 of ``docs/internals/gpu-backend.md``
"""


@cache
def traversal(variant: str, without: str | None) -> Traversal:
    """Return the traversal strategy of a variant.

    Args:
        variant: key of :data:`VARIANTS`.
        without: features of BFS-4K to switch off, separated by commas; None: all stay on.

    Raises:
        UsageError: an unknown variant or feature, or features for a variant other than bfs-4k.
    """
    if variant not in VARIANTS:
        raise unknown("variant of bfs", variant, VARIANTS)
    variant_traversal = VARIANTS[variant]
    if without:
        if variant != "bfs-4k":
            without = option("without")
            raise UsageError(f"{without} switches off features of bfs-4k, but the variant is {variant}; leave it out")
        names = without.split(",")
        for name in names:
            if name not in FEATURES:
                raise unknown("feature of bfs-4k", name, FEATURES)
        variant_traversal = replace(variant_traversal, features=tuple(name for name in FEATURES if name not in names))
    culling = ("hash",) if "hash64" in variant_traversal.features else variant_traversal.culling
    return replace(variant_traversal, name=f"variant {variant} of bfs", culling=culling)
