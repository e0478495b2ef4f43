"""Rows by buckets equal a sort of all arcs, for any number of threads and buckets."""

import numpy as np
import pytest

from dgraph.graph.build import array_buckets, bucketed_arcs
from dgraph.graph.build.bucketed_arcs import BucketedArcs


def sorted_rows(src, dst, weights, first, rows, loops, doubled, merging):
    """Return what :meth:`BucketedArcs.rows_of` does, by a sort of all arcs."""
    position = np.arange(src.size)
    if not loops:
        src, dst, position = src[src != dst], dst[src != dst], position[src != dst]
    if doubled:
        other = src != dst
        src, dst = np.concatenate([src, dst[other]]), np.concatenate([dst, src[other]])
        position = np.concatenate([position, position[other]])
    order = np.lexsort((position, dst, src)) if not merging else np.lexsort((weights[position], dst, src))
    src, dst, weights = src[order], dst[order], weights[position[order]]
    kept = np.ones(src.size, bool)
    if merging:
        kept[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    counts = np.bincount(src[kept] - first, minlength=rows)
    dropped = ~kept
    return (
        np.concatenate([[0], np.cumsum(counts)]), dst[kept], weights[kept],
        int(dropped.sum()), int((dropped & (src == dst)).sum()),
    )  # fmt: skip


def built(src, dst, weights, first, rows, base, loops, doubled, merging, threads, dtype):
    buckets = BucketedArcs(first, rows, src.size * (1 + doubled), threads)
    parts = np.array_split(np.arange(src.size), threads)
    shares = [(src[part], dst[part], None if weights is None else weights[part]) for part in parts]
    form = base, loops, doubled
    same = sum(buckets.count(arcs, *form, thread) for thread, arcs in enumerate(shares))
    assert same == np.count_nonzero(src == dst)
    buckets.end_counts(np.dtype(dtype), None if weights is None else weights.dtype)
    for thread, arcs in reversed(list(enumerate(shares))):
        buckets.append(arcs, *form, thread)
    return buckets.rows_of(merging, threads)


CASES = [  # rows, arcs, first, base, loops, doubled, merging
    (1, 90_000, 0, 0, True, False, True),
    (7, 90_000, 5, 1, False, False, False),
    (1 << 10, 80_000, 0, 3, False, True, True),
    (100_000, 70_000, 1 << 31, 0, True, False, True),
    ((1 << 17) + 1, 200_000, 0, 0, True, True, False),
    (40, 300, 2, 0, False, False, True),
    (3_000, 0, 0, 0, True, True, True),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("dtype", "weight_type"), [(np.uint32, np.int32), (np.int64, np.float64), (np.uint32, None)])
def test_buckets_give_the_rows_that_sorting_gives(compiled, threads, case, dtype, weight_type, monkeypatch):
    """One bucket, one row a bucket, empty buckets, a row of most arcs; compiled code and its NumPy version."""
    rows, arcs, first, base, loops, doubled, merging = case
    monkeypatch.setattr(bucketed_arcs, "FEW", 0 if compiled else 1 << 20)
    monkeypatch.setattr(bucketed_arcs, "FEW_AT_FIRST", 0)
    monkeypatch.setattr(array_buckets, "PIECE", 999)
    monkeypatch.setattr(bucketed_arcs, "ARCS", 100)
    rng = np.random.default_rng(arcs)
    src = first + (rows * rng.random(arcs) ** 3).astype(np.int64)
    dst = first + rng.integers(0, rows, arcs)
    weights = rng.integers(0, 4, arcs).astype(weight_type or np.int32)
    listed = None if weight_type is None else weights
    answer = built(
        (src + base).astype(dtype), (dst + base).astype(dtype), listed, first, rows, base, loops, doubled, merging,
        threads, dtype,
    )  # fmt: skip
    expected = sorted_rows(src, dst, weights, first, rows, loops, doubled, merging)
    assert np.array_equal(answer[0], expected[0])
    assert np.array_equal(answer[1], expected[1])
    assert answer[1].dtype == dtype
    if listed is None:
        assert answer[2] is None
    elif merging:
        assert np.array_equal(answer[2], expected[2])
    else:  # the order of equal arcs is that of the input, an edge and its reverse after each other
        row = np.repeat(np.arange(rows), np.diff(answer[0]))
        order = np.lexsort((answer[2], answer[1], row))
        other = np.lexsort((expected[2], expected[1], row))
        assert np.array_equal(answer[2][order], expected[2][other])
    assert answer[3:] == (expected[3:] if merging else (0, 0))
