"""Random draws of graph, algorithm, variant and policy against NetworkX, SciPy and plain Python, on any ranks.

``python tests/support/draws.py`` makes as many as asked, on GPUs too.
"""

import itertools

import pytest
from draws import CORE, checked, drawn

import dgraph
from dgraph.comm import world

pytestmark = pytest.mark.mpi


def assert_right(checks, seed, algorithms, pool=0):
    figures = checked(drawn(seed, algorithms, pool=pool), dgraph.Cpu(threads=1), world(), checks, 600)
    assert figures["wrong"] == []
    assert figures["checks"] == checks


def test_draws_are_right():
    assert_right(8, seed=1, algorithms=CORE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("algorithms", [CORE, ()], ids=["core", "all"])
def test_many_draws_are_right(algorithms):
    assert_right(600, seed=2, algorithms=algorithms, pool=64)


def test_a_pool_limits_the_ways_to_run_and_not_the_graphs():
    draws = list(itertools.islice(drawn(4, CORE, pool=8), 80))
    ways = {(draw.algorithm, str(draw.parameters), draw.policy, str(draw.options)) for draw in draws}
    assert 1 < len(ways) <= 8
    assert len({draw.graph.seed for draw in draws}) == 20


def test_a_wrong_answer_is_found(monkeypatch):
    run = dgraph.run

    def wrong(*args, **kwargs):
        result = run(*args, **kwargs)
        result.columns["distance"][...] += 1
        return result

    monkeypatch.setattr(dgraph, "run", wrong)
    figures = checked(drawn(3, ("bfs",)), dgraph.Cpu(threads=1), world(), 2, 600)
    assert len(figures["wrong"]) == 2
