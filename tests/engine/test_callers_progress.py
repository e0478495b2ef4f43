"""Progress that a caller of ``dgraph.run`` asks for, and the table of rounds."""

import time

import networkx
import pytest
from simulated import on_ranks

import dgraph
from dgraph.comm import SerialComm
from dgraph.engine.rounds.driver import RoundDriver
from dgraph.engine.rounds.progress import CalledProgress, Progress
from dgraph.errors import Cancelled, UsageError

pytestmark = pytest.mark.mpi_skip


def test_a_function_gets_phases_and_rounds():
    events = []
    graph = dgraph.Graph.load("rmat:7", comm=SerialComm())
    result = dgraph.bfs(graph, source=graph.hub(), progress=events.append)
    assert [event["detail"] for event in events if event.get("phase") == "solve"] == ["bfs"]
    table = result.rounds_table()
    assert table["round"].tolist() == list(range(1, result.rounds + 1))
    assert table["frontier_vertices"].sum() == result.report["rounds"]["frontier_vertices"]
    rounds = [event for event in events if "round" in event]
    assert [event["round"] for event in rounds] == table["round"].tolist(), "few rounds are all reported"
    for name, column in (("vertices", "frontier_vertices"), ("edges", "frontier_edges"), ("direction", "direction")):
        assert [event[name] for event in rounds] == table[column].tolist()


def test_rounds_of_one_rank_are_reported_while_they_run(monkeypatch):
    """Check that a function is called for the first rounds before the last ones begin, and of few of many."""
    graph, reports, ended, boundary = dgraph.Graph.load("path:3000", comm=SerialComm()), [], [0], RoundDriver._boundary

    def keep(event):
        if "round" in event:
            reports.append((event["round"], ended[-1]))

    def counted(driver):
        ended.append(driver.machine.round)
        boundary(driver)

    monkeypatch.setattr(RoundDriver, "_boundary", counted)
    result = dgraph.bfs(graph, source=0, return_predecessors=False, progress=keep)
    numbers = [number for number, _ in reports]
    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (1, result.rounds)
    assert all(before < number for number, before in reports), "a round is reported when its call ends, not later"
    assert len(ended) > 5
    assert len(reports) <= 16 * len(ended)


@pytest.mark.parametrize("ranks", [1, 3])
def test_seconds_of_rounds_are_without_compilation(ranks, monkeypatch):
    """Check rounds in which all time counts as compilation, as a wait for compiled kernels does."""
    monkeypatch.setattr("dgraph.engine.rounds.drivers.compile_clock.spent", time.perf_counter)

    def run(comm):
        graph = dgraph.Graph.load("rmat:8", comm=comm)
        return dgraph.bfs(graph, source=graph.hub()).rounds_table()["seconds"]

    for seconds in on_ranks(ranks, run):
        assert len(seconds)
        assert max(seconds) < 1e-5


def test_only_who_overrides_rounds_watches_them():
    class Quiet(Progress):
        def phase(self, name, detail=""): ...

    assert not Progress().watched
    assert not Quiet().watched
    assert CalledProgress(print).watched


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", ["pagerank", "hits", "eigenvector"])
def test_rounds_of_all_vertices_have_all_edges(name, ranks):
    """Check the edges of rounds in which no frontier is counted, as each works on every vertex."""
    graph = networkx.gnm_random_graph(60, 200, seed=1, directed=True)

    def run(comm):
        events = []
        ends = list(graph.edges)[comm.rank :: comm.size]
        loaded = dgraph.Graph.from_edges(*zip(*ends, strict=True), n=60, directed=True, comm=comm)
        result = dgraph.run(name, loaded, progress=events.append)
        return result.rounds_table()["frontier_edges"], [event["edges"] for event in events if "round" in event]

    for table, reported in on_ranks(ranks, run):
        assert set(table.tolist()) == set(reported) == {200}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("name", "least"), [("triangles", 16), ("lcc", 16), ("mst", 3), ("random_walks", 3)])
def test_parts_of_a_run_without_rounds_are_reported(name, least, ranks, monkeypatch):
    """Check that parts are reported in order while others are ahead, and that the run can be cancelled between them."""
    monkeypatch.setattr("dgraph.algorithms.edge_triangles.triangle_counts.SMALL", 10)
    monkeypatch.setattr("dgraph.algorithms.kernels.walks.walks_cpu.PART", 1 << 11)
    ends = list(networkx.gnm_random_graph(600, 3000, seed=1).edges)
    parameters = {"length": 8} if name == "random_walks" else {}

    def run(comm):
        reports = []

        def keep(event):
            if "round" in event:
                reports.append((event["round"], event["vertices"]))

        class Stopped(CalledProgress):
            def cancelled(self):
                return len(reports) >= 2

        part = list(zip(*ends[comm.rank :: comm.size], strict=True))
        graph = dgraph.Graph.from_edges(*part, n=600, directed=False, comm=comm)
        dgraph.run(name, graph, progress=keep, **parameters)
        all_reports = reports.copy()
        reports.clear()
        with pytest.raises(Cancelled):
            dgraph.run(name, graph, progress=Stopped(keep), **parameters)
        return all_reports, len(reports)

    for reports, before in on_ranks(ranks, run):
        assert [number for number, _ in reports] == list(range(1, len(reports) + 1))
        assert len(reports) >= least
        assert all(count >= 0 for _, count in reports)
        assert sum(count for _, count in reports)
        assert before == 2


def test_true_prints_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr("dgraph.engine.rounds.progress.EVERY", 0.0)
    dgraph.kcore(dgraph.Graph.load("rmat:7", comm=SerialComm()), progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert any("s] solve kcore" in line for line in lines)
    assert any("round 1" in line for line in lines)


def test_other_values_are_refused():
    graph = dgraph.Graph.load("rmat:4", comm=SerialComm())
    with pytest.raises(UsageError, match="progress = 3 is not valid: give True, a function of a dict"):
        dgraph.cc(graph, progress=3)
    assert dgraph.cc(graph, progress=False).rounds_table().keys() >= {"round", "seconds"}
