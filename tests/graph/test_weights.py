"""Weights by rule: in range, uniform, a function of the ends and the seed alone; and refused rules."""

import numpy as np
import pytest
from children import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.errors import UsageError
from dgraph.graph.build.weights import check_rule, hashed_weights


def near(got, probability, trials):
    return abs(got - probability * trials) < 5 * np.sqrt(probability * (1 - probability) * trials)


@settings(deadline=None)
@given(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(0, (1 << 63) - 1),
    st.booleans(),
)
def test_integer_weights(low, high, seed, directed):
    low, high = min(low, high), max(low, high)
    rule = f"{low}..{high}"
    if high - low >= 1 << 63:
        with pytest.raises(UsageError, match="64 bits"):
            check_rule(rule)
        return
    check_rule(rule)
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, 1 << 32, (2, 50), dtype=np.uint32)
    weights = hashed_weights(src, dst, rule, seed, directed)
    assert weights.dtype == (np.int32 if low >= -(1 << 31) and high < 1 << 31 else np.int64)
    assert low <= weights.min()
    assert weights.max() <= high
    reversed_weights = hashed_weights(dst, src, rule, seed, directed)
    if not directed:
        assert np.array_equal(weights, reversed_weights)
    elif high - low > 1 << 20:
        assert not np.array_equal(weights, reversed_weights)


@settings(deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
def test_real_weights(low, high, directed):
    low, high = min(low, high), max(low, high)
    rule = f"{low}..{high}"
    src, dst = np.arange(200), np.arange(200)[::-1].copy()
    if not np.isfinite(high - low):
        with pytest.raises(UsageError, match="64 bits"):
            hashed_weights(src, dst, rule, 1, directed)
        return
    weights = hashed_weights(src, dst, rule, 1, directed)
    assert weights.dtype == np.float64
    assert (weights >= low).all()
    assert (weights < high).all() or low == high
    if not directed:
        assert np.array_equal(weights, weights[::-1])


def test_weights_are_spread_evenly():
    src = np.arange(1 << 16)
    weights = hashed_weights(src, src // 3, "-3..4", 9, False)
    assert all(near(count, 1 / 8, src.size) for count in np.bincount(weights + 3, minlength=8))
    real = hashed_weights(src, src // 3, "0.5..2.5", 9, False)
    assert all(near(count, 1 / 4, src.size) for count in np.histogram(real, 4, (0.5, 2.5))[0])


def test_weights_depend_on_both_ends_and_the_seed_alone():
    src, dst = np.array([1, 1, 2, 1]), np.array([2, 3, 3, 2])
    big = f"0..{1 << 60}"
    weights = hashed_weights(src, dst, big, 1, True)
    assert len(set(weights.tolist())) == 3
    assert weights[0] == weights[3]
    assert not (weights == hashed_weights(src, dst, big, 2, True)).any()
    assert np.array_equal(weights, hashed_weights(src, dst, big, 1, False)), "smaller to larger weighs the same"
    assert np.array_equal(weights, hashed_weights(src.astype(np.uint32), dst.astype(np.uint32), big, 1, True))
    assert np.array_equal(weights[1:], hashed_weights(src[1:], dst[1:], big, 1, True))


def test_weights_stay_what_they_are():
    """A seed in a report keeps giving the same weights."""
    src, dst = np.arange(6), np.arange(6)[::-1].copy()
    assert hashed_weights(src, dst, "hash", 1, True).tolist() == [65, 202, 106, 132, 46, 17]


def test_named_rules():
    src = np.arange(4000)
    hashed = hashed_weights(src, src + 1, "hash", 1, True)
    assert np.array_equal(hashed, hashed_weights(src, src + 1, "1..255", 1, True))
    assert (hashed.min(), hashed.max()) == (1, 255)
    assert (hashed_weights(src, src + 1, "unit", 1, True) == 1).all()
    assert hashed_weights(src[:0], src[:0], "hash", 1, True).size == 0


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("5..1", "LO is above HI; write 1..5"),
        ("1.5..1", "LO is above HI; write 1..1.5"),
        ("nan..1", "not a rule"),
        ("1..inf", "not a rule"),
        ("1..", "not a rule"),
        ("..", "not a rule"),
        ("", "not a rule"),
        ("random", "write unit, hash, dimacs, or LO..HI"),
        ("1...5", "not a rule"),
        ("1..2..3", "not a rule"),
        ("1 .. 2", "not a rule"),
        ("1_0..20", "not a rule"),
        ("1..99999999999999999999", "64 bits"),
        ("1e400..2e400", "64 bits"),
    ],
)
def test_bad_rules(rule, said):
    for check in (check_rule, lambda r: hashed_weights(np.arange(3), np.arange(3), r, 1, True)):
        with pytest.raises(UsageError) as caught:
            check(rule)
        assert said in str(caught.value)
        assert repr(rule) in str(caught.value)


def test_dimacs_weights_are_skewed_as_road_lengths_are():
    ends = np.arange(200_000)
    weights = hashed_weights(ends, ends + 7, "dimacs", 1, True)
    assert weights.dtype == np.int32
    assert weights.min() >= 1
    octaves = np.bincount(np.frexp(weights.astype(float))[1] - 1) / ends.size
    lines = [line.split() for line in (ROOT / "tests" / "data" / "rome99.gr").read_text().splitlines()]
    rome = np.array([float(words[3]) for words in lines if words[0] == "a"])
    assert np.abs(octaves - np.bincount(np.frexp(rome)[1] - 1) / rome.size).max() < 0.004
    assert np.array_equal(weights, hashed_weights(ends + 7, ends, "dimacs", 1, False))
    check_rule("dimacs")
