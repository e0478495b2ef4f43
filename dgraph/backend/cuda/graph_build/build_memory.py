"""What building takes of a GPU's memory: reckoned from sizes, before it is allocated."""

from __future__ import annotations

from dgraph.backend.cuda.device_graph.graph_size import WIDE
from dgraph.backend.cuda.memory.memory_plan import beside
from dgraph.errors import UsageError

SORTED = 1 << 26
"""Entries that are sorted at a time, at most: bounds the scratch of sorting."""

LEAST = 1 << 20
"""Of a small graph at least so many."""

SORTING = 24
"""Bytes an entry of a piece: its key twice while it is sorted, who stays and how many before it."""

ORDERING = 48
"""Bytes a vertex while degrees are put in order."""

NUMBERED = 20, 4
"""Bytes a vertex of several ranks meanwhile: arcs from it, its degree, the order; and of what is put in order then."""

WORKING = 80
"""Bytes a vertex that the programs which take most will want beside the rows: sssp, where offsets are 64-bit."""


def renumbering(
    n: int, vertices: int, arcs: int, parts: int, *, ids: int, weight: int, longest: int = 0, group: int = 0
) -> int:
    """Bytes with which vertices may be numbered by degree, and a program still run beside them; as :func:`building`."""
    rows = 8 * (vertices + 1) + (4 + weight) * arcs + (8 + ids + 4 + WORKING) * vertices
    built = building(n, vertices, arcs, parts, ids=ids, weight=weight, longest=longest, renumbered=True, group=group)
    return max(rows, built)


def piece(arcs: int) -> int:
    """Entries that are sorted at a time: few enough that the scratch is small beside the rows."""
    return min(SORTED, max(LEAST, arcs // 32))


def sets(n: int, vertices: int, parts: int) -> int:
    """Bytes of who is here: three sets and counts; what numbers the vertices' groups."""
    words = (n + 31) // 32
    return 0 if parts == 1 else 16 * words + 4 * (words // 32 + 1) * (3 * parts + 1) + 4 * vertices


def building(
    n: int, vertices: int, arcs: int, parts: int, *, ids: int, weight: int, longest: int = 0, renumbered: bool = False,
    group: int = 0,
) -> int:  # fmt: skip
    """The most bytes at once.

    Args:
        vertices: masters and mirrors of this rank.
        arcs: that are held here, parallel ones as often as they are drawn.
        ids, weight: bytes of a gid and of a weight.
        longest: arcs of the longest row: one that is longer than a piece is sorted by itself.
        renumbered: vertices are numbered by degree, on several ranks ``group`` of them at a time, at most.
    """
    order = 8 * vertices if renumbered else 0
    rows, whole = 8 * (vertices + 2) + 4 * arcs, piece(arcs)
    scratch = max(SORTING * min(arcs, whole + min(longest, whole)), 4 * longest if longest > whole else 0)
    held = sets(n, vertices, parts) + order + ids * vertices
    ordering = ORDERING * n if renumbered else 0
    if renumbered and parts > 1:
        here, moved = NUMBERED
        ordering = sets(n, vertices, parts) + (ids + here) * vertices + max(ORDERING * group, moved * vertices)
    # After sorting: weights, degrees, which ranks add up in 64 bits, offsets once more where 32 bits hold them.
    last = 8 if parts == 1 or arcs < WIDE else 12
    return max(ordering, held + rows + max(scratch, weight * arcs + last * vertices + n // 8))


def demand(need: int, device, what: str) -> None:
    """Refuse what will not fit.

    Raises:
        UsageError: with both figures.
    """
    free = device.free(need)
    if need > free:
        raise UsageError(
            f"building {what} needs {need:,} bytes of GPU memory, and {free:,} are free on {device.name}"
            f"{beside(device)}; use more GPUs (python -m dgraph estimate tells how many)"
        )
