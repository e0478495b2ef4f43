"""Certificates of regenerated graphs (emulated GPU): same verdicts and messages as the certificate of stored rows."""

import numpy as np
import pytest
from emulated import Device, needs_compiler
from flat_run import flat_run
from simulated import on_ranks, succeed

from dgraph.backend.cuda.graph_build import BuiltGraph
from dgraph.comm import SerialComm
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.stored_graph import Graph
from dgraph.validate import validate

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
SOURCE = 2
FAR = np.iinfo(np.int64).max


def built(comm, spec, options, policy="oec"):
    return BuiltGraph.from_spec(spec, comm, Device(seed=comm.rank + 1), policy, LoadOptions(**options))


def solved(name, spec, options, **parameters):
    graph = Graph.load(spec, comm=SerialComm(), **options)
    result = flat_run(name, graph, backend="cpu", source=SOURCE, **parameters)
    return graph, {column: np.array(values) for column, values in result.columns.items()}


def drawn(comm, graph, name, columns, parameters):
    """Return the verdict for columns of which this rank has every P-th vertex."""
    mine = {column: values[comm.rank :: comm.size] for column, values in columns.items()}
    return validate(name, graph.evidence, mine, comm, parameters={"source": SOURCE, **parameters}, rounds=0)


CASES = [
    ("bfs", "rmat:6", {}, {}),
    ("bfs", "rmat:6", {}, {"depth_limit": 2}),
    ("bfs", "rmat:6,symmetric", {"weights": "1..9"}, {"return_predecessors": False}),
    ("sssp", "rmat:6", {"weights": "1..9"}, {}),
    ("sssp", "rmat:6", {"weights": "0.5..2.0"}, {"cutoff": 2.5}),
    ("sssp", "road:8x8", {}, {}),
    ("sssp", "uniform:5", {"weights": "0..1"}, {}),
    ("sssp", "uniform:5", {"weights": "0..1"}, {"return_predecessors": False}),
]


@pytest.mark.parametrize(("ranks", "policy"), [(1, "oec"), (3, "oec"), (2, "hash")])
@pytest.mark.parametrize(("name", "spec", "options", "parameters"), CASES)
def test_right_answers_pass(name, spec, options, parameters, ranks, policy):
    _, columns = solved(name, spec, options, **parameters)

    def work(comm):
        graph = built(comm, spec, options, policy)
        verdict = drawn(comm, graph, name, columns, parameters)
        return verdict, graph._host is not None

    for verdict, rows in succeed(ranks, work):
        assert verdict.passed, str(verdict)
        followed = ranks > 1 and options.get("weights") == "0..1"
        assert rows == followed, "several ranks make rows to follow paths of equal distance"


def wrong(name, columns, graph):
    """Yield wrong results: the rule that is broken, and the columns."""
    distance, before = columns["distance"], columns["predecessor"]
    reached = np.flatnonzero((distance > 0) & (distance < FAR))
    lost, far = np.flatnonzero(distance == FAR), int(reached[np.argmax(distance[reached])])
    sources, targets = graph.block.sources(), graph.block.targets
    stranger = int(np.setdiff1d(np.arange(graph.n), sources[targets == far])[-1])

    def changed(column, vertex, value):
        out = {key: values.copy() for key, values in columns.items()}
        out[column][vertex] = value
        return out

    yield "source", changed("distance", SOURCE, 1)
    yield "negative", changed("distance", far, -1)
    yield "root", changed("predecessor", SOURCE, far)
    yield "none", changed("predecessor", far, -1)
    yield "none", changed("predecessor", far, graph.n)
    yield "short", changed("distance", far, distance[far] + 1)
    yield "tight", changed("distance", far, distance[far] - 1)
    yield "arc", changed("predecessor", far, stranger)
    if lost.size:
        yield "out", changed("predecessor", lost[0], far)
        yield "reached", changed("distance", lost[0], 1)
        yield "unreached", changed("distance", before[far], FAR)


@pytest.mark.parametrize(("ranks", "memory"), [(1, None), (3, None), (3, 700)])
@pytest.mark.parametrize(("name", "options"), [("bfs", {}), ("sssp", {"weights": "1..9"})])
def test_wrong_answers_are_refused_as_by_rows(name, options, ranks, memory):
    """Check ranks that hold all distances, and ranks whose memory suffices for those of one rank."""
    whole, columns = solved(name, "rmat:6,edge_factor=3", options)
    answers = list(wrong(name, columns, whole))

    def work(comm):
        graph = built(comm, "rmat:6,edge_factor=3", options)
        graph.built_on.memory = memory or graph.built_on.memory
        drawn_verdicts = [drawn(comm, graph, name, answer, {}) for _, answer in answers]
        assert graph._host is None
        return drawn_verdicts

    keywords = {"parameters": {"source": SOURCE}, "rounds": 0}
    want = [validate(name, whole.block, answer, SerialComm(), **keywords) for _, answer in answers]
    for verdicts in succeed(ranks, work):
        for (what, _), one, other in zip(answers, verdicts, want, strict=True):
            assert one.passed is False, what
            assert one.failure == other.failure, what


def test_an_unsupported_distance_is_refused():
    """Check that a distance that no path has is refused, without predecessors."""
    whole, columns = solved("bfs", "rmat:6,edge_factor=3", {}, return_predecessors=False)
    lost = np.flatnonzero(columns["distance"] == FAR)[0]
    columns["distance"][lost] = 9
    graph = built(SerialComm(), "rmat:6,edge_factor=3", {})
    keywords = {"parameters": {"source": SOURCE}, "rounds": 0}
    want = validate("bfs", whole.block, columns, SerialComm(), **keywords)
    assert drawn(SerialComm(), graph, "bfs", columns, {}).failure == want.failure


def test_an_error_of_one_rank_reaches_all():
    def work(comm):
        graph = built(comm, "rmat:5", {})
        if comm.rank:
            graph.built_on.memory = 10
        return drawn(comm, graph, "bfs", solved("bfs", "rmat:5", {})[1], {})

    for error in on_ranks(2, work):
        assert "a proof needs" in str(error)
