"""METIS on rank 0, for graphs that fit there: few cut arcs on roads and meshes, balanced arcs on any graph.

Karypis, Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM J. Sci. Comput. 1998.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from partitioning.placement import Placement, PolicyError
from partitioning.policies.gather_root import on_rank_zero, shortage
from partitioning.policy_register import policy

BYTES = 150
"""Memory of METIS and its input, per vertex and per adjacency entry: 60 on a road, 135 on an R-MAT graph."""


@policy("metis", "outgoing edge-cut by METIS on rank 0: fewest cut arcs, balanced by out-arcs")
def metis(
    edges,
    parts,
    comm,
    *,
    method: Literal["kway", "recursive"] = "kway",
    weights: Literal["degree", "none"] = "degree",
    objective: Literal["cut", "volume"] = "cut",
    imbalance: float = 0.03,
    seed: int = 1,
) -> Placement:
    """Place vertices by METIS; collective, computed on rank 0.

    ``weights``: balance out-arcs (``degree``) or vertices (``none``). ``objective``: minimise cut arcs or mirrors
    (``volume``).
    """
    if method == "recursive" and objective == "volume":
        raise PolicyError("policy 'metis': recursive bisection minimises cut arcs; objective=volume needs method=kway")
    if not 0.001 <= imbalance <= 10:
        raise PolicyError(
            f"policy 'metis': imbalance={imbalance} is not within 0.001 .. 10; 0.03 lets a part be 1.03 × the mean"
        )
    wrong = obstacle(edges, comm)
    if wrong:
        raise PolicyError(f"policy 'metis': {wrong}; take 'oec', or 'auto', which knows when METIS pays")

    def work(degrees, targets):
        return _partition(
            edges.n, degrees, targets, edges.directed, parts,
            recursive=method == "recursive", weighted=weights == "degree", volume=objective == "volume",
            ufactor=round(1000 * imbalance), seed=seed,
        )  # fmt: skip

    try:
        owner = on_rank_zero(edges, comm, work, np.min_scalar_type(parts - 1))
    except PolicyError as failed:
        raise PolicyError(f"policy 'metis': METIS gave up ({failed}); take 'oec'") from failed
    return Placement("metis", "outgoing", parts, owner)


def obstacle(edges, comm) -> str:
    """Return the reason why METIS cannot place this graph; empty if it can. Collective: rank 0 checks."""
    return comm.bcast_json(_obstacle(edges) if comm.rank == 0 else None)


def _obstacle(edges) -> str:
    try:
        import pymetis
    except ImportError as missing:
        return f"pymetis cannot be imported ({missing}): pip install pymetis"
    entries = edges.arcs * (2 if edges.directed else 1)
    if edges.n >= 1 << 31 or entries > np.iinfo(pymetis.zero_copy_dtype()).max:
        return f"{edges.n} vertices and {entries} adjacency entries exceed its integer type"
    return shortage(edges.n, entries, BYTES, "the whole graph is needed")


def _partition(
    n: int, degrees, targets, directed: bool, parts: int, *,
    recursive: bool, weighted: bool, volume: bool, ufactor: int, seed: int,
) -> np.ndarray:  # fmt: skip
    if n <= parts:  # METIS may leave parts empty and put two vertices into another
        return np.arange(n)
    import pymetis

    starts, neighbours = adjacency(n, degrees, targets, directed)
    whole = pymetis.zero_copy_dtype()
    options = pymetis.Options()
    options.seed, options.ufactor = seed, ufactor
    if volume:
        options.objtype = 1
    _, parts_of_vertices = pymetis.part_graph(
        parts,
        adjacency=pymetis.CSRAdjacency(adj_starts=starts.astype(whole), adjacent=neighbours.astype(whole)),
        vweights=(degrees + 1).astype(whole) if weighted else None,
        recursive=recursive,
        options=options,
    )
    return np.asarray(parts_of_vertices)


def adjacency(n: int, degrees: np.ndarray, targets: np.ndarray, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return METIS's input: undirected, without loops or parallel edges; int64 starts (n + 1,) and neighbours."""
    src, dst = np.repeat(np.arange(n), degrees), targets.astype(np.int64)
    if directed:
        src, dst = np.divmod(np.unique(np.concatenate([src * n + dst, dst * n + src])), n)
    keep = src != dst
    keep[1:] &= (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    src, dst = src[keep], dst[keep]
    return np.concatenate([[0], np.cumsum(np.bincount(src, minlength=n))]), dst
