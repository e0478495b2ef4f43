"""Every public function answers a hostile argument, or refuses it by name: no other exception, warning or left file."""

import os
import random

import pytest
from hostile_values import hostile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from public_api import LEFT_OUT, complaint, places

import dgraph

pytestmark = pytest.mark.mpi_skip

CALLS = int(os.environ.get("DGRAPH_FUZZ_CALLS", "1500"))


def drawn(seed):
    """Draw a function and one or two hostile arguments."""
    draw = random.Random(seed)
    place = draw.choice(places())
    names = draw.sample(place.names, min(len(place.names), draw.choice((1, 1, 2))))
    return place, {name: hostile(draw) for name in names}


@pytest.fixture
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DGRAPH_COMPILE", "never")  # an argument can ask for another program, which takes seconds


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_empty_folder")
@settings(max_examples=CALLS, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**63))
def test_hostile_arguments(seed):
    place, arguments = drawn(seed)
    assert not complaint(place, arguments), f"{place.name}({arguments!r:.500})"


def test_every_public_name_is_called():
    called = {place.name for place in places()}
    for name in dgraph.__all__:
        value = getattr(dgraph, name)
        if callable(value) and not (isinstance(value, type) and issubclass(value, BaseException)):
            assert name in called or name in LEFT_OUT or name in CONSTANTS, name
    assert {"Graph.from_edges", "Graph.ego", "Result.top", "DistanceMatrix.rows", "EdgeValues.save"} <= called


CONSTANTS = ("ADD", "ALL", "CHANGED", "INF", "MAX", "MIN", "OR")


@pytest.mark.parametrize(("function", "arguments"), [
    ("pagerank", {"personalization": type(None)}),
    ("pagerank", {"personalization": {0: None}}),
    ("pagerank", {"personalization": {"0": 1}}),
    ("pagerank", {"personalization": [[0.5]]}),
    ("pagerank", {"alpha": 2**70}),
    ("multi_source_bfs", {"sources": "x"}),
    ("multi_source_bfs", {"sources": {0: 1}}),
    ("reachability", {"sources": 2**70}),
    ("bfs", {"source": [0]}),
    ("bfs", {"depth_limit": 2**64}),
    ("Graph.load", {"columns": [1, 3.0]}),
    ("Graph.load", {"merge": {}}),
    ("Graph.ego", {"radius": "1"}),
    ("Graph.save_store", {"chunks": 2**63 - 1}),
    ("Result.gather", {"root": 1}),
    ("Result.value", {"vertex": 0.0}),
    ("Result.save", {"path": "x" * 300}),
    ("DistanceMatrix.rows", {"vertices": None}),
    ("Options", {"watchdog": 10**400}),
    ("Checkpoint", {"every": []}),
    ("Cuda", {"memory": float("nan")}),
    ("connect", {"timeout": -1}),
    ("Field", {"dtype": [0]}),
    ("mixed", {"seed": object()}),
])  # fmt: skip
@pytest.mark.usefixtures("_empty_folder")
def test_arguments_of_another_kind_are_refused_by_name(function, arguments):
    place = next(candidate for candidate in places() if candidate.name == function)
    fitting = {name: place.fits(name) for name in place.required}
    with pytest.raises(dgraph.DgraphError, match=next(iter(arguments))):
        place.call(**fitting | arguments)
