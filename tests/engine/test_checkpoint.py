"""Checkpoints: a run that is stopped and resumed, on any number of ranks, gives the result of an uninterrupted run."""

import numpy as np
import pytest
from algorithm_cases import KNOWN
from battery import by_turns
from flat_run import flat_run
from stopped_runs import FLOAT_SUMS, compare, graph, stopped

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.comm import SerialComm, world
from dgraph.engine.checkpoint.redistribute import redistribute
from dgraph.errors import DataError
from dgraph.graph.stored_graph import Graph
from dgraph.report import headline

CASES = {label: (name, *row) for name, module in KNOWN.items() for label, row in getattr(module, "STOPPED", {}).items()}


@pytest.mark.mpi
@by_turns("case, direction", CASES, ["auto", "flip"], of=2)
def test_stopped_at_every_second_round_it_ends_as_if_it_had_not_been(case, direction, shared, monkeypatch):
    name, spec, parameters = CASES[case]
    loaded = graph(spec)
    apart = {"checkpoint": shared / "whole"} if name == "bfs" else {}  # without, one rank saves a round
    whole = flat_run(name, loaded, direction=direction, **apart, **parameters)
    folder, stops = shared / "ck", 0
    while stopped(monkeypatch, folder, 2, name, loaded, direction=direction, **parameters):
        stops += 1
        assert stops < 200
    assert stops >= 2 or case in ("one core", "color greedy")  # one rank finishes it in one call
    again = flat_run(name, loaded, checkpoint=folder, resume="must", direction=direction, **parameters)
    if name not in ("sssp", "cc"):  # threads may see values of the same round, which saves rounds
        assert again.rounds == whole.rounds
    threads_add = name in FLOAT_SUMS and direction == "flip"  # the order of a push's additions depends on the threads
    assert again.summary == pytest.approx(whole.summary, rel=1e-6 if threads_add else 0)
    for column, values in whole.columns.items():
        np.testing.assert_allclose(again.columns[column], values, rtol=1e-12 if threads_add else 0)


@pytest.mark.mpi
def test_distances_that_are_found_twice_go_on_from_either_run(shared, monkeypatch):
    """The first run uses 32 bits, which overflow on this graph, the second 64."""
    loaded = Graph.load("path:24", weights="200000000..400000000")
    whole = dgraph.run("sssp", loaded, source=0)
    assert whole.comm.largest(int(whole.columns["distance"].max(initial=0))) > 2**32
    assert ("distances", "64 bits") in [(choice["what"], choice["taken"]) for choice in whole.report["choices"]]
    stops = 0
    while stopped(monkeypatch, shared / "ck", 3, "sssp", loaded, source=0):
        stops += 1
        assert stops < 200
    assert stops > 8
    again = flat_run("sssp", loaded, checkpoint=shared / "ck", resume="must", source=0)
    for column, values in whole.columns.items():
        np.testing.assert_array_equal(again.columns[column], values)


@pytest.mark.mpi
def test_a_resumed_run_reports_the_rounds_that_it_ran(shared, monkeypatch):
    loaded = Graph.load("path:30", comm=world())
    uninterrupted = dgraph.bfs(loaded, source=0)
    assert stopped(monkeypatch, shared / "ck", 12, "bfs", loaded, source=0)
    again = dgraph.bfs(loaded, source=0, checkpoint=dgraph.Checkpoint(shared / "ck", resume="must"))
    report, rounds = again.report, uninterrupted.rounds - 12
    assert again.rounds == uninterrupted.rounds
    assert (report["outcome"]["resumed_after"], report["rounds"]["count"]) == (12, rounds)
    assert f": {rounds} rounds in " in headline(report)
    assert headline(report).endswith("resumed after round 12")
    assert f"; {rounds} rounds after the 12 of a checkpoint; " in repr(again)
    assert "resumed" not in headline(uninterrupted.report)


