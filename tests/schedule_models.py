"""Which thread visits how many edges, by the papers' mappings in plain NumPy; no text of a schedule is used.

A model gets the degrees of the frontier's vertices in the order of its list, and the grid: ``blocks`` blocks of
``threads`` threads. It returns edges by thread, block after block: int64 (blocks · threads,).
"""

from __future__ import annotations

import numpy as np

PIECE, ITEMS = 256, 8


def _rank(blocks: int, threads: int) -> np.ndarray:
    """Where thread number i of the grid stands in block order: neighbouring warps lie on different blocks."""
    i = np.arange(blocks * threads)
    warp, lane = i // 32, i % 32
    return (warp % blocks) * threads + (warp // blocks) * 32 + lane


def vertex(degrees, blocks, threads):
    """Vertex i is thread i's, cyclically."""
    out, rank = np.zeros(blocks * threads, np.int64), _rank(blocks, threads)
    np.add.at(out, rank[np.arange(len(degrees)) % rank.size], degrees)
    return out


def lb(degrees, blocks, threads, blocked=False):
    """Edge i is thread i's, cyclically; or each thread has a run of edges."""
    total, rank = int(degrees.sum()), _rank(blocks, threads)
    run = -(-total // rank.size) if blocked else 1
    out = np.zeros(rank.size, np.int64)
    np.add.at(out, rank[(np.arange(total) // max(run, 1)) % rank.size], 1)
    return out


def twc(degrees, blocks, threads):
    """Tiles of one vertex a thread: the block strides over a large vertex, the warp over a medium one."""
    out = np.zeros(blocks * threads, np.int64)
    for i, degree in enumerate(degrees.tolist()):
        tile, thread = divmod(i, threads)
        first = tile % blocks * threads
        if degree >= threads:
            out[first : first + threads] += _strided(degree, threads)
        elif degree >= 32:
            warp = first + thread // 32 * 32
            out[warp : warp + 32] += _strided(degree, 32)
        else:
            out[first + thread] += degree
    return out


def alb(degrees, blocks, threads, threshold, blocked=False):
    """twc below the threshold; lb over the rest, whose order in its list no one promises."""
    huge = degrees > threshold
    return twc(np.where(huge, 0, degrees), blocks, threads) + lb(degrees[huge], blocks, threads, blocked)


def merge_path(degrees, blocks, threads):
    """The merged list of ends of vertices and of edges, ``ITEMS`` entries a thread in turn."""
    rank = _rank(blocks, threads)
    out = np.zeros(rank.size, np.int64)
    is_edge = np.concatenate([np.append(np.ones(d, bool), False) for d in degrees.tolist()] or [np.zeros(0, bool)])
    np.add.at(out, rank[(np.flatnonzero(is_edge) // ITEMS) % rank.size], 1)
    return out


def warp_search(degrees, blocks, threads):
    """``PIECE`` edges a warp in turn; lanes side by side from where a window of 31 vertices begins."""
    total, rank = int(degrees.sum()), _rank(blocks, threads)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    out = np.zeros(rank.size, np.int64)
    for piece, at in enumerate(range(0, total, PIECE)):
        warp, end = piece % (rank.size // 32), min(at + PIECE, total)
        window = int(np.searchsorted(starts[:-1], at, side="right")) - 1
        while at < end:
            last = starts[window + 31] if window + 31 < len(degrees) else total
            stop = min(end, int(last))
            lanes = np.arange(stop - at) % 32
            np.add.at(out, rank[32 * warp + lanes], 1)
            at, window = stop, window + 31
    return out


def _strided(count: int, width: int) -> np.ndarray:
    return count // width + (np.arange(width) < count % width)


MODELS = {
    "vertex": vertex, "twc": twc, "lb": lb, "alb": alb, "merge_path": merge_path, "warp_search": warp_search,
}  # fmt: skip
