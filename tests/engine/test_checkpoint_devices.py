"""Checkpoints across backends: a run stopped on GPUs resumes on GPUs or CPUs, and vice versa; GPUs are emulated."""

from pathlib import Path

import numpy as np
import pytest
from battery import by_turns
from emulated import backend, needs_compiler
from flat_run import flat_run
from stopped_runs import compare, graph, stopped

import dgraph
from dgraph.algorithms import kcore
from dgraph.algorithms.sssp_parts import gather_near_hubs
from dgraph.backend.cuda.filtered_edges import light_edges
from dgraph.comm import SerialComm, world

pytestmark = [pytest.mark.mpi, needs_compiler]

CASES = {
    "bfs": ("bfs", "rmat:7", {"source": 3}),
    "bfs far": ("bfs", "path:40", {"source": 0}),
    "sssp far": ("sssp", "grid:9x9", {"source": 0, "delta": 3.0}),
    "sssp by gathering": ("sssp", "grid:9x9", {"variant": "gather", "source": 0}),
    "cc": ("cc", "uniform:7,edge_factor=1", {}),
    "labels": ("cc", "rmat:7", {"variant": "label-propagation"}),
    "pagerank": ("pagerank", "rmat:6", {"tol": 0, "max_iter": 9}),
    "kcore": ("kcore", "rmat:6", {}),
    "kcore by shells": ("kcore", "rmat:6", {"variant": "shells"}),
    "kcore by estimates": ("kcore", "rmat:6", {"variant": "estimates"}),
}
HOST = {"transport": "mpi-host"}
"""Host transport, because emulated GPUs that wait for each other are slow."""


def backends(way):
    makers = {"gpu": lambda: backend(renumber=True), "cpu": lambda: "cpu"}
    return [makers[name]() for name in way.split(" to ")]


@pytest.fixture
def narrow():
    """Make the second program of sssp by gathering use buckets, within which GPUs can stop.

    It has a MonkeyPatch of its own, because ``stopped`` undoes the test's.
    """
    with pytest.MonkeyPatch.context() as change:
        change.setattr(gather_near_hubs, "FAR", 0.3)
        yield


@by_turns("case, way", CASES, ["gpu to gpu", "gpu to cpu", "cpu to gpu"], of=3)
@pytest.mark.usefixtures("narrow")
def test_rounds_go_on_where_others_stopped(case, way, tmp_path, monkeypatch):
    name, spec, parameters = CASES[case]
    loaded, folder = graph(spec), Path(world().bcast_json(str(tmp_path))) / "ck"
    whole = flat_run(name, loaded, **parameters)
    first, then = backends(way)
    after = {"labels": 1, "kcore by shells": 8}.get(case, 2)  # shells: stop in the second of two programs
    halted = stopped(monkeypatch, folder, after, name, loaded, backend=first, **HOST, **parameters)
    assert halted or name == "cc" or world().size == 1
    resume = "must" if halted else "auto"
    more = {"checkpoint": folder, "resume": resume, "backend": then, "validate": True}
    again = flat_run(name, loaded, **more, **HOST, **parameters)
    for column, values in whole.columns.items():
        compare(name, again.columns[column], values)
    if (case, way) == ("labels", "cpu to gpu"):
        assert "pull" not in again.report["rounds"]["by_direction"], "a GPU has no room for the bits of such a pull"


@pytest.mark.filterwarnings("ignore::dgraph.ConvergenceWarning")
@pytest.mark.parametrize("way", ["gpu to gpu", "gpu to cpu", "cpu to gpu"])
@pytest.mark.parametrize("name", ["pagerank", "cdlp"])
def test_a_larger_limit_goes_on_where_a_smaller_one_ended_the_run(name, way, tmp_path):
    loaded, folder = graph("rmat:7"), Path(world().bcast_json(str(tmp_path))) / "ck"
    first, then = backends(way)
    flat_run(name, loaded, max_iter=3, backend=first, checkpoint=folder, **HOST)
    again = flat_run(name, loaded, max_iter=8, backend=then, checkpoint=folder, resume="must", **HOST)
    whole = flat_run(name, loaded, max_iter=8)
    for column, values in whole.columns.items():
        compare(name, again.columns[column], values)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("parameters", [{"variant": "gather"}, {"cutoff": 60.0}])
def test_rows_of_light_edges_are_walked_on(parameters, tmp_path, monkeypatch):
    """The run stops at every second round of both programs; a restored frontier has the edge sums of its rows."""
    monkeypatch.setattr(light_edges, "LIGHTEST", 1)
    loaded, folder, stops = graph("grid:9x9"), Path(world().bcast_json(str(tmp_path))) / "ck", 0
    parameters = {"source": 0, "backend": backend(small=-1, renumber=True), **HOST, **parameters}
    whole = flat_run("sssp", loaded, **parameters)
    while stopped(monkeypatch, folder, 2, "sssp", loaded, **parameters):
        monkeypatch.setattr(light_edges, "LIGHTEST", 1)
        stops += 1
        assert stops < 100
    assert stops >= 3
    again = flat_run("sssp", loaded, checkpoint=folder, resume="must", **parameters)
    np.testing.assert_array_equal(again.columns["distance"], whole.columns["distance"])


@pytest.mark.parametrize("way", ["gpu to cpu", "cpu to gpu"])
@pytest.mark.parametrize("after", [2, 12])
def test_what_auto_came_to_stands(way, after, tmp_path, monkeypatch):
    """The resumed run keeps the variant: shells on several GPUs, peeling elsewhere; stopped in either program."""
    folder = Path(world().bcast_json(str(tmp_path))) / "ck"
    whole = dgraph.run("kcore", graph("rmat:7"))
    first, then = backends(way)
    with pytest.MonkeyPatch.context() as eager:
        eager.setattr(kcore, "HUB", 1)
        eager.setattr(kcore, "MEAN", 0)
        assert stopped(monkeypatch, folder, after, "kcore", graph("rmat:7"), backend=first, **HOST)
        again = flat_run("kcore", graph("rmat:7"), backend=then, checkpoint=folder, resume="must", **HOST)
    np.testing.assert_array_equal(again.columns["core_number"], whole.columns["core_number"])


@pytest.mark.parametrize("way", ["gpu to cpu", "cpu to gpu"])
@pytest.mark.parametrize("case", ["bfs", "sssp far", "sssp by gathering", "kcore", "kcore by shells"])
def test_one_rank_goes_on_where_several_stopped(case, way, tmp_path, monkeypatch):
    """Check that checkpoints hold values by vertex, not by position: one GPU renumbers hubs first."""
    name, spec, parameters = CASES[case]
    folder = Path(world().bcast_json(str(tmp_path))) / "ck"
    first, then = backends(way)
    stopped(monkeypatch, folder, 2, name, graph(spec), backend=first, **HOST, **parameters)
    whole = flat_run(name, graph(spec), **parameters).gather(0)
    if world().rank == 0:
        again = flat_run(
            name, graph(spec, SerialComm()), checkpoint=folder, resume="auto", backend=alone(then), **parameters
        )
        for column, values in whole.items():
            np.testing.assert_array_equal(again.columns[column], values)
    world().barrier()


def alone(chosen):
    if not isinstance(chosen, str):
        chosen.alone = True
    return chosen
