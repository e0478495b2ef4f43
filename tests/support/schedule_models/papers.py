"""Models of the papers' mappings, see ``__init__.py``."""

from __future__ import annotations

import numpy as np

PIECE, ITEMS = 256, 8


def _rank(blocks: int, threads: int) -> np.ndarray:
    """Return the block-order position of each thread number; consecutive warps are in different blocks."""
    i = np.arange(blocks * threads)
    warp, lane = i // 32, i % 32
    return (warp % blocks) * threads + (warp // blocks) * 32 + lane


def vertex(degrees, blocks, threads):
    """Assign vertex i to thread i, cyclically."""
    edges_of_threads, rank = np.zeros(blocks * threads, np.int64), _rank(blocks, threads)
    np.add.at(edges_of_threads, rank[np.arange(len(degrees)) % rank.size], degrees)
    return edges_of_threads


def lb(degrees, blocks, threads, blocked=False):
    """Assign edge i to thread i, cyclically; ``blocked``: one run of edges per thread."""
    total, rank = int(degrees.sum()), _rank(blocks, threads)
    run = -(-total // rank.size) if blocked else 1
    edges_of_threads = np.zeros(rank.size, np.int64)
    np.add.at(edges_of_threads, rank[(np.arange(total) // max(run, 1)) % rank.size], 1)
    return edges_of_threads


def twc(degrees, blocks, threads, scanned=False, cta=None, warp=32):
    """Assign tiles of one vertex per thread; the block strides over a large vertex, the warp over a medium one.

    The thread walks a small vertex; ``scanned``: the block strides over those of the tile, one after another.
    """
    edges_of_threads = np.zeros(blocks * threads, np.int64)
    small = np.where(degrees < min(warp, cta or threads), degrees, 0) * scanned
    for tile in range(-(-len(degrees) // threads)):
        first = tile % blocks * threads
        edges_of_threads[first : first + threads] += _strided(
            int(small[tile * threads : (tile + 1) * threads].sum()), threads
        )
    for i, degree in enumerate((degrees - small).tolist()):
        tile, thread = divmod(i, threads)
        first = tile % blocks * threads
        if degree >= (cta or threads):
            edges_of_threads[first : first + threads] += _strided(degree, threads)
        elif degree >= warp:
            lanes = first + thread // 32 * 32
            edges_of_threads[lanes : lanes + 32] += _strided(degree, 32)
        else:
            edges_of_threads[first + thread] += degree
    return edges_of_threads


def alb(degrees, blocks, threads, threshold, blocked=False, **small):
    """Use twc below the threshold and lb for the other vertices, whose order is unspecified."""
    huge = degrees >= threshold
    return twc(np.where(huge, 0, degrees), blocks, threads, **small) + lb(degrees[huge], blocks, threads, blocked)


def merge_path(degrees, blocks, threads):
    """Deal out the merged list of edges and vertex ends, ``ITEMS`` entries per thread, cyclically."""
    rank = _rank(blocks, threads)
    edges_of_threads = np.zeros(rank.size, np.int64)
    np.add.at(edges_of_threads, rank[(_edges_in_merged_list(degrees) // ITEMS) % rank.size], 1)
    return edges_of_threads


def warp_shares(degrees, blocks, threads):
    """Deal out ``PIECE`` edges per warp, cyclically; its lanes restart side by side at each window of 31 vertices."""
    total, rank = int(degrees.sum()), _rank(blocks, threads)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    edges_of_threads = np.zeros(rank.size, np.int64)
    for piece, edge in enumerate(range(0, total, PIECE)):
        warp, end = piece % (rank.size // 32), min(edge + PIECE, total)
        window = int(np.searchsorted(starts[:-1], edge, side="right")) - 1
        while edge < end:
            last = starts[window + 31] if window + 31 < len(degrees) else total
            stop = min(end, int(last))
            lanes = np.arange(stop - edge) % 32
            np.add.at(edges_of_threads, rank[32 * warp + lanes], 1)
            edge, window = stop, window + 31
    return edges_of_threads


def edge(degrees, blocks, threads):
    """Assign entry i of the edge list to thread i of the grid; the order of the list does not change the counts."""
    return _counted(np.arange(int(degrees.sum())) % (blocks * threads), blocks * threads)


def workload(degrees, blocks, threads):
    """Assign one run of edges to each thread, all of one length."""
    total, all_threads = int(degrees.sum()), blocks * threads
    return _counted(np.arange(total) // max(-(-total // all_threads), 1), all_threads)


def split(degrees, blocks, threads, mdt, joined=None):
    """Split each vertex into children with equal shares of its edges; child i goes to thread i, in list order.

    ``joined``: shares of all but first children, in the order in which they stand in the list, behind all first ones.
    """
    edges, rank = np.zeros(blocks * threads, np.int64), _rank(blocks, threads)
    shares = [shares_of(degree, mdt) for degree in degrees.tolist()]
    listed = (
        [s for family in shares if sum(family) for s in family]
        if joined is None
        else [first for first, *_ in shares] + list(joined)
    )
    np.add.at(edges, rank[np.arange(len(listed)) % rank.size], listed)
    return edges


def shares_of(degree, mdt):
    """Return the edges of each vertex that a vertex of ``degree`` edges is split into."""
    family = max(-(-degree // mdt), 1)
    return [degree * (k + 1) // family - degree * k // family for k in range(family)]


def hierarchical(degrees, blocks, threads, mdt, few=4):
    """Sweep ``mdt`` edges per vertex, a thread per vertex; once few vertices remain, share their edges in equal runs.

    The vertices of a sweep after the first must have equally many edges left, because their order is unspecified.
    """
    edges_of_threads, left = np.zeros(blocks * threads, np.int64), degrees.copy()
    while left.size >= few * threads:
        edges_of_threads += vertex(np.minimum(left, mdt), blocks, threads)
        left = left[left > mdt] - mdt
        assert left.size < few * threads or (left == left[0]).all()
    return edges_of_threads + workload(left, blocks, threads)


def virtual_warp(degrees, blocks, threads, size=8):
    """Assign vertex i to group i, cyclically; the group's ``size`` lanes stride over its edges."""
    edges_of_threads, rank = np.zeros(blocks * threads, np.int64), _rank(blocks, threads)
    for i, degree in enumerate(degrees.tolist()):
        first = i % (rank.size // size) * size
        edges_of_threads[rank[first : first + size]] += _strided(degree, size)
    return edges_of_threads


def dynamic_warp(degrees, blocks, threads, smallest=4):
    """Use virtual_warp with the power of two from ``smallest`` to 32 that is nearest to threads / vertices."""
    share = blocks * threads / max(len(degrees), 1)
    sizes = [size for size in (1, 2, 4, 8, 16, 32) if size >= smallest]
    return virtual_warp(degrees, blocks, threads, min(sizes, key=lambda size: (abs(size - share), -size)))


def dynamic_parallelism(degrees, blocks, threads, threshold, smallest=4):
    """Spread each vertex above the threshold over all threads, starting at the first; dynamic_warp takes the others."""
    small = np.where(degrees > threshold, 0, degrees)
    edges_of_threads, rank = dynamic_warp(small, blocks, threads, smallest), _rank(blocks, threads)
    for degree in degrees[degrees > threshold].tolist():
        edges_of_threads[rank] += _strided(degree, rank.size)
    return edges_of_threads


def warp_search(degrees, blocks, threads):
    """Deal out 32 vertices per warp, cyclically; its lanes walk their edges side by side."""
    edges_of_threads, rank = np.zeros(blocks * threads, np.int64), _rank(blocks, threads)
    for tile, first in enumerate(range(0, len(degrees), 32)):
        warp = tile % (rank.size // 32) * 32
        edges_of_threads[rank[warp : warp + 32]] += _strided(int(degrees[first : first + 32].sum()), 32)
    return edges_of_threads


def direct_search(degrees, blocks, threads):
    """Assign an edge to each thread; a block gets a run of whole loads, one edge per thread each."""
    total = int(degrees.sum())
    loads = -(-total // threads)
    run = -(-loads // blocks) * threads
    edge = np.arange(total)
    return _counted(edge // max(run, 1) * threads + edge % threads, blocks * threads)


def block_search(degrees, blocks, threads, loaded=4):
    """Deal out ``loaded`` · ``threads`` vertices per block, cyclically; each thread gets a run of their edges."""
    edges_of_threads = np.zeros((blocks, threads), np.int64)
    for k, first in enumerate(range(0, len(degrees), loaded * threads)):
        total = int(degrees[first : first + loaded * threads].sum())
        edges_of_threads[k % blocks] += _counted(np.arange(total) // max(-(-total // threads), 1), threads)
    return edges_of_threads.ravel()


def two_phase(degrees, blocks, threads, row=8):
    """Deal out ``row`` · ``threads`` edges per block, cyclically; each thread gets a run of ``row``."""
    edge = np.arange(int(degrees.sum()))
    piece, within = edge // (row * threads), edge % (row * threads)
    return _counted(piece % blocks * threads + within // row, blocks * threads)


def multi_phase(degrees, blocks, threads, row=8, searches=2):
    """Deal out the pieces of two_phase, in ``searches`` parts; a warp's lanes walk its edges of a part side by side."""
    edge, short = np.arange(int(degrees.sum())), -(-row // searches)
    piece, within = edge // (row * threads), edge % (row * threads) % (short * threads)
    return _counted(piece % blocks * threads + within // (32 * short) * 32 + within % 32, blocks * threads)


def expand_gather(degrees, blocks, threads, tile=8):
    """Deal out tiles of ``tile`` · ``threads`` edges per block, cyclically; its threads walk them side by side."""
    edge = np.arange(int(degrees.sum()))
    return _counted(edge // (tile * threads) % blocks * threads + edge % threads, blocks * threads)


def expand_balanced(degrees, blocks, threads, tile=8):
    """Deal out tiles of ``tile`` · ``threads`` entries of the merged list of edges and vertex ends, cyclically.

    A block's threads walk the edges of its tile side by side.
    """
    place = _edges_in_merged_list(degrees)
    number = place // (tile * threads)
    within = np.arange(place.size) - np.searchsorted(number, number)
    return _counted(number % blocks * threads + within % threads, blocks * threads)


def expand_hybrid(degrees, blocks, threads, factor=10, tile=8):
    """Use expand_balanced above ``factor`` edges per vertex, else expand_gather."""
    balanced = degrees.sum() > factor * len(degrees)
    return (expand_balanced if balanced else expand_gather)(degrees, blocks, threads, tile)


def steal(degrees, blocks, threads, takers=None, task=None):
    """Take tasks of ``task`` vertices, ``threads`` of them at a time, one per thread.

    ``takers``: block of each task, by default its owner; ``task``: by default ``threads``.
    """
    task = task or threads
    tasks = -(-len(degrees) // task)
    if takers is None:
        takers = np.searchsorted(tasks * np.arange(1, blocks + 1) // blocks, np.arange(tasks), side="right")
    i, edges = np.arange(len(degrees)), np.zeros(blocks * threads, np.int64)
    np.add.at(edges, takers[i // task] * threads + i % task % threads, degrees)
    return edges


def _strided(count: int, width: int) -> np.ndarray:
    return count // width + (np.arange(width) < count % width)


def _counted(owner: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(owner, minlength=size).astype(np.int64)


def _edges_in_merged_list(degrees: np.ndarray) -> np.ndarray:
    """Return the positions of edges in the list that has each vertex's edges, followed by an entry for its end."""
    ends = np.repeat(np.arange(len(degrees)), degrees)
    return np.arange(ends.size) + ends


MODELS = {
    model.__name__: model
    for model in (
        vertex, edge, workload, split, hierarchical, virtual_warp, dynamic_warp, dynamic_parallelism, warp_search,
        twc, direct_search, warp_shares, block_search, two_phase, multi_phase, merge_path, expand_gather,
        expand_balanced, expand_hybrid, lb, alb, steal,
    )
}  # fmt: skip
