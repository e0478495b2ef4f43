"""Random draws of graph, algorithm, variant and policy against NetworkX, SciPy and plain Python, on any ranks.

``python tests/support/draws.py`` makes as many as asked, on GPUs too.
"""

import pytest
from draws import CORE, checked, drawn

import dgraph
from dgraph.comm import world

pytestmark = pytest.mark.mpi


def assert_right(checks, seed, algorithms):
    figures = checked(drawn(seed, algorithms), dgraph.Cpu(threads=1), world(), checks, 600)
    assert figures["wrong"] == []
    assert figures["checks"] == checks


def test_draws_are_right():
    assert_right(8, seed=1, algorithms=CORE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("algorithms", [CORE, ()], ids=["core", "all"])
def test_many_draws_are_right(algorithms):
    assert_right(150, seed=2, algorithms=algorithms)


def test_a_wrong_answer_is_found(monkeypatch):
    run = dgraph.run

    def wrong(*args, **kwargs):
        result = run(*args, **kwargs)
        result.columns["distance"][...] += 1
        return result

    monkeypatch.setattr(dgraph, "run", wrong)
    figures = checked(drawn(3, ("bfs",)), dgraph.Cpu(threads=1), world(), 2, 600)
    assert len(figures["wrong"]) == 2
