"""Mutated files: dgraph and a plain Python reader load the same graph, or both refuse the file."""

import random
import tempfile
from pathlib import Path

import pytest
from fuzz import BINARY, KINDS, TEXT, Input, an_input, check, expected, one
from fuzz_inputs import valid
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.mark.exhaustive
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(KINDS), st.randoms(use_true_random=False), st.integers(1, 3))
def test_readers_agree_with_plain_python(kind, rng, ranks):
    with tempfile.TemporaryDirectory() as folder:
        told = check(an_input(kind, rng), Path(folder), ranks)
    assert not told, told


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*TEXT, *BINARY]), st.binary(max_size=80))
def test_bytes_of_any_kind_are_refused_or_read_alike(name, content):
    with tempfile.TemporaryDirectory() as folder:
        told = check(Input(name, name, {name: content}), Path(folder))
    assert not told, told


@pytest.mark.parametrize("first", [0, 10**6])
def test_numbered_inputs(first, tmp_path):
    told = [one(first + seed, tmp_path)[1] for seed in range(200)]
    assert not any(told), "\n".join(filter(None, told))


@pytest.mark.parametrize("kind", KINDS)
def test_the_plain_readers_take_what_is_right(kind):
    inputs = [an_input(kind, random.Random(seed)) for seed in range(120)]
    assert sum(expected(content) is not None for content in inputs) > 10, kind
    if kind in TEXT or kind in BINARY:
        taken = [expected(Input(kind, kind, {kind: valid(kind, random.Random(seed))})) for seed in range(40)]
        assert sum(content is not None for content in taken) > 5, kind
