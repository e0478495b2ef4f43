"""Runs that start from an earlier answer equal runs from scratch, on a graph rebuilt from its edges, and visit less."""

import numpy as np
import pytest
from battery import by_turns

import dgraph
from dgraph.comm import world
from dgraph.errors import UsageError

pytestmark = pytest.mark.mpi

SOURCE = 3
SEARCHES = {"bfs": {"source": SOURCE}, "sssp": {"source": SOURCE}}
CONTINUED = {**SEARCHES, "cc": {}, "pagerank": {"tol": 1e-9}}
ALL = {**CONTINUED, "kcore": {}, "color": {"variant": "degree"}}
POLICIES = ("oec", "iec", "cvc", "hash", "hvc,threshold=3", "metis")


def edges(directed, seed=0):
    """Return ends and weights: a sparse random graph of several components, and a batch that joins some of them."""
    rng = np.random.default_rng([seed, directed])
    src, dst = rng.integers(0, 300, (2, 420))
    more = rng.integers(0, 310, (2, 12))
    return (src, dst, rng.integers(0, 40, 420)), (more.T, rng.integers(0, 40, 12))


def mine(comm, *columns):
    """Return this rank's share of columns."""
    return [None if column is None else column[comm.rank :: comm.size] for column in columns]


def built(comm, kind, directed, src, dst, weights, policy):
    src, dst, weights = mine(comm, src, dst, None if kind is None else weights.astype(kind))
    return dgraph.Graph.from_edges(src, dst, weights, n=310, directed=directed, comm=comm, policy=policy)


def equal(comm, name, result, wanted):
    """Compare two results of all vertices on every rank."""
    one, other = result.gather(), wanted.gather()
    with comm.together():
        if comm.rank == 0:
            assert list(one) == list(other)
            for column, values in one.items():
                if column == "pagerank":
                    assert np.abs(values - other[column]).sum() < 2e-8
                else:
                    assert values.tolist() == other[column].tolist(), (name, column)


@pytest.mark.exhaustive
@by_turns("policy,kind,directed", POLICIES, [None, "int64", "float32"], [True, False], of=6)
def test_answers_on_a_changed_graph(policy, kind, directed):
    """Every algorithm after insertions and after deletions, and its twin that is rebuilt from the edges."""
    comm = world()
    (src, dst, weights), (more, heavy) = edges(directed)
    weights_of_kind = heavy if kind is None else heavy.astype(kind)
    every = [np.concatenate(pair) for pair in ((src, more[:, 0]), (dst, more[:, 1]), (weights, heavy))]
    gone = np.stack([src[:9], dst[:9]], axis=1)
    gone = gone[gone[:, 0] != gone[:, 1]]
    pairs = {tuple(pair) for pair in gone.tolist()} | (
        set() if directed else {tuple(pair) for pair in gone[:, ::-1].tolist()}
    )
    stay = np.array([(u, v) not in pairs for u, v in zip(every[0].tolist(), every[1].tolist(), strict=True)])
    graph = built(comm, kind, directed, src, dst, weights, policy)
    before = {name: dgraph.run(name, graph, **how) for name, how in CONTINUED.items()}
    here = comm.rank == 0
    grown = graph.with_edges(more if here else None, weights=weights_of_kind if here and kind is not None else None)
    cut = grown.with_edges(remove=gone if here else None)
    for changed, rows in ((grown, every), (cut, [column[stay] for column in every])):
        twin = built(comm, kind, directed, *rows, policy)
        for name, how in ALL.items():
            wanted = dgraph.run(name, twin, validate=policy == "oec", **how)
            equal(comm, name, dgraph.run(name, changed, **how), wanted)
            if name in before:
                again = dgraph.run(name, changed, previous=before[name], validate=True, **how)
                equal(comm, name, again, wanted)
                anew = changed is cut and name != "pagerank"
                assert again.summary["started"] == ("from scratch" if anew else "previous answer")


def test_a_run_from_a_previous_answer_visits_little():
    comm = world()
    graph = dgraph.Graph.load("rmat:10", weights="1..255", comm=comm)
    before = {name: dgraph.run(name, graph, **how) for name, how in CONTINUED.items()}
    add = np.random.default_rng(1).integers(0, graph.n, (6, 2)) if comm.rank == 0 else None
    grown = graph.with_edges(add, weights=np.full(6, 200) if comm.rank == 0 else None)
    visited, rounds = {}, {}
    for name, how in CONTINUED.items():
        runs = [dgraph.run(name, grown, **how), dgraph.run(name, grown, previous=before[name], **how)]
        visited[name] = [run.report["rounds"]["frontier_edges"] for run in runs]
        rounds[name] = [run.rounds for run in runs]
    for name in ("bfs", "sssp"):
        assert visited[name][1] * 10 < visited[name][0]
    assert visited["cc"][1] == 0
    assert rounds["pagerank"][1] < rounds["pagerank"][0]


@pytest.mark.exhaustive
def test_several_changes_and_named_vertices():
    """Names are renumbered when others come before them; answers follow over two changes."""
    comm = world()
    ends = [["m", "n"], ["n", "p"], ["q", "r"], ["r", "s"]][comm.rank :: comm.size]
    src, dst = ([pair[side] for pair in ends] for side in (0, 1))
    graph = dgraph.Graph.from_edges(src or None, dst or None, directed=False, comm=comm)
    runs = {"bfs": {"source": "m"}, "cc": {}, "pagerank": {"tol": 1e-9, "max_iter": 1000}}
    before = {name: dgraph.run(name, graph, **how) for name, how in runs.items()}
    for pairs in ([["a", "s"], ["o", "m"]], [["p", "q"], ["b", "a"]]):
        graph = graph.with_edges(pairs if comm.rank == comm.size - 1 else None)
    for name, how in runs.items():
        again = dgraph.run(name, graph, previous=before[name], validate=True, **how)
        equal(comm, name, again, dgraph.run(name, graph, **how))
        assert again.summary["started"] == "previous answer"


def test_refusals():
    comm = world()
    share = [0, 1, 2][comm.rank :: comm.size], [1, 2, 3][comm.rank :: comm.size]
    graph = dgraph.Graph.from_edges(*share, n=5, comm=comm)
    other = dgraph.Graph.from_edges(*share, n=5, comm=comm)
    result = dgraph.bfs(graph, 0)
    grown = graph.with_edges([[3, 4]] if comm.rank == 0 else None)
    for call, text in (
        (lambda: dgraph.bfs(other, 0, previous=result), "result of another graph"),
        (lambda: dgraph.bfs(grown, 1, previous=result), "answer with source=0"),
        (lambda: dgraph.cc(grown, previous=result), "previous is a result of bfs"),
        (lambda: dgraph.run("kcore", grown, previous=result), "kcore cannot start"),
        (lambda: dgraph.bfs(grown, 0, previous=3), "previous = 3 is not valid"),
        (lambda: dgraph.bfs(grown, 0, previous=result, checkpoint="x"), "writes no checkpoints"),
    ):
        with pytest.raises(UsageError, match=text):
            call()
    assert dgraph.bfs(graph, 0, previous=dgraph.bfs(grown, 0)).summary["started"] == "from scratch"
    assert dgraph.bfs(grown, 0, previous=result).path(4) == [0, 1, 2, 3, 4]
