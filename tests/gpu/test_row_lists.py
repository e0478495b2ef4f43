"""Kernels of lists of rows and of in-edges, on an emulated GPU, against NumPy; mutants of them are found."""

import numpy as np
import pytest
from emulated import Device, needs_compiler

from dgraph.backend.cuda.codegen.control_block import NO_HEAD
from dgraph.backend.cuda.device_graph import row_marks, turned_rows

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

OFFSETS = [np.uint32, np.int64]


def rows_of(dtype, lengths, seed=0):
    """Return offsets of this dtype and random neighbours for rows of these lengths."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)
    return offsets, np.random.default_rng(seed).integers(0, len(lengths), int(offsets[-1])).astype(np.uint32)


def figures(device, dtype):
    """Return what the kernels say of rows of 0 to 6 entries, and what NumPy does."""
    lengths = np.random.default_rng(7).integers(0, 7, 333)
    lengths[[0, 330, 331, 332]] = 0, 5, 1, 0
    offsets, neighbours = rows_of(dtype, lengths)
    degrees, ids = lengths.astype(dtype), np.random.default_rng(8).permutation(1000)[:333].astype(dtype)
    first = np.full(333, NO_HEAD, np.int64)
    first[lengths > 0] = neighbours[offsets[:-1][lengths > 0]]
    listed = row_marks.listed(device, offsets, 3, 5)
    place, row_at = row_marks.places(device, ids)
    starts, spans = row_marks.spans(device, offsets, listed)
    bits = np.unpackbits(row_marks.bits(device, offsets, 2).view(np.uint8), bitorder="little")
    rows = [row for row, length in enumerate(lengths.tolist()) if 3 <= length <= 5]
    return [
        (row_marks.lengths(device, offsets), lengths),
        (row_marks.heads(device, offsets, neighbours), first),
        (bits[:333], lengths >= 2),
        (bits[333:], np.zeros(len(bits) - 333)),
        (listed, rows),
        (row_at, sorted(range(333), key=ids.tolist().__getitem__)),
        (np.asarray(row_at)[place], range(333)),
        (row_marks.listed(device, offsets, 4), np.flatnonzero(lengths >= 4)),
        (row_marks.listed(device, offsets, 100), []),
        (starts, offsets[rows]),
        (spans, lengths[rows]),
        (row_marks.behind_last(device, 333, 1, offsets), 332),
        (row_marks.behind_last(device, 333, 2, offsets), 331),
        (row_marks.behind_last(device, 331, 1, degrees=degrees), 331),
        (row_marks.behind_last(device, 0, 1, offsets), 0),
        (row_marks.smallest_id(device, degrees, ids, 6), ids[lengths == 6].min()),
    ]


@pytest.mark.parametrize("dtype", OFFSETS)
@pytest.mark.parametrize("blocks", [1, 5])
def test_lists_of_rows(dtype, blocks):
    for said, wanted in figures(Device(blocks=blocks), dtype):
        np.testing.assert_array_equal(said, wanted)


@pytest.mark.parametrize(
    "mutant",
    [
        ("length < (u64)env.least ||", "length <= (u64)env.least ||"),
        ("length > (u64)env.most", "length >= (u64)env.most"),
        ("behind = row + 1;", "behind = row;"),
        ("? env.neighbours[start_of(row)]", "? env.neighbours[start_of(row) + 1]"),
        ("length_of(row) >= (u64)env.least);", "length_of(row) > (u64)env.least);"),
        ("~entry(env.ids", "entry(env.ids"),
        ("env.marks[env.rows + row] = (u32)place", "env.marks[env.rows + place] = (u32)row"),
        ("env.figures[listed + i] = length_of(env.marks[i])", "env.figures[listed + i] = length_of(i)"),
    ],
)
def test_mutants_of_lists_are_found(mutant):
    device = Device(mutant=mutant)
    try:
        right = all(np.array_equal(said, wanted) for said, wanted in figures(device, np.uint32))
    except (IndexError, ValueError):
        right = False
    assert mutant in device.changed
    assert not right


def in_edges(offsets, neighbours, weights):
    """Return sources and weights of the in-edges of each vertex, in the order of the out-edges."""
    entering: list[list[tuple]] = [[] for _ in range(len(offsets) - 1)]
    for u in range(len(offsets) - 1):
        for e in range(int(offsets[u]), int(offsets[u + 1])):
            entering[neighbours[e]].append((u, None if weights is None else weights[e]))
    return entering


@pytest.mark.parametrize("dtype", OFFSETS)
@pytest.mark.parametrize("weight_type", [None, np.int32, np.float64])
@pytest.mark.parametrize("some", [7, 64, 1 << 20])
def test_in_edges_keep_the_order_of_rows(dtype, weight_type, some):
    check_in_edges(Device(), dtype, weight_type, some)


def check_in_edges(device, dtype, weight_type, some):
    offsets, neighbours = rows_of(dtype, np.random.default_rng(3).integers(0, 6, 70), 4)
    weights = None if weight_type is None else np.arange(len(neighbours)).astype(weight_type)
    begins, sources, moved = turned_rows.turned(device, offsets, neighbours, weights, 70, some)
    assert begins.dtype == dtype
    wanted = in_edges(offsets, neighbours, weights)
    assert np.diff(begins.astype(np.int64)).tolist() == list(map(len, wanted))
    assert sources.tolist() == [u for row in wanted for u, _ in row]
    if moved is not None:
        assert moved.dtype == weight_type
        assert moved.tolist() == [weight for row in wanted for _, weight in row]


@pytest.mark.parametrize(
    "mutant",
    [
        ("+ (i - group_of(i))", "+ (group_of(i) - group_of(i))"),
        ("+= i + 1 - group_of(i)", "+= i - group_of(i)"),
        ("return start_of(row) <= e", "return start_of(row) < e"),
        ("const u64 e = env.first + env.order[i], place", "const u64 e = env.order[i], place"),
    ],
)
def test_mutants_of_in_edges_are_found(mutant):
    device = Device(mutant=mutant)
    with pytest.raises(AssertionError):
        check_in_edges(device, np.uint32, np.int32, 64)
    assert mutant in device.changed
