"""Steps of :class:`~dgraph.graph.build.bucketed_arcs.BucketedArcs` by NumPy, which compile nothing.

A function does what the kernel of its name in ``bucketed_arcs.py`` does, with arguments of the same names.
"""

from collections.abc import Iterator

import numpy as np

PIECE = 1 << 16
"""Edges that NumPy takes at a time, so that its arrays fit the caches."""


def pieces(arcs: tuple) -> Iterator[tuple]:
    """Yield the columns of arcs, some arcs at a time; a column may be None."""
    for begin in range(0, arcs[0].size, PIECE):
        yield tuple(None if values is None else values[begin : begin + PIECE] for values in arcs)


def count(src, dst, base, first, loops, doubled, shift, counts):
    """Add the arcs of each bucket to ``counts``; return the number of self-loops among them."""
    u, v = src.astype(np.int64) - base, dst.astype(np.int64) - base
    differ = u != v
    counts += np.bincount(((u if loops else u[differ]) - first) >> shift, minlength=counts.size)
    if doubled:
        counts += np.bincount((v[differ] - first) >> shift, minlength=counts.size)
    return src.size - int(np.count_nonzero(differ))


def append(src, dst, weights, base, first, loops, doubled, shift, cursors, places, targets, carried):
    """Append arcs to their buckets, and move the buckets' ``cursors``."""
    u, v = src.astype(np.int64) - base, dst.astype(np.int64) - base
    differ = u != v
    listed = np.ones(u.size, bool) if loops else differ
    if doubled:  # the reverse of an edge comes after it
        u, v, listed = (np.stack(pair, 1).ravel() for pair in ((u, v), (v, u), (listed, differ)))
    positions = np.flatnonzero(listed)
    rows = u[positions] - first
    buckets = (rows >> shift).astype(np.min_scalar_type(cursors.size))  # NumPy sorts 16 bits by counting
    order, counts = np.argsort(buckets, kind="stable"), np.bincount(buckets, minlength=cursors.size)
    to = np.repeat(cursors - np.cumsum(counts) + counts, counts) + np.arange(rows.size)
    places[to] = rows[order] & ((1 << shift) - 1)
    targets[to] = v[positions[order]]
    if weights is not None:
        carried[to] = weights[positions[order] >> int(doubled)]
    cursors += counts


def build(places, targets, weights, starts, shift, first, merging, lengths):
    """Sort the arcs of each bucket into rows; return the numbers of merged arcs and of self-loops among them."""
    merged = []
    for row, begin, end in zip(range(0, lengths.size + 1, 1 << shift), starts, starts[1:], strict=False):
        columns = places[begin:end], targets[begin:end], None if weights is None else weights[begin:end]
        merged.append(_build_one(*columns, first + row, merging, lengths[row : row + (1 << shift)]))
    return tuple(np.sum(merged, axis=0).tolist())


def _build_one(places, targets, weights, first, merging, lengths):
    """Sort the arcs of one bucket; arguments and results are those of :func:`build`."""
    if weights is None and targets.itemsize == 4:
        keys = np.sort((places.astype(np.uint64) << np.uint64(32)) | targets)
        rows, ends = (keys >> np.uint64(32)).astype(np.int64), keys.astype(targets.dtype)
    else:  # both sorts are stable: of equal weights the first stays, whatever the sign of a zero
        order = np.lexsort((targets, places) if weights is None or not merging else (weights, targets, places))
        rows, ends = places[order].astype(np.int64), targets[order]
    kept = np.ones(ends.size, bool)
    if merging:
        kept[1:] = (ends[1:] != ends[:-1]) | (rows[1:] != rows[:-1])
    loops = int(np.count_nonzero(ends[~kept] == rows[~kept] + first))
    lengths[:] = np.bincount(rows[kept], minlength=lengths.size)
    size = int(np.count_nonzero(kept))
    targets[:size] = ends[kept]
    if weights is not None:
        weights[:size] = weights[order][kept]
    return ends.size - size, loops