@pytest.mark.exhaustive
@pytest.mark.mpi
def test_segments_of_a_run_with_negative_weights_go_on(shared, monkeypatch):
    n, mine = 60, slice(world().rank, None, world().size)
    ends, weights = np.arange(n - 1), np.where(np.arange(n - 1) % 3, 2, -3)
    loaded = Graph.from_edges(ends[mine], ends[mine] + 1, weights[mine], n=n, comm=world())
    asked = {"source": 0, "variant": "workfront"}
    whole, stops = flat_run("sssp", loaded, **asked), 0
    while stopped(monkeypatch, shared / "ck", 5, "sssp", loaded, **asked):
        stops += 1
        assert stops < 99
    assert stops > 10
    again = flat_run("sssp", loaded, checkpoint=shared / "ck", resume="must", **asked)
    assert again.summary == whole.summary
    for column, values in whole.columns.items():
        np.testing.assert_array_equal(again.columns[column], values)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("first", ["one rank", "all ranks"])
def test_it_goes_on_with_another_number_of_ranks_and_another_policy(case, first, shared, monkeypatch):
    name, spec, parameters = CASES[case]
    comm = world()
    policy = "metis" if ALGORITHMS[name].needs_rows else "cvc"
    whole = flat_run(name, graph(spec), policy=policy, **parameters)
    folder = shared / "ck"

    def alone(go):
        if comm.rank == 0:
            go(graph(spec, SerialComm()))
        comm.barrier()

    if first == "one rank":
        alone(lambda loaded: stopped(monkeypatch, folder, 3, name, loaded, **parameters))
        again = flat_run(name, graph(spec), policy=policy, checkpoint=folder, resume="must", **parameters)
        for column, values in whole.columns.items():
            compare(name, again.columns[column], values)
    else:
        stopped(monkeypatch, folder, 3, name, graph(spec), policy="hash", **parameters)
        everything = whole.gather(0)

        def check(loaded):
            again = flat_run(name, loaded, checkpoint=folder, resume="must", **parameters)
            for column, values in everything.items():
                compare(name, again.columns[column], values)

        alone(check)
    comm.barrier()


@pytest.mark.mpi
@by_turns(
    "boundary, way, case",
    [1, 4, 7],
    ["auto to push", "push to auto", "auto to auto"],
    ["kcore", "one core", "components", "components far"],
    of=3,
)
def test_hand_written_rounds_go_on_where_the_programs_own_stopped(boundary, way, case, shared, monkeypatch):
    """Check both directions, and stops of the program's own rounds inside a level."""
    first, then = way.split(" to ")
    name, spec, parameters = CASES.get(case) or ("cc", {"far": "grid:2x90"}.get(case[11:], "rmat:9"), {})
    loaded = graph(spec).undirected()
    whole = flat_run(name, loaded, **parameters)
    halted = stopped(monkeypatch, shared / "ck", boundary, name, loaded, direction=first, **parameters)
    more = {"checkpoint": shared / "ck", "resume": "must" if halted else "auto", "direction": then}
    again = flat_run(name, loaded, validate=True, **more, **parameters)
    for column, values in whole.columns.items():
        assert again.columns[column].tolist() == values.tolist()
    if halted:
        assert again.rounds > boundary


@pytest.mark.mpi(min_size=2)
def test_labels_that_were_known_travel_no_second_time(shared, monkeypatch):
    """Check the rounds on a path of consecutive blocks, where the smallest id crosses one rank per round."""
    loaded = graph("path:400")
    whole = flat_run("cc", loaded, policy="oec")
    assert stopped(monkeypatch, shared / "ck", world().size - 1, "cc", loaded, policy="oec")
    again = flat_run("cc", loaded, policy="oec", checkpoint=shared / "ck", resume="must")
    assert set(again.columns["labels"]) == {0}
    assert again.rounds <= whole.rounds + 1


@pytest.mark.mpi
def test_values_find_their_vertices_wherever_they_lie():
    comm, n = world(), 41
    draw = np.random.default_rng(5)
    before, after = draw.integers(0, comm.size, (2, n))
    gids, wanted = np.flatnonzero(before == comm.rank), draw.permutation(np.flatnonzero(after == comm.rank))
    columns = {"square": gids * gids, "odd": (gids % 2).astype(np.uint8)}
    columns_here = redistribute(gids, columns, wanted, n, comm)
    assert columns_here["square"].tolist() == (wanted * wanted).tolist()
    assert columns_here["odd"].dtype == np.uint8
    with pytest.raises(DataError, match="every vertex once"):
        redistribute(gids[:-1] if comm.rank == int(before[-1]) else gids, {}, wanted, n, comm)
