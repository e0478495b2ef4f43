"""Files that are almost right: dgraph and plain Python agree on the graph, or on there being none."""

import tempfile
from pathlib import Path

import pytest
from fuzz import BINARY, BYTES, ODD, PLAIN, broken, check, expected, one, valid
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(list(PLAIN)), st.randoms(use_true_random=False), st.integers(1, 3))
def test_readers_agree_with_plain_python(name, rng, ranks):
    content = broken(valid(name, rng), rng, BYTES if name in BINARY else ODD)
    with tempfile.TemporaryDirectory() as folder:
        told = check(name, content, Path(folder), ranks)
    assert not told, told


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(list(PLAIN)), st.binary(max_size=80))
def test_bytes_of_any_kind_are_refused_or_read_alike(name, content):
    with tempfile.TemporaryDirectory() as folder:
        told = check(name, content, Path(folder))
    assert not told, told


@pytest.mark.parametrize("first", [0, 10**6])
def test_numbered_inputs(first, tmp_path):
    told = [one(first + seed, tmp_path) for seed in range(150)]
    assert not any(told), "\n".join(filter(None, told))


def test_the_plain_readers_take_what_is_right():
    import random

    for name in PLAIN:
        taken = [expected(name, valid(name, random.Random(seed))) for seed in range(40)]
        assert sum(each is not None for each in taken) > 20, name
