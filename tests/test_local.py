"""Mirror lists: roles are slices, and few masters are found in them without looking at every position."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.graph.local import Mirrors


@st.composite
def mirrors(draw):
    """Three ascending groups: columns only, both, rows only."""
    lids = draw(st.lists(st.integers(0, 400), unique=True, max_size=120))
    first, second = sorted((draw(st.integers(0, len(lids))), draw(st.integers(0, len(lids)))))
    groups = [sorted(lids[:first]), sorted(lids[first:second]), sorted(lids[second:])]
    return Mirrors(len(lids), second, first, np.array([*groups[0], *groups[1], *groups[2]], np.uint32))


@given(mirrors(), st.lists(st.integers(0, 400), unique=True, max_size=40), st.sampled_from(["row", "column", "any"]))
def test_holding_finds_what_a_scan_finds(found, lids, role):
    low, high = found.span(role)
    wanted = [i for i in range(low, high) if found.lids[i] in set(lids)]
    assert sorted(found.holding(np.array(lids, np.uint32), low, high)) == wanted


def test_spans():
    found = Mirrors(count=10, columns=7, rows=4)
    assert [found.span(role) for role in ("column", "row", "any", "none")] == [(0, 7), (4, 10), (0, 10), (0, 0)]
    with pytest.raises(KeyError):
        found.span("mirror")
