"""Mirror lists: roles are slices, and a few masters are found by binary search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.graph import local as local_module
from dgraph.graph.local import Csr, LocalGraph, Mirrors


@st.composite
def mirrors(draw):
    """Return mirrors of three ascending groups: columns only, both, rows only."""
    lids = draw(st.lists(st.integers(0, 400), unique=True, max_size=120))
    first, second = sorted((draw(st.integers(0, len(lids))), draw(st.integers(0, len(lids)))))
    groups = [sorted(lids[:first]), sorted(lids[first:second]), sorted(lids[second:])]
    return Mirrors(len(lids), second, first, np.array([*groups[0], *groups[1], *groups[2]], np.uint32))


@given(mirrors(), st.lists(st.integers(0, 400), unique=True, max_size=40), st.sampled_from(["row", "column", "any"]))
def test_holding_finds_what_a_scan_finds(mirrors, lids, role):
    low, high = mirrors.span(role)
    wanted = [i for i in range(low, high) if mirrors.lids[i] in set(lids)]
    assert sorted(mirrors.holding(np.array(lids, np.uint32), low, high)) == wanted


def test_spans():
    mirrors = Mirrors(count=10, columns=7, rows=4)
    assert [mirrors.span(role) for role in ("column", "row", "any", "none")] == [(0, 7), (4, 10), (0, 10), (0, 0)]
    with pytest.raises(KeyError):
        mirrors.span("mirror")


@pytest.mark.parametrize(("ids", "ascend"), [
    ([], True), ([7], True), ([14, 10, 12], True), ([90, 2, 20], True), ([14, 10, 9], False), ([2, 20, 90], False),
])  # fmt: skip
@pytest.mark.parametrize("piece", [1, 2, 100])
def test_whether_ids_ascend_as_gids_do(ids, ascend, piece, monkeypatch):
    monkeypatch.setattr(local_module, "PIECE", piece)
    gids, zeros = np.array([4, 0, 2][: len(ids)], np.int64), np.zeros(len(ids), np.int64)
    rows = Csr(np.zeros(len(ids) + 1, np.int64), np.empty(0, np.uint32), None)
    local = LocalGraph(5, 0, 0, 0, gids, np.array(ids, np.int64), zeros, rows, True)
    assert local.by_id is ascend


@pytest.mark.parametrize("ids", [[], [3], [2, 5, 9], [9, 2, 5]])
def test_which_vertices_a_rank_owns(ids):
    """Original ids, ascending or not, of masters; the last vertex is a mirror."""
    original = np.array([*ids, 7], np.int64)
    zeros = np.zeros(original.size, np.int64)
    rows = Csr(np.zeros(original.size + 1, np.int64), np.empty(0, np.uint32), None)
    local = LocalGraph(
        n=10, m=0, arcs=0, masters=len(ids), gids=zeros, original=original, out_degree=zeros, out=rows, directed=True
    )
    assert [vertex for vertex in range(-1, 12) if local.owns(vertex)] == sorted(ids)
