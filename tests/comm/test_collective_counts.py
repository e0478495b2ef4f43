"""Collectives of the hosts that a repeated call on several ranks needs beside its rounds."""

from collections import Counter

import pytest
from emulated import backend, needs_compiler

import dgraph
from dgraph.comm import world
from dgraph.comm.hosts import FAKE

pytestmark = [pytest.mark.mpi(min_size=2), needs_compiler]

MOST = {"bfs": 4, "cc": 4, "color": 4, "kcore": 5, "mis": 6, "scc": 4, "sssp": 4}
"""Algorithm → collectives of a repeated call: its opening, the first totals of rounds, their end or that of a run on
replicas, and the report; of some, figures of the answer; mis shares a pass, which takes two."""


ON_CPUS = {"bfs": 11, "cc": 6, "kcore": 7}
"""The same on CPUs, with those of the rounds of a star."""


@pytest.fixture
def counts(monkeypatch):
    calls: Counter = Counter()
    kind = type(world())

    def counted(method):
        plain = getattr(kind, method)

        def call(*args, **kwargs):
            calls[method] += 1
            return plain(*args, **kwargs)

        monkeypatch.setattr(kind, method, call)

    for method in ("barrier", "begin_allgather", "alltoallv"):
        counted(method)
    return calls


@pytest.mark.parametrize("algorithm", MOST)
def test_a_repeated_call_of_ranks_takes_few_collectives(algorithm, counts):
    graph = dgraph.Graph.load("star:40", comm=world(), policy="oec", device=backend())
    source = {"source": 0, "return_predecessors": False} if algorithm in ("bfs", "sssp") else {}
    for _ in range(2):
        first = dgraph.run(algorithm, graph, **source)
    counts.clear()
    result = dgraph.run(algorithm, graph, **source)
    assert counts.total() == MOST[algorithm], counts
    assert result.report["choices"] == first.report["choices"]
    assert result.report["ranks"][0]["gpu"] == first.report["ranks"][0]["gpu"]
    assert [rank["rank"] for rank in result.report["ranks"]] == list(range(world().size))


@pytest.mark.parametrize("algorithm", ON_CPUS)
def test_a_repeated_call_of_cpu_ranks_does_not_open_their_device_again(algorithm, counts):
    graph = dgraph.Graph.load("star:40", comm=world(), policy="oec", device="cpu")
    source = {"source": 0} if algorithm == "bfs" else {}
    for _ in range(2):
        first = dgraph.run(algorithm, graph, **source)
    counts.clear()
    result = dgraph.run(algorithm, graph, **source)
    assert counts.total() == ON_CPUS[algorithm], counts
    assert result.report["choices"] == first.report["choices"]


def test_what_was_opened_is_not_used_for_other_options_or_hosts(monkeypatch):
    graph = dgraph.Graph.load("path:9", comm=world(), device=backend())
    options = [dgraph.Options(), dgraph.Options(schedule="twc"), dgraph.Options()]
    used = [dgraph.run("bfs", graph, source=0, options=chosen).report["choices"] for chosen in options]
    assert used[0] == used[2]
    monkeypatch.setenv(FAKE, "2")
    split = dgraph.run("bfs", graph, source=0).report["choices"]
    texts = [next(choice for choice in choices if choice["what"] == "transport") for choices in (used[0], split)]
    assert (texts[0] == texts[1]) == (world().size == 1)
