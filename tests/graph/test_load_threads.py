"""A load uses the threads that the rounds of its device would, and shares of arrays cover them."""

import numpy as np
import pytest
from loading import written

import dgraph
from dgraph._support import affinity, threads
from dgraph.comm.rank_threads import at_most, rank_threads
from dgraph.graph.formats import text


@pytest.mark.parametrize(("device", "expected"), [("cpu", 3), (dgraph.Cpu(threads=2), 2), (dgraph.Cpu(threads=9), 3)])
def test_a_load_uses_the_threads_of_its_device(device, expected, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(affinity, "share", lambda *_: 3)
    monkeypatch.setattr(text, "rank_threads", lambda comm: asked.append(rank_threads(comm)) or asked[-1])
    graph = dgraph.Graph.load(written(tmp_path, "a.el", "0 1\n1 2\n"), device=device)
    assert asked == [expected]
    assert rank_threads(graph.comm) == 3
    with at_most(1):
        assert rank_threads(graph.comm) == 1


@pytest.mark.parametrize("size", [1, 2, 9, 100])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_shares_cover_an_array_once(size, count, monkeypatch):
    monkeypatch.setattr(threads, "SHARE", 2)
    values, times = np.random.default_rng(size).permutation(size) - 5, np.zeros(size, np.int64)

    def add(part):
        times[part] += 1

    threads.shares(add, size, count)
    assert np.all(times == 1)
    assert threads.extremes(values, count) == (-5, size - 6)
