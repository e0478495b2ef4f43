"""GPU memory that building a graph takes, estimated from sizes before anything is allocated."""

from __future__ import annotations

from dgraph.backend.cuda.device_graph.graph_size import WIDE
from dgraph.backend.cuda.memory.memory_plan import beside
from dgraph.errors import OutOfMemory

SORTED = 1 << 26
"""Most entries sorted at a time; bounds the scratch memory of sorting."""

LEAST = 1 << 20
"""Entries sorted at a time in a small graph."""

SORTING = 24
"""Bytes an entry while sorted: its key twice, and the mask and prefix sums of kept entries."""

APART = 48
"""Bytes an entry while its weight is sorted apart from its key: two orders, and key and weight moved by them."""

ORDERING = 48
"""Bytes a vertex while degrees are sorted."""

KEYED = 16
"""Bytes a vertex while one rank sorts degrees: keys, each with its vertex, and as many bytes of scratch."""

NUMBERED = 20, 4
"""Bytes a vertex while several ranks renumber: arcs, degree and order; and moved data of the sorted group."""

WORKING = 80
"""Bytes a vertex beside the rows for the program that takes most: sssp, with 64-bit offsets."""


def renumbering(
    n: int, vertices: int, arcs: int, parts: int, *, ids: int, weight: int, longest: int = 0, group: int = 0
) -> int:
    """Return the bytes needed to renumber by degree and still run a program; arguments as for :func:`building`."""
    rows = 8 * (vertices + 1) + (4 + weight) * arcs + (8 + ids + 4 + WORKING) * vertices
    built = building(n, vertices, arcs, parts, ids=ids, weight=weight, longest=longest, renumbered=True, group=group)
    return max(rows, built)


def piece(arcs: int) -> int:
    """Return the entries sorted at a time: few enough that the scratch is small beside the rows."""
    return min(SORTED, max(LEAST, arcs // 32))


def sets(n: int, vertices: int, parts: int) -> int:
    """Return the bytes of the vertex sets: three bitmaps, their counts, and the groups' numbers."""
    words = (n + 31) // 32
    return 0 if parts == 1 else 16 * words + 4 * (words // 32 + 1) * (3 * parts + 1) + 4 * vertices


def building(
    n: int, vertices: int, arcs: int, parts: int, *, ids: int, weight: int, longest: int = 0, renumbered: bool = False,
    group: int = 0, listed: bool = False,
) -> int:  # fmt: skip
    """Return the peak number of bytes while a graph is built.

    Args:
        n: vertices of the whole graph.
        vertices: masters and mirrors of this rank.
        arcs: arcs drawn on this rank, parallel ones included.
        parts: ranks.
        ids: bytes of a gid.
        weight: bytes of a weight.
        longest: arcs of the longest row; a row longer than a piece is sorted by itself.
        renumbered: vertices are numbered by degree.
        group: on several ranks, most vertices that are sorted together.
        listed: weights are listed, and sorted with the rows.
    """
    order = 8 * vertices if renumbered else 0
    rows, whole = 8 * (vertices + 2) + 4 * arcs, piece(arcs)
    sorting, row = (SORTING + APART, APART) if listed and weight else (SORTING, 4)
    scratch = max(sorting * min(arcs, whole + min(longest, whole)), row * longest if longest > whole else 0)
    scratch += weight * arcs if listed else 0
    numbering = sets(n, vertices, parts) + order + ids * vertices
    ordering = KEYED * n if renumbered else 0
    if renumbered and parts > 1:
        here, moved = NUMBERED
        ordering = sets(n, vertices, parts) + (ids + here) * vertices + max(ORDERING * group, moved * vertices)
    # After sorting: weights, degrees, which ranks add up in 64 bits, offsets once more where 32 bits hold them.
    last = 8 if parts == 1 or arcs < WIDE else 12
    return max(ordering, numbering + rows + max(scratch, weight * arcs + last * vertices + n // 8))


def listing(n: int, edges: int, arcs: int, weight: int, both: bool) -> int:
    """Return the peak number of bytes while a list of edges becomes rows in its own memory, before they are sorted.

    Args:
        n: vertices.
        edges: listed.
        arcs: of the rows, parallel ones included.
        weight: bytes of a listed weight, or 0.
        both: the rows hold both directions, so a column of theirs is allocated beside the list's.
    """
    columns, vertices = (8 + weight) * edges, 16 * (n + 2)
    if not both:
        return columns + vertices
    vertices += 8 * (n + 2)
    targets, weights = (4 + weight) * edges + 4 * arcs, weight * edges + (4 + weight) * arcs
    return vertices + max(columns, targets, weights + 4 * n)


def demand(need: int, device, what: str) -> None:
    """Refuse to allocate what does not fit.

    Raises:
        OutOfMemory: with the bytes needed and free.
    """
    free = device.free(need)
    if need > free:
        raise OutOfMemory(
            f"building {what} needs {need:,} bytes of GPU memory, and {free:,} are free on {device.name}"
            f"{beside(device)}; use more GPUs (python -m dgraph estimate shows how many)"
        )
