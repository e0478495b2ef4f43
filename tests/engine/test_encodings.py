"""Message encodings: the smallest one is chosen, also at crossovers, and each one round-trips."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.wire import BITSET, CPU, EVERYTHING, NOTHING, OFFSETS
from dgraph.engine.sync import bitset_kernels
from dgraph.engine.sync.encodings import SHARED, decode, encode

WIDTHS = {"float64": 8, "int32": 4, "uint8": 1}


def size_of(kind, count, total, width):
    """Return the bytes after the header, computed from the format's description."""
    padded = lambda size: -(-size // 8) * 8  # noqa: E731
    if kind == NOTHING:
        return 0
    if kind == EVERYTHING:
        return total * width
    return padded(-(-total // 8) if kind == BITSET else 4 * count) + count * width


@pytest.mark.parametrize("width", [1, 4, 8, 20])
@pytest.mark.parametrize("whole", [True, False])
def test_no_other_encoding_is_smaller(width, whole):
    for total in (1, 7, 64, 65, 1000):
        for count in range(0, total + 1, max(1, total // 97)):
            taken = CPU.choose(count, 0, total, width, whole)
            legal = [BITSET, OFFSETS] if count else [NOTHING]
            if count and (whole or count == total):
                legal.append(EVERYTHING)
            assert size_of(taken, count, total, width) == min(size_of(k, count, total, width) for k in legal)


def test_crossovers():
    """A bitset of 6,400 positions takes 800 bytes, like 200 offsets."""
    assert CPU.choose(0, 0, 6400, 4, whole=False) == NOTHING
    assert CPU.choose(199, 0, 6400, 4, whole=False) == OFFSETS
    assert CPU.choose(201, 0, 6400, 4, whole=False) == BITSET
    assert CPU.choose(6399, 0, 6400, 4, whole=False) == BITSET
    assert CPU.choose(6400, 0, 6400, 4, whole=False) == EVERYTHING
    assert CPU.choose(6199, 0, 6400, 4, whole=True) == BITSET
    assert CPU.choose(6200, 0, 6400, 4, whole=True) == EVERYTHING


@settings(max_examples=200, deadline=None)
@given(data=st.data(), total=st.integers(1, 300), kind=st.sampled_from([EVERYTHING, BITSET, OFFSETS]))
def test_what_goes_in_comes_out(data, total, kind):
    some = st.sets(st.integers(0, total - 1), min_size=1)
    positions = np.array(list(data.draw(some)), np.uint32)
    if kind == OFFSETS:
        most = max(
            c for c in range(total + 1) if CPU.choose(c, 0, total, sum(WIDTHS.values()), False) in (OFFSETS, NOTHING)
        )
        positions = positions[: max(most, 1)]
    if kind == EVERYTHING:
        positions = np.arange(total, dtype=np.uint32)
    rng = np.random.default_rng(total)
    columns = [rng.integers(0, 100, total).astype(name) for name in WIDTHS]
    buffer = np.empty(CPU.bound(total, list(WIDTHS.values())), np.uint8)
    message = encode(buffer, kind, total, positions, columns)
    assert message.size <= buffer.size
    received, values = decode(message.copy(), total, [np.dtype(name) for name in WIDTHS])
    assert sorted(received) == sorted(positions)
    for column, value in zip(columns, values, strict=True):
        np.testing.assert_array_equal(value, column[received])


def test_rows_are_looked_up_by_position():
    column, rows = np.arange(100.0), np.array([50, 7, 99, 3], np.uint32)
    buffer = np.empty(CPU.bound(4, [8]), np.uint8)
    received, (values,) = decode(
        encode(buffer, OFFSETS, 4, np.array([2, 0], np.uint32), [column], rows), 4, [np.dtype("float64")]
    )
    assert dict(zip(received.tolist(), values.tolist(), strict=True)) == {2: 99.0, 0: 50.0}


def test_nothing_is_an_empty_message():
    buffer = np.empty(CPU.bound(10, [8]), np.uint8)
    message = encode(buffer, NOTHING, 10, np.empty(0, np.uint32), [np.zeros(10)])
    assert message.size == 0
    assert decode(message, 10, [np.dtype("float64")])[0] is None


def test_the_bound_holds_where_every_encoding_is_largest():
    for total in (1, 8, 63, 64, 1000):
        everyone = np.arange(total, dtype=np.uint32)
        buffer = np.empty(CPU.bound(total, [8]), np.uint8)
        for kind in (EVERYTHING, BITSET):
            assert encode(buffer, kind, total, everyone, [np.zeros(total)]).size <= CPU.bound(total, [8])
        most = max(c for c in range(total + 1) if CPU.choose(c, 0, total, 8, False) in (OFFSETS, NOTHING) or c == 0)
        assert (
            encode(buffer, OFFSETS if most else NOTHING, total, everyone[:most], [np.zeros(total)]).size <= buffer.size
        )
    assert CPU.bound(0, [8]) == 0
    assert CPU.header == 16


@pytest.mark.parametrize("kind", [EVERYTHING, BITSET, OFFSETS])
def test_values_that_are_all_the_same_travel_once(kind):
    positions = np.arange(500, dtype=np.uint32) if kind == EVERYTHING else np.arange(0, 500, 2, dtype=np.uint32)
    level, zero = np.full(500, 7, np.int32), np.zeros(500)
    zero[4] = -0.0
    buffer = np.empty(CPU.bound(500, [4, 8]) + 2000, np.uint8)
    apart = encode(buffer, kind, 500, positions, [np.arange(500, dtype=np.int32), zero]).size
    message = encode(buffer, kind, 500, positions, [level, zero])
    assert message.size == apart - (4 * len(positions) + 7) // 8 * 8 + 8
    received, (levels, zeros) = decode(message, 500, [level.dtype, zero.dtype])
    np.testing.assert_array_equal(levels, 7)
    np.testing.assert_array_equal(np.signbit(zeros), np.signbit(zero[received]))


@pytest.mark.parametrize("many", [1, 3, 15, bitset_kernels.FEW, bitset_kernels.FEW + 9])
def test_lids_are_grouped_by_span(many):
    rng = np.random.default_rng(many)
    bounds = np.sort(rng.choice(5000, 2 * many, replace=False))
    starts, ends = bounds[::2].copy(), bounds[1::2].copy()
    lids = rng.permutation(5000)[:2000].astype(np.uint32)
    counts, buffer = np.empty(many, np.int64), np.empty(len(lids) + 1, np.uint32)
    bitset_kernels.count_by_span(lids, starts, ends, counts)
    bitset_kernels.positions_by_span(lids, starts, ends, counts, np.empty_like(counts), buffer)
    groups = np.split(buffer, np.cumsum(counts))
    for start, end, positions in zip(starts, ends, groups, strict=False):
        np.testing.assert_array_equal(positions + start, lids[(lids >= start) & (lids < end)])
    inside = lids[(lids >= starts[-1]) & (lids < ends[-1])]  # all lie in one span
    bitset_kernels.count_by_span(inside, starts, ends, counts)
    bitset_kernels.positions_by_span(inside, starts, ends, counts, np.empty_like(counts), buffer)
    np.testing.assert_array_equal(buffer[: len(inside)] + starts[-1], inside)


@pytest.mark.parametrize("kind", [EVERYTHING, BITSET, OFFSETS])
def test_threads_write_the_bytes_of_one(kind):
    rng, total = np.random.default_rng(kind), 3 * SHARED
    positions = np.arange(total) if kind == EVERYTHING else rng.permutation(total)[: total // 2]
    columns = [rng.integers(0, 100, 2 * total).astype(name) for name in WIDTHS]
    rows = rng.permutation(2 * total)[:total].astype(np.uint32)
    messages = [
        encode(
            np.zeros(2 * CPU.bound(total, list(WIDTHS.values())), np.uint8), kind, total, positions.astype(np.uint32),
            columns, rows, team,
        )
        for team in (None, Team(1), Team(3))
    ]  # fmt: skip
    assert messages[0].tobytes() == messages[1].tobytes() == messages[2].tobytes()
